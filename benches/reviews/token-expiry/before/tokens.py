"""Tokens for signed-in users."""

import secrets


def issue(user):
    return {"user": user, "token": secrets.token_urlsafe(32)}
