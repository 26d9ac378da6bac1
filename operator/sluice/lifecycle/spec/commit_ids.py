"""By what Delta knows a job's commits: the id of its run key, or a slot, which jobs use one after another.

A lease names either, so that only one holder at a time commits under it.
"""

from collections.abc import Iterable
from typing import Any

from sluice.api.job_status import ShownRun
from sluice.engines.plan import PlannedRun
from sluice.leases.model import number_in

_SLOT = "slot "
"""How a lease names a slot. No run key is taken for one: its run begins with a namespace, in which there is no space."""
_SLOTS = "sluice/slot/"
_RUN_KEYS = "sluice/run/"
MOST_SLOTS = 10**6


def slot_named(number: int) -> str:
    """What a lease calls the slot."""
    return f"{_SLOT}{number}"


def app_id_of(run: str) -> str:
    """The transaction id of the run that a lease names."""
    return f"{_SLOTS}{run.removeprefix(_SLOT)}" if run.startswith(_SLOT) else f"{_RUN_KEYS}{run}"


def slot_of(app_id: Any) -> int | None:
    """The number of the slot, if it is the transaction id of one."""
    if not isinstance(app_id, str) or not app_id.startswith(_SLOTS):
        return None
    number = number_in(app_id.removeprefix(_SLOTS), most=MOST_SLOTS)
    return number if number and app_id == f"{_SLOTS}{number}" else None


def kept_slot(shown: ShownRun | None) -> int | None:
    """The slot that the job's status keeps for it."""
    return None if shown is None else slot_of(shown.app_id)


def planned(run: str | None, shown: ShownRun | None, tokens: Iterable[int]) -> PlannedRun | None:
    """The run as a driver is told it. `run`: as its lease names it. `tokens`: those of the job's attempts that may have committed,
    at least one. Where the status tells nothing of the run, all that was ever committed under its id may be its own."""
    if run is None:
        return None
    app_id, is_slot = app_id_of(run), run.startswith(_SLOT)
    first = min(tokens)
    if is_slot:
        first = min(first, shown.first_token) if shown is not None and shown.app_id == app_id else 0
    return PlannedRun(app_id, closes=not is_slot, first_token=first)


def shown_run(shown: ShownRun | None, run: str | None, token: int) -> ShownRun | None:
    """What the status is to say of the run from the grant with this token on. A run key it says elsewhere."""
    if run is None or not run.startswith(_SLOT):
        return None
    app_id = app_id_of(run)
    return (
        shown if shown is not None and shown.app_id == app_id else ShownRun(app_id=app_id, first_token=token)
    )
