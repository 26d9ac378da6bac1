"""What the page of conflict rules calls a rule's proof fails as soon as that rule is taken out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import product
from pathlib import PurePosixPath
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from sluice.cli.rule_examples import EXAMPLES, Example, Rule
from sluice.conflicts import Level, Verdict, common, databricks, delta_rs, oss

_MODULES = {module.__name__: module for module in (common, oss, databricks, delta_rs)}
_LAST_RESORTS: dict[Rule, Level] = {
    oss.nothing_meets: Level.MAY,
    delta_rs.nothing_meets: Level.MAY,
    databricks.undocumented: Level.NEVER,
}
"""What is said where no rule has anything to say; without them it is the opposite."""


def take_out(rule: Rule, patch: pytest.MonkeyPatch) -> None:
    module = _MODULES[rule.__module__]
    for listed in ("RULES", "RULES_OF_FILES"):
        if rule in getattr(module, listed, ()):
            patch.setattr(module, listed, tuple(one for one in getattr(module, listed) if one is not rule))
    opposite = Verdict(_LAST_RESORTS[rule], "taken-out", "") if rule in _LAST_RESORTS else None
    patch.setattr(module, rule.__name__, lambda *_: opposite)


def cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """With which arguments pytest would call it."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    for chosen in product(*(_arguments(*mark.args[:2]) for mark in marks)):
        yield {name: value for given in chosen for name, value in given.items()}


def _arguments(names: str | Sequence[str], values: Iterable[object]) -> list[dict[str, Any]]:
    listed = names.split(",") if isinstance(names, str) else list(names)
    sets = (ParameterSet.extract_from(value, force_tuple=len(listed) == 1) for value in values)
    return [dict(zip(listed, one.values, strict=True)) for one in sets]


def fails(proof: str) -> bool:
    path, _, name = proof.partition("::")
    module = import_module(".".join(PurePosixPath(path).with_suffix("").parts[1:]))
    test: Callable[..., None] = getattr(module, name)
    for arguments in cases(test):
        try:
            test(**arguments)
        except AssertionError:
            return True
    return False


def named(example: Example, proof: str) -> str:
    return f"{example.rule.__module__.rpartition('.')[2]}.{example.rule.__name__}-{proof.rpartition('::')[2]}"


PROOFS = [
    pytest.param(example, proof, id=named(example, proof)) for example in EXAMPLES for proof in example.proof
]


@pytest.mark.parametrize(("example", "proof"), PROOFS)
def test_a_proof_fails_without_its_rule(
    example: Example, proof: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_out(example.rule, monkeypatch)
    assert fails(proof), f"{proof} passes without the rule {example.rule.__name__}: it does not prove it"
