"""Whatever a stream is advised, its spec may say."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path

PATH = key_of_path("/lake/t")
T = "delta.`/lake/t`"
COLUMNS = {"id": "bigint", "v": "string", "day": "date"}
FACTS: dict[str, TableFacts | None] = {
    "nothing is known": None,
    "partitioned": TableFacts(columns=Table.of(COLUMNS, ["day"])),
    "in one piece": TableFacts(columns=Table.of(COLUMNS)),
}
WORK: dict[str, dict[str, Any]] = {
    "all rows": {"table": {"path": "/lake/t"}},
    "a query": {"table": {"path": "/lake/t"}, "query": "SELECT id, v, day FROM source"},
    "a join": {"table": {"path": "/lake/t"}, "query": "SELECT s.id, o.v, s.day FROM source s JOIN raw.o ON s.id = o.id"},
    "by name": {"table": {"name": "sales.t"}},
    "insert": {"sql": f"INSERT INTO {T} SELECT * FROM batch"},
    "insert by name": {"sql": "INSERT INTO sales.t SELECT * FROM batch"},
    "overwrite": {"sql": f"INSERT OVERWRITE {T} SELECT * FROM batch"},
    "replace": {"sql": f"INSERT INTO {T} REPLACE WHERE id > 1 SELECT * FROM batch"},
    "merge": {
        "sql": f"MERGE INTO {T} t USING batch s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    },
    "update": {"sql": f"UPDATE {T} SET v = 'x' WHERE id = 1"},
    "delete": {"sql": f"DELETE FROM {T} WHERE id = 1"},
}  # fmt: skip
_FIELD = re.compile(r"spec\.(\w+)")
_FOLLOWED: dict[str, Any] = {
    "footprint": [
        {
            "table": {"path": "/lake/t"},
            "operation": "Merge",
            "writes": "day = DATE '2026-11-19'",
            "reads": "false",
        }
    ],
    "parameters": {"day": {"date": "2026-11-19"}},
    "runtime": {"sparkConf": {"spark.x": "1"}},
}
"""Fields beside spec.stream that advice may name, with what one may say there."""


def spec(work: dict[str, Any], **beside: Any) -> DeltaWriteJobSpec:
    given = {
        "source": {"format": "kafka"},
        "checkpoint": "/checkpoints/t",
        "trigger": {"availableNow": True},
    }
    return DeltaWriteJobSpec.as_stored({"stream": given | work, **beside})


def footprint(found: DeltaWriteJobSpec, facts: TableFacts | None) -> JobFootprint:
    return footprint_of(found, {}, facts={} if facts is None else {PATH: facts}, delta_version="4.4.0")


def advised(found: JobFootprint) -> Iterator[str]:
    for one in found.tables:
        yield from filter(None, (one.reads_advice, one.writes_advice))


@pytest.mark.parametrize("known", FACTS)
@pytest.mark.parametrize("work", WORK)
def test_each_field_that_advice_names_may_stand_beside_a_stream(work: str, known: str) -> None:
    for advice in advised(footprint(spec(WORK[work]), FACTS[known])):
        for field in _FIELD.findall(advice):
            assert footprint(spec(WORK[work], **{field: _FOLLOWED[field]}), FACTS[known]).tables
        assert "replaceWhere" not in advice, "a batch is written by statements"


@pytest.mark.parametrize("work", ["all rows", "a query", "insert", "merge"])
def test_who_follows_the_advice_on_where_rows_land_touches_less(work: str) -> None:
    facts = FACTS["partitioned"]
    (before,) = footprint(spec(WORK[work]), facts).tables
    assert "spec.footprint[].writes" in str(before.writes_advice)
    (after,) = footprint(spec(WORK[work], footprint=_FOLLOWED["footprint"]), facts).tables
    assert before.adds.is_everything
    assert not after.adds.is_everything
    assert after.writes_advice is None


def test_a_promise_of_a_stream_is_refused() -> None:
    """Else the advice that others have could be given to it as well."""
    with pytest.raises(ValidationError, match="of a stream say in"):
        spec(WORK["insert"], writes=["day = DATE '2026-11-19'"])
