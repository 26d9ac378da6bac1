"""Each application is read as the Spark operator of its own API means it."""

import pytest

from sluice.api.engine_kind import EngineKind
from sluice.engines import ENGINES, UnknownEngineError, engine_of, observe


@pytest.mark.parametrize("kind", ENGINES)
def test_an_application_is_of_the_engine_whose_api_it_has(kind: EngineKind) -> None:
    engine = ENGINES[kind]
    assert engine_of({"apiVersion": engine.api.removeprefix("/apis/"), "metadata": {}}) is engine


@pytest.mark.parametrize("version", ["sparkoperator.k8s.io/v9", "v1", None])
def test_nothing_is_concluded_from_an_application_of_an_unknown_api(version: str | None) -> None:
    body = {"apiVersion": version, "metadata": {"namespace": "etl", "name": "a-1"}}
    with pytest.raises(UnknownEngineError, match=rf"etl/a-1 has the apiVersion {version}"):
        observe(body, None, driver_seen=False)
