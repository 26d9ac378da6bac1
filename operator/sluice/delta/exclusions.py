"""What no table can use together, whatever else it has."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Use:
    property: str
    pattern: str
    """The values by which a table uses what the property is about."""
    called: str


def _switched_on(name: str) -> Use:
    return Use(name, "(?i)^true$", name)


_VECTORS = _switched_on("delta.enableDeletionVectors")
_FIRST, _SECOND, _THIRD = (_switched_on(f"delta.enableIcebergCompatV{n}") for n in (1, 2, 3))
_MANIFEST = _switched_on("delta.compatibility.symlinkFormatManifest.enabled")
_HUDI = Use(
    "delta.universalFormat.enabledFormats",
    "^(iceberg,)?hudi(,iceberg)?$",
    "hudi in delta.universalFormat.enabledFormats",
)

EXCLUSIONS = (
    (_VECTORS, _FIRST),
    (_VECTORS, _SECOND),
    (_VECTORS, _MANIFEST),
    (_VECTORS, _HUDI),
    (_FIRST, _SECOND),
    (_FIRST, _THIRD),
    (_SECOND, _THIRD),
)


def why_not_both(one: Use, other: Use) -> str:
    return f"{one.called} and {other.called} exclude each other: choose one"
