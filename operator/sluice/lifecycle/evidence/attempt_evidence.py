"""The evidence of an attempt: its intent, its application and its driver's pod, whatever became of finalizers and owners.

Evidence holds a lease, and nothing else tells when the lease may go. An object that only bears our label tells nothing: it
belongs to an attempt when its record says so, as it was written in its create body.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from sluice.api import names
from sluice.api.base import Json
from sluice.api.finalizers import has_finalizer
from sluice.api.job_status import Attempt, DriverLoss
from sluice.engines import Observation, Stage, engine_of, is_placeholder, observe
from sluice.engines.attempt import DRIVER_SUFFIX, EXECUTOR_ROLE, LABEL_ROLE
from sluice.leases.model import Epochs, Grant, Lease, number_in
from sluice.lifecycle.evidence.driver_losses import is_seen_in, loss_of, noted_on, void, word_for
from sluice.lifecycle.job.job_view import JobView

MOST_ATTEMPTS = 1 << 31
"""A bound, so that a status can hold their numbers."""

PROVED = frozenset({Stage.ENDED, Stage.NEVER_STARTS})
"""Stages in which no driver of the attempt can write any more."""


class UnreadableRecordError(ValueError):
    """Somebody changed what only the operator writes."""


class EvidenceFailedError(Exception):
    """The operator failed on the evidence of a job: nothing may be concluded from it."""


@dataclass(frozen=True)
class Evidence:
    """The evidence of one application of one attempt. Usually an attempt has one; somebody may have made a copy."""

    number: int
    application_name: str
    intent: Attempt | None = None
    application: Json | None = None
    pod: Json | None = None
    declared_dead: bool = False
    """Whether a person says that the driver is dead: that it died in the loss that was told."""
    said: tuple[str, ...] = ()
    """All that people say of that, whether it counts or not."""
    namespace_ends: bool = False
    """Whether nothing can be created where its driver would be."""
    beside: tuple[str, ...] = ()
    """Sentences on what else there is of its job."""

    @cached_property
    def seen(self) -> Observation:
        seen = self._observed
        if self._is_another_pod(seen):
            return self._without_the_driver(seen)
        if self._is_dead_by_word(seen):
            stage = Stage.NOT_OVER if self.may_start_a_driver else Stage.ENDED
            seen = replace(seen, stage=stage, detail=f"{seen.detail}; somebody declared it dead")
        if seen.stage is Stage.NO_DRIVER and self.namespace_ends:
            return Observation(Stage.NEVER_STARTS, detail="its namespace is being deleted")
        if seen.stage is Stage.NOT_OVER and self.namespace_ends:
            has_ended = seen.exit_code is not None or self.declared_dead
            return replace(seen, stage=Stage.ENDED if has_ended else Stage.NEVER_STARTS)
        return seen

    @cached_property
    def _observed(self) -> Observation:
        return observe(self.application, self.pod, driver_seen=self._driver_was_seen)

    @property
    def _driver_was_seen(self) -> bool:
        intent = self.intent
        return intent is not None and (intent.started_at is not None or intent.driver is not None)

    def _is_another_pod(self, seen: Observation) -> bool:
        """Whether the pod is not the driver that was seen: what became of that one it can't tell, and least of all that it never
        started. Drivers' accounts may make a pod of that name."""
        if self.pod is None or not self.is_open or not self._driver_was_seen:
            return False
        if seen.exit_code is None and seen.stage in (Stage.NEVER_STARTS, Stage.NOT_OVER):
            return True
        driver = self.intent.driver if self.intent is not None else None
        return (
            driver is not None
            and driver.pod_uid is not None
            and driver.pod_uid != self.pod["metadata"]["uid"]
        )

    def _without_the_driver(self, seen: Observation) -> Observation:
        """What is known while another pod bears the driver's name. By the word that the driver is dead the attempt is over, unless
        a driver may run in that pod."""
        gone = "the driver that was seen running is gone, and its end was not seen"
        if not self.declared_dead:
            uid = self.pod["metadata"]["uid"] if self.pod is not None else None
            detail = f"{gone}: another pod bears its name now (uid {uid})"
            return replace(seen, stage=Stage.LOST, detail=detail)
        if observe(None, self.pod, driver_seen=True).stage not in PROVED:
            return seen
        stage = Stage.NOT_OVER if self.may_start_a_driver else Stage.ENDED
        return Observation(stage, detail=f"{gone}; somebody declared it dead", is_suspended=seen.is_suspended)

    @property
    def may_start_a_driver(self) -> bool:
        """Whether its application may be about to start a driver, whatever became of another one: one that has ended won't, nor
        one that knows of its driver."""
        if self.application is None:
            return False
        progress = engine_of(self.application).progress(self.application)
        return not progress.has_ended and not progress.driver_was_seen

    def _is_dead_by_word(self, seen: Observation) -> bool:
        """Whether somebody has declared dead what is lost. A silent node may be heard of again, and the word may be an old one: it
        counts once the pod is being deleted, because the node ends it then should it come back."""
        if not self.declared_dead:
            return False
        if seen.stage is Stage.STARTING:  # its node may have fallen silent before it told of the container
            return self.pod_is_going
        return seen.stage is Stage.LOST and (self.pod_is_going or not seen.is_silent)

    @property
    def losses(self) -> tuple[DriverLoss, ...]:
        """The losses that were told, as far as they are still seen. What is left of an attempt tells its own: an account that may
        write on an application must not say in advance how its job is lost."""
        told = [self.intent.loss if self.intent is not None else None]
        if self.witness is not None:
            told.append(noted_on(self.witness))
        return tuple(one for one in told if one is not None and is_seen_in(one, self._of_the_driver))

    @property
    def witness(self) -> Json | None:
        """The object on which the loss is told, and the word said that the driver is dead, where no job's status tells it. Drivers'
        accounts may write on pods: a pod tells it only where neither the application nor an open attempt is left."""
        if self.is_open and not self.namespace_ends:
            return None
        return self.application if self.application is not None or self.is_open else self.pod

    def lost_at(self, now: datetime) -> DriverLoss:
        """The loss that is seen: as it was told, or as it is to be told now."""
        return next(iter(self.losses), None) or loss_of(self._of_the_driver, now)

    @property
    def _of_the_driver(self) -> Observation:
        """What is seen of the driver, not of another pod that bears its name."""
        seen = self._observed
        return replace(seen, pod_uid=None, silent_since=None) if self._is_another_pod(seen) else seen

    @property
    def void_words(self) -> str:
        """What is to be told of words that count for nothing."""
        return "" if self.declared_dead else void(self.said)

    @property
    def how_lost(self) -> str:
        driver = self.intent.driver if self.intent is not None else None
        node = driver.node if driver is not None and driver.node is not None else self.seen.node
        return f"{self.seen.detail}; it ran on node {node}" if node is not None else self.seen.detail

    @property
    def told_beside(self) -> tuple[str, ...]:
        """A number that leaves room for other words beside them."""
        return tuple(sentence[:400] for sentence in self.beside[:3])

    @property
    def words_beside(self) -> str:
        """The same, to be put after other words."""
        return "".join(f"; {sentence}" for sentence in self.told_beside)

    @property
    def is_open(self) -> bool:
        """Whether the job's status says that the attempt goes on."""
        return self.intent is not None and self.intent.outcome is None

    @property
    def pod_is_going(self) -> bool:
        return self.pod is not None and "deletionTimestamp" in self.pod["metadata"]

    @property
    def application_is_going(self) -> bool:
        return self.application is not None and "deletionTimestamp" in self.application["metadata"]

    @property
    def asks_for_its_namespace(self) -> bool:
        """Whether it matters if its namespace is being deleted, which alone may be why its objects are: no other driver can start
        there, and what is lost must not keep the namespace."""
        if self.namespace_ends:
            return False
        if self.seen.stage is Stage.STARTING:
            return self.pod_is_going
        is_going = self.pod_is_going or self.application_is_going
        return is_going and self.seen.stage in (Stage.LOST, Stage.NOT_OVER)

    @property
    def was_deleted_while_it_ran(self) -> bool:
        """Whether somebody deleted its application before its driver ended."""
        if self.application is None or not self.application_is_going:
            return False
        deleted = datetime.fromisoformat(self.application["metadata"]["deletionTimestamp"])
        return self.seen.ended_at is None or deleted <= self.seen.ended_at

    @property
    def came_back(self) -> bool:
        """Whether it came back with an earlier state of the API server, after its lease had been released."""
        return self.application is not None and names.ANNOTATION_CAME_BACK in annotations_of(self.application)

    @property
    def is_marked(self) -> bool:
        """Whether an object of it carries our finalizer, which goes when its end is proved."""
        return any(is_marked(body) for body in (self.application, self.pod) if body is not None)

    @property
    def holds(self) -> bool:
        """Whether the attempt's lease must stay. A driver without the finalizer is still a driver, and an application without
        it may start one."""
        if self.is_open or self.is_marked:
            return True
        if self.pod is not None:
            seen = observe(None, self.pod, driver_seen=True)
            if seen.stage not in PROVED and not self._is_dead_by_word(seen):
                return True
        if self.seen.stage is Stage.NOT_OVER:
            return self.may_start_a_driver
        return self.application is not None and self.seen.stage is Stage.STARTING


