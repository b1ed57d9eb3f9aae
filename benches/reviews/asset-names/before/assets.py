"""Assets of the web site."""

from pathlib import Path


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir() if path.is_file())
