"""What became of each attempt, put together from what the API server carried out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from integration.faults.audited import Landed
from sluice.api import names
from sluice.api.base import Json
from sluice.engines import is_placeholder
from sluice.kube.resources import KUBEFLOW_APPLICATIONS, PODS

_ENDED = ("COMPLETED", "FAILED")
"""States in which the Spark operator submits no more."""


@dataclass
class Driver:
    pod_uid: str
    created: Landed
    runs: Landed | None = None
    ended: Landed | None = None
    exit_code: int | None = None
    let_go: Landed | None = None
    gone: Landed | None = None


@dataclass
class Told:
    """An outcome, when it was first told."""

    outcome: str
    by: Landed


@dataclass
class Attempt:
    uid: str
    number: int
    token: int
    intent: Landed | None = None
    creates: list[Landed] = field(default_factory=list)
    said_running: bool = False
    """Whether its application said that it has its driver."""
    over: Landed | None = None
    """From which on its application starts no other driver."""
    deleting: Landed | None = None
    let_go: Landed | None = None
    """Its application, of our finalizer."""
    drivers: list[Driver] = field(default_factory=list)
    placeholder: Landed | None = None
    told: list[Told] = field(default_factory=list)

    @property
    def holder(self) -> str:
        return f"{self.uid}/{self.number}"

    @property
    def never_said_it(self) -> bool:
        """Whether its application was deleted before it said that it has its driver."""
        return self.deleting is not None and not self.said_running

    @property
    def end(self) -> Landed | None:
        """The end of its driver; where it had none, that its name was taken."""
        ends = [driver.ended for driver in self.drivers] or [self.placeholder]
        found = [end for end in ends if end is not None]
        return max(found, key=_received) if len(found) == len(ends) else None

    @property
    def proof(self) -> Landed | None:
        """By which it is proved to have ended: its driver's end, and that no other one can start."""
        no_other = [one for one in (self.over, self.placeholder) if one is not None]
        if self.end is None or not no_other:
            return None
        return max(self.end, min(no_other, key=_received), key=_received)

    @property
    def told_proof(self) -> str:
        """When each part of the proof came, for people."""
        parts = {"application over": self.over, "placeholder": self.placeholder} | {
            f"driver {number} {what}": write
            for number, driver in enumerate(self.drivers, 1)
            for what, write in (("ended", driver.ended), ("let go", driver.let_go), ("gone", driver.gone))
        }
        return ", ".join(
            f"{what} {'never' if write is None else f'{write.verb} by {write.user} at {write.received:.3f}'}"
            for what, write in parts.items()
        )


def _received(write: Landed) -> float:
    return write.received


@dataclass
class Observed:
    """All attempts and jobs, as the API server's log tells."""

    attempts: dict[tuple[str, int, int], Attempt] = field(default_factory=dict)
    """By uid, number and token."""
    jobs: dict[str, Json] = field(default_factory=dict)
    """As they were last seen, by uid; also those that are gone."""
    gone_jobs: dict[str, Landed] = field(default_factory=dict)
    live: dict[tuple[str, str], Json] = field(default_factory=dict)
    """Applications and pods that are there, by kind and name."""
    epochs: list[tuple[Landed, int]] = field(default_factory=list)
    """The parameter of the admission policy."""
    operators: list[Landed] = field(default_factory=list)
    """What operators wrote that carries an epoch."""

    def of(self, uid: str) -> list[Attempt]:
        return [one for one in self.attempts.values() if one.uid == uid]

    def went_straight(self, uids: Iterable[str]) -> bool:
        """Whether none of these jobs took more than one attempt."""
        return all(len(self.of(uid)) < 2 and not self._withdrawn(uid) for uid in uids)

    def _withdrawn(self, uid: str) -> bool:
        return any(told.outcome == "Withdrawn" for attempt in self.of(uid) for told in attempt.told)


def observed(writes: Iterable[Landed], operator: str) -> Observed:
    """`operator`: the user name as which operators act."""
    seen = _Seeing(operator)
    for write in writes:
        seen.take(write)
    return seen.found


