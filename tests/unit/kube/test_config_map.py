"""A ConfigMap is written only as it was read."""

import json

from sluice.kube.config_map import ConfigMap
from unit.kube.served import served, told

BODY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "kept", "namespace": "ops", "resourceVersion": "7", "labels": {"theirs": "stays"}},
    "data": {"a": "1"},
}


async def test_what_is_there_is_replaced_by_its_version_and_keeps_what_others_wrote_on_it() -> None:
    async with served(told(BODY)) as server:
        kept = ConfigMap(server.kube, "ops", "kept")
        read = await kept.read()
        assert read.data == {"a": "1"}
        await kept.write(read, {"b": "2"})
    written = server.asked[-1]
    assert (written.method, written.path) == ("PUT", "/api/v1/namespaces/ops/configmaps/kept")
    assert json.loads(written.body) == BODY | {"data": {"b": "2"}}


async def test_where_there_is_none_nothing_is_read_and_it_is_created() -> None:
    async with served(told({"kind": "Status", "reason": "NotFound"}, 404), told(BODY, 201)) as server:
        kept = ConfigMap(server.kube, "ops", "kept")
        read = await kept.read()
        assert read.data == {}
        await kept.write(read, {"b": "2"})
    created = server.asked[-1]
    assert (created.method, created.path) == ("POST", "/api/v1/namespaces/ops/configmaps")
    assert json.loads(created.body) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kept", "namespace": "ops"},
        "data": {"b": "2"},
    }
