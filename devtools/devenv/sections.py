"""The test sections: what each runs and what it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devenv.errors import DevError
from devenv.project import IMPORT_ROOTS, ROOT

SPARK = ("spark", "spark35")
TYPED_TESTS = ("protocol",)
"""Test folders whose types are checked, too: the model is a program of its own."""


@dataclass(frozen=True)
class Section:
    """A part of `./dev test` under its name."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def present(self) -> bool:
        return self.folder is None or any(self.folder.rglob("test_*.py"))


def all_sections() -> tuple[Section, ...]:
    """In the order of running: what fails fast comes first."""
    return (
        _lint(),
        _pytest("unit", "tests/unit", "--numprocesses=logical", "--maxprocesses=4"),
        _pytest("protocol", "tests/protocol"),
        _pytest("contract", "tests/contract", needs=SPARK),
        _pytest("runner", "tests/integration/runner", needs=SPARK),
        _pytest(
            "integration",
            "tests/integration",
            "--ignore=tests/integration/runner",
            needs=("stack", "spark"),
        ),
        _pytest("e2e", "tests/e2e", needs=("stack", "spark", "cluster")),
    )


def choose(names: Sequence[str]) -> list[Section]:
    """The sections of these names, or all that there is something to run in."""
    sections = {section.name: section for section in all_sections() if section.present}
    unknown = [name for name in names if name not in sections]
    if unknown:
        raise DevError(f"There is no section {', '.join(unknown)}: the sections are {', '.join(sections)}.")
    return [sections[name] for name in names] if names else list(sections.values())


def crd_folders() -> tuple[str, ...]:
    """Where the CRDs are written: for people who apply them, and into the chart."""
    chart = Path("charts/sluice/crds")
    return ("crds", *([str(chart)] if (ROOT / chart).is_dir() else []))


def generators() -> tuple[tuple[str, ...], ...]:
    """What writes the files that are made from the models of the two resources, and from the conflict rules."""
    return (
        ("python", "-m", "sluice.api.crds", *crd_folders()),
        ("python", "-m", "sluice.api.reference", "docs/api.md"),
        ("python", "-m", "sluice.cli.rules", "docs/conflict-rules.md"),
    )


def _pytest(name: str, folder: str, *options: str, needs: tuple[str, ...] = ()) -> Section:
    return Section(name, (("pytest", folder, *options),), needs, ROOT / folder)


def _lint() -> Section:
    packages = [word for name in (*_our_packages(), *TYPED_TESTS) for word in ("-p", name)]
    return Section(
        "lint",
        (
            ("ruff", "check", "."),
            ("ruff", "format", "--check", "."),
            ("mypy", *packages),
            ("lint-imports", "--no-cache"),
            *((*command, "--check") for command in generators()),
        ),
    )


def _our_packages() -> list[str]:
    return [entry.parent.name for root in IMPORT_ROOTS for entry in sorted(root.glob("*/__init__.py"))]
