"""Files whose few lines stand for more than any machine can walk through."""

import pytest

from sluice.api.kubectl_yaml import MOST_DEEP
from sluice.api.manifests import Documents, read_text
from sluice.api.yaml_aliases import MOST_DIGITS, MOST_SHARED


def troubles_of(text: str) -> list[str]:
    read = Documents()
    read_text(text, "file", read)
    return [str(trouble) for trouble in read.troubles]


def _folded(times: int, *, merged: bool) -> str:
    lines = ["a0: &a0 {x: 1}" if merged else "a0: &a0 [x]"]
    for level in range(times):
        aliases = ",".join([f"*a{level}"] * 10)
        lines.append(f"a{level + 1}: &a{level + 1} " + (f"{{<<: [{aliases}]}}" if merged else f"[{aliases}]"))
    return "\n".join(lines)


@pytest.mark.parametrize("merged", [True, False])
def test_aliases_of_aliases_that_grow_without_end_are_refused_at_once(*, merged: bool) -> None:
    (trouble,) = troubles_of(_folded(20, merged=merged))
    assert f"its aliases add more than {MOST_SHARED:,} values" in trouble
    assert "line 6" in trouble


@pytest.mark.parametrize("merged", [True, False])
def test_aliases_that_add_little_are_taken(*, merged: bool) -> None:
    assert troubles_of(_folded(3, merged=merged)) == []


def test_a_large_file_without_aliases_is_taken() -> None:
    assert troubles_of("a: [" + "x, " * (MOST_SHARED + 1) + "]") == []


def test_what_contains_itself_is_refused() -> None:
    (trouble,) = troubles_of("a: &a\n  b: [*a]\n")
    assert "stands for itself" in trouble


@pytest.mark.parametrize("written", ["9{}", "0x{}f", "-{}1"])
def test_a_number_that_python_cannot_write_is_refused(written: str) -> None:
    (trouble,) = troubles_of("a: " + written.format("9" * MOST_DIGITS * 5))
    assert "digits: no field takes one" in trouble
    assert troubles_of("a: " + written.format("9" * 20)) == []


@pytest.mark.parametrize("times", [MOST_DEEP, 300_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}"), ('{"a": ', "}"), ("- ", "")])
def test_what_is_nested_too_deeply_is_refused_with_its_place(opening: str, closing: str, times: int) -> None:
    lead = "" if closing != "]" else "a: "
    (problem,) = troubles_of(lead + opening * (times + 1) + "1" + closing * (times + 1))
    assert f"nested more than {MOST_DEEP} levels" in problem
    assert "line 1, column" in problem


def test_what_is_nested_less_deeply_is_taken() -> None:
    assert troubles_of("a: " + "[" * 900 + "]" * 900) == []
