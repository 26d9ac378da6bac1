"""What the Deployment of kubeflow's Spark operator tells of the namespaces that it serves."""

import pytest

from sluice.engines.served_namespaces import served_namespaces


@pytest.mark.parametrize(
    ("arguments", "served"),
    [
        (["controller", "start", "--namespaces=default,team"], {"default", "team"}),
        (["controller", "start", '--namespaces=""'], set()),
        (["controller", "start", "--namespaces="], set()),
        (["controller", "start"], None),
        (["controller", "start", "--namespaces=a", "--namespaces=b"], None),
        (["controller", "start", "--namespaces=a", "--namespace-selector=spark=yes"], None),
    ],
)
def test_only_what_is_told_plainly_is_known(arguments: list[str], served: set[str] | None) -> None:
    containers = [{"name": "sidecar"}, {"name": "spark-operator-controller", "args": arguments}]
    found = served_namespaces({"spec": {"template": {"spec": {"containers": containers}}}})
    assert found == served
