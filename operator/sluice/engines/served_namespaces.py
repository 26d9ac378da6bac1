"""The namespaces in which kubeflow's Spark operator runs applications, as far as the Deployment of its chart tells."""

from sluice.api.base import Json

LABELS = "app.kubernetes.io/name=spark-operator,app.kubernetes.io/component=controller"
_NAMESPACES = "--namespaces="
_SELECTOR = "--namespace-selector="
_ALL = ("", '""')


def served_namespaces(deployment: Json) -> frozenset[str] | None:
    """Empty: all; None: the Deployment doesn't tell."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    arguments = [argument for one in containers for argument in one.get("args") or ()]
    told = [argument for argument in arguments if argument.startswith(_NAMESPACES)]
    if len(told) != 1 or any(argument.startswith(_SELECTOR) for argument in arguments):
        return None
    named = told[0].removeprefix(_NAMESPACES).split(",")
    return frozenset() if any(name in _ALL for name in named) else frozenset(named)
