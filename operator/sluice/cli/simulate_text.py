"""`sluice simulate`, for people: how long it all takes, who waits how long, and what is computed for nothing."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from sluice.cli.durations import lasting
from sluice.cli.history_text import print_table, table
from sluice.cli.outputs import print_hanging
from sluice.offline.simulation import SimulatedRun, Simulation
from sluice.offline.simulation.history_trace import DurationSource, HistoryTrace
from sluice.offline.simulation.simulation import times

_NEAR = 1.15
_MOST_LEFT_OUT = 5


def show(
    found: Simulation,
    out: Console,
    assumptions: Iterable[str] = (),
    history: HistoryTrace | None = None,
    pinned: SimulatedRun | None = None,
) -> None:
    _show_what(found, out, history)
    out.print()
    _show_ways(found, out, history, pinned)
    out.print()
    _show_sluice(found, out)
    if history is not None:
        for label, text in _what_it_would_have_been(found, history, pinned):
            print_hanging(out, label, text, colour="green")
    out.print()
    for text in (*_notes(found), *(_assumed(history) if history is not None else ()), *assumptions):
        print_hanging(out, "Note: ", text)


def _show_what(found: Simulation, out: Console, history: HistoryTrace | None) -> None:
    jobs = found.trace.jobs
    span = max(job.at for job in jobs) - found.trace.begins
    what = "commit" if history is not None else "job"
    within = f"within {lasting(span)}" if span else "at once"
    out.print(
        Text.assemble(
            (_counted(len(jobs), what), "bold"),
            f" on {_counted(len(found.trace.tables), 'table')}, come {within}; together they compute for "
            f"{lasting(found.trace.compute)}.",
        ),
        soft_wrap=True,
    )
    if history is not None:
        commits = history.log.commits
        out.print(
            f"{history.log.location}: versions {commits[0].version:,} to {commits[-1].version:,}, "
            f"{_day(commits[0].timestamp)} to {_day(commits[-1].timestamp)} UTC.",
            soft_wrap=True,
        )


def _show_ways(
    found: Simulation, out: Console, history: HistoryTrace | None, pinned: SimulatedRun | None
) -> None:
    shown = table("", "takes", "x bound", "wait mean", "p50", "p95", "longest", "writers", "most", "wasted")
    if history is not None:
        shown.add_row(*_figures("as it was", history.as_it_was, found))
    for name, run in found.ways:
        shown.add_row(*_figures(name, run, found), style="bold" if run is found.queue else None)
        if run is found.queue and pinned is not None:
            shown.add_row(*_figures("Sluice, all pinned", pinned, found))
    shown.add_row("no schedule below", lasting(found.bound.makespan), "1.00", style="dim")
    print_table(shown, out)


def _figures(name: str, run: SimulatedRun, found: Simulation) -> Iterator[str]:
    yield name
    yield lasting(run.makespan)
    yield f"{times(run, found.bound):.2f}"
    for wait in (run.mean_wait, run.wait_at(50), run.wait_at(95), run.longest_wait):
        yield lasting(wait) if wait else "-"
    yield f"{run.running:.1f}"
    yield f"{run.most_running:,}"
    yield lasting(run.wasted) if run.wasted else "-"


def _show_sluice(found: Simulation, out: Console) -> None:
    queue, bound = found.queue, found.bound
    waits = "waits" if queue.waited == 1 else "wait"
    waited = f"{queue.waited:,} of {_counted(len(found.trace.jobs), 'job')} {waits}"
    if queue.waited:
        waited += f", {lasting(sum(queue.waits) / queue.waited)} on average of those"
    print_hanging(out, "Sluice: ", f"{waited}; nothing is computed in vain.", colour="green")
    ratio = times(queue, bound)
    colour = "green" if ratio <= _NEAR else "yellow"
    who = _counted(len(bound.jobs), "job") + ", such as " if len(bound.jobs) > 1 else ""
    because = f"{who}{bound.jobs[0]}{',' if who else ''} {bound.why}"
    print_hanging(
        out, "Bound: ", f"Sluice takes {ratio:.2f} times as long as the bound: {because}.", colour=colour
    )
    retries = found.retries.run
    if retries.aborted:
        print_hanging(
            out,
            "Retries: ",
            f"{_counted(retries.aborted, 'run')} aborted after all compute was done: {lasting(retries.wasted)} in vain, "
            f"beside {lasting(found.trace.compute)} that count.",
            colour="yellow",
        )
    if found.retries.unnoticed:
        print_hanging(
            out,
            "Lost: ",
            f"{_counted(found.retries.unnoticed, 'commit')} of those without a queue overwrite another one, and no exception "
            "says so.",
            colour="red",
        )


def _what_it_would_have_been(
    found: Simulation, history: HistoryTrace, pinned: SimulatedRun | None
) -> Iterator[tuple[str, str]]:
    later = found.queue.makespan - history.as_it_was.makespan
    ends = (
        f"the last would have ended {lasting(later)} later"
        if later > 0
        else "the last would have ended when it did"
    )
    yield "As it was: ", f"had all of these gone through Sluice's queue, {ends}."
    if pinned is not None and pinned.waited < found.queue.waited:
        yield (
            "Pinned: ",
            f"{found.queue.waited - pinned.waited:,} fewer wait if each names the partitions that it writes: "
            "sluice explain --history says who does not.",
        )


def _notes(found: Simulation) -> Iterator[str]:
    yield (
        "waits count from when a job comes to its start, and for retries to the end, less its compute. Starting a driver takes "
        "no time here, and there is room for all."
    )
    retries = found.retries
    if retries.run.aborted > retries.surely:
        yield (
            f"of the aborted runs, {retries.surely:,} are certain; the others may be aborted by Delta's rules, which depends on "
            "files that nobody knows before: here they are."
        )


def _assumed(history: HistoryTrace) -> Iterator[str]:
    told = history.durations
    yield (
        f"durations: {told.get(DurationSource.MEASURED, 0):,} by the commits' own metrics, "
        f"{told.get(DurationSource.BOUNDED, 0):,} within bounds that other commits set, "
        f"{told.get(DurationSource.ASSUMED, 0):,} assumed: {lasting(history.assumed)} (--assume-duration)."
    )
    yield (
        "a log does not hold commits that lost, nor what a job waited or computed in vain before it began anew: it came when "
        "it began. What it read is what its printed condition says."
    )
    if history.dialect is None:
        yield "its commits do not agree on an engine that is known here, so that what any engine aborts counts as a conflict."
    for why, count in sorted(history.left_out.items(), key=lambda one: -one[1])[:_MOST_LEFT_OUT]:
        yield f"left out: {_counted(count, 'commit')} that {why}."
    if history.log.missing:
        yield f"{_counted(history.log.missing, 'version')} in between are missing, and not played."
    if history.log.unreadable:
        yield f"{_counted(len(history.log.unreadable), 'commit')} cannot be read, such as {history.log.unreadable[0]}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _day(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M}" if milliseconds else "?"
