"""`import sluice`: small, light, and saying what the command line says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sluice
from sluice.conflicts import PairOrder
from unit.cli.folders import FACTS, MERGE_BY_SOURCE, ORDERS, PINNED_DELETE, job, write

_LOADS = """
import sys, sluice
sluice.plan, sluice.explain, sluice.history, sluice.Oracle
heavy = {"aiohttp", "deltalake", "kopf", "kubernetes", "pyspark", "redis", "rich", "typer"}
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
"""


def test_the_library_loads_nothing_but_the_base_install() -> None:
    source = str(Path(sluice.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", _LOADS], env={"PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_package_itself_loads_nothing() -> None:
    source = str(Path(sluice.__file__).parents[1])
    code = "import sys, sluice; print('pydantic' in sys.modules, 'sqlglot' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_jobs_are_compared_as_texts() -> None:
    oracle = sluice.Oracle(FACTS)
    delete, merge = oracle.job(PINNED_DELETE, "delete"), oracle.job({"sql": MERGE_BY_SOURCE}, "merge")
    found = oracle.pair(delete, merge)
    assert found.order is PairOrder.NONE
    assert found.remedies[0].helps_fully


def test_facts_with_a_name_and_a_path_are_about_one_table() -> None:
    oracle = sluice.Oracle(FACTS | {"name": "sales.orders"})
    by_name = oracle.job(PINNED_DELETE.replace(ORDERS, "sales.orders"), "by name")
    by_path, other_day = oracle.job(PINNED_DELETE), oracle.job(PINNED_DELETE.replace("19", "18"))
    assert oracle.pair(by_name, by_path).order is PairOrder.NONE
    assert oracle.pair(by_name, other_day).order is PairOrder.ANY
    assert by_name.footprint.keys == by_path.footprint.keys


def test_files_and_folders_are_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        facts=json.dumps(FACTS),
        a=job("a", PINNED_DELETE),
        b=job("b", PINNED_DELETE.replace("9", "8")),
    )
    assert sluice.plan(tmp_path).widest.exact
    explanation = sluice.explain(
        tmp_path / "a.yaml", str(tmp_path / "b.yaml"), tables=[tmp_path / "facts.yaml"]
    )
    assert explanation.pair.together


def test_what_cannot_be_used_is_a_value_error_that_says_where(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="job: statement 1"):
        sluice.Oracle().job(f"DELETE FROM {ORDERS} WHERE (")
    with pytest.raises(ValueError, match=r"spec.sqll"):
        sluice.Oracle().job({"sqll": "x"})
    with pytest.raises(ValueError, match=r"facts\[0\]: schema must be a list"):
        sluice.Oracle({"schema": 3})
    with pytest.raises(ValueError, match="no such file"):
        sluice.explain(tmp_path / "none.yaml")
    with pytest.raises(LookupError, match="_delta_log"):
        sluice.history(tmp_path)


def test_there_is_nothing_else_in_it() -> None:
    with pytest.raises(AttributeError, match="no attribute nonsense"):
        getattr(sluice, "nonsense")  # noqa: B009 - mypy knows better
