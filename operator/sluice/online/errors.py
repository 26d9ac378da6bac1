"""What a command against a cluster ends with if it can't do what it was asked for."""


class OnlineError(Exception):
    """Says what happened, to what, and what to do."""
