"""Tariffs of a customer."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Tariff:
    start: date
    cents: int


def tariff_at(tariffs, day):
    """The tariff that applies on a day; None before the first one."""
    found = None
    for tariff in tariffs:
        if tariff.start <= day:
            found = tariff
    return found
