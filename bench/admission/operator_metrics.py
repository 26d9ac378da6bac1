"""What the operator itself counted and measured in a stretch of time, by its own metrics."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

HISTOGRAMS = {
    "sluice_decision_seconds": "decision",
    "sluice_turn_seconds": "turn of the acting loop",
    "sluice_loop_lag_seconds": "changes waited for a turn",
}
"""Metrics that are shown, as far as this operator has them."""
WORK = "sluice_work_total"
SHARES = {"p50": 0.5, "p99": 0.99}


@dataclass(frozen=True)
class Said:
    """Values since the operator was started."""

    buckets: Mapping[str, Counter[float]] = field(default_factory=dict)
    """For each histogram, how often it was at most so many seconds."""
    counts: Counter[str] = field(default_factory=Counter)
    """What it did, by kind."""


def said_in(text: str) -> Said:
    buckets: dict[str, Counter[float]] = {}
    counts: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if family.name in HISTOGRAMS and sample.name.endswith("_bucket"):
                at_most = buckets.setdefault(family.name, Counter())
                at_most[float(sample.labels["le"])] += round(sample.value)
            elif sample.name == WORK:
                counts[sample.labels["kind"]] += round(sample.value)
    return Said(buckets, counts)


def together(said: Iterable[Said]) -> Said:
    """Adds up several operators."""
    buckets: dict[str, Counter[float]] = {}
    counts: Counter[str] = Counter()
    for one in said:
        counts.update(one.counts)
        for name, at_most in one.buckets.items():
            buckets.setdefault(name, Counter()).update(at_most)
    return Said(buckets, counts)


def between(before: Said, after: Said, units: int) -> dict[str, float]:
    """Values in milliseconds at most, as finely as the histograms' buckets are; and counts for each unit."""
    found: dict[str, float] = {}
    for name, what in HISTOGRAMS.items():
        if name in after.buckets:
            earlier = before.buckets.get(name, Counter())
            times = {at_most: count - earlier[at_most] for at_most, count in after.buckets[name].items()}
            for share, part in SHARES.items():
                found[f"{what}, ms, {share} at most"] = 1000 * _bound(times, part)
    for kind, count in after.counts.items():
        found[f"{kind.replace('_', ' ')} each"] = (count - before.counts[kind]) / max(units, 1)
    return found


def _bound(times: Mapping[float, int], share: float) -> float:
    """The smallest bound that at least this share do not exceed; nan if there are none."""
    number = times.get(math.inf, 0)
    if not number:
        return math.nan
    return min(at_most for at_most, count in times.items() if count >= share * number)
