"""Applications and driver pods as an operator creates them and others change them."""

from datetime import UTC, datetime
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import DriverLoss
from sluice.leases import Epochs, Lease
from sluice.lifecycle.evidence.driver_losses import noted, word_for

LEASE = Lease("uid-a", 1, "hash", "etl/a", ("file:/lake/orders",))
TOKEN = Epochs.token(3, 7)
NAME = "a-1"


def application(state: str = "", name: str = NAME, *, lease: Lease = LEASE, **changed: Any) -> Json:
    """`changed`: metadata that is otherwise; None: that is gone."""
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": _metadata(name, lease, changed),
        "spec": {},
        "status": {"applicationState": {"state": state}} if state else {},
    }


def pod(state: Json | None = None, name: str = NAME, *, lease: Lease = LEASE, **changed: Any) -> Json:
    """Returns a pod as a list gives it: without its kind."""
    status = {"containerStatuses": [{"name": "spark-kubernetes-driver", "state": state}]} if state else {}
    return {
        "metadata": _metadata(f"{name}-driver", lease, changed),
        "spec": {"nodeName": "node-1"},
        "status": status,
    }


RUNNING = {"running": {"startedAt": "2026-11-19T10:00:00Z"}}
TERMINATED = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-19T10:05:00Z"}}


LOST_AT = datetime(2026, 11, 19, 10, 30, 0, 123456, tzinfo=UTC)


def loss(
    driver: Json | None = None, *, silent_since: str | None = None, at: datetime = LOST_AT
) -> DriverLoss:
    """As it was told when there was this pod of the driver, or none."""
    uid = None if driver is None else driver["metadata"]["uid"]
    return DriverLoss(at=at, pod_uid=uid, silent_since=silent_since)


def declared_dead(told: DriverLoss | None = None, name: str = NAME) -> Json:
    """The annotation by which a person declares dead the driver that was lost so."""
    return {names.ANNOTATION_DRIVER_DEAD: word_for(told or loss(), name)}


def told_there(told: DriverLoss | None = None) -> Json:
    """The annotation by which the operator has told the loss on what is left."""
    return {names.ANNOTATION_DRIVER_LOST: noted(told or loss())}


def placeholder(name: str = NAME) -> Json:
    labels = {names.LABEL_JOB_UID: LEASE.uid, names.LABEL_ATTEMPT: "1", names.LABEL_PLACEHOLDER: "true"}
    gates = [{"name": names.SCHEDULING_GATE}]
    changed = {"labels": labels, "annotations": None, "finalizers": [names.FINALIZER_PLACEHOLDER]}
    return {"metadata": _metadata(f"{name}-driver", LEASE, changed), "spec": {"schedulingGates": gates}}


def executor(**changed: Any) -> Json:
    """A pod that computes for the driver. It bears its application's labels, and no record."""
    labels = {names.LABEL_JOB_UID: LEASE.uid, names.LABEL_ATTEMPT: "1", "spark-role": "executor"}
    body = pod(RUNNING, labels=labels, annotations=None, finalizers=None)
    body["metadata"] |= {"name": f"{NAME}-exec-1", **changed}
    return body


def _metadata(name: str, lease: Lease, changed: Json) -> Json:
    metadata: Json = {
        "name": name,
        "namespace": "etl",
        "uid": f"uid-of-{name}",
        "resourceVersion": "5",
        "creationTimestamp": "2026-11-19T10:00:00Z",
        "labels": {names.LABEL_JOB_UID: lease.uid, names.LABEL_ATTEMPT: str(lease.attempt)},
        "annotations": {names.ANNOTATION_LEASE: lease.to_json(), names.ANNOTATION_TOKEN: str(TOKEN)},
        "finalizers": [names.FINALIZER_LEASE],
    } | changed
    return {key: value for key, value in metadata.items() if value is not None}
