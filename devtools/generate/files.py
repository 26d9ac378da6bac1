"""Which files are made from code, and what each has to say."""

from collections.abc import Mapping
from pathlib import Path

from generate import crds, facts_schema, limits, reference, rules, values_schema, wanted

CHART = Path("charts/sluice")


def made_in(root: Path) -> Mapping[Path, str]:
    """The files to write. CRDs are there for people who apply them, and in the chart, which can't read beyond its folder."""
    folders = [root / "crds", root / CHART / "files" / "crds"]
    return {
        **{
            folder / resource.file_name: crds.render(resource)
            for folder in folders
            for resource in crds.RESOURCES
        },
        root / CHART / "values.schema.json": values_schema.render(),
        root / "docs" / "api.md": reference.render(),
        root / "docs" / "conflict-rules.md": rules.render(),
        root / "docs" / "facts.schema.json": facts_schema.render(),
        root / "docs" / "limits.md": limits.render(),
        root / "docs" / "properties.md": wanted.render(),
    }


def stale_in(made: Mapping[Path, str]) -> Mapping[Path, str]:
    return {path: text for path, text in made.items() if not _holds(path, text)}


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
