"""Checks the metadata of a manifest as the API server does for every kind of object."""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from sluice.api.base import Model
from sluice.api.identifiers import NamespaceName

LONGEST_LABEL = 63
_LONGEST_NAME = 253
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NO_NAME_BUT_A_TEMPLATE = re.compile(r"\{\{|\{%|\$\{|\$\(")
_MOST_ANNOTATED = 256 * 2**10


class ObjectMeta(Model):
    """What every object of Kubernetes may say of itself. What only the API server writes is not looked at."""

    name: str | None = None
    generate_name: str | None = None
    namespace: NamespaceName | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[dict[str, Any], ...] = ()
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: Any = None
    generation: Any = None
    managed_fields: Any = None
    resource_version: Any = None
    self_link: Any = None
    uid: Any = None


def problems_of_names(given: ObjectMeta, *, of_a_job: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields what is wrong, with its place within the metadata."""
    generated = not given.name and bool(given.generate_name)
    why = _why_no_name(given.generate_name if generated else given.name, of_a_job, generated=generated)
    if why is not None:
        yield ("generateName" if generated else "name",), why
    for key, value in given.labels.items():
        if (why := _why_no_key(key)) is not None:
            yield ("labels", key), why
        if value and (len(value) > LONGEST_LABEL or _LABEL.fullmatch(value) is None):
            yield (
                ("labels", key),
                "a label's value takes at most 63 letters, digits, - _ and ., with a letter or digit at both ends: "
                "make it an annotation, or shorten it",
            )
    for key in given.annotations:
        if (why := _why_no_key(key.lower())) is not None:
            yield ("annotations", key), why
    if (
        sum(len(key.encode()) + len(value.encode()) for key, value in given.annotations.items())
        > _MOST_ANNOTATED
    ):
        yield ("annotations",), "take at most 256 KiB in all: leave some out"


def _why_no_name(name: str | None, of_a_job: bool, *, generated: bool) -> str | None:
    if not name:
        return "is required, unless there is a generateName"
    if _NO_NAME_BUT_A_TEMPLATE.search(name):
        return f"{name!r} is a template, and no name that Kubernetes takes: render it first"
    if generated:
        name = re.sub(r"(?<=.)-$", "a", name)  # what follows is letters and digits
    elif of_a_job and len(name) > LONGEST_LABEL:
        return "takes at most 63 characters, because it becomes a label of the job's pods: shorten it"
    if len(name) > _LONGEST_NAME:
        return f"takes at most {_LONGEST_NAME} characters: shorten it"
    if _SUBDOMAIN.fullmatch(name) is None:
        return (
            f"{name!r} is no name that Kubernetes takes: use lower-case letters, digits, - and ., with a letter or digit at "
            "both ends, such as load-orders"
        )
    return None


def _why_no_key(key: str) -> str | None:
    prefix, slash, name = key.rpartition("/")
    fits = not slash or (len(prefix) <= _LONGEST_NAME and _SUBDOMAIN.fullmatch(prefix) is not None)
    if fits and len(name) <= LONGEST_LABEL and _LABEL.fullmatch(name) is not None:
        return None
    return "is no key that Kubernetes takes: a name of at most 63 letters, digits, - _ and ., after a domain and / if wanted"
