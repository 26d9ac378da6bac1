"""Judges a round by what the servers carried out: the API server's audit log and Redis' MONITOR. What operators say of
themselves has no part in it.

Each rule names the step of the model (tests/protocol/design.py), or the invariant, that it stands for.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise

from integration.faults.attempts import Attempt, Driver, Observed, epoch_of
from integration.faults.audited import Landed
from integration.faults.lease_history import Held, LeaseHistory
from integration.faults.workload import Planned
from sluice.api import names
from sluice.engines import is_placeholder

_NEVER_RAN = ("NotStarted", "Withdrawn")


@dataclass(frozen=True)
class Violation:
    of: str
    """The step of the model, or the invariant."""
    why: str

    def __str__(self) -> str:
        return f"{self.of}: {self.why}"


@dataclass(frozen=True)
class Evidence:
    planned: Mapping[str, Planned]
    """The round's jobs by their uids."""
    seen: Observed
    leases: LeaseHistory

    def name(self, uid: str) -> str:
        return self.planned[uid].name if uid in self.planned else uid

    @property
    def attempts(self) -> list[Attempt]:
        return [one for one in self.seen.attempts.values() if one.uid in self.planned]

    @property
    def held(self) -> list[Held]:
        return [one for one in self.leases.held if one.uid in self.planned]

    def conflict(self, uid: str, other: str) -> bool:
        return uid != other and self.planned[uid].conflicts(self.planned[other])


def violations(evidence: Evidence) -> list[Violation]:
    return [violation for rule in RULES for violation in rule(evidence)]


def _no_two_leases_conflict(e: Evidence) -> Iterator[Violation]:
    for one, other in combinations(e.held, 2):
        if e.conflict(one.uid, other.uid) and (other.at(one.since) or one.at(other.since)):
            yield Violation(
                "no double grant",
                f"{e.name(one.uid)} and {e.name(other.uid)} conflict, and held leases together in Redis",
            )


def _no_two_drivers_conflict(e: Evidence) -> Iterator[Violation]:
    drivers = [(attempt, driver) for attempt in e.attempts for driver in attempt.drivers if driver.runs]
    for (one, first), (other, second) in combinations(drivers, 2):
        if (one.uid == other.uid or e.conflict(one.uid, other.uid)) and _overlap(first, second):
            yield Violation(
                "no double grant",
                f"drivers of {e.name(one.uid)} and {e.name(other.uid)} ran at once",
            )


def _overlap(one: Driver, other: Driver) -> bool:
    first, second = sorted([one, other], key=_begin)
    return first.ended is None or _begin(second) < first.ended.received


def _begin(driver: Driver) -> float:
    assert driver.runs is not None
    return driver.runs.answered


def _whatever_may_write_holds_its_lease(e: Evidence) -> Iterator[Violation]:
    """From its application's create until its end is proved."""
    for attempt in e.attempts:
        if not attempt.creates:
            continue
        own = [held for held in e.leases.of(attempt.holder) if held.token == attempt.token]
        began, proof = attempt.creates[0].received, attempt.proof
        covering = [held for held in own if held.since <= began]
        if not covering:
            yield Violation(
                "intent_before_create",
                f"{e.name(attempt.uid)} has an application under token {attempt.token} that Redis had not granted",
            )
        for held in own:
            if held.until is None or (proof is not None and proof.received <= held.until):
                continue
            name = e.name(attempt.uid)
            if held.released:
                yield Violation(
                    "death_proved",
                    f"the lease of {name} was released before its end was proved: released {held.until:.3f}; {attempt.told_proof}",
                )
            elif not _is_brought_again(e, held, proof):
                yield Violation("a rebuild finds all", f"{name} may write, and a rebuild missed it")


def _is_brought_again(e: Evidence, held: Held, proof: Landed | None) -> bool:
    """By the next rebuild, unless the end was proved before it. A round may be over before there is one."""
    assert held.until is not None
    following = next((rebuild for rebuild in e.leases.rebuilds if rebuild.at >= held.until), None)
    if following is not None and held.holder in following.holders:
        return True
    return proof is not None and (following is None or proof.received <= following.at)


def _an_intent_is_of_a_grant(e: Evidence) -> Iterator[Violation]:
    for attempt in e.attempts:
        granted = [held for held in e.leases.of(attempt.holder) if held.token == attempt.token]
        if attempt.intent is not None and not any(
            held.since <= attempt.intent.answered and not held.is_of_rebuild for held in granted
        ):
            yield Violation(
                "epoch_compared", f"{e.name(attempt.uid)} has an intent that Redis had not granted"
            )


def _an_application_is_of_an_intent(e: Evidence) -> Iterator[Violation]:
    for attempt in e.attempts:
        if attempt.creates and (
            attempt.intent is None or attempt.creates[0].answered < attempt.intent.received
        ):
            yield Violation(
                "intent_before_create", f"{e.name(attempt.uid)} has an application without an intent"
            )


def _tokens_rise(e: Evidence) -> Iterator[Violation]:
    granted = [held for held in e.leases.held if not held.is_of_rebuild]
    for before, after in pairwise(granted):
        if after.token <= before.token:
            yield Violation(
                "version_marked",
                f"token {after.token} of {after.holder} is not above that of {before.holder}",
            )


