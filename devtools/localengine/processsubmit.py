"""Submits an application in process mode: makes the driver's Pod, and leaves the rest to the kubelet."""

from __future__ import annotations

from localengine import driverpod
from localengine.application import Application
from localengine.controller import NAME_TAKEN, SubmissionError
from sluice.kube.client import ApiError, ConflictError, Kube
from sluice.kube.resources import PODS


class ProcessSubmitter:
    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def refusal(self, application: Application) -> str | None:
        return driverpod.refusal(application)

    async def submit(self, application: Application, submission_id: str) -> None:
        pod = driverpod.pod(application, submission_id)
        try:
            await self._kube.create(PODS, application.namespace, pod)
        except ConflictError as error:
            raise SubmissionError(NAME_TAKEN) from error
        except ApiError as error:
            if 400 <= error.status < 500:
                raise SubmissionError(f"failed to run spark-submit: {error}") from error
            raise

    def is_submitting(self, submission_id: str) -> bool:  # noqa: ARG002 - one request, over when the engine is
        return False
