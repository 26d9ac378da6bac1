"""What the oracle says of the jobs if nothing kept them apart: words, no figures, since nothing of it was run."""

from demo.scenario import Scenario
from sluice.conflicts import Level
from sluice.offline.api import Oracle
from sluice.offline.pairs import Understood

_COLUMNS = {"id": "bigint", "date": "date", "amount": "int"}


def dangers(plan: Scenario) -> dict[str, str]:
    """What each job risks beside the others, by its name; jobs that risk nothing are left out."""
    oracle = Oracle(
        _facts(str(plan.orders), ("id", "date", "amount")), _facts(str(plan.returns), ("id", "date"))
    )
    understood: list[Understood] = []
    found = {}
    for job in plan.jobs:
        try:
            understood.append(oracle.job(job.spec, job.name))
        except ValueError:
            found[job.name] = "not understood, so it could not be judged"
    for loser in understood:
        verdicts = [
            (winner.name, oracle.pair(loser, winner).pair.first_loses)
            for winner in understood
            if winner is not loser
        ]
        risks = [(name, verdict) for name, verdict in verdicts if verdict.level > Level.NEVER]
        if risks:
            exceptions = dict.fromkeys(verdict.exception or "silent loss" for _, verdict in risks)
            beside = _some([name for name, _ in risks])
            found[loser.name] = f"may end with {' or '.join(exceptions)} beside {beside}"
    return found


def _facts(path: str, columns: tuple[str, ...]) -> dict[str, object]:
    return {
        "path": path,
        "schema": [{"name": name, "type": _COLUMNS[name]} for name in columns],
        "partitionColumns": ["date"],
        "logStore": "Safe",  # the demo's runtime has a LogStore that never overwrites a commit
    }


def _some(names: list[str], shown: int = 2) -> str:
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")
