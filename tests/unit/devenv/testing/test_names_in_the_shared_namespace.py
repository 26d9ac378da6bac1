"""Tests that share an operator share its namespace: a job's name that two of them use fails whichever comes second, and by which
worker ran which test."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[3] / "integration" / "operator"
_SHARED = "shared"


def _tests_that_share() -> Iterator[tuple[str, ast.FunctionDef]]:
    for file in sorted(_TESTS.rglob("test_*.py")):
        for found in ast.walk(ast.parse(file.read_text())):
            if isinstance(found, ast.FunctionDef) and any(one.arg == _SHARED for one in found.args.args):
                yield f"{file.name}::{found.name}", found


def _applied(test: ast.FunctionDef) -> set[str]:
    """The names that it writes out where it creates jobs."""
    return {
        called.args[0].value
        for called in ast.walk(test)
        if isinstance(called, ast.Call)
        and isinstance(called.func, ast.Attribute)
        and called.func.attr == "apply"
        and isinstance(called.func.value, ast.Name)
        and called.func.value.id == _SHARED
        and called.args
        and isinstance(called.args[0], ast.Constant)
        and isinstance(called.args[0].value, str)
    }


def test_no_two_tests_in_the_shared_namespace_create_a_job_of_one_name() -> None:
    users = defaultdict[str, list[str]](list)
    for name, test in _tests_that_share():
        for job in _applied(test):
            users[job].append(name)
    if len(users) < 20:
        pytest.fail(f"found only {len(users)} jobs: the tests no longer look as this one expects")
    assert {job: tests for job, tests in users.items() if len(tests) > 1} == {}
