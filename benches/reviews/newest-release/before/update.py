"""Tells whether an update is available."""

from releases import newest


def update_for(installed, releases):
    latest = newest(releases)
    if latest is None or latest.version == installed:
        return None
    return latest
