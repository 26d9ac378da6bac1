"""Spreads tests over processes by their files, so that what a file's tests share is made once; the longest files first.

A file that comes last keeps one process busy while the others have nothing left to do.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import parse_tx_spec_config

SECONDS = {
    "pipeline/test_real_parts.py": 120,
    "operator/test_takeover.py": 85,
    "localengine/test_crashes.py": 60,
    "operator/test_redis.py": 55,
    "localengine/test_deletion.py": 55,
    "operator/test_one_job.py": 50,
    "localengine/test_runs.py": 45,
    "devenv/test_dev_leaves_nothing.py": 40,
    "operator/test_waiting.py": 40,
    "operator/test_api_server.py": 20,
    "operator/test_tables.py": 20,
    "devenv/test_stack.py": 15,
}
"""Of a quiet machine, roughly: only their order counts."""
USUAL_SECONDS = 10


class Spreading(LoadFileScheduling):
    """In the order of the collection."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False


def scheduler(config: pytest.Config, log: Producer) -> Spreading | None:
    """None where a person, or a single process, wants it otherwise."""
    several = len(parse_tx_spec_config(config)) > 1
    return Spreading(config, log) if several and config.option.dist == "load" else None


def longest_files_first(items: list[pytest.Item]) -> None:
    """The order within a file stays."""
    items.sort(key=lambda item: -SECONDS.get("/".join(item.path.parts[-2:]), USUAL_SECONDS))
