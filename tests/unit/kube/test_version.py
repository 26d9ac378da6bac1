"""Which Kubernetes is too old, and how the operator ends there."""

import logging
from pathlib import Path

import pytest

from sluice.api.base import Json
from sluice.controller import command
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.prerequisites import Prerequisites
from sluice.controller.process import logs
from sluice.controller.process.configuration import OperatorConfig
from sluice.engines import RuntimeProfile
from sluice.kube.version import TooOldError, too_old
from unit.kube.served import served, told

OLD: Json = {"major": "1", "minor": "28+", "gitVersion": "v1.28.9-eks"}
PROFILES = {"default": RuntimeProfile(spark_version="4.2.0")}


@pytest.mark.parametrize("minor", ["29", "29+", "36", "100"])
def test_those_whose_rules_are_stable_are_not_too_old(minor: str) -> None:
    assert too_old({"major": "1", "minor": minor}) is None


@pytest.mark.parametrize("version", [OLD, {"major": "0", "minor": "99"}, {}, {"major": "x", "minor": None}])
def test_an_older_one_is_named_with_what_is_needed(version: Json) -> None:
    why = too_old(version)
    assert why is not None
    assert "needs 1.29 or later" in why
    assert "upgrade the cluster" in why


async def test_the_operator_does_not_begin_there() -> None:
    async with served(told(OLD)) as server:
        config = OperatorConfig(runtimes=PROFILES)
        with pytest.raises(TooOldError, match=r"v1\.28\.9-eks is too old"):
            await Prerequisites(server.kube, ClusterCache(PROFILES), config).begin()


def test_it_ends_with_the_code_of_what_does_not_heal_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_config: OperatorConfig) -> None:
        raise TooOldError("Kubernetes v1.28 is too old")

    def unchanged(**_: bool) -> None:
        """Logs go where the test looks."""

    config = tmp_path / "sluice.yaml"
    config.write_text("runtimes: {default: {sparkVersion: 4.2.0}}\n", encoding="utf-8")
    monkeypatch.setattr(command, "run", fails)
    monkeypatch.setattr("sys.argv", ["operator", "--config", str(config)])
    monkeypatch.setattr(logs, "configure", unchanged)
    with caplog.at_level(logging.ERROR):
        assert command.main() == 2
    assert "Kubernetes v1.28 is too old" in caplog.text
