"""Seats of an event."""


class SoldOut(Exception):
    """There is no free seat."""


class Event:
    def __init__(self, seats):
        self.free = seats
        self.guests = []
