"""The operator and all its child processes, each at its limit, fit into their container."""

from pathlib import Path

import pytest
import yaml

from sluice.controller.process.memory_shares import USUAL_MIB, MemoryShares
from sluice.controller.readers import spec_reader
from sluice.controller.readers.table_processes import TableProcesses, limits_in

VALUES = Path(__file__).parents[3] / "charts/sluice/values.yaml"
OPERATOR_MIB = 302
"""The operator's own memory beside 10,000 waiting and as many finished jobs: docs/operations.md."""
READS_SPECS_MIB = 113
"""For the largest texts of each kind."""


@pytest.mark.parametrize("container", [256, 1000, 1024, 4096, 10_007])
def test_the_operator_and_all_its_processes_fit_into_their_container(container: int) -> None:
    tables, specs = TableProcesses(limits_in(container)), spec_reader.pool_in(container)
    assert MemoryShares.of(container).operator + tables.memory_mib + specs.memory_mib < container


def test_the_charts_limit_is_enough_for_what_each_needs() -> None:
    chart = yaml.safe_load(VALUES.read_text(encoding="utf-8"))
    assert chart["operator"]["resources"]["limits"]["memory"] == "1Gi"
    assert MemoryShares.of(None) == (shares := MemoryShares.of(USUAL_MIB))
    assert shares.operator > OPERATOR_MIB
    assert shares.spec_process > READS_SPECS_MIB
