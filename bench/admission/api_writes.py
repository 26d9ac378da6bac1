"""What was written to an API server, by its own count: `apiserver_request_total` of its metrics."""

import re
from collections import Counter
from collections.abc import Iterable

WRITING = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE"})
COUNTED = frozenset({"deltawritejobs", "sparkapplications", "pods", "events"})
"""Leases are not counted: the API server writes some of its own, and one every few seconds is no cost of a job."""
EVENTS = "POST events"
REFUSED = 400

_SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def write_of(verb: str, resource: str, subresource: str = "") -> str:
    """Names a write, such as `PATCH deltawritejobs/status`."""
    return f"{verb} {resource}" + (f"/{subresource}" if subresource else "")


def writes_in(metrics: str) -> Counter[str]:
    """Counts the writes that the API server accepted, and separately those that it refused."""
    found: Counter[str] = Counter()
    for sample in _SAMPLE.finditer(metrics):
        labels = dict(_LABEL.findall(sample["labels"]))
        if labels["verb"] not in WRITING or labels["resource"] not in COUNTED:
            continue
        what = write_of(labels["verb"], labels["resource"], labels.get("subresource", ""))
        refused = int(labels["code"]) >= REFUSED
        found[f"{what}, refused with {labels['code']}" if refused else what] += round(float(sample["value"]))
    return found


def writes_between(before: Counter[str], after: Counter[str], own: Counter[str]) -> Counter[str]:
    """Counts the writes of everybody but the caller, who counted its own."""
    return +Counter({what: after[what] - before[what] - own[what] for what in after})


def but_events(writes: Counter[str]) -> int:
    return sum(count for what, count in writes.items() if not is_event(what))


def events(writes: Counter[str]) -> int:
    return sum(count for what, count in writes.items() if is_event(what))


def is_event(what: str) -> bool:
    return what.split(",", maxsplit=1)[0] == EVENTS


def shares(writes: Counter[str], units: int) -> dict[str, float]:
    """Counts per unit, the most frequent first."""
    return {what: count / max(units, 1) for what, count in _ordered(writes.items())}


def _ordered(items: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(items, key=lambda item: (-item[1], item[0]))
