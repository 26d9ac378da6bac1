"""Java 17 or 21 for Spark: the system's JDK, else Debian's headless one, else a system JRE."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from devenv import debian
from devenv.cache import Cache
from devenv.errors import DevError
from devenv.processes import output_of

VERSIONS = (17, 21)
DEBIAN_PACKAGE = "openjdk-17-jdk-headless"
# Spark 4 asks for it, and some reduced runtimes lack it.
NEEDED_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True)
class Java:
    """A Java runtime that Spark runs on."""

    home: Path
    version: int

    @property
    def program(self) -> Path:
        return self.home / "bin" / "java"

    @property
    def compiler(self) -> Path | None:
        javac = self.home / "bin" / "javac"
        return javac if javac.exists() else None


def version_in(text: str) -> int | None:
    """The major version in the output of `java -version`."""
    found = re.search(r'version "(\d+)', text)
    return int(found.group(1)) if found else None


def ensure_java(cache: Cache) -> Java:
    """A runtime with a compiler if one can be had, else a runtime."""
    found = _on_this_machine()
    if not _compiles(found) and debian.can_install():
        debian.install(cache, [DEBIAN_PACKAGE], lambda: _compiles(_on_this_machine()))
        found = _on_this_machine()
    if found is None:
        wanted = " or ".join(map(str, VERSIONS))
        raise DevError(f"Spark needs Java {wanted}: install a JDK, or name its folder in JAVA_HOME.")
    return found


def _on_this_machine() -> Java | None:
    """The best of what is installed: one with a compiler, and of those the older, which both Spark pairs take."""
    usable = [java for home in _homes() if (java := _usable(home)) is not None]
    return min(usable, key=lambda java: (java.compiler is None, java.version), default=None)


def _compiles(java: Java | None) -> bool:
    return java is not None and java.compiler is not None


def _homes() -> list[Path]:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    on_path = which("java")
    if on_path is not None:
        homes.append(Path(on_path).resolve().parents[1])
    homes.extend(sorted(home for home in Path("/usr/lib/jvm").glob("*") if (home / "bin" / "java").exists()))
    return homes


def _usable(home: Path) -> Java | None:
    program = home / "bin" / "java"
    version = version_in(output_of([program, "-version"]) or "")
    if version not in VERSIONS:
        return None
    modules = output_of([program, "--list-modules"]) or ""
    return Java(home, version) if NEEDED_MODULE in modules else None
