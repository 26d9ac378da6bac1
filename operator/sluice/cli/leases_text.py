"""`sluice leases list`, for people. It takes plain data, so that it need not import what asks a cluster."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from sluice.api.base import Json
from sluice.cli import outputs

MOST = 100
"""Leases that are shown unless all are asked for."""

_COLUMNS = ("JOB", "ATTEMPT", "STATE", "SINCE", "SEEN", "TOKEN", "TABLE", "KIND", "PARTITIONS")
_LONGEST = 60
"""Characters of what is held of a table: a predicate may have 4,096."""

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def show(found: Json, out: Console, now: datetime, most: int | None = MOST) -> None:
    leases = found["leases"]
    if not leases:
        out.print("no leases are held")
        return
    rows = [row for one in leases[:most] for row in _rows(one, now)]
    out.print("\n".join(_laid_out([_COLUMNS, *rows])), soft_wrap=True)
    if most is not None and len(leases) > most:
        out.print(f"and {len(leases) - most} more; --all shows them")
    counted = Counter(one["state"] for one in leases)
    how_many = "1 lease" if len(leases) == 1 else f"{len(leases)} leases"
    out.print(f"{how_many}: {', '.join(f'{count} {state}' for state, count in counted.items())}")
    for one in leases[:most]:
        for said in _remarks(one):
            out.print(f"! {one['job']}: {said}", style="yellow", soft_wrap=True)


def _rows(one: Json, now: datetime) -> Iterator[tuple[str, ...]]:
    of_lease = (
        one["job"],
        _text(one["attempt"]),
        one["state"],
        _age(one["since"], now),
        _age(one["lastSeen"], now),
        _text(one["token"]),
    )
    first, *others = [_of_table(each) for each in one["tables"]] or [("", "", "")]
    yield (*of_lease, *first)
    for other in others:
        yield (*[""] * len(of_lease), *other)


def _laid_out(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """One line for each row, however long, so that it can be searched; and in a fraction of the time that a table takes."""
    cells = [[outputs.shown(" ".join(cell.split())) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _of_table(table: Json) -> tuple[str, str, str]:
    statements = table["statements"]
    kinds = dict.fromkeys(one["operation"] for one in statements)
    held = dict.fromkeys(_partitions(one) for one in statements)
    return table["table"], ", ".join(kinds), _cut("; ".join(held))


def _partitions(statement: Json) -> str:
    """Where it reads or adds rows; false: nowhere, true: anywhere."""
    touched = [one for one in dict.fromkeys((statement["reads"], statement["writes"])) if one != "false"]
    held = "all" if "true" in touched else " or ".join(touched) or "none"
    return f"{held}, and its metadata" if statement["metadata"] else held


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _remarks(one: Json) -> list[str]:
    """What stands behind a state that asks for a person, and where the cluster and Redis do not agree."""
    remarks = list(one["differences"])
    if one["message"] and one["state"] in ("lost", "unreadable", "unexplained"):
        remarks.append(one["message"])
    if one["revoke"]:
        remarks.append(
            f"no object shows what became of it; once you know that its driver is dead: {one['revoke']}"
        )
    return remarks


def _text(value: int | None) -> str:
    return "?" if value is None else str(value)


def _age(at: str | None, now: datetime) -> str:
    """As kubectl has it: the two largest units are enough."""
    if at is None:
        return "?"
    seconds = max(0, int((now - datetime.fromisoformat(at)).total_seconds()))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
