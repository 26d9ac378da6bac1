"""`sluice queue`, for people. It takes plain data, so that it need not import what asks a cluster."""

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.cli import outputs, stream_text

MOST = 20
"""Waiting jobs of a table that are shown unless all are asked for."""
_MOST_NAMED = 2
_LONGEST = 60
"""Characters of an overlap: a predicate may have 4,096."""
_COLUMNS = ("", "JOB", "STATE", "PRIORITY", "FOR", "ESTIMATE", "WHAT")
_ESTIMATE = _COLUMNS.index("ESTIMATE")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def show(found: Json, out: Console, most: int | None = MOST) -> None:
    now = datetime.fromisoformat(found["at"])
    if not found["tables"]:
        out.print("no job holds a table or waits for one")
    for number, table in enumerate(found["tables"]):
        if number:
            out.print()
        _show_table(table, now, out, most)
    watched = [job for job in found["notJudged"] if job.partition("/")[0] not in found["notWatched"]]
    if found["notJudged"]:
        out.print()
    if watched:
        out.print(f"not judged yet: {_named(watched, most)}", soft_wrap=True)
    for namespace in found["notWatched"]:
        jobs = [job for job in found["notJudged"] if job.partition("/")[0] == namespace]
        out.print(
            f"not judged: {_named(jobs, most)}: no operator watches namespace {namespace}. Add it to an operator's "
            "watchNamespaces, or create the jobs in a namespace that is watched",
            soft_wrap=True,
        )
    if any(_has_estimate(table) for table in found["tables"]):
        out.print()
        out.print(
            "Estimates (~) are the median of how long the same work took before; they promise nothing.",
            style="dim",
            soft_wrap=True,
        )


def _show_table(table: Json, now: datetime, out: Console, most: int | None) -> None:
    out.print(Text.assemble((_called(table), "bold"), f": {_counted(table)}"), soft_wrap=True)
    holders, waiters = table["holders"][:most], table["waiters"][:most]
    rows = [
        *(_holder(one, now) for one in holders),
        *(_waiter(one, table["table"], now) for one in waiters),
        *(_aside(one, now) for one in table["aside"][:most]),
    ]
    out.print("\n".join(f"  {line}" for line in _laid_out([_COLUMNS, *rows])), soft_wrap=True)
    hidden = sum(len(table[part]) - len(table[part][:most]) for part in ("holders", "waiters", "aside"))
    if hidden:
        out.print(f"  and {hidden} more; --all shows them")


def _called(table: Json) -> str:
    return f"{table['table']} ({', '.join(table['names'])})" if table["names"] else str(table["table"])


def _counted(table: Json) -> str:
    holds, waits, aside = (len(table[part]) for part in ("holders", "waiters", "aside"))
    limit = table["maxWriters"]
    of = "" if limit is None else f" of at most {limit}, by maxWriters of policy {table['policy']},"
    counted = (
        f"{holds}{of} {'holds' if holds == 1 else 'hold'} it, {waits} {'waits' if waits == 1 else 'wait'}"
    )
    return f"{counted}, {aside} {'holds' if aside == 1 else 'hold'} no place" if aside else counted


def _holder(one: Json, now: datetime) -> tuple[str, ...]:
    attempt = f"attempt {one['attempt']}" if (one["attempt"] or 1) > 1 else ""
    pause = "" if one["pause"] is None else stream_text.pause(one["pause"])
    what = ", ".join(filter(None, (attempt, pause, _how_far(one))))
    end = one["estimate"]
    guess = "" if end is None else f"ends in ~{_until(end['endsAt'], now)}"
    return "*", one["job"], _state(one), "", _age(one["since"], now), guess, what


def _state(holder: Json) -> str:
    """The phase. A job that ends may be one that a person has to see to, as its reason says."""
    phase, reason = holder["phase"], holder["reason"]
    return f"{phase}, {reason}" if phase == Phase.ENDING.value and reason else str(phase)


def _how_far(one: Json) -> str:
    return _progress(one["progress"]) if one["stream"] is None else stream_text.progress(one["stream"])


def _progress(progress: Json | None) -> str:
    if progress is None:
        return ""
    return f"statement {progress['statement']} of {progress['of']}, {progress['operation']}"


def _waiter(one: Json, table: str, now: datetime) -> tuple[str, ...]:
    state = "Waiting, aged" if one["aged"] else "Waiting"
    start = one["estimate"]
    guess = "" if start is None else f"starts in ~{_until(start['startsAt'], now)}"
    waited = _age(one["queuedAt"], now)
    return str(one["position"]), one["job"], state, str(one["priority"]), waited, guess, _why(one, table)


def _why(one: Json, table: str) -> str:
    named = [_blocker(blocker, table) for blocker in one["waitsFor"][:_MOST_NAMED]]
    more = one["waitsForCount"] - len(named)
    if not named:
        return str(one["message"] or "its turn comes")
    return f"waits for {'; '.join(named)}" + (f"; and {more} more" if more > 0 else "")


def _blocker(blocker: Json, table: str) -> str:
    ahead = " (at rest)" if blocker["atRest"] else " (ahead of it)" if blocker["holds"] is False else ""
    where = [] if blocker["overlap"] in (None, "true") else [f"at {_cut(blocker['overlap'])}"]
    elsewhere = [] if blocker["table"] == table else [f"on {blocker['table']}"]
    avoided = [f"avoids {blocker['exception']}"] if blocker["exception"] else []
    return f"{blocker['job']}{ahead}: {', '.join([str(blocker['rule']), *elsewhere, *where, *avoided])}"


def _aside(one: Json, now: datetime) -> tuple[str, ...]:
    what = "holds no place" if one["pause"] is None else stream_text.pause(one["pause"])
    return "-", one["job"], one["phase"], "", _age(one["since"], now), "", what


def _laid_out(rows: Sequence[tuple[str, ...]]) -> list[str]:
    cells = [[outputs.shown(" ".join(cell.split())) for cell in row] for row in rows]
    if not any(row[_ESTIMATE] for row in cells[1:]):
        cells = [row[:_ESTIMATE] + row[_ESTIMATE + 1 :] for row in cells]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _has_estimate(table: Json) -> bool:
    return any(one["estimate"] is not None for one in (*table["holders"], *table["waiters"]))


def _named(jobs: list[str], most: int | None) -> str:
    more = len(jobs) - len(jobs[:most])
    return ", ".join(jobs[:most]) + (f" and {more} more" if more else "")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _age(at: str | None, now: datetime) -> str:
    return "?" if at is None else _length((now - datetime.fromisoformat(at)).total_seconds())


def _until(at: str, now: datetime) -> str:
    return _length((datetime.fromisoformat(at) - now).total_seconds())


def _length(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, unit in _UNITS:
        if whole >= 2 * size:
            return f"{whole // size}{unit}"
    return f"{whole}s"
