"""Jobs to be run, from files, read as kubectl reads them."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.api import names
from sluice.api.base import Json
from sluice.api.manifests import Documents
from sluice.offline.files import read_file
from sluice.online.access.errors import CalledWronglyError
from sluice.online.access.job_names import JobName

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 8
"""Characters: more than the API server takes, for this must not be a name that is there."""
_LONGEST = 63


@dataclass(frozen=True)
class JobManifest:
    place: str
    """Its file."""
    body: Json
    job: JobName
    is_named_here: bool
    """Whether its name was made here: by generateName, and not by whoever wrote the file."""

    def renamed(self) -> "JobManifest":
        """The same under another name of its generateName."""
        return _work(self.place, self.body, self.job.namespace)

    @property
    def manifest(self) -> Json:
        metadata = {key: value for key, value in self.body["metadata"].items() if key != "generateName"}
        return self.body | {"metadata": metadata | {"name": self.job.name, "namespace": self.job.namespace}}


def works_in(paths: Sequence[Path], namespace: str | None, usual: str) -> list[JobManifest]:
    """All jobs of these files. `namespace`: given beside them; a manifest that names another one is refused. Raises
    CalledWronglyError if one of them can't be used."""
    works: list[JobManifest] = []
    for path in paths:
        for body in _bodies(path):
            own = body["metadata"].get("namespace")
            if own is not None and namespace is not None and own != namespace:
                raise CalledWronglyError(
                    f"{path}: {_called(body)} is for namespace {own}, and --namespace says {namespace}: leave one of them out"
                )
            works.append(_work(str(path), body, str(own or namespace or usual)))
    seen: set[JobName] = set()
    for work in works:
        if work.job in seen:
            raise CalledWronglyError(f"{work.place}: {work.job} is given twice: remove one")
        seen.add(work.job)
    return works


def _bodies(path: Path) -> Iterator[Json]:
    read = Documents()
    read_file(path, read)
    if read.troubles:
        raise CalledWronglyError("; ".join(map(str, read.troubles)))
    for document in read.found:
        yield _checked(document.body, document.place)
    if not read.found:
        raise CalledWronglyError(f"{path}: holds no job")


def _checked(body: Json, place: str) -> Json:
    kind = body.get("apiVersion"), body.get("kind")
    if kind != (names.API_VERSION, names.JOB_KIND):
        raise CalledWronglyError(
            f"{place}: holds {kind[1] or 'something without a kind'} of {kind[0] or 'no apiVersion'}, and only "
            f"{names.JOB_KIND} of {names.API_VERSION} can be run: apply the rest by kubectl"
        )
    metadata = body.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    if not all(isinstance(named.get(key, ""), str) for key in ("name", "generateName", "namespace")):
        raise CalledWronglyError(f"{place}: metadata: name, generateName and namespace are text")
    if not (named.get("name") or named.get("generateName")):
        raise CalledWronglyError(
            f"{place}: a job has no name: give it metadata.name or metadata.generateName"
        )
    return body


def _work(place: str, body: Json, namespace: str) -> JobManifest:
    metadata = body["metadata"]
    given = metadata.get("name")
    if given:
        return JobManifest(place, body, JobName(namespace, str(given)), is_named_here=False)
    suffix = "".join(secrets.choice(_LETTERS) for _ in range(_SUFFIX))
    name = str(metadata["generateName"])[: _LONGEST - _SUFFIX] + suffix
    return JobManifest(place, body, JobName(namespace, name), is_named_here=True)


def _called(body: Json) -> str:
    return str(body["metadata"].get("name") or body["metadata"].get("generateName"))
