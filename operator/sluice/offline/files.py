"""Finds manifests in files and folders as they are found in repositories."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sluice.api.manifests import Documents, ManifestError, decoded, read_text
from sluice.offline.kustomize import patches_of

STANDARD_INPUT = Path("-")
SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_NO_MANIFESTS = frozenset({"_delta_log", "testdata"})
_CHART = "Chart.yaml"
_PARTS_OF_A_CHART = frozenset({"templates", "charts", "crds"})
_MOST_BYTES = 64 * 2**20
_OURS = re.compile(rb"s\0?l\0?u\0?i\0?c\0?e|d\0?e\0?l\0?t\0?a", re.IGNORECASE)
"""What stands in each manifest of ours, even a misspelt one, also in UTF-16."""


def read_files(paths: Iterable[Path]) -> Documents:
    """All documents of these files, and of all YAML and JSON files below these folders."""
    documents = Documents()
    seen: set[Path] = set()
    for path in paths:
        if path == STANDARD_INPUT:
            read_file(path, documents)
            continue
        for file in _files(path, documents):
            if file.resolve() not in seen:
                seen.add(file.resolve())
                if file != path:
                    _read_found(file, documents)
                    continue
                before = len(documents.found) + len(documents.troubles)
                read_file(file, documents)
                if before == len(documents.found) + len(documents.troubles):
                    documents.troubles.append(ManifestError(str(file), "holds no manifest"))
    return documents


def _files(path: Path, documents: Documents) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = sorted(file for file in _below(path, documents) if file.suffix.lower() in SUFFIXES)
    if not files and not documents.passed_over:
        documents.troubles.append(ManifestError(str(path), "no YAML or JSON files in this folder"))
    for file in files:
        if file.is_file() or not file.exists():  # reading a pipe or a device would wait for ever
            yield file


def _below(folder: Path, documents: Documents) -> list[Path]:
    """Returns the files below the folder, without what is rendered from charts and what kustomize patches by. Links to folders are
    followed, each folder once."""

    def not_read(error: OSError) -> None:
        documents.troubles.append(ManifestError(str(error.filename), f"cannot be read: {error.strerror}"))

    seen: set[str] = set()
    patches: set[Path] = set()
    found: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=not_read, followlinks=True):
        if os.path.realpath(place) in seen:
            folders.clear()
            continue
        seen.add(os.path.realpath(place))
        folders[:] = sorted(name for name in folders if not _is_no_manifest(name))
        if _CHART in files:
            documents.passed_over += len(files)
            documents.passed_over += sum(
                len(list(Path(place, name).rglob("*.*"))) for name in folders if name in _PARTS_OF_A_CHART
            )
            folders[:] = [name for name in folders if name not in _PARTS_OF_A_CHART]
            continue
        patches.update(path.resolve() for path in patches_of(Path(place), files))
        found += (Path(place, name) for name in files if not _is_no_manifest(name))
    kept = [file for file in found if not patches or file.resolve() not in patches]
    documents.passed_over += len(found) - len(kept)
    return kept


def _is_no_manifest(name: str) -> bool:
    return name.startswith(".") or name in _NO_MANIFESTS


def _read_found(file: Path, documents: Documents) -> None:
    """Reads a file that nobody named. One that can't be read as manifests and speaks of none of ours is somebody else's: a
    playbook, or settings in JSON with comments."""
    alone = Documents()
    read_file(file, alone)
    if alone.troubles and not alone.found and _is_foreign(file):
        documents.passed_over += 1
        return
    documents.found += alone.found
    documents.troubles += alone.troubles


def _is_foreign(file: Path) -> bool:
    try:
        content = file.read_bytes() if file.stat().st_size <= _MOST_BYTES else b""
    except OSError:  # told as what can't be read
        return False
    return bool(content) and _OURS.search(content) is None


def read_file(file: Path, documents: Documents) -> None:
    place = "standard input" if file == STANDARD_INPUT else str(file)
    try:
        if file != STANDARD_INPUT and file.stat().st_size > _MOST_BYTES:
            documents.troubles.append(ManifestError(place, "is too large for manifests (over 64 MiB)"))
            return
        text = decoded(sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes())
    except FileNotFoundError:
        why = "is a link that leads nowhere" if file.is_symlink() else "there is no such file or folder"
        documents.troubles.append(ManifestError(place, why))
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text (byte {error.start + 1}): save it as UTF-8"
        documents.troubles.append(ManifestError(place, why))
    except OSError as error:
        documents.troubles.append(ManifestError(place, f"cannot be read: {error.strerror or error}"))
    else:
        read_text(text, place, documents)
