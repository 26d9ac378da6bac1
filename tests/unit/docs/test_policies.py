"""The manifests and settings that docs/policies.md shows are taken."""

import re
from typing import Any

import yaml

from documentation import ROOT
from integration.api.manifest_tables import problems_of
from sluice.api.kubectl_yaml import KubectlLoader
from sluice.tables.owners import TableOwner

GUIDE = ROOT / "docs" / "policies.md"


def _shown() -> list[dict[str, Any]]:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [yaml.load(block, KubectlLoader) for block in blocks]  # noqa: S506 - a safe loader


def test_each_example_is_understood() -> None:
    kinds = []
    for shown in _shown():
        if "tableOwners" in shown:
            assert [TableOwner.model_validate(one) for one in shown["tableOwners"]]
            kinds.append("tableOwners")
        else:
            assert not problems_of(shown)
            kinds.append(shown["kind"])
    assert set(kinds) == {"DeltaTablePolicy", "tableOwners"}
