import base64

import pytest

from localengine.containerenv import CreateContainerConfigError, Source, expanded, resolve
from sluice.api.base import Json

POD: Json = {
    "metadata": {"name": "load-driver", "namespace": "shop", "uid": "p-1", "labels": {"team": "red"}},
    "spec": {"nodeName": "here"},
}
STORED: dict[tuple[str, str], Json] = {
    ("secrets", "login"): {"data": {"password": base64.b64encode(b"hush").decode()}},
    ("configmaps", "settings"): {"data": {"region": "eu", "size": "5"}},
}


async def fetch(kind: Source, name: str) -> Json | None:
    return STORED.get((kind, name))


async def test_values_come_from_wherever_they_are_kept() -> None:
    container = {
        "envFrom": [{"configMapRef": {"name": "settings"}, "prefix": "S_"}],
        "env": [
            {"name": "PLAIN", "value": "in $(S_region), not $(NOWHERE), costs $$5"},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}},
            {"name": "REGION", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "region"}}},
            {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "none", "key": "x", "optional": True}}},
            {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['team']"}}},
        ],
    }
    assert await resolve(POD, container, fetch) == {
        "S_region": "eu",
        "S_size": "5",
        "PLAIN": "in eu, not $(NOWHERE), costs $5",
        "PASSWORD": "hush",
        "REGION": "eu",
        "ME": "load-driver",
        "TEAM": "red",
    }


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"secretKeyRef": {"name": "none", "key": "x"}}, 'secret "none" not found'),
        ({"secretKeyRef": {"name": "login", "key": "user"}}, "couldn't find key user in secret shop/login"),
        ({"configMapKeyRef": {"name": "none", "key": "x"}}, 'configmap "none" not found'),
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, "resourceFieldRef"),
        ({"fieldRef": {"fieldPath": "status.phase"}}, "fieldRef status.phase is not supported"),
    ],
)
async def test_what_cannot_be_resolved_is_named(source: Json, told: str) -> None:
    with pytest.raises(CreateContainerConfigError, match=told):
        await resolve(POD, {"env": [{"name": "X", "valueFrom": source}]}, fetch)


def test_a_doubled_dollar_keeps_a_reference_from_being_expanded() -> None:
    assert expanded("$$(HOME) $(HOME)", {"HOME": "/root"}) == "$(HOME) /root"
