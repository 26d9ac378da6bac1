"""The model refuses what it does not have: a replay that fitted everything would tell nothing."""

import pytest

from integration.faults.lease_history import lease_history
from integration.faults.plan import Fault, What
from integration.faults.replay import Refused, changes_of, is_given_back, refused
from integration.faults.tape import EPOCH, Tape


def replayed(tape: Tape) -> str:
    """What is refused; empty if nothing is."""
    changes = changes_of(["a", "b"], tape.writes, lease_history(tape.commands, EPOCH), EPOCH)
    assert len(changes) > 2
    found: Refused | None = refused(changes)
    return "" if found is None else found.what


def two_jobs() -> Tape:
    tape = Tape()
    tape.job("a")
    tape.job("b")
    return tape


def begins(tape: Tape, uid: str = "a", counter: int = 1) -> None:
    tape.grant(uid, counter)
    tape.intent(uid, counter)
    tape.create(uid)
    tape.driver(uid)


def is_let_go(tape: Tape, uid: str = "a") -> None:
    tape.outcome(uid)
    tape.lets_go_application(uid)
    tape.lets_go_driver(uid)
    tape.release(uid)


def takes_over(tape: Tape, **held: str) -> None:
    tape.takes_the_lead(EPOCH + 1)
    tape.raises_the_parameter(EPOCH + 1)
    tape.rebuild(EPOCH + 1, **held)


def test_two_jobs_that_run_one_after_the_other_are_a_way_of_the_model() -> None:
    tape = two_jobs()
    tape.runs_to_its_end("a", 1)
    tape.runs_to_its_end("b", 2)
    assert replayed(tape) == ""


def test_a_request_that_changed_nothing_says_of_no_other_write_that_it_came_later() -> None:
    """It is answered with a version that is older than those writes have."""
    tape = two_jobs()
    tape.runs_to_its_end("a", 1)
    tape.changes_nothing(1)
    assert replayed(tape) == ""


def test_a_status_that_was_written_before_a_deletion_landed_is_a_way_of_the_model() -> None:
    """The deletion came first, and was carried out last."""
    tape = two_jobs()
    begins(tape)
    tape.runs_while_it_is_deleted("a")
    assert replayed(tape) == ""


def test_a_status_that_is_written_after_a_deletion_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.is_deleted("a")
    tape.intent("a", 1)
    tape.changes_nothing(1)
    assert replayed(tape) == "job 0 is granted"


def test_a_takeover_in_the_midst_of_a_run_is_a_way_of_the_model() -> None:
    tape = two_jobs()
    begins(tape)
    takes_over(tape, a=f"{EPOCH} 1")
    tape.ends("a")
    is_let_go(tape)
    begins(tape, "b", 2)
    assert replayed(tape) == ""


def test_leaders_that_are_killed_one_after_another_before_they_have_rebuilt_are_a_way_of_the_model() -> None:
    tape = two_jobs()
    begins(tape)
    takes_over(tape, a=f"{EPOCH} 1")
    tape.takes_the_lead(EPOCH + 2)
    tape.takes_the_lead(EPOCH + 3)
    tape.raises_the_parameter(EPOCH + 3)
    tape.takes_the_lead(EPOCH + 4)
    tape.raises_the_parameter(EPOCH + 4)
    tape.rebuild(EPOCH + 4, a=f"{EPOCH} 1")
    tape.ends("a")
    is_let_go(tape)
    assert replayed(tape) == ""


def test_an_intent_that_a_successor_rolls_forward_is_a_way_of_the_model() -> None:
    tape = two_jobs()
    tape.grant("a", 1)
    tape.intent("a", 1)
    takes_over(tape, a=f"{EPOCH} 1")
    tape.create("a", epoch=EPOCH + 1)
    tape.driver("a")
    assert replayed(tape) == ""


def test_a_grant_whose_intent_was_never_written_is_lost_with_its_leader() -> None:
    tape = two_jobs()
    tape.grant("a", 1)
    takes_over(tape)
    tape.grant("b", 1, epoch=EPOCH + 1)
    assert replayed(tape) == ""


def test_a_redis_that_loses_everything_is_a_way_of_the_model() -> None:
    tape = two_jobs()
    begins(tape)
    tape.forget()
    takes_over(tape, a=f"{EPOCH} 1")
    tape.ends("a")
    is_let_go(tape)
    assert replayed(tape) == ""


def test_a_grant_by_a_redis_that_lost_everything_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.forget()
    tape.grant("b", 2)
    assert replayed(tape) == "a grant to job 1"


