"""The payment provider."""

import asyncio


async def charge(card, cents):
    """Takes the money, which needs a moment; raises if the card is refused."""
    await asyncio.sleep(0.05)
    if card == "refused":
        raise ValueError("the card was refused")
    return f"receipt for {cents}"
