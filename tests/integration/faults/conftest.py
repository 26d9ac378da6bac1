"""Servers of these tests' own: they are killed, and their logs are the evidence."""

from collections.abc import Iterator

import pytest

from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from integration.faults.audited import audited_stack
from integration.faults.installation import Installation, installed

SEED = 19


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("faults")
    with (
        audited_stack(folder / "stack") as stack,
        installed(stack, ensure_redis_server(cache()), folder / "installation", SEED) as made,
    ):
        yield made
