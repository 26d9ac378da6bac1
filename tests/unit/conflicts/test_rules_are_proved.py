"""What the page of conflict rules calls a rule's proof fails as soon as that rule is taken out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import product
from pathlib import PurePosixPath
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from generate.rulebooks import RULEBOOKS
from sluice.conflicts import Level, databricks, delta_rs, oss
from sluice.conflicts.rule import Rule, Ruling

_LAST_RESORTS: dict[Rule, Level] = {
    oss.disjoint: Level.MAY,
    delta_rs.disjoint: Level.MAY,
    databricks.undocumented: Level.NEVER,
}
"""What is said where no rule has anything to say; without them it is the opposite."""


def take_out(rule: Rule, patch: pytest.MonkeyPatch) -> None:
    opposite = Ruling(_LAST_RESORTS[rule], "taken out") if rule in _LAST_RESORTS else None
    patch.setitem(vars(rule), "decide", lambda _: opposite)


def cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Yields the arguments of each call that pytest would make."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    for chosen in product(*(_arguments(*mark.args[:2]) for mark in marks)):
        yield {name: value for given in chosen for name, value in given.items()}


def _arguments(names: str | Sequence[str], values: Iterable[object]) -> list[dict[str, Any]]:
    listed = names.split(",") if isinstance(names, str) else list(names)
    sets = (ParameterSet.extract_from(value, force_tuple=len(listed) == 1) for value in values)
    return [dict(zip(listed, one.values, strict=True)) for one in sets]


def fails(proof: str) -> bool:
    path, _, name = proof.partition("::")
    module = import_module(".".join(("unit", *PurePosixPath(path).with_suffix("").parts)))
    test: Callable[..., None] = getattr(module, name)
    for arguments in cases(test):
        try:
            test(**arguments)
        except AssertionError:
            return True
    return False


PROOFS = [
    pytest.param(rule, proof, id=f"{book.engine}-{rule.id}-{proof.rpartition('::')[2]}")
    for book in RULEBOOKS
    for rule in book.rules
    for proof in rule.proofs
]


@pytest.mark.parametrize(("rule", "proof"), PROOFS)
def test_a_proof_fails_without_its_rule(rule: Rule, proof: str, monkeypatch: pytest.MonkeyPatch) -> None:
    take_out(rule, monkeypatch)
    assert fails(proof), f"{proof} passes without the rule {rule.id}: it does not prove it"
