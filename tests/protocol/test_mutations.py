"""A model that can't fail is worthless: each step of the protocol, taken out, breaks what it is there for."""

from dataclasses import fields, replace
from typing import Any

import pytest

from protocol import document, mutations
from protocol.design import Design
from protocol.grants.scenarios import Grants
from protocol.mutations import Mutation, without
from protocol.search import Model, Tell, explore

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    "mutation", mutations.ALL, ids=lambda m: f"without {' and '.join(m.taken_out)}, {m.so}"
)
def test_a_step_taken_out_breaks_what_it_is_there_for(mutation: Mutation, tell: Tell) -> None:
    model: Model[Any] = mutation.model
    result = explore(model)
    tell(f"without {', '.join(mutation.taken_out)}", result)
    example = result.counter_example
    assert example is not None, f"{mutation.scenario.name}: nothing breaks without {mutation.taken_out}"
    assert example.invariant == mutation.breaks, str(example)
    document.assert_tells(document.STEPS, document.step_row(mutation, example))
    trace = iter(example.trace)
    for telling in mutation.telling:  # in this order: `trace` is one iterator
        assert any(telling in step for step in trace), (
            f"'{telling}' is missing, or out of order, in\n{example}"
        )


@pytest.mark.parametrize(
    ("step", "scenario"),
    [(step, scenario) for step, scenario, _ in mutations.REDUNDANT],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_redundant_step_is_known_to_be_one(step: str, scenario: Grants) -> None:
    result = explore(replace(scenario, design=without(scenario.design, step)))
    assert result.counter_example is None, f"{step} isn't redundant: name it among the mutations\n{result}"


def test_every_step_of_the_design_has_been_taken_out() -> None:
    taken_out = {step for mutation in mutations.ALL for step in mutation.taken_out}
    taken_out |= {step for step, _, _ in mutations.REDUNDANT}
    assert taken_out == {field.name for field in fields(Design)}


@pytest.mark.parametrize("table", [*document.TABLES, document.STEPS])
def test_the_documents_tables_have_a_row_for_each_search_and_no_other(table: str) -> None:
    rows = [row for row in document.block(table)[2:] if not row.startswith("| **all** |")]
    expected = document.expected_cells(table)
    assert len(rows) == len(expected)
    assert all(row.startswith(cell) for row, cell in zip(rows, expected, strict=True)), rows
