"""The error that ends a command against a cluster that can't do what it was asked for.

It is also imported where Kubernetes and Redis are not installed, which is what the command then says.
"""


class OnlineError(Exception):
    """Says what happened, to what, and what to do."""


class CalledWronglyError(OnlineError):
    """Nothing was asked: an option is missing, or is none."""