@dataclass(frozen=True)
class Doubt:
    """An object with our finalizer whose leases nobody can tell, or one with our label that belongs to no attempt."""

    body: Json
    why: str

    @property
    def holds(self) -> bool:
        return is_marked(self.body)


@dataclass(frozen=True)
class JobEvidence:
    """All evidence of one job, by the names of its applications."""

    by_application: dict[str, Evidence] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()
    failure: str | None = None
    """Why none of it could be judged: then all of it may hold."""

    def of(self, attempt: Attempt) -> Evidence:
        if self.failure is not None:
            raise EvidenceFailedError(self.failure)
        name = attempt.application
        known = self.by_application.get(name) or Evidence(attempt.number, name, intent=attempt)
        others = [one for one in self.by_application.values() if one.application_name != name and one.holds]
        beside = (*map(_second, others), *map(_doubtful, self.doubts))
        return replace(known, beside=beside) if beside else known

    @property
    def holds_any(self) -> bool:
        return self.failure is not None or any(one.holds for one in self.by_application.values())

    def holds(self, number: int) -> bool:
        """Whether the lease of this attempt must stay."""
        mine = (one for one in self.by_application.values() if one.number == number)
        return self.failure is not None or any(one.holds for one in mine)


def evidence_of(
    uid: str,
    job: JobView | None,
    applications: Iterable[Json],
    pods: Iterable[Json],
    *,
    ending_namespaces: Collection[str] = (),
) -> JobEvidence:
    """Returns the evidence of the job with this uid, whether the job is still there or not."""
    intents = job.status.attempts if job is not None else ()
    found = {
        intent.application: Evidence(intent.number, intent.application, intent=intent) for intent in intents
    }
    homes = {} if job is None else dict.fromkeys(found, job.namespace)
    doubts = []
    for body in applications:
        if _is_made_up(uid, job, body):
            continue
        name = _name(body)
        at = _place(homes, name, body)
        try:
            found[at] = replace(_placed(found.get(at), uid, name, body), application=body)
        except UnreadableRecordError as error:
            doubts.append(Doubt(body, str(error)))
    for body in pods:
        if _is_made_up(uid, job, body):
            continue
        name = _spoken_for(body)
        at = _place(homes, name, body)
        try:
            if not is_placeholder(body):
                found[at] = replace(_placed(found.get(at), uid, name, body), pod=body)
            elif at in found:  # has no record; and stands for nothing where its application is gone
                found[at] = replace(found[at], pod=body)
        except UnreadableRecordError as error:
            if not _is_executor(body):
                doubts.append(Doubt(body, str(error)))
    dead = job.annotations.get(names.ANNOTATION_DRIVER_DEAD) if job is not None else None
    for at, one in found.items():
        there = (body for body in (one.application, one.pod) if body is not None)
        ends = any(body["metadata"]["namespace"] in ending_namespaces for body in there)
        found[at] = _with_words(replace(one, namespace_ends=ends), dead)
    for one in found.values():
        one.seen  # noqa: B018 - what the operator fails on, it fails on here
    return JobEvidence(found, tuple(doubts))


