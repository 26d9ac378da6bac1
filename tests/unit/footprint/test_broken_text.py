"""Whatever is wrong with a text, wherever it stands in a manifest, is said by one kind of error and never by a crash."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

import sluice
from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, footprint_of
from sluice.predicates import PredicateError, Session, Table, parse
from sluice.tables import TableFacts, key_of_name, key_of_path
from unit.footprint.broken_text import CONDITIONS, QUERIES, STATEMENTS, S, T, broken
from unit.footprint.streamed_queries import RUN

COLUMNS = {"id": "bigint", "d": "date", "r": "string", "n": "double", "st": "struct<a: int>"}
KNOWN = TableFacts(columns=Table.of(COLUMNS, ["d", "r"]))
FACTS = {key_of_path("/t"): KNOWN, key_of_path("/s"): KNOWN, key_of_name("a.b"): KNOWN}
PARAMETER: Json = {"parameters": {"day": {"date": "2026-11-19"}}}
SOURCE = {"source": {"format": "delta", "path": "/s"}, "checkpoint": "/c", "trigger": {"availableNow": True}}
DECLARED = {"table": {"path": "/t"}, "operation": "Update"}

PLACES: dict[str, tuple[list[str], Callable[[str], Json]]] = {
    "sql": (STATEMENTS, lambda text: {"sql": text}),
    "write.source.sql": (QUERIES, lambda text: {"write": {"table": {"path": "/t"}, "source": {"sql": text}}}),
    "write.replaceWhere": (
        CONDITIONS,
        lambda text: {
            "write": {
                "table": {"path": "/t"},
                "source": {"format": "json"},
                "mode": "Overwrite",
                "replaceWhere": text,
            }
        },
    ),
    "stream.sql": (STATEMENTS, lambda text: {"stream": {**SOURCE, "sql": text}}),
    "stream.query": (list(RUN), lambda text: {"stream": {**SOURCE, "table": {"path": "/t"}, "query": text}}),
    "writes": (CONDITIONS, lambda text: {"sql": f"INSERT INTO {T} SELECT * FROM {S}", "writes": [text]}),
    "footprint.reads": (
        CONDITIONS,
        lambda text: {"sql": "SELECT 1", "footprint": [{**DECLARED, "reads": text}]},
    ),
    "footprint.writes": (
        CONDITIONS,
        lambda text: {"sql": "SELECT 1", "footprint": [{**DECLARED, "writes": text}]},
    ),
    "a temporary view": (
        QUERIES,
        lambda text: {"sql": f"CREATE TEMP VIEW v AS {text}; INSERT INTO {T} SELECT * FROM v"},
    ),
}
EXAMPLES = 150


@pytest.mark.parametrize("place", PLACES)
def test_broken_text_in_a_manifest_is_understood_or_refused(place: str) -> None:
    corpus, manifest = PLACES[place]
    texts = broken(corpus, EXAMPLES, seed=len(place))
    outcomes = [_outcome(manifest(text) | (PARAMETER if ":day" in text else {})) for text in texts]
    assert {"understood", "refused"} <= set(outcomes)


@pytest.mark.parametrize("text", STATEMENTS)
def test_before_they_were_broken_they_were_understood(text: str) -> None:
    assert _outcome({"sql": text, **(PARAMETER if ":day" in text else {})}) == "understood"


def _outcome(manifest: Json) -> str:
    try:
        spec = DeltaWriteJobSpec.model_validate(manifest)
    except ValidationError:
        return "not a manifest"
    try:
        footprint_of(spec, {}, facts=FACTS)
    except NotUnderstoodError:
        return "refused"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {manifest}") from error
    return "understood"


def test_a_broken_condition_is_understood_or_refused() -> None:
    refused = 0
    for text in broken(CONDITIONS, 10 * EXAMPLES, seed=1):
        try:
            parse(text, KNOWN.columns, session=Session("UTC", ansi=True))
        except PredicateError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {text}") from error
    assert 0 < refused < 10 * EXAMPLES


@pytest.mark.parametrize(
    "text",
    [
        f"INSERT INTO {T} FROM AND (*",
        f"MERGE INTO {T} t USING {S} s ON t.id = s.id WHEN NOT AND s.op = 'd' THEN DELETE",
    ],
)
def test_what_made_a_parser_or_a_reader_fail_is_refused_with_its_place(text: str) -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": f"DELETE FROM {T};\n{text}"})
    with pytest.raises(NotUnderstoodError, match=r"statement 2, line 2"):
        footprint_of(spec, {}, facts=FACTS)


def test_one_module_calls_the_parser_which_throws_anything() -> None:
    root = Path(sluice.__file__).parent
    calls = re.compile(
        r"parse_one|parse_into|\.parser\(|\.tokenize\(|sqlglot\.parse|import parse\b.*sqlglot|Dialect\."
    )
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if calls.search(path.read_text())}
    assert found == {"predicates/syntax.py"}
