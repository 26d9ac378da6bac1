"""Reads what documents say: jobs, policies and facts about tables, each checked as the API server would."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.manifests import Document, Documents, ManifestError
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.problems import Place, listed
from sluice.api.server_validation import KINDS, ForeignManifestError, ValidatedManifest, judged
from sluice.footprint import NotUnderstoodError, Texts, texts_of
from sluice.tables import Policy
from sluice.templates import problems_in, settings_in

_MOST = 3
"""Problems of one manifest that are named."""


@dataclass(frozen=True, eq=False)
class Job:
    name: str
    """The name, with its namespace if the manifest says one."""
    place: str
    spec: DeltaWriteJobSpec

    @property
    def namespace(self) -> str:
        return self.name.rpartition("/")[0]

    line_of: Callable[[Place], int | None] = field(default=lambda _: None, compare=False)
    """Finds the line of its file in which a field of the spec stands."""

    @cached_property
    def conf(self) -> dict[str, str]:
        """Spark's settings that it says itself. Raises NotUnderstoodError if its application's template is refused."""
        return settings_of(self.spec, self.line_of)

    @cached_property
    def texts(self) -> Texts:
        """Its texts, cut and read once however often it is judged. Raises NotUnderstoodError, with the place in the job."""
        return texts_of(self.spec)


def settings_of(
    spec: DeltaWriteJobSpec, line_of: Callable[[Place], int | None] = lambda _: None
) -> dict[str, str]:
    if spec.application is None:
        return dict(spec.runtime.spark_conf or {}) if spec.runtime is not None else {}
    problems = problems_in(spec.application, lambda place: line_of(("application", "template", *place)))
    if problems:
        raise NotUnderstoodError(*problems)
    return settings_in(spec.application)


@dataclass
class Manifests:
    jobs: list[Job] = field(default_factory=list)
    policies: list[tuple[Policy, str]] = field(default_factory=list)
    """Policies, each with its place."""
    facts: list[Document] = field(default_factory=list)
    """Documents without a kind that have a schema: facts about a table."""
    troubles: list[ManifestError] = field(default_factory=list)
    passed_over: int = 0
    """Documents of other kinds, and files of charts."""


def manifests_of(documents: Documents) -> Manifests:
    found = Manifests(troubles=list(documents.troubles), passed_over=documents.passed_over)
    places: dict[tuple[str, str], str] = {}
    for document in documents.found:
        kind = document.body.get("kind")
        if kind is None and "schema" in document.body:
            found.facts.append(document)
            continue
        if kind is None and ("spec" in document.body or "metadata" in document.body):
            found.troubles.append(
                ManifestError(document.place, f"has no kind: set it to {' or '.join(KINDS)}")
            )
            continue
        try:
            one = judged(document)
        except ForeignManifestError:
            found.passed_over += 1
        else:
            _keep(document, one, places, found)
    return found


def _keep(
    document: Document, one: ValidatedManifest, places: dict[tuple[str, str], str], found: Manifests
) -> None:
    name = _name(document)
    if (one.kind, name) in places:
        first = places[one.kind, name]
        why = f"{one.kind} {name} is already in {first}: rename one; this one is left out"
        found.troubles.append(ManifestError(document.place, why))
        return
    if one.spec is not None:  # who is refused takes no name
        places[one.kind, name] = document.place
    if one.around:  # what it asks for is answered all the same
        found.troubles.append(ManifestError(document.place, listed(one.around, _MOST)))
    if one.within:
        found.troubles.append(ManifestError(document.place, f"{name}: {listed(one.within, _MOST)}"))
    if isinstance(one.spec, DeltaWriteJobSpec):
        found.jobs.append(
            Job(name, document.place, one.spec, lambda place: document.line_of(("spec", *place)))
        )
    elif one.spec is not None:
        found.policies.append((_policy(document, one.spec), document.place))


def _policy(document: Document, spec: DeltaTablePolicySpec) -> Policy:
    metadata = _metadata(document)
    created = metadata.get("creationTimestamp")
    return Policy(
        _own_name(document),
        str(metadata.get("namespace") or ""),
        spec,
        None if created is None else str(created),
    )


def _name(document: Document) -> str:
    namespace = _metadata(document).get("namespace")
    return f"{namespace}/{_own_name(document)}" if namespace else _own_name(document)


def _own_name(document: Document) -> str:
    """The document's own name. Jobs that get their name when they are created, or whose name is no text, such as `name: y`,
    are told apart by their place."""
    metadata = _metadata(document)
    name = metadata.get("name")
    if isinstance(name, str) and name:
        return name
    return f"{metadata.get('generateName', '')}({document.place})"


def _metadata(document: Document) -> dict[str, Any]:
    metadata = document.body.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
