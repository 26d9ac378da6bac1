"""A process reads of a long spec what the operator itself would read."""

import pickle
from typing import cast

import pytest

from sluice.api.base import Json
from sluice.engines import RuntimeProfile
from sluice.footprint import JobFootprint, NotUnderstoodError
from sluice.lifecycle.spec.compiled_spec import CompiledSpec
from sluice.lifecycle.spec.read_requests import (
    AS_LONG_AGAIN,
    READ_AT_ONCE,
    SpecAnswer,
    SpecQuestion,
    reader,
    takes_long_to_read,
    weight_of,
)
from sluice.predicates import Table
from sluice.tables import Names, TableFacts, key_of_path

PROFILES = {"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")}
LAKE = "s3://lake/t"
FACTS = {
    key_of_path(LAKE): TableFacts(Table.of({"id": "bigint", "day": "date"}, ["day"]), properties={"a": "b"})
}
ERASES = "; ".join(
    f"DELETE FROM delta.`{LAKE}` WHERE day = DATE '2026-11-28' AND id = {n}" for n in range(40)
)


def answer(question: SpecQuestion) -> SpecAnswer:
    """As it comes back from the process."""
    return cast("SpecAnswer", _sent(reader()(_sent(question))))


def _sent(message: object) -> object:
    return pickle.loads(pickle.dumps(message))  # noqa: S301 - what was packed just now


@pytest.mark.parametrize("with_facts", [False, True])
@pytest.mark.parametrize(
    "spec",
    [
        {"sql": ERASES},
        {"sql": f"MERGE INTO delta.`{LAKE}` t USING s ON t.id = s.id WHEN MATCHED THEN DELETE"},
        {
            "sql": f"INSERT INTO delta.`{LAKE}` VALUES (1, :day)",
            "parameters": {"day": {"date": "2026-11-28"}},
        },
        {"sql": f"DELETE FROM delta.`{LAKE}` WHERE id = rand()"},
        {"write": {"table": {"path": LAKE}, "mode": "Append", "source": {"sql": "SELECT 1 AS id"}}},
    ],
)
def test_the_answer_is_what_the_operator_would_have_read_itself(spec: Json, *, with_facts: bool) -> None:
    work = CompiledSpec(spec, PROFILES, "etl")
    names = Names() if with_facts else None
    facts = FACTS if with_facts else {}
    found = answer(SpecQuestion(spec, PROFILES, "etl", names, facts, facts))
    itself = work.footprint_with_facts(names, facts, facts) if names is not None else work.footprint_from_spec
    assert isinstance(found.footprint, JobFootprint)
    assert found.footprint == itself
    assert found.footprint.identity == itself.identity
    assert [one.facts for one in found.footprint.tables] == [one.facts for one in itself.tables]
    assert found.unrepeatable == work.unrepeatable


def test_the_answer_has_what_takes_the_operator_long_to_work_out() -> None:
    found = answer(SpecQuestion({"sql": ERASES}, PROFILES, "etl", Names(), FACTS, FACTS)).footprint
    assert isinstance(found, JobFootprint)
    itself = CompiledSpec({"sql": ERASES}, PROFILES, "etl").footprint_with_facts(Names(), FACTS, FACTS)
    assert vars(found)["fingerprint"] == itself.fingerprint
    assert all("as_one" in vars(part) for group in vars(found)["groups"] for part in (group, *group.parts))


def test_equal_specs_are_read_once_with_what_is_known_of_their_tables() -> None:
    """Ten scripts that erase one person after another took the process ten times as long as one."""
    reads, footprints = reader(), []
    for _ in range(2):
        asked = SpecQuestion({"sql": ERASES}, PROFILES, "etl", Names(), FACTS, FACTS)
        footprints.append(cast("SpecAnswer", reads(_sent(asked))).footprint)
    assert footprints[0] is footprints[1]


@pytest.mark.parametrize(
    "spec", [{"sql": "DELETE FORM t"}, {"sql": 7}, None, {"sql": "SELECT 1", "runtimeRef": "no"}]
)
def test_what_is_not_understood_is_answered_with_the_same_words(spec: Json) -> None:
    with pytest.raises(NotUnderstoodError) as itself:
        _ = CompiledSpec(spec, PROFILES, "etl").footprint_from_spec
    found = answer(SpecQuestion(spec, PROFILES, "etl")).footprint
    assert isinstance(found, NotUnderstoodError)
    assert found.problems == itself.value.problems


def test_a_question_is_the_same_only_while_the_spec_and_all_that_is_known_are() -> None:
    names = Names()
    asked = SpecQuestion({"sql": ERASES}, PROFILES, "etl", names, FACTS, FACTS)
    assert asked.asks_the_same(
        SpecQuestion({"sql": ERASES}, PROFILES, "etl", names, dict(FACTS), dict(FACTS))
    )
    for other in (
        SpecQuestion({"sql": "SELECT 1"}, PROFILES, "etl", names, FACTS, FACTS),
        SpecQuestion({"sql": ERASES}, dict(PROFILES), "etl", names, FACTS, FACTS),
        SpecQuestion({"sql": ERASES}, PROFILES, "etl", names, {}, FACTS),
        SpecQuestion({"sql": ERASES}, PROFILES, "etl", names, FACTS, {}),
        SpecQuestion({"sql": ERASES}, PROFILES, "etl"),
    ):
        assert not asked.asks_the_same(other)


def test_values_sources_and_views_weigh_more_than_their_characters() -> None:
    plain = weight_of({"sql": "SELECT c " * 100})
    assert weight_of({"sql": "(1),(2),(" * 100}) > 2 * plain
    assert weight_of({"sql": "FROM s fr " * 90}) > 2 * plain
    assert weight_of({"sql": "SELECT c " * 100 + "VIEW"}) > 2 * plain
    assert weight_of({"sql": "d < current_date() " * 50}) > 2 * plain


def test_long_specs_and_those_held_against_many_columns_are_for_a_process() -> None:
    assert not takes_long_to_read(READ_AT_ONCE)
    assert takes_long_to_read(READ_AT_ONCE + 1)
    assert not takes_long_to_read(READ_AT_ONCE // 2, AS_LONG_AGAIN)
    assert takes_long_to_read(READ_AT_ONCE // 2 + 1, AS_LONG_AGAIN)
    assert takes_long_to_read(120, 10_000)
    assert takes_long_to_read(weight_of({"sql": "*," * 200}))
    assert not takes_long_to_read(weight_of({"sql": "c," * 200}))
