"""Moves SparkApplications through their states: reads, asks the state machine, does the one thing it says.

Every status write carries the version that the decision was made on; a conflict means that the decision is taken again.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from localengine import states
from localengine.application import LABEL_SUBMISSION, Application
from localengine.ledger import Ledger, Submission
from localengine.objects import delete, find
from sluice.api.base import Json
from sluice.kube.client import ConflictError, Kube, NotFoundError
from sluice.kube.resources import KUBEFLOW_APPLICATIONS, PODS

_log = logging.getLogger(__name__)

Name = tuple[str, str]
NAME_TAKEN = "driver pod already exist"


class SubmissionError(Exception):
    """The driver was not created, and the message says why."""


class Submitter(Protocol):
    """Creates the driver pod of an application, as spark-submit does."""

    def refusal(self, application: Application) -> str | None: ...

    async def submit(self, application: Application, submission_id: str) -> None: ...

    def is_submitting(self, submission_id: str) -> bool:
        """True while a submission that an engine before this one began may still create the pod."""


@dataclass(frozen=True)
class Faults:
    """What goes wrong with the real operator at times, on demand: for tests of those who must live with it."""

    submit_delay: float = 0
    lose_status: bool = False


class ApplicationController:
    def __init__(
        self, kube: Kube, submitter: Submitter, ledger: Ledger, faults: Faults, clock: Callable[[], datetime]
    ) -> None:
        self._kube = kube
        self._submitter = submitter
        self._ledger = ledger
        self._faults = faults
        self._clock = clock
        self._lost: set[str] = set()

    async def reconcile(self, key: Name) -> float | None:
        body = await find(self._kube, KUBEFLOW_APPLICATIONS, *key)
        if body is None:
            return None
        application = Application(body)
        pod = await self._driver_pod(application)
        step = states.decide(application, pod, self._clock())
        match step:
            case states.Submit():
                return await self._submit(application)
            case states.Write(status):
                return await self._write(application, status)
            case states.Wait(seconds):
                return seconds
            case states.DeleteDriver():
                assert pod is not None  # noqa: S101 - the state machine saw it
                why = "deleted" if application.deleted else "suspended"
                _log.info("%s/%s is being %s: deleting its driver pod", *key, why)
                await delete(self._kube, PODS, pod)
            case states.DeleteApplication():
                _log.info("%s/%s outlived its timeToLiveSeconds: deleting it", *key)
                await delete(self._kube, KUBEFLOW_APPLICATIONS, body)
        return None

    async def _submit(self, application: Application) -> float | None:
        if why := self._submitter.refusal(application):
            return await self._write(
                application, states.submission_failed(application, "", why, self._clock())
            )
        submission = self._ledger.find(application.uid)
        if submission is not None and not self._faults.lose_status:
            return await self._adopt(application, submission)
        submission = self._ledger.add(application.uid, str(uuid.uuid4()))
        if self._faults.submit_delay:
            await asyncio.sleep(self._faults.submit_delay)
        try:
            await self._submitter.submit(application, submission.id)
        except SubmissionError as error:
            message = f"failed to run spark-submit: {error}"
            status = states.submission_failed(application, submission.id, message, submission.at)
        else:
            status = states.submitted(application, submission.id, submission.at)
        if self._faults.lose_status and application.uid not in self._lost:
            self._lost.add(application.uid)
            _log.info(
                "%s/%s: losing the status after the submission, as asked",
                application.namespace,
                application.name,
            )
            return 1.0
        return await self._write(application, status)

    async def _adopt(self, application: Application, submission: Submission) -> float | None:
        """Takes over from an earlier engine that began to submit the application: what came of that is what counts."""
        if self._submitter.is_submitting(submission.id):
            return 0.5
        pod = await self._driver_pod(application)
        if pod is not None and (pod["metadata"].get("labels") or {}).get(LABEL_SUBMISSION) != submission.id:
            message = f"failed to run spark-submit: {NAME_TAKEN}"
            status = states.submission_failed(application, submission.id, message, submission.at)
        else:
            status = states.submitted(application, submission.id, submission.at)
        _log.info("%s/%s was submitted before: going on with it", application.namespace, application.name)
        return await self._write(application, status)

    async def _driver_pod(self, application: Application) -> Json | None:
        return await find(self._kube, PODS, application.namespace, application.driver_pod_name)

    async def _write(self, application: Application, status: Json) -> float | None:
        if status["applicationState"]["state"] == states.State.RESUMING:
            self._ledger.forget(application.uid)  # its earlier submission is over: this one is another
        version = application.metadata["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "status": status}
        try:
            await self._kube.patch(
                KUBEFLOW_APPLICATIONS, application.namespace, application.name, body, sub="status"
            )
        except ConflictError:
            return 0.0
        except NotFoundError:
            return None
        before = states.current_state(application).value
        after = status["applicationState"]
        if after["state"] == before:
            return None
        message = f": {after['errorMessage']}" if after.get("errorMessage") else ""
        name = f"{application.namespace}/{application.name}"
        _log.info("%s: %s -> %s%s", name, before or "new", after["state"], message)
        return None


def now() -> datetime:
    return datetime.now(UTC)
