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
    "pipeline/test_real_parts.py": 115,
    "devenv/test_demo.py": 100,
    "pipeline/test_footprints.py": 80,
    "operator/test_refused_creates.py": 80,
    "pipeline/test_s3.py": 75,
    "operator/test_doctor.py": 60,
    "chart/test_chart.py": 60,
    "operator/test_takeover.py": 60,
    "operator/alone/test_register.py": 50,
    "chart/test_hooks.py": 50,
    "devenv/test_dev_leaves_nothing.py": 50,
    "operator/test_gitops.py": 50,
    "operator/test_redis.py": 45,
    "operator/test_hostile.py": 45,
    "pipeline/test_bound_names.py": 40,
    "operator/test_growth.py": 40,
    "operator/test_installations.py": 40,
    "operator/alone/test_api_server.py": 35,
    "pipeline/test_reports.py": 35,
    "chart/test_wrong_values.py": 35,
    "operator/alone/test_surroundings.py": 35,
    "localengine/test_crashes.py": 30,
    "localengine/test_deletion.py": 25,
    "operator/test_ending.py": 25,
    "localengine/test_runs.py": 20,
    "operator/test_one_job.py": 20,
}
"""Rough seconds on a quiet machine: only their order counts."""
USUAL_SECONDS = 10


class Spreading(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Spreads test files in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False


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
