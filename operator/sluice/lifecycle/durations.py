"""Durations as manifests write them."""

import re

_SECONDS = {"h": 3600, "m": 60, "s": 1}


def seconds(duration: str) -> int:
    """'1h30m' -> 5400. The API has checked the form."""
    return sum(int(amount) * _SECONDS[unit] for amount, unit in re.findall(r"(\d+)([hms])", duration))
