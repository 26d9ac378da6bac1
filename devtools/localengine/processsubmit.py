"""Submits an application in process mode: makes the driver's Pod, and leaves the rest to the kubelet."""

from __future__ import annotations

from kubernetes.aio.client.exceptions import ApiException

from localengine import driverpod
from localengine.api import PODS, Api, path_of
from localengine.application import Application
from localengine.controller import NAME_TAKEN, SubmissionError


class ProcessSubmitter:
    def __init__(self, api: Api) -> None:
        self._api = api

    def refusal(self, application: Application) -> str | None:
        return driverpod.refusal(application)

    async def submit(self, application: Application, submission_id: str) -> None:
        pod = driverpod.pod(application, submission_id)
        try:
            await self._api.create(path_of(PODS, application.namespace), pod)
        except ApiException as error:
            if error.status == 409:
                raise SubmissionError(NAME_TAKEN) from error
            if error.status is not None and 400 <= error.status < 500:
                raise SubmissionError(f"failed to run spark-submit: {error.reason}") from error
            raise

    def is_submitting(self, submission_id: str) -> bool:  # noqa: ARG002 - one request, over when the engine is
        return False
