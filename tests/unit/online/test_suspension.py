"""What is decided about a job that somebody wants to hold back, or to let go on."""

import json
from copy import deepcopy
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.kube.client import ApiError, ConflictError
from sluice.kube.resources import Resource
from sluice.online.access.job_names import JobName
from sluice.online.jobs import suspension
from sluice.online.jobs.job_changes import TRIES, ChangeReport, Result, changed

JOB = JobName("etl", "nightly")
HELD = {"spec": {"admission": {"suspend": True}}}
LET_GO = {"spec": {"admission": {"suspend": False}}}


def job(phase: str | None, *, held: bool = False, **metadata: Any) -> Json:
    return {
        "metadata": {"namespace": "etl", "name": "nightly", "uid": "u", "resourceVersion": "7"} | metadata,
        "spec": {"admission": {"suspend": held}},
        "status": {"phase": phase} if phase else {},
    }


class Server:
    """Has one job, which changes by itself as often as it is told to, whenever somebody is about to change it."""

    def __init__(self, body: Json, *, changes: int = 0, refusal: ApiError | None = None) -> None:
        self.body, self.changes, self.refusal = body, changes, refusal
        self.patches: list[Json] = []

    async def get(self, _: Resource, namespace: str, name: str) -> Json:
        assert (namespace, name) == ("etl", "nightly")
        return deepcopy(self.body)

    async def patch(self, _: Resource, __: str, ___: str, patch: Json, *, as_manager: str) -> None:
        assert as_manager == "sluice-suspend"
        if self.refusal is not None:
            raise self.refusal
        metadata = self.body["metadata"]
        if self.changes:
            self.changes -= 1
            metadata["resourceVersion"] += "0"
        if patch["metadata"] != {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}:
            raise ConflictError(409, "Conflict", "the object has been modified")
        self.patches.append({key: value for key, value in patch.items() if key != "metadata"})


async def held_back(server: Server) -> ChangeReport:
    return await changed(server, JOB, suspension._decide_to_hold, suspension.MANAGER)  # type: ignore[arg-type]  # a server of the test's own


async def let_go(server: Server) -> ChangeReport:
    return await changed(server, JOB, suspension._decide_to_let_go, suspension.MANAGER)  # type: ignore[arg-type]  # likewise


@pytest.mark.parametrize("phase", [None, "Pending", "Waiting", "BackingOff"])
async def test_a_job_that_waits_is_held_back(phase: str | None) -> None:
    server = Server(job(phase))
    told = await held_back(server)
    assert (told.result, server.patches) == (Result.CHANGED, [HELD])
    assert told.message.endswith("until `sluice resume etl/nightly`")


@pytest.mark.parametrize("phase", ["Starting", "Running", "Paused", "Ending"])
async def test_a_job_that_runs_is_left_alone_and_it_is_told_how_to_end_it(phase: str) -> None:
    server = Server(job(phase))
    told = await held_back(server)
    assert (told.result, server.patches) == (Result.REFUSED, [])
    assert told.message.startswith(f"runs already ({phase}): suspend holds back waiting jobs")
    assert "kubectl delete deltawritejob nightly -n etl" in told.message


@pytest.mark.parametrize("phase", ["Starting", "Running", "Paused"])
async def test_a_stream_stops_between_two_batches(phase: str) -> None:
    stream: Json = {"trigger": {"processingTime": "1 minute"}}
    body, held = job(phase), job(phase, held=True)
    body["spec"]["stream"] = held["spec"]["stream"] = stream
    server = Server(body)
    told = await held_back(server)
    assert (told.result, server.patches) == (Result.CHANGED, [HELD])
    assert "goes on from its checkpoint after `sluice resume etl/nightly`" in told.message
    assert (await held_back(Server(held))).result is Result.UNCHANGED
    ends = job("Ending")
    ends["spec"]["stream"] = stream
    assert (await held_back(Server(ends))).result is Result.REFUSED


async def test_every_phase_is_one_that_can_be_held_back_or_runs_or_is_over() -> None:
    results = {phase: (await held_back(Server(job(phase.value)))).result for phase in Phase}
    assert {phase for phase, result in results.items() if result is Result.UNCHANGED} == {
        phase for phase in Phase if phase.is_terminal
    }
    assert {phase for phase, result in results.items() if result is Result.REFUSED} == {
        Phase.STARTING,
        Phase.RUNNING,
        Phase.PAUSED,
        Phase.ENDING,
    }


