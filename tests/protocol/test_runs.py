"""What the protocol promises of a run and its table, whatever becomes of its drivers."""

import pytest

from protocol.conftest import Holds
from protocol.runs import scenarios
from protocol.runs.invariants import NOTHING_TWICE
from protocol.search import Tell, explore

pytestmark = pytest.mark.timeout(600)


def test_a_zombie_never_commits_after_its_fence_although_its_first_statement_may_match_nothing(
    holds: Holds,
) -> None:
    holds(scenarios.ZOMBIE)


def test_a_zombie_on_two_tables_leaves_each_statement_done_once(holds: Holds) -> None:
    holds(scenarios.ZOMBIE_TWO_TABLES)
    holds(scenarios.ZOMBIE_ACROSS)


def test_a_re_created_job_never_repeats_what_its_run_key_has_done(holds: Holds) -> None:
    holds(scenarios.RECREATED)


def test_another_spec_under_the_same_run_key_is_never_reported_as_done(holds: Holds) -> None:
    holds(scenarios.REUSED)
    holds(scenarios.CLEANED_UP_REUSED)


def test_a_cleaned_up_log_lets_nothing_run_twice(holds: Holds) -> None:
    holds(scenarios.CLEANED_UP)
    holds(scenarios.CLEANED_UP_ZOMBIE)


def test_a_table_that_does_not_exist_yet_is_created_once(holds: Holds) -> None:
    holds(scenarios.CREATES)


def test_a_driver_that_is_started_twice_writes_once(holds: Holds) -> None:
    holds(scenarios.TWINS)


def test_a_restore_from_backup_lets_no_zombie_share_a_token(holds: Holds) -> None:
    holds(scenarios.BACKUP)


def test_a_slot_fences_its_runs_zombie_and_serves_the_next_run(holds: Holds) -> None:
    holds(scenarios.SLOT)


def test_a_slot_whose_log_was_cleaned_up_lets_nothing_run_twice(holds: Holds) -> None:
    holds(scenarios.SLOT_CLEANED_UP)


def test_a_slot_does_not_keep_a_run_key_past_the_logs_clean_up(tell: Tell) -> None:
    """Why a run key that is given has an appId of its own."""
    result = explore(scenarios.SLOT_KEYED)
    tell(scenarios.SLOT_KEYED.name, result)
    assert result.counter_example is not None
    assert result.counter_example.invariant == NOTHING_TWICE
    assert any("cleaned up" in step for step in result.counter_example.trace)
