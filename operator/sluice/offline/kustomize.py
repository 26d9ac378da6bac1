"""Which files of a folder are patches of kustomize: parts of objects that stand elsewhere, and no manifests themselves."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from sluice.api.kubectl_yaml import value_of
from sluice.api.manifests import decoded

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS = ("patches", "patchesStrategicMerge", "patchesJson6902")


def patches_of(folder: Path, files: Iterable[str]) -> Iterator[Path]:
    """Yields the files that the folder's kustomization names as patches. One that can't be read names none: where it is read as a
    manifest, it is told why."""
    for name in set(_NAMES).intersection(files):
        try:
            body = value_of(decoded((folder / name).read_bytes()))
        except (OSError, RecursionError, ValueError, yaml.YAMLError):
            return
        for entries in [body.get(field) for field in _LISTS] if isinstance(body, dict) else ():
            yield from (folder / path for path in _paths(entries))


def _paths(entries: Any) -> Iterator[str]:
    for one in entries if isinstance(entries, list) else ():
        path = one.get("path") if isinstance(one, dict) else one
        if isinstance(path, str) and "\n" not in path:  # with one it is the patch itself
            yield path
