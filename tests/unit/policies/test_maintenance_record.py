"""What jobs tell of a policy's maintenance is believed as far as an operator can have written it."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.api import names
from sluice.policies.maintenance import MaintenanceKind
from sluice.policies.maintenance_record import known_of
from unit.controller.bodies import job_body, policy_body

MADE = datetime(2026, 11, 27, 3, 0, 5, tzinfo=UTC)
DUE = MADE - timedelta(seconds=5)


@pytest.mark.parametrize(
    ("told", "at"),
    [
        (DUE.isoformat(), DUE),
        ((MADE + timedelta(minutes=5)).isoformat(), MADE + timedelta(minutes=5)),
        ("9999-12-31T23:59:59+00:00", MADE),
        ("2026-11-29T03:00:00+00:00", MADE),
        ("tomorrow", MADE),
        ("", MADE),
    ],
)
def test_a_run_is_of_no_time_long_after_its_job_was_made(told: str, at: datetime) -> None:
    job = job_body("orders-optimize-1")
    job["metadata"]["creationTimestamp"] = MADE.isoformat().replace("+00:00", "Z")
    job["metadata"]["labels"] = {names.LABEL_POLICY_KIND: MaintenanceKind.OPTIMIZE.value}
    job["metadata"]["annotations"] = {names.ANNOTATION_RUN_AT: told}
    policy = policy_body("orders", table={"path": "/lake/orders"})
    (made,) = known_of(policy, MaintenanceKind.OPTIMIZE, None, [job], None).jobs
    assert made.at == at
