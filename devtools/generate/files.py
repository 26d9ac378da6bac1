"""Which files are made from code, and what each has to say."""

from collections.abc import Mapping
from pathlib import Path

from generate import crds, reference, rules

CHART = Path("charts/sluice/crds")


def made_in(root: Path) -> Mapping[Path, str]:
    """CRDs are there for people who apply them and, once there is a chart, within it."""
    folders = [root / "crds", *([root / CHART] if (root / CHART).is_dir() else [])]
    return {
        **{
            folder / resource.file_name: crds.render(resource)
            for folder in folders
            for resource in crds.RESOURCES
        },
        root / "docs" / "api.md": reference.render(),
        root / "docs" / "conflict-rules.md": rules.render(),
    }


def stale_in(made: Mapping[Path, str]) -> Mapping[Path, str]:
    return {path: text for path, text in made.items() if not _holds(path, text)}


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
