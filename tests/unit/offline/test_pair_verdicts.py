"""What a plan says of each pair of jobs is what the oracle says of the two, however many jobs do the same, and none is left out."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from sluice.api.base import Json
from sluice.conflicts import PairOrder, pair_of
from sluice.conflicts.oracle import worst_for
from sluice.offline.api import Oracle
from sluice.offline.pair_verdicts import edges_between
from sluice.offline.pairs import perhaps_one

ORDERS, RETURNS, UNKNOWN = "delta.`s3://lake/orders`", "delta.`s3://lake/returns`", "sales.orders"
FACTS = [
    {
        "path": f"s3://lake/{name}",
        "schema": [{"name": "id", "type": "bigint"}, {"name": "date", "type": "date"}],
        "partitionColumns": ["date"],
        "logStore": "S3DynamoDB",
        "dialect": {"name": "oss", "version": "4.4.0"},
    }
    for name in ("orders", "returns")
]
ORACLE = Oracle(*FACTS)
DAYS = [f"DATE '2026-11-{day}'" for day in (19, 20)]
WORK: list[Json] = [
    *(
        {"sql": sql}
        for table in (ORDERS, RETURNS, UNKNOWN)
        for day in DAYS
        for sql in (
            f"INSERT INTO {table} SELECT id, {day} AS date FROM delta.`s3://lake/raw`",
            f"DELETE FROM {table} WHERE date = {day} AND id = 1",
            f"DELETE FROM {table} WHERE date = {day} AND id = 2",
            f"OPTIMIZE {table} WHERE date = {day}",
            f"MERGE INTO {table} t USING delta.`s3://lake/raw` s ON t.id = s.id AND t.date = {day} "
            f"WHEN MATCHED THEN UPDATE SET id = s.id",
            f"INSERT INTO {table} SELECT id, {day} AS date FROM {RETURNS}",
        )
    ),
    {"sql": f"VACUUM {ORDERS} RETAIN 0 HOURS"},
    {"sql": f"ALTER TABLE {RETURNS} ADD COLUMNS (note STRING)"},
    *(
        {
            "stream": {
                "source": {"format": "delta", "path": "s3://lake/orders"},
                "table": {"path": f"s3://lake/{target}"},
                "checkpoint": f"s3://lake/_checkpoints/{checkpoint}",
                "trigger": {"processingTime": "1 minute"},
            }
        }
        for target, checkpoint in (("returns", "a"), ("returns", "b"), ("elsewhere", "a"))
    ),
]
"""Some differ in what no verdict looks at."""


@given(st.lists(st.sampled_from(WORK), min_size=2, max_size=14))
def test_each_pair_is_judged_as_if_by_itself(work: list[Json]) -> None:
    jobs = [ORACLE.job(one, f"job-{number}") for number, one in enumerate(work)]
    expected = {}
    for first, second in combinations(range(len(jobs)), 2):
        mine, theirs = jobs[first].footprint, jobs[second].footprint
        pair = pair_of(mine, theirs)
        if pair.order is not PairOrder.ANY:
            worse = pair.first_loses.level >= pair.second_loses.level
            table = worst_for(mine, theirs)[0] if worse else worst_for(theirs, mine)[0]
            other = [key for key in perhaps_one(jobs[first], jobs[second]) or () if key != table]
            expected[first, second] = pair, str(table), str(other[0]) if other else None
    edges = list(edges_between(jobs))
    assert {(one.first, one.second): (one.pair, one.table, one.perhaps) for one in edges} == expected
    assert len(edges) == len(expected)
    assert edges == sorted(edges, key=lambda one: (one.first, one.second))


def test_some_of_these_jobs_conflict_and_some_do_not() -> None:
    jobs = [ORACLE.job(one, f"job-{number}") for number, one in enumerate(WORK)]
    pairs = len(jobs) * (len(jobs) - 1) // 2
    assert pairs / 10 < len(list(edges_between(jobs))) < pairs * 9 / 10
