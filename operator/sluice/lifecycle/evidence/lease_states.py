"""How things stand with a lease, by what is seen of its attempt."""

from enum import StrEnum

from sluice.engines import Stage


class LeaseState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"
    LOST = "lost"
    """Nobody knows whether its driver still runs."""
    UNEXPLAINED = "unexplained"
    """No object shows what became of it."""
    UNREADABLE = "unreadable"
    """It is held by a record that nobody can read."""
    UNKNOWN = "unknown"
    """What would tell it could not be listed."""


BY_STAGE = {
    Stage.NOT_CREATED: LeaseState.STARTING,
    Stage.STARTING: LeaseState.STARTING,
    Stage.RUNNING: LeaseState.RUNNING,
    Stage.LOST: LeaseState.LOST,
    Stage.NO_DRIVER: LeaseState.ENDING,
    Stage.NEVER_STARTS: LeaseState.ENDING,
    Stage.ENDED: LeaseState.ENDING,
    Stage.NOT_OVER: LeaseState.ENDING,
}
