"""Archives finished logs."""

import gzip
import shutil


def compress(source, destination):
    """Writes a compressed copy; raises OSError if that fails."""
    with open(source, "rb") as plain, gzip.open(destination, "wb") as packed:
        shutil.copyfileobj(plain, packed)
