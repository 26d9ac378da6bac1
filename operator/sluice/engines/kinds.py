"""The Spark operators that are known: each application is made for one of them, and read as that one's."""

from collections.abc import Mapping
from typing import Any

from sluice.api.engine_kind import EngineKind
from sluice.engines.apache import Apache
from sluice.engines.engine import Engine
from sluice.engines.kubeflow import Kubeflow

_ALL: tuple[Engine, ...] = (Kubeflow(), Apache())
ENGINES: Mapping[EngineKind, Engine] = {engine.kind: engine for engine in _ALL}
_OF_API = {engine.api.removeprefix("/apis/"): engine for engine in ENGINES.values()}


class UnknownEngineError(ValueError):
    """An application of an API that no known Spark operator has."""


def engine_for(kind: EngineKind) -> Engine:
    """The engine for which an application is to be made."""
    return ENGINES[kind]


def engine_of(application: Mapping[str, Any]) -> Engine:
    """The engine for which the application was made, by its apiVersion. Nothing may be concluded from one that no engine knows."""
    version = application.get("apiVersion")
    known = _OF_API.get(str(version))
    if known is None:
        metadata = application["metadata"]
        raise UnknownEngineError(
            f"SparkApplication {metadata.get('namespace')}/{metadata.get('name')} has the apiVersion {version}, which this version "
            f"of Sluice doesn't know (it knows {', '.join(_OF_API)}): upgrade the operator"
        )
    return known