async def test_what_is_so_already_or_over_is_not_changed() -> None:
    for asked, body in (
        (held_back, job("Suspended", held=True)),
        (held_back, job("Failed")),
        (held_back, job("Waiting", deletionTimestamp="2026-11-27T00:00:00Z")),
        (let_go, job("Waiting")),
        (let_go, job("Succeeded", held=True)),
    ):
        server = Server(body)
        assert ((await asked(server)).result, server.patches) == (Result.UNCHANGED, [])


async def test_one_that_failed_while_it_was_held_back_is_not_found_held_back_by_a_retry() -> None:
    server = Server(job("Failed", held=True))
    told = await let_go(server)
    assert (told.result, server.patches) == (Result.CHANGED, [LET_GO])
    assert told.message.endswith("`sluice retry etl/nightly` has it run again")
    assert (await let_go(Server(job("Failed")))).result is Result.UNCHANGED


async def test_a_job_that_begins_to_run_meanwhile_is_decided_on_anew() -> None:
    server = Server(job("Waiting"), changes=1)
    assert (await held_back(server)).result is Result.CHANGED
    assert len(server.patches) == 1
    begins = Server(job("Waiting"))

    async def begun(*_: Any, **__: Any) -> None:
        begins.body["status"]["phase"] = "Starting"
        raise ConflictError(409, "Conflict", "the object has been modified")

    begins.patch = begun  # type: ignore[method-assign]  # the test's own
    assert (await held_back(begins)).result is Result.REFUSED


async def test_a_job_that_never_stays_as_it_was_is_given_up_with_a_word() -> None:
    told = await held_back(Server(job("Waiting"), changes=TRIES))
    assert told.result is Result.FAILED
    assert "try again" in told.message


async def test_what_the_cluster_refuses_is_told_of_that_job() -> None:
    told = await held_back(Server(job("Waiting"), refusal=ApiError(403, "Forbidden", "you may not patch")))
    assert (told.result, told.message) == (Result.FAILED, "the cluster refuses: you may not patch")


async def test_nobody_is_told_of_a_job_what_is_true_of_all() -> None:
    for error in (ApiError(0, "NoAnswer", "no answer"), ApiError(401, "Unauthorized", "who?")):
        with pytest.raises(ApiError):
            await held_back(Server(job("Waiting"), refusal=error))


async def test_a_job_that_was_held_back_is_let_go() -> None:
    server = Server(job("Suspended", held=True))
    told = await let_go(server)
    assert (told.result, server.patches) == (Result.CHANGED, [LET_GO])
    assert told.message == "is let go: it queues again, with its old age"


def _entry(operation: str, field: str) -> Json:
    fields: Json = {"f:spec": {"f:admission": {f"f:{field}": {}}}}
    return {"manager": "argocd-controller", "operation": operation, "fieldsV1": fields}


async def test_whoever_applies_the_field_is_named_because_it_will_put_it_back() -> None:
    applied = json.dumps({"spec": {"admission": {"suspend": False}}})
    for metadata, who in (
        ({"managedFields": [_entry("Apply", "suspend")]}, "argocd-controller"),
        ({"annotations": {suspension.LAST_APPLIED: applied}}, "kubectl apply"),
    ):
        told = await held_back(Server(job("Waiting", **metadata)))
        assert f"; {who} has spec.admission.suspend in the manifest" in told.message


@pytest.mark.parametrize(
    "metadata",
    [
        {"managedFields": [_entry("Update", "suspend"), _entry("Apply", "timeout"), {"operation": "Apply"}]},
        {"annotations": {suspension.LAST_APPLIED: json.dumps({"spec": {"sql": "DELETE FROM t"}})}},
        {"annotations": {suspension.LAST_APPLIED: "{"}},
    ],
)
async def test_nobody_is_warned_of_who_does_not_apply_the_field(metadata: Json) -> None:
    told = await held_back(Server(job("Waiting", **metadata)))
    assert told.message.endswith("`sluice resume etl/nightly`")
