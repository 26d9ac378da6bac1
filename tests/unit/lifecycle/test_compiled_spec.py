"""A spec is read once, whatever becomes known of its tables, and its footprint is the one that reading it anew gives."""

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from sqlglot import exp

from sluice.api.job import DeltaWriteJobSpec
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError, footprint_of, texts_of
from sluice.footprint.sql import statement_context, statement_splitter
from sluice.lifecycle.spec.compiled_spec import CompiledSpec, CompiledSpecs
from sluice.predicates import Table
from sluice.tables import Names, TableFacts, key_of_path, unread
from unit.controller.bodies import PARTITIONED, UPDATE, job_body

ORDERS, RAW = key_of_path("/lake/orders"), key_of_path("/lake/raw")
PROFILES = {"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")}
COLUMNS = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}))
FACTS: tuple[Mapping[Any, TableFacts], ...] = (
    {},
    {ORDERS: PARTITIONED, RAW: COLUMNS},
    {ORDERS: COLUMNS},
    {ORDERS: unread("the store is down")},
)
SPECS: Mapping[str, dict[str, Any]] = {
    "update": {"sql": UPDATE},
    "delete": {"sql": "DELETE FROM delta.`/lake/orders` WHERE date = :day", "parameters": {"day": {"date": "2026-11-19"}}},
    "merge": {
        "sql": "MERGE INTO delta.`/lake/orders` t USING delta.`/lake/raw` s ON t.id = s.id AND t.date = DATE '2026-11-19' "
        "WHEN MATCHED THEN UPDATE SET id = s.id WHEN NOT MATCHED THEN INSERT (id, date) VALUES (s.id, DATE '2026-11-19')"
    },
    "views": {
        "sql": "CREATE TEMPORARY VIEW v AS SELECT id, date FROM delta.`/lake/raw` WHERE date > DATE '2026-11-18'; "
        "CACHE TABLE w AS SELECT * FROM v; INSERT INTO delta.`/lake/orders` SELECT * FROM w; "
        "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1 AS id; INSERT INTO delta.`/lake/orders` SELECT * FROM w"
    },
    "two targets": {
        "sql": "FROM delta.`/lake/raw` INSERT INTO delta.`/lake/orders` SELECT id, date WHERE date = DATE '2026-11-19' "
        "INSERT INTO delta.`/lake/others` SELECT id, date WHERE id = 1"
    },
    "made from a query": {"sql": "CREATE TABLE delta.`/lake/orders` USING delta AS SELECT id, date FROM delta.`/lake/raw`"},
    "optimize": {"sql": "OPTIMIZE delta.`/lake/orders` WHERE date = DATE '2026-11-19'"},
    "refused": {"sql": "UPDATE delta.`/lake/orders` SET nope = 1"},
    "write": {
        "write": {
            "table": {"path": "/lake/orders"},
            "mode": "Overwrite",
            "replaceWhere": "date = DATE '2026-11-19'",
            "source": {"sql": "SELECT id, DATE '2026-11-19' AS date FROM delta.`/lake/raw`;"},
        }
    },
    "stream": {
        "stream": {
            "source": {"format": "delta", "path": "/lake/raw"},
            "checkpoint": "/lake/checkpoint",
            "trigger": {"availableNow": True},
            "sql": "INSERT INTO delta.`/lake/orders` SELECT id, date FROM batch WHERE date = DATE '2026-11-19'",
        }
    },
}  # fmt: skip


def outcome(spec: DeltaWriteJobSpec, **more: Any) -> object:
    try:
        found = footprint_of(spec, {}, delta_version="4.4.0", **more)
    except NotUnderstoodError as error:
        return str(error)
    return found, found.ids_of_sources, [table.facts for table in found.tables]


