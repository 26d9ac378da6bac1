"""Figures by rule have one for every rule."""

from generate.rulebooks import RULEBOOKS
from sluice.conflicts.lost_commit_rule import EXCEPTIONS
from sluice.conflicts.oracle import NOT_KNOWN, OTHER_TABLES, SAME_RUN, WITHOUT_A_RULE
from sluice.conflicts.rule_ids import NO_CONFLICTS, RULE_IDS
from sluice_runner.retriable import CONFLICT_NAMES


def test_the_list_has_every_rule_and_every_verdict_without_one_by_which_a_job_may_wait() -> None:
    rules = {rule.id for book in RULEBOOKS for rule in book.rules}
    assert set(RULE_IDS) == (rules | {one.rule for one in WITHOUT_A_RULE}) - NO_CONFLICTS
    assert not rules & NO_CONFLICTS
    assert OTHER_TABLES.rule in NO_CONFLICTS
    assert not {NOT_KNOWN.rule, SAME_RUN.rule} & NO_CONFLICTS
    assert len(set(RULE_IDS)) == len(RULE_IDS)


def test_the_exceptions_that_are_counted_are_those_that_a_runner_tells() -> None:
    assert set(EXCEPTIONS) == CONFLICT_NAMES
