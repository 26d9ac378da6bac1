"""Which jobs a job's status and Events may name: whoever reads one namespace learns nothing of the jobs in another, unless both are
shared."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sluice.admission import AdmissionDecision, Blocking, Holder
from sluice.api.job import Yield
from sluice.api.job_status import AttemptException
from sluice.conflicts.advice import Advice
from sluice.conflicts.advice_search import Budget, tried
from sluice.conflicts.advice_texts import PAUSE_STREAM
from sluice.conflicts.oracle import MAX_WRITERS, NOT_KNOWN

ANOTHER = "a job in another namespace"
ALL = "*"
_NOTHING_TO_TRY = frozenset({NOT_KNOWN.rule, MAX_WRITERS.rule})
_MOST_ADVICE = 4
"""The most that a status says of one job in the way."""
_FOR_A_STATUS = 800
"""What may be spent on the advice of one status, since the operator does nothing else meanwhile: some 12 milliseconds."""
NOT_TRIED = (
    "what would help is not told here, because it takes long to try: ask sluice explain, with both manifests"
)
_QUOTED = "Conflicting commit: {"
_LEFT_OUT = "Conflicting commit: left out here, because it may be of a job in another namespace"


@dataclass(frozen=True)
class VisibleBlockers:
    shared: frozenset[str] = frozenset()
    """The namespaces whose jobs may be named in one another's statuses; `*`: all."""

    @classmethod
    def of(cls, namespaces: Iterable[str]) -> "VisibleBlockers":
        return cls(frozenset(namespaces))

    def called(self, job: str, by: str) -> str:
        """Returns what a status in the namespace `by` calls the job, which is given as namespace/name, perhaps behind a kind."""
        return job if self._may_name(job, by) else ANOTHER

    def as_told(self, decision: AdmissionDecision) -> AdmissionDecision:
        """Returns the decision as its own job may be told of it, with advice that was tried."""
        waiter = decision.waiter
        by, budget = _namespace(waiter.job), Budget(_FOR_A_STATUS)
        found = (
            _advised(waiter, one, budget) if self._may_name(one.by.job, by) else one
            for one in decision.blocked_by
        )
        return replace(decision, blocked_by=self.named(found, by))

    def without_advice(self, decision: AdmissionDecision) -> AdmissionDecision:
        """Returns the decision as its own job may be told of it where advice could not be tried."""
        found = (_advising(one, None) for one in decision.blocked_by)
        return replace(decision, blocked_by=self.named(found, _namespace(decision.waiter.job)))

    def named(self, found: Iterable[Blocking], by: str) -> tuple[Blocking, ...]:
        """Returns them as a status in the namespace `by` may name them."""
        return tuple(self._blocking(one, by) for one in found)

    def exception(self, told: AttemptException | None, by: str) -> AttemptException | None:
        """Returns why an attempt failed as its job may be told. Delta's own message quotes the winner's entry of the log, and in it
        what our runner notes there: its job, uid and run key. Where nobody can tell whose entry that is, it is left out, too."""
        won = told.conflicting_commit if told is not None else None
        if told is None or ALL in self.shared:
            return told
        if won is not None and (won.foreign or (won.job is not None and self._may_name(won.job, by))):
            return told
        before, quotes, _ = told.message.partition(_QUOTED)
        update: dict[str, object] = {"message": f"{before}{_LEFT_OUT}" if quotes else before}
        if won is not None and won.job is not None:
            update["conflicting_commit"] = won.model_copy(update={"job": ANOTHER})
        return told.model_copy(update=update)

    def _blocking(self, one: Blocking, by: str) -> Blocking:
        if self._may_name(one.by.job, by):
            return one
        verdict = one.conflict.verdict._replace(
            advice=None, meeting=None
        )  # both quote what the other one's SQL says
        conflict = replace(one.conflict, verdict=verdict)
        return replace(
            one, by=Holder("", ANOTHER, one.by.footprint, at_rest=one.by.at_rest), conflict=conflict
        )

    def _may_name(self, job: str, by: str) -> bool:
        other = _namespace(job)
        return other == by or ALL in self.shared or {other, by} <= self.shared


def _advised(waiter: Holder, one: Blocking, budget: Budget) -> Blocking:
    """What is said of a stream at rest is what would break it; of one that isn't known, or of a limit, there is nothing to try."""
    rule = one.conflict.verdict.rule
    if one.by.at_rest or one.by.places is not None or rule in _NOTHING_TO_TRY:
        return one
    found = tried(waiter.footprint, one.by.footprint, budget)
    if found is None:
        return _advising(one, NOT_TRIED)
    advice = _still_to_do(waiter, one.by, found)
    said = [step.said(waiter.job, one.by.job) for step in advice[:_MOST_ADVICE]]
    if len(advice) > _MOST_ADVICE:
        said.append(f"and {len(advice) - _MOST_ADVICE} more things, which sluice explain tells")
    return _advising(one, "; ".join(said) or None)


def _advising(one: Blocking, advice: str | None) -> Blocking:
    return replace(one, conflict=replace(one.conflict, verdict=one.conflict.verdict._replace(advice=advice)))


def _still_to_do(waiter: Holder, other: Holder, advice: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """Leaves out that a stream is to pause which does so already. For one that runs for ever none does, whatever else is done."""
    pairs = ((waiter, other), (other, waiter))
    pausing = {one: pairs[one.whose] for one in advice if one.words == PAUSE_STREAM and one.whose is not None}
    if any(beside.for_ever is not None for _, beside in pausing.values()):
        return ()
    return tuple(one for one in advice if one not in pausing or pausing[one][0].yields in (None, Yield.NEVER))


def _namespace(job: str) -> str:
    return job.partition("/")[0].rpartition(" ")[2] if "/" in job else ""
