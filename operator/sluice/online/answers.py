"""Writes whatever is answered about a cluster as JSON: pipelines rely on the names of fields."""

from sluice.api.base import Json
from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Examination
from sluice.online.installation.status import InstallationStatus, JobSummary
from sluice.online.leases.adoption import Adoption
from sluice.online.leases.lease_list import LeaseListing
from sluice.online.leases.lease_view import LeaseView


def status_json(found: InstallationStatus) -> Json:
    return {
        "namespace": found.namespace,
        "deployment": found.deployment,
        "leader": found.leader,
        "epoch": found.epoch,
        "renewedAt": found.renewed.isoformat() if found.renewed is not None else None,
        "renewedSecondsAgo": None if found.silent_for is None else round(found.silent_for, 1),
        "conditions": [condition.model_dump(mode="json", by_alias=True) for condition in found.conditions],
        "jobs": found.jobs,
        "holding": [
            {
                "job": one.job,
                "phase": one.phase,
                "attempt": one.attempt,
                "tables": list(one.tables),
                "progress": one.progress
                and one.progress.model_dump(mode="json", by_alias=True, exclude_none=True),
                "stream": one.stream,
                "pause": one.pause,
            }
            for one in found.holding
        ],
        "paused": [{"job": one.job, "stream": one.stream, "pause": one.pause} for one in found.paused],
        "retrying": [{"job": one.job, "attempt": one.attempt, "at": one.at} for one in found.retrying],
        "stuck": [_job(one) for one in found.stuck],
        "strayed": [_job(one) for one in found.strayed],
        "policies": None if found.policies.unseen is not None else dict(found.policies.counts),
        "policiesNotSeen": found.policies.unseen,
        "stalledPolicies": [
            {"policy": one.policy, "reason": one.reason, "message": one.message, "cure": one.cure}
            for one in found.policies.stalled
        ],
        "unexplained": [
            {"holder": lease.holder, "job": lease.job, "attempt": lease.attempt, "tables": list(lease.tables)}
            for lease in found.unexplained
        ],
        "problems": list(found.problems),
    }


def _job(told: JobSummary) -> Json:
    return {"job": told.job, "reason": told.reason, "message": told.message}


def leases_json(at: Installation, found: LeaseListing) -> Json:
    return {
        "namespace": at.namespace,
        "deployment": at.deployment,
        "leases": [_lease(at, one) for one in found.leases],
        "notShown": list(found.not_shown),
    }


def _lease(at: Installation, one: LeaseView) -> Json:
    return {
        "job": one.job,
        "attempt": one.attempt,
        "holder": one.holder,
        "token": one.token,
        "state": one.state.value,
        "since": one.since.isoformat() if one.since is not None else None,
        "lastSeen": one.last_seen.isoformat() if one.last_seen is not None else None,
        "tables": [_table(table, one) for table in one.all_tables],
        "message": one.message,
        "revoke": at.revoke_command(one.holder) if one.may_be_revoked else None,
        "inKubernetes": one.in_kubernetes,
        "inRedis": one.in_redis,
        "differences": list(one.differences),
    }


def _table(table: str, one: LeaseView) -> Json:
    statements = [
        {
            "statement": each.statement,
            "operation": each.operation,
            "reads": each.reads,
            "writes": each.writes,
            "deletes": each.deletes,
            "metadata": each.metadata,
        }
        for each in one.footprint
        if each.table == table
    ]
    return {"table": table, "statements": statements}


def adoption_json(adoption: Adoption, *, done: bool) -> Json:
    return {
        "installation": str(adoption.ours),
        "from": adoption.seen.installation,
        "redis": adoption.redis,
        "leases": [
            {"holder": lease.holder, "job": lease.job, "tables": list(lease.tables)}
            for lease in adoption.seen.hints
        ],
        "staleClaims": [one.key for one in adoption.stale],
        "needed": adoption.is_needed,
        "done": done,
    }


def doctor_json(found: Examination) -> Json:
    """`well`: whether no check failed, and anything of the installation could be seen."""
    return {
        "well": found.is_well,
        "checks": [
            {
                "check": one.check,
                "subject": one.subject,
                "level": one.level.value,
                "message": one.message,
                "cure": one.cure,
            }
            for one in found.findings
        ],
    }
