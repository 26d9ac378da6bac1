"""The CustomResourceDefinitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from generate.structural import structural
from sluice.api import DeltaTablePolicy, DeltaWriteJob, names
from sluice.api.base import Model

HEADER = "# Generated from operator/sluice/api by `./dev generate`: change the models, not this file.\n"


@dataclass(frozen=True)
class Column:
    name: str
    path: str
    description: str
    type: str = "string"
    wide: bool = False

    def as_yaml(self) -> dict[str, Any]:
        column: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "jsonPath": self.path,
            "description": self.description,
        }
        return column | ({"priority": 1} if self.wide else {})


@dataclass(frozen=True)
class Resource:
    model: type[Model]
    kind: str
    plural: str
    short: str
    columns: tuple[Column, ...]

    @property
    def file_name(self) -> str:
        return f"{self.plural}.yaml"


AGE = Column("Age", ".metadata.creationTimestamp", "How long ago it was created.", type="date")

RESOURCES = (
    Resource(
        DeltaWriteJob,
        names.JOB_KIND,
        names.JOB_PLURAL,
        names.JOB_SHORT,
        (
            Column("Phase", ".status.phase", "Where the job is."),
            Column("Table", ".status.tables", "Tables that it touches."),
            Column("Blocked-By", ".status.blockedBy[0].job", "The first job in its way."),
            Column("Attempt", ".status.attempt", "Number of the latest attempt.", type="integer"),
            AGE,
            Column("Reason", ".status.reason", "Why it is in this phase.", wide=True),
            Column("Since", ".status.since", "How long it has been in this phase.", type="date", wide=True),
            Column("Priority", ".spec.priority", "Its priority.", type="integer", wide=True),
            Column("Message", ".status.message", "Why, and what happens next.", wide=True),
        ),
    ),
    Resource(
        DeltaTablePolicy,
        names.POLICY_KIND,
        names.POLICY_PLURAL,
        names.POLICY_SHORT,
        (
            Column("Table", ".status.table", "The table's identity."),
            Column(
                "Ready",
                ".status.conditions[?(@.type=='Ready')].status",
                "Whether all that the policy says counts, and the table is as it wants.",
            ),
            Column("Reason", ".status.reason", "State in one word."),
            Column(
                "Drift",
                ".status.driftCount",
                "In how much the table differs from the policy.",
                type="integer",
            ),
            Column("Enforcement", ".spec.enforcement", "Observe or Enforce."),
            AGE,
            Column(
                "Catalog-Name", ".spec.table.name", "The catalog name that leads to the table.", wide=True
            ),
            Column(
                "Version",
                ".status.observed.version",
                "The table's version when it was read.",
                type="integer",
                wide=True,
            ),
            Column("Message", ".status.message", "State in a sentence.", wide=True),
        ),
    ),
)


def definition(resource: Resource) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{names.GROUP}"},
        "spec": {
            "group": names.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": [resource.short],
                "categories": [names.CATEGORY],
            },
            "versions": [
                {
                    "name": names.VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [column.as_yaml() for column in resource.columns],
                    "schema": {"openAPIV3Schema": _root(resource.model)},
                }
            ],
        },
    }


def _root(model: type[Model]) -> dict[str, Any]:
    schema = structural(model, defaults=True)
    properties = schema["properties"]
    properties["apiVersion"] = {"type": "string"}
    properties["kind"] = {"type": "string"}
    properties["metadata"] = {"type": "object"}
    for value in _walk(properties["status"]):
        value.pop("default", None)  # the operator alone says what a status holds
    return schema | {"required": ["spec"]}


def _walk(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for child in schema.get("properties", {}).values():
        yield from _walk(child)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _walk(schema[key])


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - every schema is to be read where it stands
        return True


@cache
def render(resource: Resource) -> str:
    return HEADER + yaml.dump(
        definition(resource), Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True
    )
