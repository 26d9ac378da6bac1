"""Writes whatever is answered about a cluster as JSON: pipelines rely on the names of fields."""

from sluice.api.base import Json
from sluice.online.adoption import Adoption
from sluice.online.findings import Examination
from sluice.online.leases import Known
from sluice.online.status import InstallationStatus, JobTold


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
            }
            for one in found.holding
        ],
        "stuck": [_job(one) for one in found.stuck],
        "strayed": [_job(one) for one in found.strayed],
        "unexplained": [
            {"holder": lease.holder, "job": lease.job, "attempt": lease.attempt, "tables": list(lease.tables)}
            for lease in found.unexplained
        ],
        "problems": list(found.problems),
    }


def _job(told: JobTold) -> Json:
    return {"job": told.job, "reason": told.reason, "message": told.message}


def known_json(known: Known) -> Json:
    lease = known.grant.lease
    return {
        "holder": lease.holder,
        "job": lease.job,
        "attempt": lease.attempt,
        "token": known.grant.token,
        "tables": list(lease.tables),
        "unexplained": known.unexplained,
    }


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
