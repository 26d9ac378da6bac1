"""Every long test is in exactly one slice, on every machine the same; the table of slices tells what became of each."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from devenv import cli
from devenv.environment import Prepared
from devenv.errors import DevError, UsageError
from devenv.project import ROOT, TESTS
from devenv.testing import sections, slices
from devenv.testing.report import Report
from devenv.testing.results import Results
from devenv.testing.run import Run
from devenv.testing.sections import Section
from devenv.testing.slices import FULL_MINUTES, Slice, split

FAULTS = {f"tests/integration/faults/test_faults.py::test_it[part-{part}]": 12.0 for part in range(40)}
OTHERS = {f"tests/contract/test_{part % 30}.py::test_it[{part}]": 1 + part % 9 for part in range(90)}
MINUTES = {**FAULTS, **OTHERS}
ENOUGH = 34
PROJECT = """
import pytest

@pytest.mark.long(minutes=12)
@pytest.mark.parametrize("part", range(2))
def test_parts(part, record_property): record_property("faults", 250)

@pytest.mark.long
def test_minute(): pass

def test_moment(): assert False
"""
PAGE = "before\n<!-- slices: written by `./dev test --long --slice K/N` -->\n<!-- /slices -->\nafter\n"


@pytest.mark.parametrize("count", [1, 2, 3, 7, ENOUGH, 200])
def test_every_test_is_in_exactly_one_slice(count: int) -> None:
    found = split(MINUTES, count)
    assert len(found) == count
    assert Counter(test for tests in found for test in tests) == Counter(list(MINUTES))


def test_no_slice_takes_more_than_it_has_room_for() -> None:
    assert max(sum(map(MINUTES.__getitem__, tests)) for tests in split(MINUTES, ENOUGH)) <= FULL_MINUTES


def test_where_there_is_no_room_slices_are_equally_full() -> None:
    full = [sum(map(MINUTES.__getitem__, tests)) for tests in split(MINUTES, 4)]
    assert max(full) - min(full) <= max(MINUTES.values())


def test_the_order_of_the_collection_changes_nothing() -> None:
    shuffled = list(MINUTES)
    Random(1).shuffle(shuffled)  # noqa: S311 - not a secret
    assert split({test: MINUTES[test] for test in shuffled}, ENOUGH) == split(MINUTES, ENOUGH)


def test_a_new_test_moves_few_others() -> None:
    before = {test: place for place, tests in enumerate(split(MINUTES, ENOUGH)) for test in tests}
    after = split({**MINUTES, "tests/contract/test_new.py::test_it": 2.0}, ENOUGH)
    assert sum(before.get(test) != place for place, tests in enumerate(after) for test in tests) <= 5


@pytest.mark.parametrize("word", ["", "3", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/4/2", "1/99999"])
@pytest.mark.parametrize("joined", [True, False])
def test_what_is_no_slice_is_refused_with_what_to_write(
    word: str, joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("devenv.testing.commands.Prepared")
    words = [f"--slice={word}"] if joined else ["--slice", word]
    with pytest.raises(UsageError, match="Write --long --slice 3/"):
        cli.COMMANDS["test"](["--long", *words])


@pytest.mark.parametrize(
    "words", [["--slice", "1/2"], ["--long", "--slice"], ["--long", "--slice=1/2", "--slice=2/2"]]
)
def test_a_slice_is_one_part_of_the_long_tests(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("devenv.testing.commands.Prepared")
    with pytest.raises(UsageError, match="Write --long --slice 3/"):
        cli.COMMANDS["test"](words)


def test_a_slice_may_stand_among_the_other_options() -> None:
    words = ["--long", "-k", "faults", "--slice", "2/24", "-x"]
    assert slices.taken_from(words) == (Slice(2, 24), ["--long", "-k", "faults", "-x"])
    assert slices.taken_from(["--long", "-x"]) == (None, ["--long", "-x"])


def test_long_tests_are_listed_with_their_minutes_and_only_those_of_the_slice_run(
    prepared: Prepared, kept: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devenv.testing.watched.ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "tests" / "test_it.py").write_text(PROJECT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    minutes = slices.declared_minutes(prepared.variables(), tmp_path / "tests")
    first, second = (f"tests/test_it.py::test_parts[{part}]" for part in range(2))
    assert minutes == {first: 12, second: 12, "tests/test_it.py::test_minute": 1}
    section = Section("mixed", (("pytest", "tests", "-p", "no:cacheprovider"),)).part(["tests/test_it.py"])
    chosen = [second, "tests/test_it.py::test_minute"]
    (report,) = Run(prepared, kept, ["--long"], chosen).sections([section])
    assert report.failures == []
    assert report.passed == 2
    assert report.counts == {"faults": 250}
    (report,) = Run(prepared, kept, ["--long"], [*chosen, "tests/test_it.py::test_gone"]).sections([section])
    assert report.failures == ["1 chosen tests are not there, the first of them tests/test_it.py::test_gone"]


@pytest.mark.parametrize(
    "content", ["import what_is_not_there", "import pytest; pytest.importorskip('what_is_not_there')"]
)
def test_long_tests_that_cannot_be_listed_are_told(prepared: Prepared, tmp_path: Path, content: str) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_other.py").write_text("import pytest\n@pytest.mark.long\ndef test_it(): pass\n")
    (tmp_path / "test_it.py").write_text(f"{content}\n")
    with pytest.raises(DevError, match="what_is_not_there"):
        slices.declared_minutes(prepared.variables(), tmp_path)


def test_sections_are_narrowed_to_the_files_of_a_slice() -> None:
    tests = [
        "tests/integration/runner/test_a.py::test_it[x]",
        "tests/integration/faults/test_b.py::test_it[part-1]",
        "tests/integration/faults/test_b.py::test_it[part-2]",
    ]
    runner, integration = slices.narrowed(sections.choose([]), tests)
    assert (runner.name, runner.commands) == ("runner", (("pytest", "tests/integration/runner/test_a.py"),))
    assert integration.commands[0][:2] == ("pytest", "tests/integration/faults/test_b.py")
    assert slices.narrowed(sections.choose(["contract"]), tests) == []


def test_the_table_tells_the_last_run_of_each_slice_and_the_sums(tmp_path: Path) -> None:
    page = tmp_path / "testing.md"
    page.write_text(PAGE)
    reports = [Report("integration", passed=3, counts=Counter(faults=750)), Report("e2e", ran=False)]
    slices.note(Slice(1, 9), "old", "1 Nov 2026", slices.result_of(reports, 0, 60), page)
    slices.note(Slice(10, 24), "abc", "1 Nov 2026", slices.result_of(reports, 1, 600), page)
    slices.note(Slice(2, 24), "abc", "2 Nov 2026", slices.result_of(reports[:1], 0, 1800), page)
    slices.note(Slice(10, 24), "def and changes", "3 Nov 2026", slices.result_of(reports, 0, 600), page)
    slices.note(Slice(3, 24), "abc", "2 Nov 2026", slices.result_of(reports[:1], 1, 1800), page)
    assert page.read_text().splitlines() == [
        *PAGE.splitlines()[:2],
        "",
        "| slice | commit | date | result |",
        "| --- | --- | --- | --- |",
        "| 2/24 | abc | 2 Nov 2026 | passed: 3 tests, 30 minutes, 750 faults |",
        "| 3/24 | abc | 2 Nov 2026 | FAILED: 3 tests, 30 minutes, 750 faults |",
        "| 10/24 | def and changes | 3 Nov 2026 | passed without e2e: 3 tests, 10 minutes, 750 faults |",
        "",
        "2 of 24 slices have passed: 6 tests, 40 minutes, 1,500 faults.",
        "",
        *PAGE.splitlines()[2:],
    ]


def test_the_page_of_tests_has_the_table_and_names_each_file_with_long_tests() -> None:
    text = slices.PAGE.read_text(encoding="utf-8")
    begin, _, rest = text.partition("<!-- slices: written by `./dev test --long --slice K/N` -->\n")
    assert rest.count("<!-- /slices -->") == 1
    named = set(re.findall(r"^\| `([\w/]+\.py)`", begin.partition("## Long tests")[2], re.MULTILINE))
    marked = {
        file.relative_to(TESTS).as_posix()
        for folder in ("protocol", "contract", "integration", "e2e")
        for file in (TESTS / folder).rglob("test_*.py")
        if "mark.long" in file.read_text(encoding="utf-8")
    }
    assert named == marked


def test_all_long_tests_are_in_a_section() -> None:
    assert sections.section_of(ROOT / "tests/integration/runner/s3/test_x.py").name == "runner"
    assert sections.section_of(ROOT / "tests/integration/leases/test_x.py").name == "integration"
    with pytest.raises(DevError, match="No section runs"):
        sections.section_of(ROOT / "tests" / "test_x.py")


def calls_when_read(node: ast.AST) -> Iterator[str]:
    """What a module calls as soon as it is imported."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            yield inner.func.id
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from calls_when_read(inner)


def test_modules_ask_for_jars_only_once_a_test_runs_so_that_all_can_be_listed_without() -> None:
    for file in TESTS.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "import class_path" in text or "import spark_jars" in text:
            assert {"class_path", "spark_jars"}.isdisjoint(calls_when_read(ast.parse(text))), file
