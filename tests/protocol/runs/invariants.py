"""What must hold whenever a commit lands or a run reports, told by what the tables went through."""

from protocol.runs.state import Driver, Job, State

NOTHING_TWICE = "nothing twice per run key"
NOTHING_LOST = "nothing lost"
FENCED_NEVER_COMMITS = "a fenced attempt never commits after its fence"


def judged(s: State, d: Driver, job: Job, number: int, what: str) -> tuple[str, str] | None:
    """The state before a statement's commit, and the commit."""
    at = d.table
    table = s.tables[at]
    name = f"statement {number} of uid{d.uid}/attempt{d.attempt}"
    if dict(table.fences).get(job.run_key, d.owner) > d.owner:
        return FENCED_NEVER_COMMITS, f"{name} committed on table {at} after a later attempt's fence"
    if job.run_key in s.succeeded:
        return NOTHING_TWICE, f"{name} took effect after the run had succeeded"
    inserted = dict(table.inserted).get(job.run_key, 0)
    if what == "delete" and inserted >> (number + 1):
        return NOTHING_LOST, f"{name} deleted what a later statement of the same run had inserted"
    # Only effects count: a DELETE that matched nothing before, and matches now, takes effect once.
    if (job.run_key, job.spec, number) in s.effects:
        return NOTHING_TWICE, f"{name} took effect a second time"
    return None


def reported(s: State, d: Driver, job: Job, statements: int) -> tuple[str, str] | None:
    """A driver reports success."""
    for number in range(1, statements + 1):
        if (job.run_key, job.spec, number) not in s.settled:
            return (
                NOTHING_LOST,
                f"uid{d.uid}/attempt{d.attempt} reports success, and statement {number} never ran",
            )
    return None


def unfinished(s: State, untouched: bool) -> str | None:
    for job in s.jobs:
        if not job.outcome:
            return f"the job of uid{job.uid} has no outcome"
        if untouched and job.outcome != "Succeeded":
            return f"the job of uid{job.uid} ended as {job.outcome} without any fault"
    return next((f"a driver of uid{d.uid} is stuck at {d.at}" for d in s.drivers if d.alive), None)
