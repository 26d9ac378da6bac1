"""What the protocol promises of grants, under every order of steps and faults within the bounds."""

import pytest

from protocol.conftest import Holds
from protocol.grants import scenarios

pytestmark = pytest.mark.timeout(600)


def test_no_double_grant_survives_a_paused_leader_whose_requests_land_late(holds: Holds) -> None:
    holds(scenarios.PAUSED_LEADER)


def test_every_job_ends_although_a_leader_never_comes_back(holds: Holds) -> None:
    holds(scenarios.DEAD_LEADER)


def test_no_double_grant_survives_leaders_that_take_over_from_each_other(holds: Holds) -> None:
    holds(scenarios.TWO_TAKEOVERS)


def test_an_intent_lets_a_dead_leaders_create_land_where_the_policy_lags(holds: Holds) -> None:
    holds(scenarios.LAGGING_POLICY)


def test_a_deleted_lease_object_lets_no_epoch_return(holds: Holds) -> None:
    holds(scenarios.LEASE_OBJECT_DELETED)
    holds(scenarios.LEASE_OBJECT_AND_REDIS)


def test_a_redis_that_lost_everything_is_rebuilt_before_anything_is_granted(holds: Holds) -> None:
    holds(scenarios.REDIS_LOSES_ALL)


def test_a_redis_that_went_back_is_noticed(holds: Holds) -> None:
    holds(scenarios.REDIS_GOES_BACK)


def test_a_redis_that_went_back_is_noticed_although_late_requests_change_it(holds: Holds) -> None:
    holds(scenarios.REDIS_GOES_BACK_LATE)


def test_nothing_the_spark_operator_says_or_does_late_frees_a_lease_too_early(holds: Holds) -> None:
    holds(scenarios.SPARK_OPERATOR_LIES)


def test_a_retry_begins_only_when_its_predecessor_is_proved_dead(holds: Holds) -> None:
    holds(scenarios.RETRIES)


def test_a_lost_node_keeps_the_lease_until_the_retry_has_fenced(holds: Holds) -> None:
    holds(scenarios.NODE_LOST)
    holds(scenarios.NODE_LOST_RETRY_DIES)


def test_a_lost_node_keeps_the_lease_of_a_job_that_cannot_be_fenced(holds: Holds) -> None:
    holds(scenarios.NODE_LOST_UNFENCEABLE)


def test_a_tombstone_keeps_the_lease_of_a_deleted_job(holds: Holds) -> None:
    holds(scenarios.TOMBSTONES)


def test_an_edited_job_never_runs_on_leases_of_what_it_was(holds: Holds) -> None:
    holds(scenarios.USER_EDITS)
    holds(scenarios.USER_EDITS_AWAY)


def test_a_re_created_job_waits_for_its_predecessors_driver(holds: Holds) -> None:
    holds(scenarios.USER_RECREATES)


def test_a_watch_that_lags_brings_no_application_back(holds: Holds) -> None:
    holds(scenarios.WATCH_LAGS)


def test_a_release_that_lands_late_frees_no_newer_grant(holds: Holds) -> None:
    holds(scenarios.GIVEN_BACK_LATE)


def test_a_create_that_lands_twice_starts_nothing_when_its_run_is_over(holds: Holds) -> None:
    holds(scenarios.CREATE_TWICE)


def test_a_driver_whose_finalizers_were_stripped_keeps_its_lease(holds: Holds) -> None:
    holds(scenarios.STRIPPED)


def test_a_word_that_was_said_before_a_loss_was_told_frees_nothing(holds: Holds) -> None:
    holds(scenarios.EARLY_WORD)


def test_an_application_that_is_submitted_again_after_its_drivers_end_starts_nothing(holds: Holds) -> None:
    holds(scenarios.SUBMITTED_AGAIN)


def test_anothers_application_is_never_taken_for_the_attempts_own(holds: Holds) -> None:
    holds(scenarios.NAME_TAKEN)


def test_a_refused_application_gives_its_leases_back_and_never_comes_later(holds: Holds) -> None:
    holds(scenarios.REFUSED)


def test_an_api_server_that_went_back_frees_no_lease_of_a_driver_that_it_forgot(holds: Holds) -> None:
    holds(scenarios.API_GOES_BACK)


def test_three_jobs_two_of_which_conflict_all_end(holds: Holds) -> None:
    holds(scenarios.THREE_JOBS)


def test_a_leader_may_have_several_requests_under_way(holds: Holds) -> None:
    holds(scenarios.SEVERAL)
    holds(scenarios.SEVERAL_UNANSWERED)
    holds(scenarios.SEVERAL_DELETED)


def test_a_leader_is_replaced_while_its_requests_are_under_way(holds: Holds) -> None:
    holds(scenarios.SEVERAL_TAKEOVER)


def test_a_redis_that_forgets_while_requests_are_under_way_is_rebuilt_with_all_that_comes_of_them(
    holds: Holds,
) -> None:
    holds(scenarios.SEVERAL_REDIS_LOST)
    holds(scenarios.SEVERAL_REDIS_BACK)
    holds(scenarios.SEVERAL_NO_POLICY)


def test_a_release_that_was_decided_on_frees_nothing_that_came_back_with_an_api_server(holds: Holds) -> None:
    holds(scenarios.SEVERAL_API_BACK)
