"""Argo CD's health checks, run as Argo CD runs those that its ConfigMap holds: Lua 5.1 with the basic functions and those
of tables alone, the object in the global `obj`, and the answer what the script returns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from lupa.lua51 import LuaRuntime

FOLDER = Path(__file__).parents[1] / "examples" / "gitops" / "argocd" / "resource_customizations"
STATUSES = frozenset({"Healthy", "Progressing", "Suspended", "Degraded", "Missing", "Unknown"})
_NOT_OPENED = ("string", "math", "io", "debug", "coroutine", "python")


@dataclass(frozen=True)
class Health:
    status: str
    message: str


@dataclass(frozen=True)
class HealthTest:
    """An entry of a health_test.yaml."""

    object: Any
    expected: Health
    file: Path


def check_of(kind: str) -> Path:
    return FOLDER / "sluice.dev" / kind / "health.lua"


def health_of(body: Any) -> Health:
    lua = LuaRuntime(unpack_returned_tuples=True, register_eval=False)
    for library in _NOT_OPENED:
        lua.globals()[library] = None
    lua.globals()["obj"] = _in_lua(lua, body)
    answer = lua.execute(check_of(body["kind"]).read_text(encoding="utf-8"))
    health = Health(answer["status"], answer["message"])
    assert health.status in STATUSES, health
    return health


def health_tests(kind: str) -> list[HealthTest]:
    folder = check_of(kind).parent
    listed = _read(folder / "health_test.yaml")["tests"]
    return [_health_test(folder, entry) for entry in listed]


def _health_test(folder: Path, entry: dict[str, Any]) -> HealthTest:
    file = folder / entry["inputPath"]
    body = _read(file)
    return HealthTest(body, Health(**entry["healthStatus"]), file)


def _read(file: Path) -> Any:
    return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def _in_lua(lua: LuaRuntime, value: Any) -> Any:
    """Objects and lists become tables, as Argo CD hands them over."""
    if isinstance(value, dict):
        return lua.table_from({key: _in_lua(lua, item) for key, item in value.items()})
    if isinstance(value, list):
        return lua.table_from([_in_lua(lua, item) for item in value])
    return value
