"""The test sections: what each runs, needs, and may cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devenv.errors import DevError
from devenv.project import IMPORT_ROOTS, ROOT, TESTS

SPARK = ("spark", "spark35", "held-commits")
TYPED_TOO = ("bench",)
"""Folders outside of all import roots whose types are checked, too: they are programs of their own."""

GENERATOR = ("python", "-m", "generate")
"""Writes the files that are made from the models of the two resources, and from the conflict rules."""

FIRST, SECOND = "first", "second"
"""Lanes. The sections of each take about as long, so that both end together. Three lanes keep both cores busy, but take each
other's caches: the same tests cost a quarter more."""


@dataclass(frozen=True)
class Section:
    """A part of `./dev test` under its name."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ()
    folder: Path | None = None
    about: str = ""
    cpu_minutes: float | None = None
    """What it should cost on the machine on which budgets are set; a run that takes twice as much fails."""
    lane: str = FIRST
    """Sections of one lane run one after the other, lanes side by side: one computes while another waits."""
    runs_again: bool = False
    """Whether a failed test runs once more: where real services are, chance may have had a hand in it."""

    @property
    def present(self) -> bool:
        return self.folder is None or any(self.folder.rglob("test_*.py"))

    def part(self, files: Sequence[str]) -> "Section":
        """Some test files of the section. What they cost says nothing of the whole, so the part has no budget."""
        ((program, _folder, *options),) = self.commands
        return replace(self, commands=((program, *files, *options),), cpu_minutes=None)


def all_sections() -> tuple[Section, ...]:
    """In the order of running: what fails fast comes first."""
    return (
        _lint(),
        _pytest(
            *("unit", "tests/unit", "--numprocesses=logical", "--maxprocesses=4"),
            about="modules by themselves",
            cpu_minutes=4.5,
        ),
        _pytest(
            *("protocol", "tests/protocol"),
            about="the model of leases, searched",
            cpu_minutes=1.2,
        ),
        _pytest(
            *("contract", "tests/contract"),
            about="conflict rules and predicates against real Spark and Delta, both versions",
            needs=SPARK,
            cpu_minutes=7,
            runs_again=True,
        ),
        _pytest(
            *("runner", "tests/integration/runner"),
            about="the driver program and the LogStores on real Spark",
            needs=(*SPARK, "s3", "kafka"),
            cpu_minutes=12,
            runs_again=True,
        ),
        _pytest(
            *("integration", "tests/integration", "--ignore=tests/integration/runner", "--numprocesses=3"),
            about="operator, leases and local engine against a real API server and Redis",
            needs=("stack", "spark", "held-commits", "s3"),
            cpu_minutes=24,
            lane=SECOND,
            runs_again=True,
        ),
        _pytest(
            *("e2e", "tests/e2e"),
            about="jobs on a real one-node cluster",
            needs=("stack", "spark", "cluster", "image"),
            cpu_minutes=10,
            lane=SECOND,
            runs_again=True,
        ),
    )


def remedy(command: Sequence[str]) -> str:
    """Names what mends a command's complaints, if something does."""
    match command:
        case ("ruff", "format", *_):
            return ": ./dev run ruff format . mends it"
        case ("ruff", "check", *_):
            return ": ./dev run ruff check --fix . mends some of it"
        case (*generator, "--check") if tuple(generator) == GENERATOR:
            return ": ./dev generate writes anew what differs"
        case _:
            return ""


def names() -> list[str]:
    return [section.name for section in all_sections() if section.present]


def section_of(file: Path) -> Section:
    """The section that runs a test file: of two folders around it, the inner one has a section to itself."""
    around = [section for section in all_sections() if section.folder in file.parents]
    if not around:
        raise DevError(f"No section runs {file}: move it into the folder of a section.")
    return max(around, key=lambda section: len(str(section.folder)))


def choose(names: Sequence[str]) -> list[Section]:
    """Returns the sections of these names in the order of running, or all that have something to run."""
    sections = {section.name: section for section in all_sections() if section.present}
    unknown = [name for name in names if name not in sections]
    if unknown:
        raise DevError(f"There is no section {', '.join(unknown)}: the sections are {', '.join(sections)}.")
    return [section for name, section in sections.items() if not names or name in names]


def _pytest(
    name: str,
    folder: str,
    *options: str,
    about: str,
    cpu_minutes: float,
    needs: tuple[str, ...] = (),
    lane: str = FIRST,
    runs_again: bool = False,
) -> Section:
    command = ("pytest", folder, *options)
    return Section(name, (command,), needs, ROOT / folder, about, cpu_minutes, lane, runs_again)


def _lint() -> Section:
    packages = (*_our_packages(), *TYPED_TOO, *(folder.name for folder in _test_folders()))
    modules = (file.stem for file in sorted(TESTS.glob("*.py")))
    typed = [word for name in packages for word in ("-p", name)] + [
        word for name in modules for word in ("-m", name)
    ]
    commands = (
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("mypy", *typed),
        ("lint-imports", "--no-cache"),
        ("python", "-m", "devenv.names"),
        (*GENERATOR, "--check"),
    )
    return Section("lint", commands, about="style, types, layers, names, generated files", cpu_minutes=0.8)


def _test_folders() -> list[Path]:
    return [entry for entry in sorted(TESTS.iterdir()) if entry.is_dir() and any(entry.rglob("*.py"))]


def _our_packages() -> list[str]:
    return [entry.parent.name for root in IMPORT_ROOTS for entry in sorted(root.glob("*/__init__.py"))]
