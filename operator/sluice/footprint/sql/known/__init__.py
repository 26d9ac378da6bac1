"""The settings and functions that each supported Spark has, together with its Delta.

The files beside this one are Spark's own answers, written by a program among the contract tests, which also check
them against Spark. They are never edited by hand.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Version = tuple[int, int]
"""A version of Spark: major, minor."""

VERSIONS: tuple[Version, ...] = ((3, 5), (4, 2))
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class KnownSetting:
    static: bool
    """Whether it is read when Spark starts, so that no session can change it."""
    default: str


def version_of(text: str) -> Version | None:
    """Major and minor number of a version as people write it, such as 4.2.0."""
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
    """The kind of each function by its lower-cased name: scalar, aggregate, window, generator (makes rows and
    columns), or table (only after FROM)."""
    return {name.lower(): kind for name, kind in _lines(functions_file(version))}


def _lines(file: str) -> Iterator[list[str]]:
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        yield line.split("\t")
