"""`sluice status`, for people. It takes plain data, so that it need not import what asks a cluster."""

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
    if not unexplained:
        return
    table = Table(box=None, pad_edge=False)
    for column in ("UNEXPLAINED LEASE", "JOB", "TABLES"):
        table.add_column(column, overflow="fold")
    for one in unexplained[:most]:
        table.add_row(one["holder"], one["job"], ", ".join(one["tables"]))
    out.print(table)
    _show_how_many_more(unexplained, out, most)


def _show_policies(found: Json, out: Console, most: int | None) -> None:
    if found["policiesNotSeen"] is not None:
        out.print(f"Policies: not seen: {found['policiesNotSeen']}", soft_wrap=True)
        return
    counted = ", ".join(f"{count} {condition}" for condition, count in found["policies"].items())
    out.print(f"Policies: {counted or 'none'}")
    stalled = found["stalledPolicies"]
    if not stalled:
        return
    table = Table(box=None, pad_edge=False)
    for column in ("STALLED POLICY", "REASON", "WHY"):
        table.add_column(column, overflow="fold")
    for one in stalled[:most]:
        table.add_row(one["policy"], one["reason"], _cut(one["message"]))
    out.print(table)
    _show_how_many_more(stalled, out, most)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _show_holding(holding: list[Json], out: Console, most: int | None) -> None:
    if not holding:
        return
    table = Table(box=None, pad_edge=False)
    some_tell = any(one["progress"] or one["stream"] for one in holding[:most])
    for column in ("HOLDS", "PHASE", "ATTEMPT", "TABLES", *(["PROGRESS"] if some_tell else [])):
        table.add_column(column, overflow="fold")
    for one in holding[:most]:
        attempt = "" if one["attempt"] is None else str(one["attempt"])
        told = [_how_far(one)] if some_tell else []
        table.add_row(one["job"], one["phase"], attempt, ", ".join(one["tables"]), *told)
    out.print(table)
    _show_how_many_more(holding, out, most)


def _show_paused(paused: list[Json], out: Console, most: int | None) -> None:
    if not paused:
        return
    table = Table(box=None, pad_edge=False)
    for column in ("PAUSES", "WHY", "PROGRESS"):
        table.add_column(column, overflow="fold")
    for one in paused[:most]:
        table.add_row(
            one["job"],
            stream_text.pause(one["pause"] or {}),
            "" if one["stream"] is None else stream_text.progress(one["stream"]),
        )
    out.print(table)
    _show_how_many_more(paused, out, most)


def _show_retrying(retrying: list[Json], out: Console, most: int | None) -> None:
    if not retrying:
        return
    table = Table(box=None, pad_edge=False)
    for column in ("RETRIED", "FAILED ATTEMPT", "QUEUES AT"):
        table.add_column(column, overflow="fold")
    for one in retrying[:most]:
        attempt = "" if one["attempt"] is None else str(one["attempt"])
        table.add_row(one["job"], attempt, one["at"] or "")
    out.print(table)
    _show_how_many_more(retrying, out, most)


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


def _show_how_many_more(shown: list[Json], out: Console, most: int | None) -> None:
    if most is not None and len(shown) > most:
        out.print(f"and {len(shown) - most} more; --all shows them")
