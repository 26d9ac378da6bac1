"""Judges a manifest as kubectl and the API server would, before it gets there."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from sluice.api import names
from sluice.api.job import DeltaWriteJobSpec
from sluice.api.job_status import DeltaWriteJobStatus
from sluice.api.manifests import Document
from sluice.api.object_meta import ObjectMeta, problems_of_names
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.policy_status import DeltaTablePolicyStatus
from sluice.api.problems import each_problem, is_unknown_field, problem_at

Spec = DeltaWriteJobSpec | DeltaTablePolicySpec

KINDS: Mapping[str, type[Spec]] = {
    names.JOB_KIND: DeltaWriteJobSpec,
    names.POLICY_KIND: DeltaTablePolicySpec,
}
_STATUSES: Mapping[str, type[DeltaWriteJobStatus | DeltaTablePolicyStatus]] = {
    names.JOB_KIND: DeltaWriteJobStatus,
    names.POLICY_KIND: DeltaTablePolicyStatus,
}
_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
_NEARLY = 0.85


@dataclass(frozen=True)
class ValidatedManifest:
    """What a manifest says, as far as it can be understood, and everything for which it would be refused."""

    kind: str
    spec: Spec | None
    around: tuple[str, ...]
    """What is wrong around the spec, which is understood all the same."""
    within: tuple[str, ...]
    """What is wrong within the spec."""

    @property
    def problems(self) -> tuple[str, ...]:
        return (*self.around, *self.within)


class ForeignManifestError(ValueError):
    """The manifest is of another kind, and somebody else's."""


def judged(document: Document) -> ValidatedManifest:
    """Raises NotOursError for other people's manifests: a kind that is nearly one of ours is not one of them."""
    body = document.body
    given = body.get("kind")
    kind = given if isinstance(given, str) and given in KINDS else _nearly(given, tuple(KINDS))
    if kind is None:
        if not _is_of_our_group(body.get("apiVersion")):
            raise ForeignManifestError(f"{given} is not one of {', '.join(KINDS)}")
        what = f"there is no kind {given}" if given is not None else "is required"
        return ValidatedManifest(
            "", None, (_at(document, ("kind",), f"{what}: use {' or '.join(KINDS)}"),), ()
        )
    around = list(_problems_of_head(document, kind))
    meant = {field: get_close_matches(str(field), _FIELDS, n=1) for field in body if field not in _FIELDS}
    for field, near in meant.items():
        why = f"there is no such field{f'; did you mean {near[0]}?' if near else ', only ' + ', '.join(_FIELDS)}"
        around.append(_at(document, (str(field),), why))
    around += _problems_of_metadata(document, kind)
    around += _problems_of_status(document, kind)
    model = KINDS[kind]
    try:
        return ValidatedManifest(kind, model.as_stored(body.get("spec")), tuple(around), ())
    except ValidationError as error:
        return ValidatedManifest(kind, None, tuple(around), tuple(_problems(document, error, "spec", model)))


def _problems_of_head(document: Document, kind: str) -> list[str]:
    given, version = document.body.get("kind"), document.body.get("apiVersion")
    found = []
    if version is None:
        found.append(_at(document, ("apiVersion",), f"is required: set it to {names.API_VERSION}"))
    elif version != names.API_VERSION:
        what = "is not known here" if _is_of_our_group(version) else f"has no {kind}"
        found.append(_at(document, ("apiVersion",), f"{version} {what}: use {names.API_VERSION}"))
    if given != kind:
        found.append(_at(document, ("kind",), f"there is no kind {given}; did you mean {kind}?"))
    return found


def _problems_of_metadata(document: Document, kind: str) -> list[str]:
    metadata = document.body.get("metadata")
    try:
        given = ObjectMeta.as_stored({} if metadata is None else metadata)
    except ValidationError as error:
        return _problems(document, error, "metadata", ObjectMeta)
    found = problems_of_names(given, of_a_job=kind == names.JOB_KIND)
    return [_at(document, ("metadata", *place), why) for place, why in found]


def _problems_of_status(document: Document, kind: str) -> list[str]:
    """Only fields that aren't there are refused: the API server drops the status of what is applied before it looks at values."""
    model = _STATUSES[kind]
    try:
        model.as_stored(document.body.get("status") or {})
    except ValidationError as error:
        return each_problem(
            error,
            "status",
            of=model,
            line_of=lambda place: document.line_of(("status", *place)),
            counts=is_unknown_field,
        )
    return []


def _problems(document: Document, error: ValidationError, within: str, model: type[BaseModel]) -> list[str]:
    return each_problem(error, within, of=model, line_of=lambda place: document.line_of((within, *place)))


def _at(document: Document, place: tuple[str, ...], why: str) -> str:
    return problem_at(place, document.line_of(place), why)


def _is_of_our_group(version: Any) -> bool:
    group = str(version).partition("/")[0]
    return group == names.GROUP or _nearly(version, (names.API_VERSION, names.GROUP)) is not None


def _nearly(given: Any, known: tuple[str, ...]) -> str | None:
    folded = {one.casefold(): one for one in known}
    near = get_close_matches(str(given).casefold(), folded, n=1, cutoff=_NEARLY)
    return folded[near[0]] if near else None
