"""The checker finds what no operator should ever do: a checker that believed everything would find nothing in rounds, either."""

from integration.faults.checker import violations
from integration.faults.tape import EPOCH, Tape

DOUBLE = "no double grant"
FENCED = "policy_on_creates, policy_on_status, policy_on_finalizers"


def found(tape: Tape) -> set[str]:
    return {violation.of for violation in violations(tape.evidence())}


def started(uid: str = "a", counter: int = 1) -> Tape:
    """A job whose driver runs."""
    tape = Tape()
    begins(tape, uid, counter)
    return tape


def begins(tape: Tape, uid: str, counter: int) -> None:
    tape.job(uid)
    tape.grant(uid, counter)
    tape.intent(uid, counter)
    tape.create(uid)
    tape.driver(uid)


def ends(tape: Tape, uid: str = "a") -> None:
    tape.ends(uid)
    tape.outcome(uid)
    tape.lets_go_application(uid)
    tape.lets_go_driver(uid)
    tape.release(uid)


def test_jobs_that_run_one_after_the_other_violate_nothing() -> None:
    tape = Tape()
    for counter, uid in enumerate("abc", 1):
        tape.job(uid)
        tape.runs_to_its_end(uid, counter)
    assert found(tape) == set()


def test_a_lease_to_which_more_is_written_is_neither_released_nor_granted_again() -> None:
    tape = started("a", 1)
    tape.job("b", table="another")
    tape.grant("b", 2)
    tape.learn("a", 1)
    tape.intent("b", 2)
    tape.create("b")
    tape.driver("b")
    ends(tape, "b")
    ends(tape)
    assert found(tape) == set()


def test_a_rebuild_in_the_midst_of_a_run_violates_nothing() -> None:
    tape = started()
    tape.rebuild(EPOCH + 1, a=f"{EPOCH} 1")
    tape.ends("a")
    tape.outcome("a", epoch=EPOCH + 1)
    tape.lets_go_application("a", epoch=EPOCH + 1)
    tape.lets_go_driver("a", epoch=EPOCH + 1)
    tape.release("a", epoch=EPOCH + 1)
    assert found(tape) == set()


def test_two_conflicting_jobs_that_hold_leases_together_are_found() -> None:
    tape = started()
    tape.job("b")
    tape.grant("b", 2)
    ends(tape)
    tape.intent("b", 2)
    tape.create("b")
    tape.driver("b")
    ends(tape, "b")
    assert found(tape) == {DOUBLE}


def test_two_conflicting_drivers_that_run_together_are_found_also_where_redis_holds_one_lease() -> None:
    tape = started()
    tape.release("a")
    begins(tape, "b", 2)
    ends(tape, "b")
    ends(tape)
    assert found(tape) == {DOUBLE, "death_proved"}


def test_a_lease_that_is_released_before_its_driver_ended_is_found() -> None:
    tape = started()
    tape.release("a")
    ends(tape)
    assert found(tape) == {"death_proved"}


def test_a_lease_that_is_released_while_its_application_may_start_another_driver_is_found() -> None:
    tape = started()
    tape.driver_ends("a")
    tape.outcome("a")
    tape.lets_go_application("a")
    tape.lets_go_driver("a")
    tape.release("a")
    assert found(tape) == {"death_proved"}


def test_an_application_that_is_gone_starts_no_other_driver() -> None:
    tape = started()
    tape.is_stripped("a")
    tape.driver_ends("a")
    tape.outcome("a")
    tape.lets_go_driver("a")
    tape.release("a")
    assert found(tape) == set()


def test_a_rebuild_that_misses_a_running_driver_is_found() -> None:
    tape = started()
    tape.rebuild(EPOCH + 1)
    tape.ends("a")
    tape.outcome("a", epoch=EPOCH + 1)
    tape.lets_go_application("a", epoch=EPOCH + 1)
    tape.lets_go_driver("a", epoch=EPOCH + 1)
    assert found(tape) == {"a rebuild finds all"}


def test_a_redis_that_forgot_and_is_told_again_violates_nothing() -> None:
    tape = started()
    tape.forget()
    tape.rebuild(EPOCH + 1, a=f"{EPOCH} 1")
    tape.ends("a")
    tape.outcome("a", epoch=EPOCH + 1)
    tape.lets_go_application("a", epoch=EPOCH + 1)
    tape.lets_go_driver("a", epoch=EPOCH + 1)
    tape.release("a", epoch=EPOCH + 1)
    assert found(tape) == set()


def test_a_redis_that_forgot_while_the_last_driver_ended_needs_no_rebuild_in_its_round() -> None:
    tape = started()
    tape.forget()
    tape.ends("a")
    tape.outcome("a")
    tape.lets_go_application("a")
    tape.lets_go_driver("a")
    assert found(tape) == set()


