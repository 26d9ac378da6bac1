"""Machines that build and test at the same time are slow: no example fails by the clock."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
