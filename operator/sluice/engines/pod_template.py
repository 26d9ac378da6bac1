"""The pod templates of a profile: what is read of them when an application is made is held against its types before anything
starts. All else is the API server's to judge."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from sluice.api.base import Json, Model

Texts = dict[str, str]
Objects = list[Json]


class _Part(Model):
    model_config = ConfigDict(extra="allow")


class _Container(_Part):
    name: Annotated[str, Field(min_length=1)] | None = None
    image: str | None = None
    env: Objects | None = None
    env_from: Objects | None = None
    volume_mounts: Objects | None = None
    resources: Json | None = None
    security_context: Json | None = None


class _Metadata(_Part):
    labels: Texts | None = None
    annotations: Texts | None = None
    finalizers: list[str] | None = None


class _Spec(_Part):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    volumes: Objects | None = None
    tolerations: Objects | None = None
    image_pull_secrets: Objects | None = None
    node_selector: Texts | None = None
    affinity: Json | None = None
    security_context: Json | None = None


class _Template(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: _Metadata | None = None
    spec: _Spec | None = None


class _AsGiven:
    """Checked as a template, and kept as the object that was given, without the nulls that the API server would drop."""

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def given(template: _Template) -> Json:
            return template.model_dump(by_alias=True, exclude_unset=True)

        return core_schema.no_info_after_validator_function(given, handler.generate_schema(_Template))


PodTemplate = Annotated[Json, _AsGiven()]
