"""The longest files come first, and every file that is said to be long is there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from integration import spreading

INTEGRATION = Path(__file__).parents[1]


def _item(file: str, name: str) -> Any:
    return SimpleNamespace(path=INTEGRATION / file, name=name)


def test_the_longest_files_come_first_and_keep_their_order() -> None:
    items = [
        _item("api/test_crds.py", "one"),
        _item("operator/test_takeover.py", "two"),
        _item("operator/test_takeover.py", "three"),
        _item("pipeline/test_real_parts.py", "four"),
    ]
    spreading.longest_files_first(items)
    assert [item.name for item in items] == ["four", "two", "three", "one"]


def test_every_long_file_is_there() -> None:
    assert [file for file in spreading.SECONDS if not (INTEGRATION / file).is_file()] == []


def test_what_shares_jvms_goes_to_one_process() -> None:
    files = [f"tests/integration/{file}" for file in spreading.SECONDS]
    scopes = [spreading.scope_of(f"{file}::test_one") for file in files]
    together = [scope for file, scope in zip(files, scopes, strict=True) if "/pipeline/" in file]
    assert set(together) == {spreading.TOGETHER}
    assert len(set(scopes)) == len(files) - len(together) + 1
