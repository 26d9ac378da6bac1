"""The list of mutants is well-formed, and holds every mutant that a test seeds itself."""

import ast
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest

from contract.shapes import causes
from devenv.errors import DevError, UsageError
from devenv.mutants import listed
from devenv.mutants.listed import Mutant
from devenv.project import ROOT, TESTS
from devenv.testing import sections

MUTANTS = listed.read()
SEEDED = [mutant for mutant in MUTANTS if mutant.edit is None]


@cache
def _tests_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_edit_has_one_place() -> None:
    for mutant in MUTANTS:
        edit = mutant.edit
        if edit is None:
            continue
        changed = edit.applied((ROOT / edit.file).read_text(encoding="utf-8"))
        assert changed is not None, f"{mutant.id}: {edit.file} does not hold the text exactly once"
        assert edit.replacement != edit.text, mutant.id


def test_every_named_test_exists() -> None:
    known = [section.name for section in sections.all_sections()]
    for mutant in MUTANTS:
        file, _, name = mutant.test.partition("::")
        assert (ROOT / file).is_file(), mutant
        assert name.partition("[")[0] in _tests_in(file), mutant
        assert mutant.section in known, mutant
        assert mutant.says.endswith("."), mutant


@pytest.mark.parametrize("mutant", SEEDED, ids=lambda mutant: mutant.id)
def test_a_test_that_seeds_its_mutants_seeds_all_of_them(mutant: Mutant) -> None:
    assert mutant.each is not None
    module, _, name = mutant.each.partition(":")
    assert list(_parameters(mutant.test)) == list(getattr(import_module(module), name))


def test_every_cause_is_seeded() -> None:
    own = {
        name for name, one in vars(causes).items() if isfunction(one) and one.__module__ == causes.__name__
    }
    assert own == set(causes.CAUSES)


def test_an_area_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no area nowhere"):
        listed.read(["nowhere"])


def test_a_record_without_a_test_is_refused(tmp_path: Path) -> None:
    (tmp_path / "area.toml").write_text('[name]\nsays = "It breaks."\n', encoding="utf-8")
    with pytest.raises(DevError, match=r"Mutant area/name has the keys \['says'\]"):
        listed.read(folder=tmp_path)


def test_slices_part_the_list() -> None:
    slices = [listed.slice_of(MUTANTS, number, 3) for number in (1, 2, 3)]
    assert sorted(one.id for part in slices for one in part) == sorted(one.id for one in MUTANTS)
    assert max(map(len, slices)) - min(map(len, slices)) <= 1


def _parameters(test: str) -> Iterable[Any]:
    file, _, name = test.partition("::")
    module = ".".join((ROOT / file).relative_to(TESTS).with_suffix("").parts)
    function: Callable[..., None] = getattr(import_module(module), name)
    (mark,) = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
    parameters: Iterable[Any] = mark.args[1]
    return parameters
