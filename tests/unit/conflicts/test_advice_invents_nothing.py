"""No advice holds a value that isn't the jobs' own: a user who copies it would delete, match or promise other rows than meant.

All advice is collected: of footprints, of rules, what is tried for two jobs, and changed lines. The corpus is every statement that
real Delta was recorded with, and the example of every rule.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from contract.harness import truth
from generate.rulebooks import RULEBOOKS, Rulebook
from sluice.api.job import Operation
from sluice.conflicts import pair_of
from sluice.conflicts.advice_search import Budget, tried
from sluice.conflicts.rule import Rule
from sluice.footprint import JobFootprint
from sluice.footprint.statements.maintenance import hours_kept_by
from sluice.offline.advice import changes_of
from sluice.offline.files import read_files
from sluice.offline.workspace import workspace_of
from sluice.predicates import to_sql
from unit.conflicts.replayed import Row, jobs

EXAMPLES = Path(__file__).parents[3] / "examples"
_LITERAL = re.compile(
    r"(?<!\w)'(?:[^'\\]|\\.)*'|\b\d{4}-\d\d-\d\d|(?<![\w.:/])-?\d+(?:\.\d+)*(?![\w:/])|\b(?:TRUE|FALSE)\b"
)
_NO_VALUE = re.compile(r"<the job's [^>]*>|`[^`]*`|\b\d+ more\b|\(statements? [^)]*\)|sluice/\S+")
"""What only an author can fill in, names, and what is counted."""
_NARROWS = re.compile(r"\bAND\b|<the job's")


def literals(text: str) -> set[str]:
    return set(_LITERAL.findall(_NO_VALUE.sub(" ", text)))


def of_footprints(*found: JobFootprint) -> Iterator[str]:
    for job in found:
        for one in job.tables:
            yield from filter(None, (one.reads_advice, one.writes_advice, one.why_everywhere))


def of_pair(first: JobFootprint, second: JobFootprint) -> Iterator[str]:
    pair = pair_of(first, second)
    yield from filter(None, (pair.first_loses.advice, pair.second_loses.advice))
    yield from (one.words for one in tried(first, second, Budget(2_000)) or ())


def computed(*found: JobFootprint) -> set[str]:
    """The values that follow from what the jobs say: where they read and write, and how long a table keeps files."""
    values = literals(f"{hours_kept_by({}):g} 'interval {hours_kept_by({}):g} hours'")
    for one in (one for job in found for one in job.tables):
        for region in (one.reads, one.adds, one.removes):
            values |= literals(to_sql(region))
        if one.facts is not None:
            values |= literals(json.dumps(dict(one.facts.properties)))
    return values


@cache
def recorded() -> tuple[tuple[Row, JobFootprint, JobFootprint], ...]:
    """Each pair of texts once: races that differ in other things count once."""
    found: dict[str, tuple[Row, JobFootprint, JobFootprint]] = {}
    for one in jobs(truth.VERSIONS[-1]):
        found.setdefault(json.dumps([one[0][name] for name in ("first", "second", "table")]), one)
    return tuple(found.values())


def test_no_advice_on_recorded_statements_holds_a_value_of_nobody() -> None:
    collected = 0
    for row, first, second in recorded():
        own = literals(json.dumps(row))
        for advice in (*of_footprints(first, second), *of_pair(first, second)):
            collected += 1
            invented = literals(advice) - own - computed(first, second)
            assert not invented, f"{row['first']}, {row['second']}: {advice}"
    assert collected > 1_000


def test_no_delete_or_update_on_record_is_advised_to_have_one_more_condition() -> None:
    changes = [
        one
        for _, *pair in recorded()
        for job in pair
        for one in job.tables
        if one.operation in (Operation.DELETE, Operation.UPDATE)
    ]
    assert len(changes) > 500
    assert [one.reads_advice for one in changes if _NARROWS.search(str(one.reads_advice))] == []


@pytest.mark.parametrize(
    ("book", "rule"),
    [(book, rule) for book in RULEBOOKS for rule in book.rules],
    ids=lambda one: one.id if isinstance(one, Rule) else one.engine,
)
def test_no_advice_on_the_example_of_a_rule_holds_a_value_of_nobody(book: Rulebook, rule: Rule) -> None:
    first, second = book.jobs(rule.example)
    own = literals(json.dumps([rule.example.loser, rule.example.winner], default=dict))
    unknown = (replace(job, dialect=None) for job in (first, second))
    for advice in (*of_footprints(first, second), *of_pair(first, second), *of_pair(*unknown)):
        assert literals(advice) <= own | computed(first, second), advice


def test_no_line_that_is_advised_of_the_examples_holds_a_value_of_nobody() -> None:
    space = workspace_of(read_files([EXAMPLES]), read_files([]))
    lines = 0
    for one in space.jobs:
        own = literals(one.job.spec.model_dump_json()) | computed(one.footprint)
        for change in changes_of(one.job, one.footprint, space.knowledge):
            for text in (change.because, *(line.after for line in change.lines)):
                lines += 1
                assert literals(text) <= own, text
    assert lines
