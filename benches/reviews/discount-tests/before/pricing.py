"""Prices of orders, in cents."""


def price(pieces, cents):
    return pieces * cents
