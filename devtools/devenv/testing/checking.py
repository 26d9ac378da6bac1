"""`./dev check`: what one wants after each change, in under three minutes.

Lint, unit and protocol whole; of the slow tests those that rest on what has changed, the nearest first, as many as
their last times say fit.
"""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devenv.errors import DevError
from devenv.project import ROOT
from devenv.testing.imports import ImportGraph
from devenv.testing.sections import FIRST, SECOND, Section, all_sections

WHOLE = {"lint": FIRST, "protocol": FIRST, "unit": SECOND}
"""Run whole, in these lanes."""
SLOW_SECONDS = 75.0
UNKNOWN_SECONDS = 15.0
"""The seconds that a file of slow tests counts for if it has never run here."""


@dataclass(frozen=True)
class Choice:
    """What to run after a change, and what is not."""

    sections: tuple[Section, ...]
    chosen: tuple[Path, ...]
    """Slow test files among them."""
    left_out: tuple[Path, ...]
    """Slow test files that also rest on what has changed, but for which there is no time."""
    unknown: tuple[Path, ...]
    """Changed files whose tests are not known."""


def changed_files(since: str | None = None, root: Path = ROOT) -> list[Path]:
    """What differs from `since`, in commits, in the work tree, and as new files; deleted ones aren't there to be named.

    By default from where this branch left main; on main itself from the commit before.
    """
    base = since or _default_base(root)
    if git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}") is None:
        raise DevError(
            f"./dev check knows no commit {base}: name one that `git log` shows, as --since HEAD~1."
        )
    listed = (
        ("diff", "--name-only", "--relative", "-z", "--diff-filter=d", base, "--"),
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
    """The sections for these changes; `seconds`: what each test file took when it last ran."""
    graph = graph or ImportGraph()
    sections = {section.name: section for section in all_sections() if section.present}
    chosen = [replace(sections[name], lane=lane, cpu_minutes=None) for name, lane in WHOLE.items()]
    distances = graph.distances(changed)
    slow = [section for name, section in sections.items() if name not in WHOLE]
    candidates = [
        (distances[file], seconds.get(_id(file), UNKNOWN_SECONDS), file, section)
        for section in slow
        for file in _files(section)
        if file in distances
    ]
    left, taken, left_out = SLOW_SECONDS, dict[str, list[Path]](), []
    for _, cost, file, section in sorted(candidates, key=lambda one: one[:3]):
        if cost <= left:
            left -= cost
            taken.setdefault(section.name, []).append(file)
        else:
            left_out.append(file)
    chosen += [sections[name].part([_id(file) for file in files]) for name, files in taken.items()]
    unknown = [file for file in changed if file.suffix != ".md" and not _is_tested(file, graph)]
    slow_files = [file for files in taken.values() for file in files]
    return Choice(tuple(chosen), tuple(slow_files), tuple(left_out), tuple(unknown))


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
