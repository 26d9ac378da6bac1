"""Spreads tests over processes by their files, so that what a file's tests share is made once; the longest files first.

A file that comes last keeps one process busy while the others have nothing left to do.
"""

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import parse_tx_spec_config

HERE = Path(__file__).parent
SECONDS = {
    "pipeline/test_s3.py": 90,
    "pipeline/test_real_parts.py": 80,
    "operator/test_epochs.py": 80,
    "operator/test_maintenance.py": 80,
    "operator/alone/test_api_server.py": 75,
    "operator/test_refused_creates.py": 70,
    "chart/test_chart.py": 65,
    "operator/test_job_commands.py": 65,
    "operator/test_deletion_orders.py": 60,
    "devenv/test_demo.py": 60,
    "leases/test_machine.py": 50,
    "operator/alone/test_apache.py": 50,
    "operator/test_lost_drivers.py": 50,
    "operator/test_remedies.py": 50,
    "devenv/test_dev_leaves_nothing.py": 45,
    "localengine/test_crashes.py": 45,
    "operator/test_pausing.py": 45,
    "operator/test_enforced_policies.py": 40,
    "pipeline/test_footprints.py": 40,
    "operator/test_doctor.py": 40,
    "operator/test_takeover.py": 40,
    "operator/test_growth.py": 40,
    "pipeline/test_bound_names.py": 40,
    "localengine/test_deletion.py": 40,
    "operator/test_deadlines.py": 40,
    "operator/test_hostile.py": 35,
    "operator/test_redis.py": 35,
    "pipeline/test_reports.py": 35,
    "localengine/test_runs.py": 35,
    "operator/alone/test_deleted_definitions.py": 35,
    "chart/test_hooks.py": 30,
    "operator/alone/test_surroundings.py": 30,
    "faults/test_faults.py": 30,
    "operator/test_many_policies.py": 30,
    "operator/test_retried_losses.py": 30,
    "operator/test_retries.py": 30,
    "pipeline/test_streams.py": 30,
    "pipeline/test_retried_runs.py": 30,
    "pipeline/test_run_keys.py": 30,
    "pipeline/test_failing_streams.py": 30,
    "pipeline/test_applications.py": 30,
    "pipeline/test_tables_of_policies.py": 30,
    "pipeline/test_reported_names.py": 30,
    "operator/alone/test_register.py": 25,
    "operator/test_gitops.py": 25,
    "operator/test_installations.py": 25,
    "chart/test_wrong_values.py": 25,
    "operator/test_one_job.py": 25,
    "operator/test_leases_list.py": 25,
    "operator/test_logs_command.py": 25,
    "operator/test_policy_tables.py": 25,
    "operator/test_probes.py": 25,
    "operator/test_ending.py": 20,
    "chart/test_passwords.py": 20,
    "leases/test_failover.py": 20,
    "operator/test_applications.py": 20,
    "operator/test_argocd_health.py": 20,
    "operator/test_killed_at_a_pause.py": 20,
    "operator/test_render_command.py": 20,
    "tables/test_s3.py": 20,
}
"""Rough seconds on a quiet machine: only their order counts."""
USUAL_SECONDS = 10
TOGETHER = "tests/integration/pipeline/"
"""Tests of this folder share JVMs, so that one process runs them all."""


class Spreading(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Spreads test files in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """What one process runs as a whole: a file's tests, as a rule."""
    return TOGETHER if nodeid.startswith(TOGETHER) else nodeid.partition("::")[0]


def scheduler(config: pytest.Config, log: Producer) -> Spreading | None:
    """None where a person, or a single process, wants it otherwise."""
    several = len(parse_tx_spec_config(config)) > 1
    return Spreading(config, log) if several and config.option.dist == "load" else None


def longest_files_first(items: list[pytest.Item]) -> None:
    """The order within a file stays."""

    def seconds(item: pytest.Item) -> int:
        file = item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""
        return SECONDS.get(file, USUAL_SECONDS)

    items.sort(key=seconds, reverse=True)
