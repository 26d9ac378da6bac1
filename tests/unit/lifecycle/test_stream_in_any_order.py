"""Whatever happens to a stream, in whatever order: what it has done stays known, what is final is final, and its pauses grow only
with failures in a row."""

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.api.base import Json
from sluice.api.job_status import PauseReason, Phase, StreamPause
from sluice.api.reasons import Reason
from sluice.engines import Observation, Stage
from sluice.engines.progress import stream_of
from sluice.lifecycle.attempt.running_status import running
from sluice.lifecycle.evidence.attempt_evidence import evidence_of
from sluice.lifecycle.evidence.outcome import phase_after
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange, as_body, status_after
from sluice.lifecycle.retries.retry_decision import BACKOFF, LONGEST_BACKOFF, Final
from sluice.lifecycle.retries.stream_retries import goes_on, row_after
from sluice.lifecycle.streams.stream_outcome import closed_stream, last_progress
from unit.lifecycle.objects import LEASE, application
from unit.lifecycle.streaming import NOW, attempt, said, stream, telling_pod

TRANSIENT, FINAL = "SparkException", "CheckpointOfAnotherStreamError"


@dataclass
class Life:
    """A stream with its checkpoint, its driver and the operator's status."""

    now: datetime = NOW
    number: int = 1
    checkpoint: int = -1
    """The last batch that ended, whoever said so."""
    batches: int = 0
    """Those of the driver that runs."""
    idle: bool = False
    row: int = 0
    """Failures in a row, as they should count."""
    is_over: bool = False
    view: JobView = field(default_factory=lambda: stream(attempt()))
    known: list[int] = field(default_factory=list)

    def _write(self, change: StatusChange) -> None:
        body = json.loads(json.dumps(as_body(status_after(self.view, change, self.now))))
        self.view = JobView(self.view.body | {"status": body}, self.view.profiles, NOW)
        told = self.view.status.stream
        if told is not None and told.batch is not None:
            self.known.append(told.batch)

    @property
    def _said(self) -> Json:
        batch = {"batch": self.checkpoint} if self.batches else {}
        idle = {"idleSince": self.now.isoformat()} if self.idle else {}
        return said(**batch, batches=self.batches, **idle)

    def batch(self) -> None:
        self.checkpoint, self.batches, self.idle = self.checkpoint + 1, self.batches + 1, False

    def rests(self) -> None:
        self.idle = True

    def look(self) -> None:
        pod = telling_pod(**self._said)
        pod["metadata"]["labels"] = application()["metadata"]["labels"]
        one = evidence_of(LEASE.uid, stream(attempt()), [application("RUNNING")], [pod]).of(attempt())
        found = running(self.view, self.view.status.attempts[-1], one, self.now)
        if found.seconds_until_worth_it == 0:
            self._write(found.change)

    def ends(self, class_: str, *, tells: bool) -> None:
        """`tells`: whether its result says how far it has come; else its pod had said it."""
        exception = {"class": class_, "message": "it broke", "retriable": False}
        told = {"version": 1, "outcome": "Failed", "statements": [], "exception": exception}
        result = json.dumps(told | ({"stream": self._said} if tells else {}))
        worked = self.batches > 0 or self.idle
        self.row = 1 if worked else self.row + 1
        change = self._ended(Observation(Stage.ENDED, exit_code=1, message=result, started_at=NOW))
        self.is_over = change.phase is Phase.FAILED
        assert self.is_over == (class_ == FINAL)
        if not self.is_over:
            assert change.retries == self.row
            assert change.retry_at is not None
            base = min(BACKOFF << (self.row - 1), LONGEST_BACKOFF)
            assert 0.5 * base <= (change.retry_at - self.now).total_seconds() <= 1.5 * base
        self._follow(change)

    def pauses(self) -> None:
        last = self.view.status.attempts[-1]
        pause = StreamPause(reason=PauseReason.YIELDS, since=self.now)
        self._write(
            StatusChange(
                Phase.RUNNING, Reason.PAUSING, "asked", attempt=last.model_copy(update={"pause": pause})
            )
        )
        if self.batches > 0 or self.idle:
            self.row = 0
        result = json.dumps({"version": 1, "outcome": "Paused", "statements": [], "stream": self._said})
        change = self._ended(Observation(Stage.ENDED, exit_code=0, message=result, started_at=NOW))
        assert change.phase is Phase.PAUSED
        self._follow(change)

    def _ended(self, seen: Observation) -> StatusChange:
        last = self.view.status.attempts[-1]
        on_pod = stream_of(telling_pod(**self._said))
        progress = last_progress(self.view.status.stream, last, seen, on_pod, self.now)
        closed = closed_stream(last, seen, progress, self.now)
        phase, reason, message = phase_after(closed)
        change = StatusChange(phase, reason, message, attempt=closed, stream=progress)
        change = replace(change, retries=row_after(self.view, closed, progress))
        if phase is Phase.FAILED:
            found = goes_on(self.view, closed, progress, message, self.now)
            if not isinstance(found, Final):
                change = replace(found.change, stream=progress)
        return change

    def _follow(self, change: StatusChange) -> None:
        self._write(change)
        told = self.view.status.stream
        if self.checkpoint >= 0:
            assert told is not None
            assert told.batch == self.checkpoint
        if not self.is_over:
            self.number, self.batches, self.idle = self.number + 1, 0, False
            self._write(
                StatusChange(
                    Phase.STARTING,
                    Reason.ADMITTED,
                    "granted",
                    attempt=attempt(self.number, granted_at=self.now),
                )
            )


EVENTS = {
    "batch": Life.batch,
    "rests": Life.rests,
    "look": Life.look,
    "fails": lambda life: life.ends(TRANSIENT, tells=True),
    "is killed": lambda life: life.ends(TRANSIENT, tells=False),
    "is refused": lambda life: life.ends(FINAL, tells=True),
    "pauses": Life.pauses,
}


@given(st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), st.integers(0, 200)), max_size=40))
def test_a_stream_loses_nothing_that_is_known_of_it(events: list[tuple[str, int]]) -> None:
    life = Life()
    for event, seconds in events:
        if life.is_over:
            break
        life.now += timedelta(seconds=seconds)
        before = life.number
        EVENTS[event](life)
        assert life.known == sorted(life.known)
        if life.number > before:
            assert (life.view.status.retries or 0) == life.row
