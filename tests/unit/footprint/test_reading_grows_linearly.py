"""The time to read a job's texts grows no faster than the texts, however they grow."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import process_time

import pytest

from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, footprint_of, texts_of
from sluice.footprint.run_keys import unrepeatable
from sluice.lifecycle.spec.spec_hashes import SpecHashes
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path, oss
from unit.footprint.growing_texts import COLUMNS_OF_WIDE, GROWING

_FACTS = TableFacts(columns=Table.of({"id": "int", "d": "date", "s": "string"}, ["d"]), dialect=oss("4.4.0"))
_WIDE = TableFacts(
    columns=Table.of({f"c{number}": "int" for number in range(COLUMNS_OF_WIDE)}, ["c0"]), dialect=oss("4.4.0")
)
_KNOWN = {
    key_of_path("s3://lake/t"): _FACTS,
    key_of_path("s3://lake/s"): _FACTS,
    key_of_path("s3://lake/wide"): _WIDE,
}
_TIMES = 4
_AT_MOST = 6.0
"""The most that four times the text may take, in times of what the text takes; quadratic growth is sixteen times."""
_TRIES = 6
_TOO_FAST = 0.001
"""Seconds of CPU that are too few to be compared."""


def read(given: Json) -> None:
    """All that the operator reads of a spec on its event loop."""
    spec = DeltaWriteJobSpec.as_stored(given)
    texts = texts_of(spec)
    unrepeatable(texts.values())
    found = footprint_of(spec, {}, facts=_KNOWN, sources=_KNOWN, texts=texts)
    assert SpecHashes(spec, found.identity).now
    assert found.fingerprint


def seconds(given: Json) -> float:
    begun = process_time()
    with suppress(NotUnderstoodError):  # a refusal costs what was read until then
        read(given)
    return process_time() - begun


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """A collection looks at all that the whole run of tests has made."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", GROWING)
def test_four_times_the_text_takes_about_four_times_as_long(kind: str) -> None:
    size, text = GROWING[kind]
    small, large = text(size), text(_TIMES * size)
    least = most = float("inf")
    seconds(small)
    with without_garbage_collection():
        for _ in range(_TRIES):
            least, most = min(least, seconds(small)), min(most, seconds(large))
            if most <= _AT_MOST * max(least, _TOO_FAST):
                return
    pytest.fail(f"{_TIMES} times as many {kind} took {most / least:.1f} times as long: {most:.3f} seconds")
