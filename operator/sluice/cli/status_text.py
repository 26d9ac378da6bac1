"""`sluice status`, for people. It takes plain data, so that it need not import what asks a cluster."""

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sluice.api.base import Json
from sluice.cli import stream_text

MOST = 20
"""Holders and Stalled policies that are shown unless all are asked for."""
_LONGEST = 200
"""Characters of why a policy is Stalled: it may say 2,048."""


def show(found: Json, out: Console, most: int | None = MOST) -> None:
    _show_leader(found, out)
    for condition in found["conditions"]:
        is_well = condition["status"] == "True"
        mark, style = ("+", "green") if is_well else ("-", "red")
        since = condition["lastTransitionTime"]
        out.print(
            Text.assemble(
                (f"{mark} {condition['type']}", style),
                f" {condition['status']} since {since}: {condition['message']}",
            )
        )
    counted = ", ".join(f"{count} {phase}" for phase, count in found["jobs"].items())
    out.print(f"Jobs: {counted or 'none'}")
    _show_policies(found, out, most)
    _show_holding(found["holding"], out, most)
    _show_paused(found["paused"], out, most)
    _show_retrying(found["retrying"], out, most)
    _show_unexplained(found["unexplained"], out, most)
    if found["problems"]:
        out.print()
        out.print("What is wrong", style="bold")
        for problem in found["problems"]:
            out.print(f"! {problem}", style="yellow", soft_wrap=True)


def _show_leader(found: Json, out: Console) -> None:
    name = f"{found['deployment']} in {found['namespace']}"
    if found["leader"] is None:
        out.print(Text.assemble((name, "bold"), ": ", ("nobody leads", "red")))
        return
    epoch = "" if found["epoch"] is None else f", epoch {found['epoch']}"
    age = found["renewedSecondsAgo"]
    renewed = "" if age is None else f", renewed {age:.0f} s ago"
    out.print(Text.assemble((name, "bold"), f": {found['leader']} leads{epoch}{renewed}"))


def _show_unexplained(unexplained: list[Json], out: Console, most: int | None) -> None:
    columns = ("UNEXPLAINED LEASE", "JOB", "TABLES")
    _show_table(
        columns, unexplained, lambda one: (one["holder"], one["job"], ", ".join(one["tables"])), out, most
    )


def _show_policies(found: Json, out: Console, most: int | None) -> None:
    if found["policiesNotSeen"] is not None:
        out.print(f"Policies: not seen: {found['policiesNotSeen']}", soft_wrap=True)
        return
    counted = ", ".join(f"{count} {condition}" for condition, count in found["policies"].items())
    out.print(f"Policies: {counted or 'none'}")
    columns = ("STALLED POLICY", "REASON", "WHY")
    stalled = found["stalledPolicies"]
    _show_table(columns, stalled, lambda one: (one["policy"], one["reason"], _cut(one["message"])), out, most)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _show_holding(holding: list[Json], out: Console, most: int | None) -> None:
    some_tell = any(one["progress"] or one["stream"] for one in holding[:most])

    def row(one: Json) -> Sequence[str]:
        told = [_how_far(one)] if some_tell else []
        return one["job"], one["phase"], _attempt(one), ", ".join(one["tables"]), *told

    columns = ("HOLDS", "PHASE", "ATTEMPT", "TABLES", *(["PROGRESS"] if some_tell else []))
    _show_table(columns, holding, row, out, most)


def _show_paused(paused: list[Json], out: Console, most: int | None) -> None:
    def row(one: Json) -> Sequence[str]:
        progress = "" if one["stream"] is None else stream_text.progress(one["stream"])
        return one["job"], stream_text.pause(one["pause"] or {}), progress

    _show_table(("PAUSES", "WHY", "PROGRESS"), paused, row, out, most)


def _show_retrying(retrying: list[Json], out: Console, most: int | None) -> None:
    columns = ("RETRIED", "FAILED ATTEMPT", "QUEUES AT")
    _show_table(columns, retrying, lambda one: (one["job"], _attempt(one), one["at"] or ""), out, most)


def _show_table(
    columns: Iterable[str],
    found: list[Json],
    row: Callable[[Json], Sequence[str]],
    out: Console,
    most: int | None,
) -> None:
    if not found:
        return
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for one in found[:most]:
        table.add_row(*row(one))
    out.print(table)
    if most is not None and len(found) > most:
        out.print(f"and {len(found) - most} more; --all shows them")


def _attempt(one: Json) -> str:
    return "" if one["attempt"] is None else str(one["attempt"])


def _how_far(one: Json) -> str:
    if one["stream"] is None:
        return _progress(one["progress"])
    asked = "" if one["pause"] is None else f"{stream_text.pause(one['pause'])}; "
    return asked + stream_text.progress(one["stream"])


def _progress(progress: Json | None) -> str:
    if progress is None:
        return ""
    last = progress.get("lastCommit")
    committed = f", committed version {last['version']} of {last['table']}" if last is not None else ""
    return f"{progress['statement']} of {progress['of']}: {progress['operation']} since {progress['since']}{committed}"
