"""Jobs and their tables."""

import json
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from sluice.api import names
from sluice.api.base import Json

_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("id", "long"), ("amount", "integer"), ("date", "date"))
    ],
}
_SCHEMA_STRING = json.dumps(_SCHEMA)


@dataclass(frozen=True)
class Tables:
    """Locations below a folder; each has a Delta log of one version, unless they are not to exist yet."""

    folder: Path
    exist: bool = True

    def location(self, name: str) -> str:
        table = self.folder / name
        if self.exist and not table.exists():
            log = table / "_delta_log"
            log.mkdir(parents=True)
            lines = "".join(json.dumps(action) + "\n" for action in _first_version())
            (log / f"{0:020}.json").write_text(lines, encoding="utf-8")
        return f"file:{table}"


def _first_version() -> tuple[Json, ...]:
    """Writes the first version with an id of its own: two locations with one id may be one table."""
    metadata = {
        "id": str(uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _SCHEMA_STRING,
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1_790_000_000_000,
    }
    return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}


def job(name: str, location: str, *, suspended: bool = False, priority: int = 0) -> Json:
    """A job that rewrites: two of them on one table conflict."""
    spec: Json = {"sql": f"DELETE FROM delta.`{location}` WHERE id = 1"}
    if suspended:
        spec["admission"] = {"suspend": True}
    if priority:
        spec["priority"] = priority
    return _job(name, spec)


def job_by_name(name: str, table: str, *, priority: int = 0) -> Json:
    """A job on a table in a catalog, which no policy binds to a location: it may be any."""
    return _job(name, {"sql": f"DELETE FROM lake.`{table}` WHERE id = 1", "priority": priority})


def alter(name: str, location: str) -> Json:
    """A job for which those pause that read the table."""
    return _job(name, {"sql": f"ALTER TABLE delta.`{location}` ADD COLUMNS (more INT)"})


def stream(name: str, source: str, table: str) -> Json:
    """A stream that runs for ever, and makes room for changes of metadata."""
    given = {
        "source": {"format": "delta", "path": source},
        "table": {"path": table},
        "checkpoint": f"file:/checkpoints/{name}",
        "trigger": {"processingTime": "1 minute"},
        "yield": "Metadata",
    }
    return _job(name, {"stream": given})


def job_not_understood(name: str) -> Json:
    return _job(name, {"sql": f"DELETE FROM lake.`{name}` WHERE id = = 1"})


def _job(name: str, spec: Json) -> Json:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": name},
        "spec": spec,
    }
