"""How things stand with a lease, by what is seen of its attempt."""

from enum import StrEnum

from sluice.engines import Stage


class State(StrEnum):
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
    Stage.NOT_CREATED: State.STARTING,
    Stage.STARTING: State.STARTING,
    Stage.RUNNING: State.RUNNING,
    Stage.LOST: State.LOST,
    Stage.NO_DRIVER: State.ENDING,
    Stage.NEVER_STARTS: State.ENDING,
    Stage.ENDED: State.ENDING,
    Stage.NOT_OVER: State.ENDING,
}
