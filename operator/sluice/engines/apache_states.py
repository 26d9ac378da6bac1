"""What the states of Apache's Spark operator tell of an application's driver.

The operator creates the driver's pod by one request, and says so afterwards (DriverRequested); where a pod bears the driver's name
already, it takes that one for its driver. So another driver may come only in the states before. Two states alone are final: from
any other one a changed restart policy leads to another driver.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from sluice.engines.engine import ApplicationState

_LONGEST_MESSAGE = 1024


class StateMeaning(Enum):
    MAY_START = auto()
    """Its driver may be started at any moment, whatever became of an earlier one."""
    HAS_HAD_ITS_DRIVER = auto()
    """Its driver's pod was created, or another one was found under the name: it starts no other by itself."""
    STOPS = auto()
    """Something failed, whether it has a driver or not: that the states before tell."""
    IS_OVER = auto()
    """It starts no driver any more."""


MEANINGS = {
    "": StateMeaning.MAY_START,
    "Submitted": StateMeaning.MAY_START,
    "ScheduledToRestart": StateMeaning.MAY_START,
    "DriverRequested": StateMeaning.HAS_HAD_ITS_DRIVER,
    "DriverStarted": StateMeaning.HAS_HAD_ITS_DRIVER,
    "DriverReady": StateMeaning.HAS_HAD_ITS_DRIVER,
    "InitializedBelowThresholdExecutors": StateMeaning.HAS_HAD_ITS_DRIVER,
    "RunningHealthy": StateMeaning.HAS_HAD_ITS_DRIVER,
    "RunningWithPartialCapacity": StateMeaning.HAS_HAD_ITS_DRIVER,
    "RunningWithBelowThresholdExecutors": StateMeaning.HAS_HAD_ITS_DRIVER,
    "DriverStartTimedOut": StateMeaning.HAS_HAD_ITS_DRIVER,
    "DriverReadyTimedOut": StateMeaning.HAS_HAD_ITS_DRIVER,
    "ExecutorsStartTimedOut": StateMeaning.HAS_HAD_ITS_DRIVER,
    "DriverEvicted": StateMeaning.HAS_HAD_ITS_DRIVER,
    "Succeeded": StateMeaning.HAS_HAD_ITS_DRIVER,
    "Failed": StateMeaning.STOPS,
    "SchedulingFailure": StateMeaning.STOPS,
    "ResourceReleased": StateMeaning.IS_OVER,
    "TerminatedWithoutReleaseResources": StateMeaning.IS_OVER,
}
"""All that it has. What a state means that isn't among them nobody knows: it is as if the driver could come at any moment."""

FAILURES = frozenset(
    {
        "DriverStartTimedOut",
        "DriverReadyTimedOut",
        "ExecutorsStartTimedOut",
        "DriverEvicted",
        "Failed",
        "SchedulingFailure",
    }
)
"""Those whose message says what went wrong."""


def progress_in(status: dict[str, Any]) -> ApplicationState:
    current = status.get("currentState") or {}
    now = _summary(current)
    told, driver_was_seen = current, False
    for state in (*_history(status), current):
        meaning = MEANINGS.get(_summary(state), StateMeaning.MAY_START)
        if meaning is StateMeaning.MAY_START:
            driver_was_seen = False
        elif meaning is StateMeaning.HAS_HAD_ITS_DRIVER:
            driver_was_seen = True
        if meaning is not StateMeaning.IS_OVER:
            told = state
    return ApplicationState(MEANINGS.get(now) is StateMeaning.IS_OVER, driver_was_seen, _words(told))


def kept_of(status: dict[str, Any]) -> dict[str, Any]:
    """What is read of a status. It has the whole status of the driver's pod with each of its states."""
    history = status.get("stateTransitionHistory")
    return {
        **({"currentState": _kept(status["currentState"])} if "currentState" in status else {}),
        **(
            {"stateTransitionHistory": {number: _kept(state) for number, state in history.items()}}
            if isinstance(history, dict)
            else {}
        ),
    }


def _kept(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    return {field: state[field] for field in ("currentStateSummary", "message") if field in state}


def _history(status: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The states in their order, by their numbers."""
    history = status.get("stateTransitionHistory") or {}
    return (history[number] for number in sorted(history, key=lambda number: (len(number), number)))


def _summary(state: dict[str, Any]) -> str:
    return str(state.get("currentStateSummary") or "")


def _words(state: dict[str, Any]) -> str:
    summary, message = _summary(state), str(state.get("message") or "")
    return f"{summary}: {message[:_LONGEST_MESSAGE]}" if message and summary in FAILURES else summary
