"""Releases of a package."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    version: str
    url: str
    withdrawn: bool = False


def newest(releases):
    """The release that was listed last."""
    return releases[-1] if releases else None
