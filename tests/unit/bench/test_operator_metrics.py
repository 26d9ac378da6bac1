"""What the bench reads in the operator's own metrics."""

import math

from bench.admission.operator_metrics import Said, between, said_in, together

from sluice.controller.process.metrics import DecisionOutcome, Metrics, WorkDone


def _after(*turns: float) -> Said:
    metrics = Metrics()
    for seconds in turns:
        metrics.turned(seconds)
    metrics.decided(DecisionOutcome.GRANTED)
    return said_in(metrics.text().decode())


def test_times_are_those_of_the_stretch_alone_and_told_as_the_bound_of_their_bucket() -> None:
    told = between(_after(9.0, 9.0, 9.0), _after(9.0, 9.0, 9.0, 0.003, 0.004, 0.3), units=1)
    assert told["turn of the acting loop, ms, p50 at most"] == 5.0
    assert told["turn of the acting loop, ms, p99 at most"] == 500.0
    assert math.isnan(told["changes waited for a turn, ms, p99 at most"])


def test_what_took_longer_than_every_bucket_is_not_told_as_less() -> None:
    assert between(Said(), _after(1e6), units=1)["turn of the acting loop, ms, p50 at most"] == math.inf


def test_operators_are_counted_together_and_one_that_did_not_answer_counts_nothing() -> None:
    said = together([_after(0.003), said_in(""), _after(0.3)])
    assert between(Said(), said, units=1)["turn of the acting loop, ms, p99 at most"] == 500.0


def test_counts_are_told_for_each_unit_also_where_nothing_was_counted() -> None:
    nothing, twelve = Metrics(), Metrics()
    nothing.count(WorkDone.TABLE_READS, lambda: 0)
    twelve.count(WorkDone.TABLE_READS, lambda: 12)
    before, after = (said_in(metrics.text().decode()) for metrics in (nothing, twelve))
    assert between(before, after, units=4)["table reads each"] == 3.0
    assert between(before, before, units=4)["table reads each"] == 0.0
