"""Fees, in cents."""


def total(fees):
    return sum(fees)