def test_a_redis_that_forgot_and_is_not_told_of_a_running_driver_is_found() -> None:
    tape = started()
    tape.forget()
    tape.rebuild(EPOCH + 1)
    tape.ends("a")
    tape.outcome("a", epoch=EPOCH + 1)
    tape.lets_go_application("a", epoch=EPOCH + 1)
    tape.lets_go_driver("a", epoch=EPOCH + 1)
    assert found(tape) == {"a rebuild finds all"}


def test_an_application_that_was_created_before_its_intent_is_found() -> None:
    tape = Tape()
    tape.job("a")
    tape.grant("a", 1)
    tape.attempts["a"] = {"number": 1, "token": EPOCH << 32 | 1, "application": "a"}
    tape.create("a")
    tape.intent("a", 1)
    tape.driver("a")
    ends(tape)
    assert found(tape) == {"intent_before_create"}


def test_an_intent_that_redis_has_not_granted_is_found() -> None:
    tape = Tape()
    tape.job("a")
    tape.intent("a", 1)
    tape.create("a")
    tape.driver("a")
    ends(tape)
    assert found(tape) == {"epoch_compared", "intent_before_create"}


def test_a_status_that_a_former_leader_writes_late_is_found() -> None:
    tape = started()
    tape.rebuild(EPOCH + 1, a=f"{EPOCH} 1")
    tape.ends("a")
    tape.outcome("a", epoch=EPOCH)
    tape.lets_go_application("a", epoch=EPOCH + 1)
    tape.lets_go_driver("a", epoch=EPOCH + 1)
    tape.release("a", epoch=EPOCH + 1)
    assert found(tape) == {FENCED}


def test_an_application_that_a_former_leader_creates_late_is_found() -> None:
    tape = Tape()
    tape.job("a")
    tape.grant("a", 1)
    tape.intent("a", 1)
    tape.rebuild(EPOCH + 1, a=f"{EPOCH} 1")
    tape.create("a", epoch=EPOCH)
    tape.driver("a")
    tape.ends("a")
    tape.outcome("a", epoch=EPOCH + 1)
    tape.lets_go_application("a", epoch=EPOCH + 1)
    tape.lets_go_driver("a", epoch=EPOCH + 1)
    tape.release("a", epoch=EPOCH + 1)
    assert found(tape) == {FENCED}


def test_a_grant_and_a_release_of_another_epoch_than_redis_own_are_found() -> None:
    tape = Tape()
    tape.rebuild(EPOCH + 1)
    tape.job("a")
    tape.grant("a", 1)
    tape.release("a")
    tape.rebuild(EPOCH + 2)
    why = [str(one) for one in violations(tape.evidence()) if one.of == "epoch_compared"]
    assert len(why) == 2


def test_a_token_that_is_given_twice_is_found() -> None:
    tape = Tape()
    for uid in "ab":
        tape.job(uid, table=uid)
        tape.runs_to_its_end(uid, 1)
    assert found(tape) == {"version_marked"}


def test_epochs_that_do_not_rise_are_found() -> None:
    tape = Tape()
    tape.rebuild(EPOCH + 1)
    tape.rebuild(EPOCH + 1)
    assert found(tape) == {"rebuild_raises_epoch"}


def test_a_second_driver_of_an_attempt_is_found() -> None:
    tape = started()
    tape.ends("a")
    tape.driver("a", "a-second")
    tape.ends("a", pod="a-second")
    tape.outcome("a")
    tape.lets_go_application("a")
    tape.lets_go_driver("a")
    tape._lets_go("pods", "a-second", "a", EPOCH)
    tape.release("a")
    assert found(tape) == {"terminated_and_ended", "nothing twice"}


def test_an_outcome_that_is_not_that_of_the_driver_is_found() -> None:
    tape = started()
    tape.ends("a", 1)
    tape.outcome("a", "Succeeded")
    tape.lets_go_application("a")
    tape.lets_go_driver("a")
    tape.release("a")
    assert found(tape) == {"an outcome is that of the attempt's own driver"}


def test_an_outcome_that_comes_before_the_end_is_found() -> None:
    tape = started()
    tape.outcome("a")
    tape.ends("a")
    tape.lets_go_application("a")
    tape.lets_go_driver("a")
    tape.release("a")
    assert found(tape) == {"death_proved"}


def test_a_driver_that_is_let_go_before_its_application_is_found() -> None:
    tape = started()
    tape.ends("a")
    tape.outcome("a")
    tape.lets_go_driver("a")
    tape.lets_go_application("a")
    tape.release("a")
    assert found(tape) == {"proof_goes_last"}


def test_a_job_that_never_ends_is_found() -> None:
    tape = Tape()
    tape.job("a")
    assert found(tape) == {"every job ends"}


def test_a_lease_and_a_finalizer_that_stay_are_found() -> None:
    tape = started()
    tape.ends("a")
    tape.outcome("a")
    tape.lets_go_application("a")
    assert found(tape) == {"no lease without a holder", "no orphan"}
