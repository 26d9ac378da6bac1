"""`./dev check`: what one wants after each change, in two minutes.

Lint, and those tests that rest on what has changed, the nearest first, as many as their last times say fit.
"""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devenv.errors import DevError
from devenv.project import ROOT
from devenv.testing.imports import ImportGraph
from devenv.testing.sections import FIRST, SECOND, Section, all_sections

WHOLE = "lint"
QUICK = ("unit", "protocol")
NAMED, FARTHEST = 1, 1_000
"""The distances of a test that names a changed file, and of one that may rest on it without naming or importing it."""
QUICK_SECONDS, SLOW_SECONDS = 100.0, 60.0
"""What quick tests may take together, and slow ones, in a lane of their own."""
UNKNOWN_QUICK_SECONDS, UNKNOWN_SLOW_SECONDS = 0.5, 60.0
"""What a file counts for if it has never run here."""


@dataclass(frozen=True)
class Choice:
    """What to run after a change, and what is not."""

    sections: tuple[Section, ...]
    chosen: tuple[Path, ...]
    """Their test files, slow ones first."""
    left_out: tuple[Path, ...]
    """Test files that also rest on what has changed, but for which there is no time."""
    unknown: tuple[Path, ...]
    """Changed files whose tests are not known."""


def changed_files(since: str | None = None, root: Path = ROOT) -> list[Path]:
    """What differs from `since`, in commits, in the work tree, and as new files; deleted ones, too.

    By default from where this branch left main; on main itself from the commit before.
    """
    base = since or _default_base(root)
    if git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}") is None:
        raise DevError(
            f"./dev check knows no commit {base}: name one that `git log` shows, as --since HEAD~1."
        )
    listed = (
        ("diff", "--name-only", "--relative", "-z", base, "--"),
        ("ls-files", "-z", "--others", "--exclude-standard"),
    )
    names = {name for arguments in listed for name in _listed(root, *arguments).split("\0") if name}
    return [root / name for name in sorted(names)]


def _default_base(root: Path) -> str:
    head = git(root, "rev-parse", "HEAD")
    if head is None:
        raise DevError(f"./dev check needs the git history of {root}, which can't be read: run ./dev test.")
    for main in ("origin/main", "main"):
        base = git(root, "merge-base", "HEAD", main)
        if base is not None and base != head:
            return base.strip()
    before = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    if before is None and (git(root, "rev-parse", "--is-shallow-repository") or "").strip() == "true":
        raise DevError(
            f"./dev check can't tell what has changed: the history of {root} is cut off. Run git fetch --unshallow."
        )
    return before.strip() if before is not None else head.strip()


def choose(changed: Sequence[Path], seconds: Mapping[str, float], graph: ImportGraph | None = None) -> Choice:
    """The tests for these changes; `seconds`: what each test file took when it last ran."""
    graph = graph or ImportGraph()
    sections = {section.name: section for section in all_sections() if section.present}
    unknown = tuple(file for file in changed if not _is_tested(file, graph))
    distances = {**_naming(unknown, sections.values()), **graph.distances(changed)}
    slow = [section for name, section in sections.items() if name not in (WHOLE, *QUICK)]
    quick = [sections[name] for name in QUICK]
    slowly, no_time_for_slow = _nearest(slow, distances, seconds, SLOW_SECONDS, UNKNOWN_SLOW_SECONDS)
    # What no import leads to, such as a chart's file, may be read by any of them.
    reached = (
        {**{file: FARTHEST for one in quick for file in _files(one)}, **distances} if unknown else distances
    )
    quickly, no_time_for_quick = _nearest(quick, reached, seconds, QUICK_SECONDS, UNKNOWN_QUICK_SECONDS)
    parts = [replace(sections[WHOLE], cpu_minutes=None)]
    for lane, taken in ((FIRST, quickly), (SECOND, slowly)):
        parts += [
            replace(sections[name].part([_id(file) for file in files]), lane=lane)
            for name, files in taken.items()
        ]
    chosen = [file for taken in (slowly, quickly) for files in taken.values() for file in files]
    return Choice(tuple(parts), tuple(chosen), (*no_time_for_slow, *no_time_for_quick), unknown)


def _naming(files: Sequence[Path], sections: Iterable[Section]) -> dict[Path, int]:
    """The tests that name one of these files, or a folder that it is in, which is farther away."""
    if not files:
        return {}
    names = {file.name for file in files}
    folders = {f'"{part}"' for file in files for part in file.relative_to(ROOT).parts[:-1]}
    found = dict[Path, int]()
    for test in (test for section in sections for test in _files(section)):
        text = test.read_text(encoding="utf-8")
        if any(name in text for name in names):
            found[test] = NAMED
        elif any(folder in text for folder in folders):
            found[test] = NAMED + 1
    return found


def _nearest(
    sections: Iterable[Section],
    distances: Mapping[Path, int],
    seconds: Mapping[str, float],
    left: float,
    unknown: float,
) -> tuple[dict[str, list[Path]], list[Path]]:
    """The nearest test files by section, as many as fit into the seconds that are left, and those that don't fit."""
    taken, left_out = dict[str, list[Path]](), list[Path]()
    candidates = [
        (distances[file], seconds.get(_id(file), unknown), file, section.name)
        for section in sections
        for file in _files(section)
        if file in distances
    ]
    for _, cost, file, name in sorted(candidates):
        if cost <= left:
            left -= cost
            taken.setdefault(name, []).append(file)
        else:
            left_out.append(file)
    return taken, left_out


def _is_tested(file: Path, graph: ImportGraph) -> bool:
    return any(user.name.startswith("test_") for user in graph.distances([file]))


def _files(section: Section) -> Iterable[Path]:
    """The files, without a folder that another section has to itself."""
    folder = section.folder or ROOT
    others = [other.folder for other in all_sections() if other.folder and folder in other.folder.parents]
    return [file for file in folder.rglob("test_*.py") if not any(other in file.parents for other in others)]


def _id(file: Path) -> str:
    """The id, as pytest names it."""
    return file.relative_to(ROOT).as_posix()


def _listed(root: Path, *arguments: str) -> str:
    listed = git(root, *arguments)
    if listed is None:
        raise DevError(
            f"./dev check can't tell what has changed: git {arguments[0]} fails in {root}. Mend that, or run ./dev test."
        )
    return listed


def git(root: Path, *arguments: str) -> str | None:
    """What git printed, or None if it failed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise DevError("./dev check needs git, which isn't installed: run ./dev test.") from error
    return done.stdout.decode(errors="surrogateescape") if done.returncode == 0 else None
