"""The page of all conflict rules says what the rules do: each has an example that it decides itself, and tests that exist."""

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import sluice.conflicts
from generate import by_statement, rulebooks, rules
from generate.rulebooks import RULEBOOKS, Rulebook
from sluice.api.job import Operation
from sluice.api.job_status import Blocker
from sluice.conflicts import Level, Verdict, databricks, delta_rs, oracle, oss, stores_and_runs
from sluice.conflicts.rule import Example, Rule
from sluice.predicates import Session, Table, parse, reasons
from sluice_runner.retriable import CONFLICT_NAMES

ROOT = Path(__file__).parents[3]
LAST_RESORTS = (oss.disjoint, databricks.undocumented, delta_rs.disjoint)
ALL = [
    pytest.param(book, rule, id=f"{book.engine}-{rule.id}".replace(" ", "-"))
    for book in RULEBOOKS
    for rule in book.rules
]


def test_the_page_tells_of_every_rule_and_lists_every_id() -> None:
    modules = [
        import_module(f"sluice.conflicts.{one.name}") for one in iter_modules(sluice.conflicts.__path__)
    ]
    made = {one for module in modules for one in vars(module).values() if isinstance(one, Rule)}
    assert made == {rule for book in RULEBOOKS for rule in book.rules}
    page = rules.render()
    assert {rule.id for rule in made if f"| `{rule.id}` |" not in page} == set()


def test_every_link_of_the_page_to_a_rule_leads_to_its_heading() -> None:
    seen: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", rules.render(), re.MULTILINE):
        slug = heading.lower().replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    linked = set(re.findall(r"\]\(#([^)]+)\)", rules.render()))
    assert len(linked) == len(ALL)
    assert linked <= anchors


def test_whoever_lost_finds_the_exception_on_the_page() -> None:
    by_exception = rules.render().partition("## By exception")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", by_exception, re.MULTILINE))
    assert listed >= CONFLICT_NAMES


@pytest.mark.parametrize(
    ("book", "left_out"),
    [
        (rulebooks.OPEN_SOURCE, set[Rule]()),
        (rulebooks.DATABRICKS, {databricks.identity_columns}),
        (rulebooks.DELTA_RS, set[Rule]()),
    ],
    ids=lambda given: given.engine if isinstance(given, Rulebook) else None,
)
def test_by_statement_every_rule_of_the_engine_is_named_by_which_two_writers_can_lose(
    book: Rulebook, left_out: set[Rule]
) -> None:
    _, _, table = rules.render().partition("## By statement")[2].partition(f"**Engine: {book.engine}, ")
    named = set(re.findall(r"`([a-z-]+)`", table.partition("\n\n**")[0].partition("\n## ")[0])) - {"orders"}
    of_writers = {rule for rule in book.rules if rule not in (oss.streaming_read, databricks.streaming_read)}
    can_lose = {rule.id for rule in of_writers - left_out if book.verdict(rule.example).level > Level.NEVER}
    assert named == can_lose | {stores_and_runs.same_checkpoint.id, stores_and_runs.shorter_retention.id}


def test_by_statement_every_kind_of_operation_is_there() -> None:
    found = {
        footprint.operation
        for job in by_statement.STATEMENTS.values()
        for footprint in rulebooks.OPEN_SOURCE.jobs(Example(job, job))[0].tables
    }
    assert found == set(Operation)


def test_verdicts_without_a_rule_are_listed_with_their_reason() -> None:
    assert {one for one in vars(oracle).values() if isinstance(one, Verdict)} == set(oracle.WITHOUT_A_RULE)
    for verdict in oracle.WITHOUT_A_RULE:
        assert f'| `{verdict.rule}` | no rule is asked: "{verdict.reason}" |\n' in rules.render()


def test_the_status_says_where_its_rules_are_explained() -> None:
    assert "docs/conflict-rules.md" in (Blocker.model_fields["rule"].description or "")


@pytest.mark.parametrize(("book", "rule"), ALL)
def test_an_example_is_decided_by_its_rule(
    book: Rulebook, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = book.verdict(rule.example)
    assert verdict.rule == rule.id
    monkeypatch.setitem(vars(rule), "decide", lambda _: None)
    if rule in LAST_RESORTS:
        with pytest.raises(LookupError):
            book.verdict(rule.example)
    else:
        assert book.verdict(rule.example) != verdict


@pytest.mark.parametrize(("book", "rule"), ALL)
def test_what_proves_a_rule_exists(book: Rulebook, rule: Rule) -> None:
    assert rule.proofs
    for test in rule.proofs:
        path, _, name = test.partition("::")
        source = (ROOT / "tests" / "unit" / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), test


@pytest.mark.parametrize(("book", "rule"), ALL)
def test_a_rule_says_where_it_comes_from(book: Rulebook, rule: Rule) -> None:
    assert rule.says
    assert bool(rule.sources) is (rule is not databricks.undocumented)


@pytest.mark.parametrize("text", rules.SPELLED_OTHERWISE)
def test_every_spelling_of_a_function_on_the_page_is_understood(text: str) -> None:
    table = Table.of({"date": "date", "region": "string", "n": "int"}, ["date", "region", "n"])
    predicate = parse(f"({text}) IS NULL", table, session=Session("UTC", ansi=True))
    assert reasons(predicate) == ()
