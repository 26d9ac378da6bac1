"""Versions as far as what Delta can do depends on them."""

Version = tuple[int, int]
