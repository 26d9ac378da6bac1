"""A plugin of pytest that runs only the named tests, a test without parameters with each of them.

Names on the command line would end pytest if one of them does not exist.
"""

import json
import os
from pathlib import Path

import pytest

from devenv.mutants.listed import SELECTION_FILE, is_named


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ids = set(json.loads(Path(os.environ[SELECTION_FILE]).read_text(encoding="utf-8")))
    others = [item for item in items if not is_named(item.nodeid, ids)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if is_named(item.nodeid, ids)]
