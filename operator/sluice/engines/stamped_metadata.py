"""What every application of ours bears, whichever Spark operator runs it: whose it is, and which leases it stands for."""

from typing import Any

from sluice.api import names
from sluice.engines.attempt import AttemptRun


def labels_of(run: AttemptRun) -> dict[str, str]:
    """Of the application and of its driver's pod."""
    return {
        **run.labels,
        names.LABEL_JOB: run.job[:63].rstrip("-."),
        names.LABEL_JOB_UID: run.job_uid,
        names.LABEL_ATTEMPT: str(run.number),
    }


def lease_of(run: AttemptRun) -> dict[str, str]:
    """The annotations of the application and of its driver's pod, by which both tell their leases."""
    return {**run.annotations, names.ANNOTATION_TOKEN: str(run.token), names.ANNOTATION_LEASE: run.lease}


def metadata_of(run: AttemptRun) -> dict[str, Any]:
    return {
        "name": run.application,
        "namespace": run.namespace,
        "labels": labels_of(run),
        "annotations": lease_of(run) | {names.ANNOTATION_WRITER_EPOCH: str(run.writer_epoch)},
        "finalizers": [names.FINALIZER_LEASE],
        "ownerReferences": [
            {
                "apiVersion": names.API_VERSION,
                "kind": names.JOB_KIND,
                "name": run.job,
                "uid": run.job_uid,
                "controller": True,
                "blockOwnerDeletion": False,
            }
        ],
    }
