"""Measures anew and writes the tables of docs/protocol.md: `PYTHONPATH=tests python -m protocol.report [--long]`.

`--long` measures the deeper bounds only, which takes some minutes; without it everything else.
"""

import sys
from typing import Any

from protocol import document, mutations
from protocol.grants.scenarios import Grants
from protocol.pauses.scenarios import Pauses
from protocol.runs.scenarios import Runs
from protocol.search import CounterExample, Model, Result, explore


def scenarios(models: tuple[Grants | Runs | Pauses, ...]) -> list[str]:
    rows = list(document.SCENARIO_HEAD)
    states, seconds = 0, 0.0
    for model in models:
        result = searched(model)
        assert result.counter_example is None, str(result)
        rows.append(f"{document.scenario_row(model, result)} {result.seconds:.1f} |")
        states, seconds = states + result.states, seconds + result.seconds
    return [*rows, f"| **all** | | **{states:,}** | | | **{seconds:.0f}** |"]


def steps() -> list[str]:
    return [
        *document.STEP_HEAD,
        *(document.step_row(mutation, broken(mutation.model)) for mutation in mutations.ALL),
    ]


def broken(model: Grants | Runs | Pauses) -> CounterExample:
    example = searched(model).counter_example
    assert example is not None, f"nothing breaks in '{model.name}'"
    return example


def searched(model: Grants | Runs | Pauses) -> Result:
    searchable: Model[Any] = model
    result = explore(searchable)
    print(f"{model.name}: {result.summary}", flush=True)
    return result


def main(long: bool) -> None:
    blocks = {name: scenarios(models) for name, models in document.TABLES.items() if (name == "long") == long}
    if not long:
        blocks[document.STEPS] = steps()
    document.rewrite(blocks)


if __name__ == "__main__":
    main("--long" in sys.argv)
