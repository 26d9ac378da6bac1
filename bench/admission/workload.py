"""Jobs, their tables, and copies of a whole job with what it left, under another name."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from sluice.api import names
from sluice.engines.attempt import application_name
from sluice.engines.profile import Profiles
from sluice.kube.client import Json
from sluice.lifecycle.job import JobView

_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("id", "long"), ("amount", "integer"), ("date", "date"))
    ],
}
_SCHEMA_STRING = json.dumps(_SCHEMA)
_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


@dataclass(frozen=True)
class Tables:
    """Locations below a folder; each has a Delta log of one version, unless they are not to be there yet."""

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
    """With an id of its own: two locations with one id may be one table."""
    metadata = {
        "id": str(uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _SCHEMA_STRING,
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1_790_000_000_000,
    }
    return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}


def job(name: str, location: str, *, suspended: bool = False) -> Json:
    """A rewrite: two of them on one table conflict."""
    spec: Json = {"sql": f"DELETE FROM delta.`{location}` WHERE id = 1"}
    if suspended:
        spec["admission"] = {"suspend": True}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": name},
        "spec": spec,
    }


@dataclass(frozen=True)
class Whole:
    """A job with its SparkApplication, as the operator and the played drivers had made them."""

    job: Json
    application: Json
    profiles: Profiles
    """Of the operator: what a job hashes to depends on its runtime."""

    def job_named(self, name: str) -> Json:
        """To be created: all that it had but its status."""
        body: Json = json.loads(json.dumps(_created_anew(self.job)).replace(self._name, name))
        return body

    def status_of(self, created: Json, number: int) -> Json:
        """The number tells attempts' tokens apart."""
        status = self._as_of(created, self.job["status"])
        for attempt in status["attempts"]:
            attempt["token"] += number
        return status

    def application_of(self, created: Json, number: int) -> Json:
        body = self._as_of(created, _created_anew(self.application))
        for metadata in (body["metadata"], body["spec"]["driver"]["template"]["metadata"]):
            token = int(metadata["annotations"][names.ANNOTATION_TOKEN])
            metadata["annotations"][names.ANNOTATION_TOKEN] = str(token + number)
        return body

    @property
    def _name(self) -> str:
        return str(self.job["metadata"]["name"])

    def _as_of(self, created: Json, body: Json) -> Json:
        """What was of this job, as if it had been of the other."""
        name, uid = created["metadata"]["name"], created["metadata"]["uid"]
        text = json.dumps(body)
        for old, new in (
            (self.application["metadata"]["name"], application_name(name, uid, 1)),
            (self.job["metadata"]["uid"], uid),
            (self._hash_of(self.job), self._hash_of(created)),
            (self._name, name),
        ):
            text = text.replace(old, new)
        renamed: Json = json.loads(text)
        return renamed

    def _hash_of(self, job: Json) -> str:
        return JobView(job, self.profiles, datetime.now(UTC)).spec_hash


def _created_anew(body: Json) -> Json:
    metadata = {key: value for key, value in body["metadata"].items() if key not in _BY_SERVER}
    return {key: value for key, value in body.items() if key != "status"} | {"metadata": metadata}
