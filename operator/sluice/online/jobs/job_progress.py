"""One job's course as its objects tell it: what is new to somebody who follows it, and how it ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from sluice.api.base import Json
from sluice.api.job_status import OVER, AttemptProgress, Phase
from sluice.api.reasons import Reason
from sluice.engines.attempt import driver_pod_name
from sluice.engines.progress import progress_from
from sluice.online.access.job_names import JobName
from sluice.online.access.job_objects import (
    object_in,
    objects_in,
    phase_of,
    status_in,
    whole_number,
)
from sluice.online.access.stream_progress import stream_in


class Ending(StrEnum):
    SUCCEEDED = "Succeeded"
    SKIPPED = "Skipped"
    FAILED = "Failed"
    DELETED = "Deleted"
    """It was deleted, and nobody saw it end before."""


_BY_PHASE = {
    Phase.SUCCEEDED.value: Ending.SUCCEEDED,
    Phase.SKIPPED.value: Ending.SKIPPED,
    Phase.FAILED.value: Ending.FAILED,
}


@dataclass(frozen=True)
class OldEnd:
    """The end of a job for which somebody has asked for one more attempt: it is the job's end no longer, unless the operator says
    that there is no other."""

    finished_at: str | None
    asked: str

    def is_all(self, status: Json) -> bool:
        """Whether nothing has come of it yet."""
        return status.get("finishedAt") == self.finished_at and status.get("retryAsked") != self.asked

    def is_final(self, status: Json) -> bool:
        """Whether the operator has answered that there is no other attempt."""
        return status.get("finishedAt") == self.finished_at and status.get("retryAsked") == self.asked


@dataclass
class JobProgress:
    job: JobName
    uid: str | None = None
    """Another job of this name is not this one. None: the first that is seen is the one that is meant."""
    body: Json = field(default_factory=dict)
    """As it was seen last."""
    ending: Ending | None = None
    old_end: OldEnd | None = None
    _told: tuple[str, str] = ("", "")
    _statement: tuple[int, int, str] | None = None
    _commits: set[tuple[str, int | None]] = field(default_factory=set)
    _is_told_of_deletion: bool = False

    @property
    def phase(self) -> str:
        return phase_of(self.body)

    @property
    def status(self) -> Json:
        return status_in(self.body)

    @property
    def is_stream(self) -> bool:
        """A stream's batches and commits have no end: who follows it is told of its phases alone."""
        return bool(object_in(self.body.get("spec")).get("stream"))

    @property
    def _tells_of_each_batch(self) -> bool:
        """Whether its message is another one after each batch."""
        return self.is_stream and self.status.get("reason") in (Reason.STREAMING, Reason.DRIVER_RUNNING)

    @property
    def latest_attempt(self) -> Json:
        attempts = objects_in(self.status.get("attempts"))
        return attempts[-1] if attempts else {}

    @property
    def driver_pod(self) -> str | None:
        """The pod that tells how far it has come, while it runs."""
        application = self.latest_attempt.get("application")
        runs = self.phase == Phase.RUNNING.value and self.ending is None and not self.is_stream
        return driver_pod_name(str(application)) if runs and application else None

    def sees(self, body: Json) -> list[str]:
        """Takes in the job as it is now, and returns what is new, in sentences."""
        if not self._is_it(body):
            return self.is_gone()
        self.body = body
        said = list(self._news())
        if self.old_end is not None and self.phase in OVER:
            if self.old_end.is_all(self.status):
                return []
            if self.old_end.is_final(self.status):
                where = f"kubectl describe deltawritejob {self.job.name} -n {self.job.namespace}"
                said.append(f"the operator starts no other attempt; an Event (NotRetried) says why: {where}")
        self.ending = _BY_PHASE.get(self.phase)
        return said

    def sees_progress(self, progress: AttemptProgress | None) -> list[str]:
        """Takes in what its driver tells. What a commit was by is told with the attempt that made it."""
        if progress is None or self.ending is not None or self.is_stream:
            return []
        return list(self._news_of(progress))

    def is_gone(self, body: Json | None = None) -> list[str]:
        """Takes in that there is no such job any more. `body`: as it was in the end."""
        if self.ending is not None or (body is not None and not self._is_it(body)):
            return []
        said = self.sees(body) if body is not None else []
        if self.ending is None:
            self.ending = Ending.DELETED
            said.append("Deleted, before anybody saw it end")
        return said

    def _is_it(self, body: Json) -> bool:
        uid = str(body["metadata"]["uid"])
        self.uid = self.uid or uid
        return self.uid == uid

    def _news(self) -> Iterator[str]:
        if self.body["metadata"].get("deletionTimestamp") and not self._is_told_of_deletion:
            self._is_told_of_deletion = True
            yield "is being deleted"
        if self.phase == Phase.BACKING_OFF.value:
            self._statement = None  # another attempt begins with the first one that is left
        if self.phase == Phase.RUNNING.value and not self.is_stream:
            progress = progress_from(self.latest_attempt.get("progress"))
            if progress is not None and (self._statement is None or progress.statement > self._statement[0]):
                yield from self._news_of(progress)
        for attempt in objects_in(self.status.get("attempts")):
            yield from self._news_of_commits(objects_in(attempt.get("commits")))
        message = str(self.status.get("message") or "")
        told = (self.phase, "" if self._tells_of_each_batch else message)
        if self.status.get("phase") and self._told != told:
            self._told = told
            yield f"{self.phase}: {message}" if message else self.phase

    def _news_of(self, progress: AttemptProgress) -> Iterator[str]:
        statement = progress.statement, progress.of, progress.operation
        last = progress.last_commit
        if last is not None and (last.table, last.version) not in self._commits:
            self._commits.add((last.table, last.version))
            yield f"committed version {last.version} of {last.table}"
        if statement != self._statement:
            self._statement = statement
            yield f"runs statement {progress.statement} of {progress.of}: {progress.operation}"

    def _news_of_commits(self, commits: list[Json]) -> Iterator[str]:
        for one in commits:
            made = str(one.get("table")), whole_number(one.get("version"))
            if made not in self._commits:
                self._commits.add(made)
                yield (
                    f"committed version {made[1]} of {made[0]} ({one.get('operation')}, "
                    f"statement {one.get('statement')})"
                )


def outcome_json(course: JobProgress) -> Json:
    """How it ended, or how it is as long as it has not ended, for programs."""
    status, attempt = course.status, course.latest_attempt
    return {
        "job": str(course.job),
        "uid": course.uid,
        "ending": course.ending.value if course.ending is not None else None,
        "phase": course.phase,
        "reason": status.get("reason"),
        "message": status.get("message"),
        "queuedAt": status.get("queuedAt"),
        "startedAt": attempt.get("startedAt"),
        "finishedAt": status.get("finishedAt"),
        "attempts": status.get("attempt") or 0,
        "outcome": attempt.get("outcome"),
        "exitCode": attempt.get("exitCode"),
        "exception": attempt.get("exception"),
        "commits": [
            commit for one in objects_in(status.get("attempts")) for commit in objects_in(one.get("commits"))
        ],
        "stream": stream_in(course.body, {}),
        "blockedBy": [one.get("job") for one in objects_in(status.get("blockedBy"))],
    }
