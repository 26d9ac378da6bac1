"""Commands against a real API server, where an operator is and where none is."""

import json
from pathlib import Path

import pytest

from integration.operator.played import Played
from integration.operator.process import sluice
from sluice.api import names


@pytest.mark.parametrize("knows_redis", [False, True])
def test_where_no_operator_has_led_nothing_is_said_of_its_leases(
    cluster: Played, kubeconfig: Path, knows_redis: bool
) -> None:
    where = ("-n", cluster.namespace)
    told = sluice(kubeconfig, "status", *where)
    for command in (
        ("leases", "list", *(("--redis-url", cluster.redis_url) if knows_redis else ())),
        ("leases", "revoke", "uid/1", "--yes"),
    ):
        done = sluice(kubeconfig, *command, *where)
        assert (done.returncode, done.stdout, done.stderr) == (4, "", told.stderr)
    assert f"there is no Lease {cluster.namespace}/{names.leader_lease('sluice')}" in told.stderr
    _an_operator_has_led(cluster)
    done = sluice(kubeconfig, "leases", "list", "-o", "json", *where)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ours = [one for one in found["leases"] if one["job"].startswith(f"{cluster.namespace}/")]
    assert ours == [], "other tests have jobs of their own in this cluster"
    assert "what Redis holds: say where it is, by --redis-url or --config" in found["notShown"]


def _an_operator_has_led(cluster: Played) -> None:
    cluster.objects.create("lease", {"metadata": {"name": names.leader_lease("sluice")}, "spec": {}})
