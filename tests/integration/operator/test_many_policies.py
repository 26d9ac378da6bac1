"""Two hundred policies, each for a table of its own: all are told, and from then on they cost looks alone, no write."""

import json
import os
import time
import uuid
from pathlib import Path

import pytest

from integration.operator.conftest import StartOperator
from integration.operator.played import Played
from integration.operator.process import OperatorProcess
from integration.waiting import PATIENCE, eventually
from unit.tables.lake import orders

COUNT = 200
WANTED = {"delta.appendOnly": "true"}
LOOKS = 'sluice_work_total{kind="policy_looks"}'
MOST_CPU_A_LOOK = 0.05
"""Seconds of the operator's CPU, all that it does meanwhile included: a machine of two cores took 2 ms."""


def _copies(first: Path, lake: Path) -> list[Path]:
    """Tables like this one, each with an id of its own."""
    commit = f"_delta_log/{0:020}.json"
    text = (first / commit).read_text(encoding="utf-8")
    (metadata,) = (line for line in map(json.loads, text.splitlines()) if "metaData" in line)
    tables = [lake / f"table-{number}" for number in range(COUNT)]
    for table in tables:
        (table / "_delta_log").mkdir(parents=True)
        own = text.replace(metadata["metaData"]["id"], str(uuid.uuid4()))
        (table / commit).write_text(own, encoding="utf-8")
    return tables


def _cpu(operator: OperatorProcess) -> float:
    """Seconds of CPU that it has used."""
    assert operator.process is not None
    text = Path(f"/proc/{operator.process.pid}/stat").read_text(encoding="utf-8")
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _are_ready(cluster: Played) -> bool:
    reasons = [(body.get("status") or {}).get("reason") for body in cluster.objects.every("deltatablepolicy")]
    return len(reasons) == COUNT and set(reasons) == {"AsWanted"}


def _versions(cluster: Played) -> dict[str, str]:
    return {
        body["metadata"]["name"]: body["metadata"]["resourceVersion"]
        for body in cluster.objects.every("deltatablepolicy")
    }


def _looks(operator: OperatorProcess) -> float:
    return operator.metric(LOOKS) or 0.0


@pytest.mark.timeout(900)
def test_two_hundred_policies_are_ready_soon_and_quiet_from_then_on(
    cluster: Played, operators: StartOperator, tmp_path: Path
) -> None:
    orders(tmp_path / "first", properties=dict(WANTED))
    for number, table in enumerate(_copies(tmp_path / "first", tmp_path / "lake")):
        cluster.declare(f"many-{number}", {"table": {"path": str(table)}, "properties": WANTED})

    began = time.monotonic()
    operator = operators(policyLook="10s")
    operator.says("the lease table was rebuilt")
    eventually(lambda: _are_ready(cluster), "all policies are Ready", seconds=PATIENCE, pause=1)
    seconds, cpu = time.monotonic() - began, _cpu(operator)
    print(f"{COUNT} policies: Ready after {seconds:.1f} s and {cpu:.1f} s of CPU, the start included")

    before, looks, cpu = _versions(cluster), _looks(operator), _cpu(operator)
    eventually(lambda: _looks(operator) >= looks + COUNT, "each was looked at once more", pause=1)
    each = (_cpu(operator) - cpu) / (_looks(operator) - looks)
    print(f"one look that finds nothing new: {each * 1000:.1f} ms of CPU")
    assert _versions(cluster) == before, "nothing is written while nothing differs"
    assert each < MOST_CPU_A_LOOK

    operator.kill()
    following = operators("following", policyLook="10s")
    following.says("the lease table was rebuilt")
    eventually(lambda: _looks(following) >= COUNT, "the next leader has looked at each", pause=1)
    eventually(lambda: _looks(following) >= 2 * COUNT, "and has begun again", pause=1)
    assert _versions(cluster) == before, "the next leader writes again what is written already"