def record_of(body: Json) -> Grant:
    """The lease that the object stands for, as its create body tells."""
    annotations = annotations_of(body)
    try:
        lease = Lease.from_json(annotations[names.ANNOTATION_LEASE])
        text = annotations[names.ANNOTATION_TOKEN]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UnreadableRecordError(
            f"{words(body)}: its annotations {names.ANNOTATION_LEASE} and {names.ANNOTATION_TOKEN} do not say which leases it "
            f"holds ({why}): put them back, or, once its driver has ended, remove its finalizer {names.FINALIZER_LEASE}"
        ) from error
    token = number_in(text)
    if token is None or not Epochs.is_token(token):
        given = str(text)[:40]
        raise UnreadableRecordError(f"{words(body)}: its token {given} is not one that an operator gives")
    if not 0 < lease.attempt < MOST_ATTEMPTS or not lease.job.partition("/")[2]:
        raise UnreadableRecordError(
            f"{words(body)}: its record names attempt {lease.attempt} of job {lease.job!r}, which no operator writes"
        )
    return Grant(lease, token)


def is_marked(body: Json) -> bool:
    """Whether our finalizer keeps it, as long as it stands for leases."""
    return has_finalizer(body, names.FINALIZER_LEASE)


def annotations_of(body: Json) -> dict[str, str]:
    return body["metadata"].get("annotations") or {}