@pytest.mark.parametrize("name", SPECS)
def test_texts_that_were_read_before_give_what_reading_them_anew_gives(name: str) -> None:
    spec = DeltaWriteJobSpec.model_validate(SPECS[name])
    texts = texts_of(spec)
    for facts in (*FACTS, *reversed(FACTS)):
        known = {"facts": facts, "sources": facts}
        assert outcome(spec, **known, texts=texts) == outcome(spec, **known)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a text was cut into tokens, and made a tree."""
    counted: Counter[str] = Counter()

    def counting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def counted_one(*given: Any) -> Any:
            counted[name] += 1
            return original(*given)

        return counted_one

    for module, name in (
        (statement_splitter, "tokens_of"),
        (statement_splitter, "statement_in"),
        (statement_context, "statement_in"),
    ):
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    return counted


def test_no_text_is_read_again_when_a_table_changes(parsed: Counter[str]) -> None:
    seen = ClusterCache(PROFILES)
    seen.job_seen(job_body("a"))
    assert seen.jobs["uid-a"].tables == (ORDERS,)
    for facts in (PARTITIONED, COLUMNS, unread("the store is down"), PARTITIONED):
        seen.table_seen(ORDERS, facts)
        assert seen.jobs["uid-a"].footprint.tables
        assert seen.jobs["uid-a"].whatever_its_tables_are.tables
    assert seen.jobs["uid-a"].spec_hash
    assert parsed == {"tokens_of": 1, "statement_in": 1}


def test_jobs_with_an_equal_spec_share_what_was_read(parsed: Counter[str]) -> None:
    seen = ClusterCache(PROFILES)
    seen.table_seen(ORDERS, PARTITIONED)
    for name in ("a", "b", "c"):
        seen.job_seen(job_body(name))
    first, *others = [seen.jobs[f"uid-{name}"].footprint for name in ("a", "b", "c")]
    assert all(other is first for other in others)
    assert parsed == {"tokens_of": 1, "statement_in": 1}
    seen.job_seen(job_body("d", sql=UPDATE.replace("19", "20")))
    assert seen.jobs["uid-d"].footprint is not first
    assert seen.jobs["uid-d"].spec_hash != seen.jobs["uid-a"].spec_hash


def test_what_is_refused_is_read_once_too(parsed: Counter[str]) -> None:
    seen = ClusterCache(PROFILES)
    for name in ("a", "b"):
        seen.job_seen(job_body(name, sql="DELETE delta.`/lake/orders` FROM"))
        for _ in range(2):
            with pytest.raises(NotUnderstoodError):
                seen.jobs[f"uid-{name}"].tables  # noqa: B018 - it is asked for
    assert parsed["tokens_of"] == 1


def test_an_equal_spec_under_other_profiles_is_read_by_itself() -> None:
    works, spec = CompiledSpecs(), job_body("a")["spec"]
    assert works.of(spec, PROFILES, "etl") is works.of(dict(spec), PROFILES, "etl")
    assert works.of(spec, dict(PROFILES), "etl") is not works.of(spec, PROFILES, "etl")


def test_specs_are_kept_up_to_a_number_of_characters() -> None:
    works = CompiledSpecs(most_characters=100)
    specs = [{"sql": f"{number}" * 30} for number in range(3)]
    first, second, third = (works.of(spec, PROFILES, "etl") for spec in specs)
    assert works.of(specs[2], PROFILES, "etl") is third
    assert works.of(specs[1], PROFILES, "etl") is second
    assert works.of(specs[0], PROFILES, "etl") is not first
    assert works.of(specs[1], PROFILES, "etl") is second
    assert works.of(specs[2], PROFILES, "etl") is not third


def test_an_equal_spec_with_a_run_key_is_another_run_in_another_namespace() -> None:
    works, spec = CompiledSpecs(), job_body("a")["spec"] | {"runKey": "daily"}
    assert works.of(spec, PROFILES, "etl") is works.of(spec, PROFILES, "etl")
    runs = [works.of(spec, PROFILES, name).footprint_from_spec.run for name in ("etl", "other")]
    assert runs == ["etl/daily", "other/daily"]


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({}, True),
        ({"priority": 5, "admission": {"timeout": "1h"}, "ttlSecondsAfterFinished": 5}, True),
        ({"runtime": {"sparkConf": {"spark.sql.shuffle.partitions": "2"}}}, True),
        ({"sql": UPDATE.replace("19", "20")}, False),
        ({"writes": ["date = DATE '2026-11-19'"]}, False),
    ],
    ids=["nothing", "how it waits", "how it is run", "sql", "promise"],
)
def test_a_run_stays_the_same_as_long_as_its_work_does(changed: dict[str, object], *, same: bool) -> None:
    works, spec = CompiledSpecs(), job_body("a")["spec"]
    hashes = [works.of(given, PROFILES, "etl").work_hash for given in (spec, spec | changed)]
    assert (hashes[0] == hashes[1]) is same


NAMES = Names()


def _asked(work: CompiledSpec, facts: Mapping[Any, TableFacts]) -> object:
    try:
        found = work.footprint_with_facts(NAMES, facts, facts)
    except NotUnderstoodError as error:
        return str(error)
    return found, found.ids_of_sources, [table.facts for table in found.tables]


@pytest.fixture
def uncollected() -> Iterator[Callable[[], int]]:
    """Counts the nodes of trees that there are, while nobody looks for cycles."""

    def nodes() -> int:
        return sum(isinstance(one, exp.Expr) for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        yield nodes
    finally:
        gc.enable()


@pytest.mark.parametrize("name", [name for name in SPECS if name != "refused"])
def test_the_trees_of_a_spec_that_is_kept_no_more_go_at_once(
    name: str, uncollected: Callable[[], int]
) -> None:
    works, before = CompiledSpecs(most_characters=1), uncollected()
    _asked(works.of(SPECS[name], PROFILES, "etl"), FACTS[1])
    gc.collect()  # what was made only to read them
    kept = uncollected()
    works.of({"sql": "OPTIMIZE delta.`/lake/orders`"}, PROFILES, "etl")
    assert kept > before or name == "optimize"
    assert uncollected() == before


@pytest.mark.parametrize("name", SPECS)
def test_who_still_asks_for_a_spec_that_is_kept_no_more_is_told_as_before(name: str) -> None:
    works, before, fresh = CompiledSpecs(most_characters=1), CompiledSpecs(), CompiledSpecs()
    work, kept = works.of(SPECS[name], PROFILES, "etl"), before.of(SPECS[name], PROFILES, "etl")
    assert _asked(work, FACTS[1]) == _asked(kept, FACTS[1])
    works.of({"sql": "OPTIMIZE delta.`/lake/orders`"}, PROFILES, "etl")
    for facts in FACTS:
        assert _asked(work, facts) == _asked(kept, facts)
    assert _asked(fresh.of(SPECS[name], PROFILES, "etl"), FACTS[1]) == _asked(work, FACTS[1])
