"""A policy in a namespace to which the operator's configuration doesn't leave the table counts in nothing, and says so."""

from integration.conftest import Kubectl
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append


def test_a_squatter_holds_nobody_up_and_is_told_whose_the_table_is(
    cluster: Played, operators: StartOperator, kubectl: Kubectl
) -> None:
    here = cluster.namespace
    operators(
        tableOwners=[
            {"namespaces": ["sales"], "paths": ["/owned/sales"], "names": ["sales.*"]},
            {"namespaces": [here], "paths": ["/owned/here"]},
        ]
    ).says("the lease table was rebuilt")
    table = "/owned/sales/orders"
    nowhere = {"allowedNamespaces": ["nowhere"]}
    cluster.declare("squatter", {"table": {"path": table, "name": "crm.orders"}, **nowhere})
    cluster.declare("by-name", {"table": {"name": "lake.sales.orders"}, **nowhere})
    cluster.declare("owner", {"table": {"path": "/owned/here/orders"}, **nowhere})
    cluster.declare("of-nobody", {"table": {"path": "/owned/nobody/orders"}, **nowhere})
    told = cluster.policy_is("squatter", "NotOwner")
    assert {one["type"]: one["status"] for one in told["status"]["conditions"]} == {
        "Ready": "False",
        "Reconciling": "False",
        "Stalled": "True",
    }
    assert told["status"]["message"] == (
        f"the operator's configuration (tableOwners) leaves policies for file:{table} to the namespace sales, and this one is in "
        f"{here}: nothing of it counts. Move it there, or ask whoever runs the operator to add {here}"
    )
    assert "policies for lake.sales.orders" in cluster.policy_is("by-name", "NotOwner")["status"]["message"]
    assert {"False", "NotOwner"} <= set(kubectl("get", "dtp", "-n", here, "squatter").stdout.split())
    for name in ("owner", "of-nobody"):
        cluster.policy_is(name, "Counts")
    cluster.apply("guest", append(table))
    cluster.start("guest").succeeds(f"file:{table}")
    cluster.reaches("guest", "Succeeded")
    cluster.apply("refused", append("/owned/here/orders"))
    assert cluster.reaches("refused", "Failed")["reason"] == "NamespaceNotAllowed"
