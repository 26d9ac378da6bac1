"""What each supported Spark, with the Delta that goes with it, calls its own: its settings and its functions.

The files beside this are Spark's own answers, written down by a program among the contract tests, which also hold
them against Spark. Nobody edits them by hand.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Version = tuple[int, int]
"""Of Spark: major, minor."""

VERSIONS: tuple[Version, ...] = ((3, 5), (4, 2))
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class KnownSetting:
    static: bool
    """It is read when Spark starts; no session can change it."""
    default: str


def version_of(text: str) -> Version | None:
    """Major and minor of a version as people write it, such as 4.2.0."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return None if found is None else (int(found[1]), int(found[2]))


def settings_file(version: Version) -> str:
    return f"settings-{version[0]}.{version[1]}.tsv"


def functions_file(version: Version) -> str:
    return f"functions-{version[0]}.{version[1]}.tsv"


@cache
def settings_of(version: Version) -> Mapping[str, KnownSetting]:
    return {
        name: KnownSetting(static == "static", default)
        for name, static, default in _lines(settings_file(version))
    }


@cache
def functions_of(version: Version) -> Mapping[str, str]:
    """By lower-cased name the kind: scalar, aggregate, window, generator (rows and columns of its own), or table (stands
    after FROM only)."""
    return {name.lower(): kind for name, kind in _lines(functions_file(version))}


def _lines(file: str) -> Iterator[list[str]]:
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        yield line.split("\t")
