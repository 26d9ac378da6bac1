"""A rule's record names every exception that a loser may get by it, and no other: the page lists rules by exception."""

import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import TypeVar

import pytest

from generate import rules
from generate.by_statement import STATEMENTS
from generate.rulebooks import RULEBOOKS
from sluice.conflicts.oracle import worst_for
from sluice.conflicts.race import Race
from sluice.conflicts.rule import Example, ExampleJob, Rule, Ruling

RULES = [rule for book in RULEBOOKS for rule in book.rules]
JOBS: list[ExampleJob] = [
    *(job for rule in RULES for job in (rule.example.loser, rule.example.winner)),
    *STATEMENTS.values(),
]
TABLES = [(rule.example.partitioned, rule.example.table) for rule in RULES]
Value = TypeVar("Value")


def different(values: Iterable[Value]) -> list[Value]:
    return list({repr(value): value for value in values}.values())


def watched(
    decide: Callable[[Race], Ruling | None], given: set[str | None]
) -> Callable[[Race], Ruling | None]:
    def asked(race: Race) -> Ruling | None:
        ruling = decide(race)
        if ruling is not None:
            given.add(ruling.exception)
        return ruling

    return asked


def test_any_two_example_jobs_on_any_example_table_get_the_exceptions_that_the_records_name_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[Rule, set[str | None]] = {rule: set() for rule in RULES}
    for rule, exceptions in given.items():
        monkeypatch.setitem(vars(rule), "decide", watched(rule.decide, exceptions))
    for book, (partitioned, table) in product(RULEBOOKS, different(TABLES)):
        jobs = [book.jobs(Example(job, job, partitioned, table))[0] for job in different(JOBS)]
        for loser, winner in product(jobs, repeat=2):
            worst_for(loser, winner)
    named: dict[Rule, set[str | None]] = {rule: set(rule.exceptions) or {None} for rule in RULES}
    wrong = {(rule.id, *rule.exceptions): given[rule] for rule in RULES if given[rule] != named[rule]}
    assert wrong == {}


def test_the_page_lists_a_rule_under_each_of_its_exceptions() -> None:
    by_exception = rules.render().partition("## By exception")[2].partition("\n## ")[0]
    listed = [
        (exception, *link)
        for exception, links in re.findall(r"^\| `(\w+)` \| (.*) \|$", by_exception, re.MULTILINE)
        for link in re.findall(r"\[([^]]+)\]\(#[^)]+\) \(([^)]+)\)", links)
    ]
    named = [
        (exception, rule.id.replace("-", " ").capitalize(), book.engine)
        for book in RULEBOOKS
        for rule in book.rules
        for exception in rule.exceptions
    ]
    assert len(listed) > 30
    assert sorted(listed) == sorted(named)