def test_a_driver_is_let_go_first_only_where_its_deleted_application_never_said_that_it_has_it() -> None:
    tape = two_jobs()
    tape.grant("a", 1)
    tape.intent("a", 1)
    tape.create("a")
    tape.driver("a", is_said=False)
    tape.is_deleted("a")
    tape.driver_ends("a")
    tape.lets_go_driver("a")
    tape.name_is_taken("a")
    assert replayed(tape) == "the driver of job 0 is free"
    changes = changes_of(["a", "b"], tape.writes, lease_history(tape.commands, EPOCH), EPOCH)
    assert refused(changes, unsaid=1) is None


def given_back() -> Tape:
    tape = two_jobs()
    tape.grant("a", 1)
    tape.says_that_it_was_given_back("a")
    tape.release("a")
    tape.grant("b", 2)
    return tape


def test_a_grant_is_given_back_only_where_its_intent_met_a_conflict() -> None:
    tape = given_back()
    assert is_given_back(["a", "b"], tape.writes)
    assert replayed(tape) == "a release of job 0"
    changes = changes_of(["a", "b"], tape.writes, lease_history(tape.commands, EPOCH), EPOCH)
    assert refused(changes, jobs_are_touched=True) is None


@pytest.mark.parametrize(
    ("fault", "outdates"),
    [
        (Fault("patch deltawritejobs/status to None", 1, What.ANSWERED_TOO_LATE), True),
        (Fault("patch deltawritejobs/status to None", 1, What.FAILS), False),
        (Fault("patch sparkapplications without its finalizer", 1, What.ANSWERED_TOO_LATE), False),
        (Fault("patch sparkapplications without its finalizer", 1, What.CONFLICTS), True),
    ],
)
def test_an_intent_may_meet_a_conflict_after_a_write_of_a_job_that_landed_without_an_answer(
    fault: Fault, outdates: bool
) -> None:
    """The operator writes the intent over the version that it knows, which is older than its own unanswered write."""
    assert fault.outdates_a_job is outdates


def test_a_grant_beside_a_conflicting_lease_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.grant("b", 2)
    assert replayed(tape) == "a grant to job 1"


def test_an_intent_without_a_grant_is_refused() -> None:
    tape = two_jobs()
    tape.intent("a", 1)
    assert replayed(tape) == "job 0 is granted"


def test_an_application_without_an_intent_is_refused() -> None:
    tape = two_jobs()
    tape.grant("a", 1)
    tape.create("a")
    assert replayed(tape) == "the application of job 0 is held"


def test_an_outcome_before_the_end_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.outcome("a")
    assert replayed(tape) == "job 0 is ended"


def test_a_finalizer_that_comes_off_before_the_outcome_is_written_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.ends("a")
    tape.lets_go_application("a")
    assert replayed(tape) == "the application of job 0 is free"


def test_a_driver_that_is_let_go_before_its_application_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.ends("a")
    tape.outcome("a")
    tape.lets_go_driver("a")
    assert replayed(tape) == "the driver of job 0 is free"


def test_a_release_before_everything_is_let_go_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.ends("a")
    tape.outcome("a")
    tape.lets_go_application("a")
    tape.release("a")
    assert replayed(tape) == "a release of job 0"


def test_a_rebuild_that_misses_a_driver_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    takes_over(tape)
    assert replayed(tape) == "a rebuild with []"


def test_a_rebuild_before_the_parameter_was_raised_is_refused() -> None:
    tape = two_jobs()
    begins(tape)
    tape.takes_the_lead(EPOCH + 1)
    tape.rebuild(EPOCH + 1, a=f"{EPOCH} 1")
    assert replayed(tape) == "a rebuild with [0]"


def test_a_rebuild_by_a_leader_that_was_replaced_while_it_took_over_is_a_way_of_the_model() -> None:
    """It stood still, and does not know of its successor yet."""
    tape = two_jobs()
    begins(tape)
    tape.takes_the_lead(EPOCH + 1)
    tape.raises_the_parameter(EPOCH + 1)
    tape.takes_the_lead(EPOCH + 2)
    tape.raises_the_parameter(EPOCH + 2)
    tape.rebuild(EPOCH + 1, a=f"{EPOCH} 1")
    tape.rebuild(EPOCH + 2, a=f"{EPOCH} 1")
    assert replayed(tape) == ""


def test_no_leader_raises_the_parameter_below_that_of_its_successor() -> None:
    tape = two_jobs()
    begins(tape)
    tape.takes_the_lead(EPOCH + 1)
    tape.takes_the_lead(EPOCH + 2)
    tape.raises_the_parameter(EPOCH + 2)
    tape.raises_the_parameter(EPOCH + 1)
    assert replayed(tape) == "the parameter is raised"


def test_what_a_former_leader_writes_after_its_successors_rebuild_is_refused() -> None:
    tape = two_jobs()
    tape.grant("a", 1)
    takes_over(tape)
    tape.intent("a", 1)
    assert replayed(tape) == "job 0 is granted"
