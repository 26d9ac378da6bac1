"""Each policy says whether all of it counts, on a real API server; the operator tells it once, and again when it changes."""

from integration.conftest import Kubectl
from integration.operator.played import Played
from sluice.api.base import Json


def _stalled(policy: Json) -> bool:
    states = {one["type"]: one["status"] for one in policy["status"]["conditions"]}
    assert states["Ready"] != states["Stalled"]
    return bool(states["Stalled"] == "True")


def test_policies_tell_whether_they_count(shared: Played, kubectl: Kubectl) -> None:
    table = {"path": "s3://told/orders"}
    shared.declare("told-first", {"table": table, "logStore": "S3DynamoDB"})
    first = shared.policy_is("told-first", "Counts")
    assert not _stalled(first)
    shared.declare("told-second", {"table": table, "logStore": "Safe"})
    shared.declare(
        "told-asks", {"table": {"path": "/told/asks"}, "maintenance": {"vacuum": {"schedule": "0 3 30 2 *"}}}
    )
    second = shared.policy_is("told-second", "LeftOut")
    assert _stalled(second)
    assert "told-first is an older policy for the same table" in second["status"]["message"]
    asks = shared.policy_is("told-asks", "Impossible")
    assert _stalled(asks)
    assert "spec.maintenance" in asks["status"]["message"]
    shown = kubectl("get", "dtp", "-n", shared.namespace, "told-asks", "-o", "wide")
    assert {"False", "Impossible", "file:/told/asks"} <= set(shown.stdout.split()), shown
    assert shared.policy("told-first") == first, "nobody wrote to it again"
    shared.change_policy("told-asks", {"spec": {"maintenance": None}})
    assert not _stalled(shared.policy_is("told-asks", "Counts"))