def labels_of(body: Json) -> dict[str, str]:
    return body["metadata"].get("labels") or {}


def words(body: Json) -> str:
    """Names the object; lists do not say what kind their pods are."""
    return f"{body.get('kind', 'Pod')} {body['metadata']['namespace']}/{_name(body)}"


def _second(one: Evidence) -> str:
    body = one.application or one.pod
    what = words(body) if body is not None else f"attempt {one.number}"
    return f"{what} belongs to this job, too: its leases stay until that has ended as well"


def _doubtful(doubt: Doubt) -> str:
    if doubt.holds:
        return doubt.why
    return f"{words(doubt.body)} bears this job's label but belongs to none of its attempts: it holds nothing"


def _is_executor(pod: Json) -> bool:
    """Whether it only computes for a driver. Spark operators give it the labels of its application, the job's among them."""
    return labels_of(pod).get(LABEL_ROLE) == EXECUTOR_ROLE and not is_marked(pod)


def _is_made_up(uid: str, job: JobView | None, body: Json) -> bool:
    """Whether the object is made up. All that an operator creates for a job is in the job's own namespace. Whoever may write
    only in another one must not use that to say how the job fares, nor to put anything on its status."""
    if job is None or body["metadata"]["namespace"] == job.namespace:
        return False
    if not is_marked(body):
        return True
    try:
        return record_of(body).lease.uid == uid
    except UnreadableRecordError:
        return False  # another job's, it may be, whose label somebody changed


def _place(homes: dict[str, str], name: str, body: Json) -> str:
    """Places it by its application's name, in the first namespace that has one of this name; else with its namespace."""
    namespace = body["metadata"]["namespace"]
    return name if homes.setdefault(name, namespace) == namespace else f"{namespace}/{name}"


def _spoken_for(pod: Json) -> str:
    """The application of which the pod is the driver, by its name. A pod of any other name speaks for itself alone: else it could
    say how a driver fares that runs beside it."""
    name = _name(pod)
    return name.removesuffix(DRIVER_SUFFIX) if name.endswith(DRIVER_SUFFIX) else f"pod/{name}"


def _placed(known: Evidence | None, uid: str, name: str, body: Json) -> Evidence:
    """Returns what it is evidence of. Where its record is gone, its name tells, if another witness knows that name."""
    namespace = body["metadata"]["namespace"]
    try:
        grant = record_of(body)
    except UnreadableRecordError:
        if known is None:
            raise
        return known
    lease = grant.lease
    if lease.uid != uid or not lease.job.startswith(f"{namespace}/"):
        raise UnreadableRecordError(
            f"{words(body)}: its record names job {lease.job} with uid {lease.uid}, its label {names.LABEL_JOB_UID} another one"
        )
    if known is not None and known.intent is not None and known.intent.token != grant.token:
        raise UnreadableRecordError(
            f"{words(body)}: it bears the name of attempt {known.number}, whose token is {known.intent.token}, but its own "
            f"token is {grant.token}: put its annotation {names.ANNOTATION_TOKEN} back; or delete it and, once its driver has "
            f"ended, remove its finalizer {names.FINALIZER_LEASE}"
        )
    return known or Evidence(lease.attempt, name)


def _with_words(one: Evidence, by_job: str | None) -> Evidence:
    """Adds what people say of its driver's death, on the job or the application; on the pod only where that is its witness."""
    where = [one.application] if one.application is not None or one.is_open else [one.pod]
    said = tuple(word for word in (by_job, *map(_word_on, where)) if word is not None)
    dead = any(word_for(loss, one.application_name) in said for loss in one.losses)
    return replace(one, said=said, declared_dead=dead)


def _word_on(body: Json | None) -> str | None:
    return annotations_of(body).get(names.ANNOTATION_DRIVER_DEAD) if body is not None else None


def _name(body: Json) -> str:
    return str(body["metadata"]["name"])