class _Seeing:
    def __init__(self, operator: str) -> None:
        self.found = Observed()
        self._operator = operator
        self._uids: dict[str, str] = {}

    def take(self, write: Landed) -> None:
        if not write.is_sure:
            self._may_be_an_intent(write)
            return
        if write.user == self._operator and epoch_of(write) is not None:
            self.found.operators.append(write)
        if write.kind == names.JOB_PLURAL:
            self._job(write)
        elif write.kind == KUBEFLOW_APPLICATIONS.plural:
            self._application(write)
        elif write.kind == PODS.plural:
            self._pod(write)
        elif write.kind == "configmaps" and write.name.endswith("-epoch") and write.body.get("data"):
            self.found.epochs.append((write, int(write.body["data"][names.EPOCH_KEY])))

    def _job(self, write: Landed) -> None:
        if write.is_gone:
            uid = self._uids.pop(write.name, None)
            if uid is not None:
                self.found.gone_jobs[uid] = write
            return
        uid = write.metadata["uid"]
        self._uids[write.name] = uid
        self.found.jobs[uid] = write.body
        for told in (write.body.get("status") or {}).get("attempts") or []:
            attempt = self._attempt(uid, told["number"], told["token"])
            if attempt.intent is None:
                attempt.intent = write
            outcome = told.get("outcome")
            if outcome and (not attempt.told or attempt.told[-1].outcome != outcome):
                attempt.told.append(Told(outcome, write))

    def _may_be_an_intent(self, write: Landed) -> None:
        """What was asked is then all that tells of it."""
        uid = self._uids.get(write.name)
        if write.kind != names.JOB_PLURAL or uid is None or not isinstance(write.asked, dict):
            return
        for told in (write.asked.get("status") or {}).get("attempts") or []:
            attempt = self._attempt(uid, told["number"], told["token"])
            attempt.intent = attempt.intent or write

    def _application(self, write: Landed) -> None:
        attempt = self._named(write.metadata or self._before(write))
        self._note_life(write)
        if attempt is None:
            return
        if write.verb == "create":
            attempt.creates.append(write)
        shown = (write.body.get("status") or {}) if write.metadata else {}  # of an answer it is the outcome
        state = (shown.get("applicationState") or {}).get("state", "")
        attempt.said_running |= state in ("RUNNING", "SUCCEEDING", "COMPLETED")
        if "deletionTimestamp" in write.metadata and attempt.deleting is None:
            attempt.deleting = write
        is_ending = attempt.deleting is not None and attempt.said_running
        if attempt.over is None and (state in _ENDED or is_ending or write.is_gone):
            attempt.over = write
        if self._lets_go(write) and attempt.let_go is None:
            attempt.let_go = write

    def _pod(self, write: Landed) -> None:
        self._note_life(write)
        attempt = self._named(write.metadata)
        if attempt is None:
            return
        if is_placeholder(write.body):
            attempt.placeholder = attempt.placeholder or write
            return
        uid = write.metadata["uid"]
        driver = next((one for one in attempt.drivers if one.pod_uid == uid), None)
        if driver is None:
            driver = Driver(uid, write)
            attempt.drivers.append(driver)
        status = write.body.get("status") or {}
        if status.get("phase") == "Running" and driver.runs is None:
            driver.runs = write
        ended = exit_code(status)
        if ended is not None and driver.ended is None:
            driver.ended, driver.exit_code = write, ended
        if self._lets_go(write) and driver.let_go is None:
            driver.let_go = write
        if write.is_gone:
            driver.gone = write

    def _note_life(self, write: Landed) -> None:
        place = write.kind, write.name
        if write.is_gone:
            self.found.live.pop(place, None)
        elif write.metadata:
            self.found.live[place] = write.body

    def _lets_go(self, write: Landed) -> bool:
        """Whether an operator takes the finalizer off."""
        return write.user == self._operator and names.FINALIZER_LEASE not in (
            write.metadata.get("finalizers") or []
        )

    def _before(self, write: Landed) -> Json:
        """What was there: the answer to a deletion of what has no finalizers tells nothing of it."""
        metadata: Json = self.found.live.get((write.kind, write.name), {}).get("metadata", {})
        return metadata

    def _named(self, metadata: Json) -> Attempt | None:
        labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
        uid, number = labels.get(names.LABEL_JOB_UID), labels.get(names.LABEL_ATTEMPT)
        if uid is None or number is None:
            return None
        token = annotations.get(names.ANNOTATION_TOKEN)
        if token is None:  # a placeholder bears none
            same = [one for one in self.found.of(uid) if one.number == int(number)]
            return same[-1] if same else None
        return self._attempt(uid, int(number), int(token))

    def _attempt(self, uid: str, number: int, token: int) -> Attempt:
        key = uid, number, token
        return self.found.attempts.setdefault(key, Attempt(*key))


def epoch_of(write: Landed) -> int | None:
    """The epoch that a write of an operator carries, if it is of a kind that carries one."""
    if write.kind == names.JOB_PLURAL and write.sub == "status":
        found = ((write.asked or {}).get("status") or {}).get("writerEpoch")
        return None if found is None else int(found)
    if write.kind not in (KUBEFLOW_APPLICATIONS.plural, PODS.plural) or write.sub or write.verb == "delete":
        return None
    found = (write.metadata.get("annotations") or {}).get(names.ANNOTATION_WRITER_EPOCH)
    return None if found is None else int(found)


def exit_code(status: Any) -> int | None:
    for container in status.get("containerStatuses") or []:
        terminated = (container.get("state") or {}).get("terminated")
        if terminated is not None:
            return int(terminated["exitCode"])
    return None
