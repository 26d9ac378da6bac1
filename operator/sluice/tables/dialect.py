"""Tells which engine's conflict rules hold: the rules belong to the engine that commits, and change with its version."""

import re
from dataclasses import dataclass

from sluice.delta.version import Version


@dataclass(frozen=True)
class Dialect:
    """`oss` with Delta Lake's version, `databricks` or `delta-rs`; if the version is unknown, only what holds in all
    versions is believed."""

    name: str
    version: Version | None = None
    """The version of Delta Lake, of the Databricks runtime or of delta-rs."""
    photon: bool | None = None
    """Whether Photon is on, on Databricks; None if unknown."""

    @property
    def is_oss(self) -> bool:
        return self.name == "oss"

    @property
    def is_databricks(self) -> bool:
        return self.name == "databricks"

    @property
    def is_delta_rs(self) -> bool:
        return self.name == "delta-rs"


def oss(version: str | None) -> Dialect:
    return Dialect("oss", _major_and_minor(version))


def databricks(runtime: str | None, *, photon: bool | None = None) -> Dialect:
    return Dialect("databricks", _major_and_minor(runtime), photon)


def delta_rs(version: str | None) -> Dialect:
    return Dialect("delta-rs", _major_and_minor(version))


def _major_and_minor(version: str | None) -> Version | None:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else None
