"""One Spark with Delta and our LogStore for all races of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract.harness.race import Track
from contract.harness.session import freezing_spark


@pytest.fixture(scope="session")
def track(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Track]:
    folder = tmp_path_factory.mktemp("races")
    with freezing_spark(folder / "freezes", folder / "warehouse") as spark:
        yield Track(spark, folder / "tables", folder / "freezes")
