"""docs/protocol.md as far as it tells what the searches found: the rows of its generated tables."""

import re
from pathlib import Path

from protocol import mutations
from protocol.grants import scenarios as grants
from protocol.grants.scenarios import Grants
from protocol.mutations import Mutation
from protocol.pauses import scenarios as pauses
from protocol.pauses.scenarios import Pauses
from protocol.runs import scenarios as runs
from protocol.runs.scenarios import Runs
from protocol.search import CounterExample, Result

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"

Scenario = Grants | Runs | Pauses

TABLES: dict[str, tuple[Scenario, ...]] = {
    "grants": grants.ALL,
    "runs": runs.ALL,
    "pauses": pauses.ALL,
    "long": (*grants.LONG, *runs.LONG, *pauses.LONG),
}
"""The tables of scenarios, each between two comments that bear its name."""
STEPS = "steps"

SCENARIO_HEAD = (
    "| scenario | faults | states | transitions | depth | CPU s |",
    "| --- | --- | ---: | ---: | ---: | ---: |",
)
STEP_HEAD = ("| step | taken out: | breaks | steps |", "| --- | --- | --- | ---: |")


def table_of(scenario: Scenario) -> str:
    return next(name for name, scenarios in TABLES.items() if scenario in scenarios)


def name_cell(model: Scenario) -> str:
    return f"| {model.name} |"


def scenario_row(model: Scenario, result: Result) -> str:
    """Returns a scenario's row without its duration, which differs in each run."""
    faults = ", ".join(
        f"{count} {fault.replace('_', ' ')}" for fault, count in model.budget._asdict().items() if count
    )
    faults = faults or "none"
    return f"{name_cell(model)} {faults} | {result.states:,} | {result.transitions:,} | {result.depth} |"


def step_cell(mutation: Mutation) -> str:
    return f"| {', '.join(f'`{step}`' for step in mutation.taken_out)} | {mutation.so} |"


def step_row(mutation: Mutation, example: CounterExample) -> str:
    return f"{step_cell(mutation)} {example.invariant} | {len(example.trace)} |"


def block(name: str) -> list[str]:
    """The lines between the two comments."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = _place(name, text)
    return text[begin:end].strip().splitlines()


def rewrite(blocks: dict[str, list[str]]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in blocks.items():
        begin, end = _place(name, text)
        text = "\n".join([text[:begin], "", *lines, "", text[end:]])
    PAGE.write_text(text, encoding="utf-8")


def _place(name: str, text: str) -> tuple[int, int]:
    found = list(re.finditer(rf"<!-- {name}: [^>]*-->(.*?)<!-- /{name} -->", text, flags=re.DOTALL))
    assert len(found) == 1, f"docs/protocol.md has {len(found)} tables between comments named {name}"
    return found[0].span(1)


def assert_tells(name: str, row: str) -> None:
    assert any(line.startswith(row) for line in block(name)), (
        f"docs/protocol.md doesn't have the row {row}: renew it by PYTHONPATH=tests python -m protocol.report"
    )


def expected_cells(name: str) -> list[str]:
    """What the rows of a table begin with, in order."""
    if name == STEPS:
        return [step_cell(mutation) for mutation in mutations.ALL]
    return [name_cell(model) for model in TABLES[name]]
