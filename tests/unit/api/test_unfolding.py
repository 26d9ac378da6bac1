"""Files whose few lines stand for more than any machine can walk through, as both readers of manifests take them."""

from collections.abc import Callable

import pytest

from sluice.api.manifests import InvalidManifest, documents
from sluice.api.unfolding import MOST_DIGITS, MOST_SHARED
from sluice.offline.manifests import Documents, read_text


def _kubectls(text: str) -> list[str]:
    try:
        list(documents(text))
    except InvalidManifest as error:
        return list(error.problems)
    return []


def _plans(text: str) -> list[str]:
    read = Documents()
    read_text(text, "file", read)
    return [str(trouble) for trouble in read.troubles]


both = pytest.mark.parametrize("troubles_of", [_kubectls, _plans])
TroublesOf = Callable[[str], list[str]]


def _folded(times: int, *, merged: bool) -> str:
    lines = ["a0: &a0 {x: 1}" if merged else "a0: &a0 [x]"]
    for level in range(times):
        aliases = ",".join([f"*a{level}"] * 10)
        lines.append(f"a{level + 1}: &a{level + 1} " + (f"{{<<: [{aliases}]}}" if merged else f"[{aliases}]"))
    return "\n".join(lines)


@both
@pytest.mark.parametrize("merged", [True, False])
def test_aliases_of_aliases_that_grow_without_end_are_refused_at_once(
    troubles_of: TroublesOf, *, merged: bool
) -> None:
    (trouble,) = troubles_of(_folded(20, merged=merged))
    assert f"its aliases add more than {MOST_SHARED:,} values" in trouble
    assert "line 6" in trouble


@both
@pytest.mark.parametrize("merged", [True, False])
def test_aliases_that_add_little_are_taken(troubles_of: TroublesOf, *, merged: bool) -> None:
    assert troubles_of(_folded(3, merged=merged)) == []


@both
def test_a_large_file_without_aliases_is_taken(troubles_of: TroublesOf) -> None:
    assert troubles_of("a: [" + "x, " * (MOST_SHARED + 1) + "]") == []


@both
def test_what_contains_itself_is_refused(troubles_of: TroublesOf) -> None:
    (trouble,) = troubles_of("a: &a\n  b: [*a]\n")
    assert "stands for itself" in trouble


@both
@pytest.mark.parametrize("written", ["9{}", "0x{}f", "-{}1"])
def test_a_number_that_python_cannot_write_is_refused(troubles_of: TroublesOf, written: str) -> None:
    (trouble,) = troubles_of("a: " + written.format("9" * MOST_DIGITS * 5))
    assert "digits: no field takes one" in trouble
    assert troubles_of("a: " + written.format("9" * 20)) == []


def test_what_is_nested_too_deeply_to_be_read_is_refused() -> None:
    (problem,) = _kubectls("a: " + "[" * 5000 + "]" * 5000)
    assert problem == "it is nested too deeply to be read"
