"""Writes what was simulated as JSON: programs rely on the names of fields. Times are seconds."""

from collections.abc import Iterable

from sluice.api.base import Json
from sluice.api.manifests import ManifestError
from sluice.offline.answers import troubles_json
from sluice.offline.simulation.history_trace import HistoryTrace
from sluice.offline.simulation.run import SimulatedRun
from sluice.offline.simulation.simulation import Simulation, times


def simulation_json(
    found: Simulation,
    assumptions: Iterable[str] = (),
    troubles: Iterable[ManifestError] = (),
    history: HistoryTrace | None = None,
    pinned: SimulatedRun | None = None,
) -> Json:
    """`pinned`: the history's jobs under Sluice's queue, if each had named the partitions that it wrote."""
    runs = {
        "sluice": _run(found.queue, found),
        "fifo": _run(found.lines, found),
        "mutex": _run(found.locks, found),
        "retries": _run(found.retries.run, found),
    }
    if pinned is not None:
        runs["sluicePinned"] = _run(pinned, found)
    if history is not None:
        runs["asItWas"] = _run(history.as_it_was, found)
    return {
        "jobs": len(found.trace.jobs),
        "tables": [str(table) for table in found.trace.tables],
        "compute": found.trace.compute / 1000,
        "seed": found.seed,
        "bound": {
            "makespan": found.bound.makespan / 1000,
            "why": found.bound.why,
            "jobs": list(found.bound.jobs),
        },
        "runs": runs,
        "abortedSurely": found.retries.surely,
        "lostUnnoticed": found.retries.unnoticed,
        "history": None if history is None else _history(history),
        "assumptions": list(assumptions),
        "troubles": troubles_json(troubles),
    }


def _run(run: SimulatedRun, found: Simulation) -> Json:
    return {
        "makespan": run.makespan / 1000,
        "timesTheBound": times(run, found.bound),
        "waited": run.waited,
        "waits": {
            "mean": run.mean_wait / 1000,
            "p50": run.wait_at(50) / 1000,
            "p95": run.wait_at(95) / 1000,
            "longest": run.longest_wait / 1000,
        },
        "running": {"mean": run.running, "most": run.most_running},
        "utilisation": run.utilisation,
        "busy": run.busy,
        "aborted": run.aborted,
        "wasted": run.wasted / 1000,
    }


def _history(history: HistoryTrace) -> Json:
    commits = history.log.commits
    return {
        "table": history.log.location,
        "versions": [commits[0].version, commits[-1].version],
        "durations": {str(told): count for told, count in sorted(history.durations.items())},
        "assumedDuration": history.assumed / 1000,
        "dialect": None if history.dialect is None else history.dialect.name,
        "leftOut": dict(sorted(history.left_out.items())),
        "missing": history.log.missing,
        "unreadable": list(history.log.unreadable),
    }