def _epochs_rise(e: Evidence) -> Iterator[Violation]:
    for before, after in pairwise(e.leases.rebuilds):
        if after.epoch <= before.epoch and not any(
            before.at <= moment <= after.at for moment in e.leases.forgot
        ):
            yield Violation("rebuild_raises_epoch", f"epoch {after.epoch} after {before.epoch}")
    for (_, lower), (_, higher) in pairwise(e.seen.epochs):
        if higher < lower:
            yield Violation("floor_raised", f"the parameter went from {lower} back to {higher}")
    for what in e.leases.outdated:
        yield Violation("epoch_compared", what)


def _nothing_of_an_older_epoch_lands(e: Evidence) -> Iterator[Violation]:
    """From the rebuild of the next one on: before it the parameter was seen to be in force."""
    for write in e.seen.operators:
        epoch = epoch_of(write)
        assert epoch is not None
        for rebuild in e.leases.rebuilds:
            if rebuild.epoch > epoch and rebuild.at < write.received:
                what = f"{write.verb} {write.kind}/{write.sub} {write.name}"
                yield Violation(
                    "policy_on_creates, policy_on_status, policy_on_finalizers",
                    f"{what} landed under epoch {epoch} after the rebuild under {rebuild.epoch}",
                )
                break


def _an_attempt_has_one_driver(e: Evidence) -> Iterator[Violation]:
    for attempt in e.attempts:
        if len(attempt.drivers) > 1:
            yield Violation("terminated_and_ended", f"{e.name(attempt.uid)} had two drivers in one attempt")
        if len(attempt.creates) > 1:
            yield Violation(
                "epoch_step_after_unsure_create", f"{e.name(attempt.uid)}'s application was created twice"
            )


def _an_outcome_is_its_own_drivers(e: Evidence) -> Iterator[Violation]:
    for attempt in e.attempts:
        name = e.name(attempt.uid)
        if len(attempt.told) > 1:
            outcomes = ", ".join(told.outcome for told in attempt.told)
            yield Violation(
                "an outcome is that of the attempt's own driver", f"{name} was told as {outcomes}"
            )
        for told in attempt.told:
            if (wrong := _misjudged(attempt, told.outcome)) is not None:
                yield Violation("an outcome is that of the attempt's own driver", f"{name} {wrong}")
            end = attempt.end
            if attempt.creates and (end is None or told.by.answered < end.received):
                yield Violation("death_proved", f"{name} is told as {told.outcome} before its end")


def _misjudged(attempt: Attempt, outcome: str) -> str | None:
    codes = [driver.exit_code for driver in attempt.drivers if driver.runs is not None]
    if outcome in _NEVER_RAN:
        return f"is {outcome}, and its driver ran" if codes else None
    if not codes:
        return f"is {outcome}, and no driver of it ran"
    if (outcome == "Succeeded") != (codes[-1] == 0):
        return f"is {outcome}, and its driver ended with {codes[-1]}"
    return None


def _proof_goes_last(e: Evidence) -> Iterator[Violation]:
    """Unless its application may still be submitted, where the driver's name has to be taken."""
    for attempt in e.attempts:
        for driver in attempt.drivers:
            if (
                driver.let_go is None
                or driver.ended is None
                or driver.let_go.received < driver.ended.received
            ):
                continue
            held = attempt.let_go is None or attempt.let_go.received > driver.let_go.answered
            if held and not attempt.never_said_it:
                yield Violation(
                    "proof_goes_last",
                    f"the driver of {e.name(attempt.uid)} was let go before its application",
                )


def _every_job_ends_once(e: Evidence) -> Iterator[Violation]:
    ran = Counter(
        attempt.uid for attempt in e.attempts for driver in attempt.drivers if driver.runs is not None
    )
    for uid, job in e.planned.items():
        if ran[uid] > 1:
            yield Violation("nothing twice", f"{job.name} ran {ran[uid]} times")
        if job.is_deleted:
            if uid not in e.seen.gone_jobs:
                yield Violation("every job ends", f"{job.name} was deleted, and is there")
            continue
        status = (e.seen.jobs.get(uid) or {}).get("status") or {}
        if status.get("phase") != job.ends_as:
            yield Violation("every job ends", f"{job.name} is {status.get('phase')}, not {job.ends_as}")
        if ran[uid] == 0:
            yield Violation("every job ends", f"{job.name} never ran")


def _nothing_is_left(e: Evidence) -> Iterator[Violation]:
    for held in e.leases.left:
        if held.uid in e.planned:
            yield Violation("no lease without a holder", f"Redis holds {e.name(held.uid)} for ever")
    for (kind, name), body in e.seen.live.items():
        metadata = body["metadata"]
        uid = (metadata.get("labels") or {}).get(names.LABEL_JOB_UID, "")
        if uid not in e.planned:
            continue
        if is_placeholder(body) and metadata.get("finalizers") == [names.FINALIZER_PLACEHOLDER]:
            continue  # for its hour
        if metadata.get("finalizers"):
            yield Violation("no orphan", f"{kind} {name} keeps {metadata['finalizers']}")
        elif uid in e.seen.gone_jobs and e.planned[uid].is_deleted:
            yield Violation("no orphan", f"{kind} {name} is there, and its job is gone")


RULES: tuple[Callable[[Evidence], Iterator[Violation]], ...] = (
    _no_two_leases_conflict,
    _no_two_drivers_conflict,
    _whatever_may_write_holds_its_lease,
    _an_intent_is_of_a_grant,
    _an_application_is_of_an_intent,
    _tokens_rise,
    _epochs_rise,
    _nothing_of_an_older_epoch_lands,
    _an_attempt_has_one_driver,
    _an_outcome_is_its_own_drivers,
    _proof_goes_last,
    _every_job_ends_once,
    _nothing_is_left,
)
