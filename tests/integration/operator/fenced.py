"""The chart's admission policy in a real API server, for an installation that acts as an account of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from integration.chart.helm import NO_DEFINITIONS, RELEASE, Helm
from integration.chart.policies import POLICIES
from integration.leases.redis_process import RedisProcess
from integration.objects import MERGE, Objects
from integration.operator.accounts import account_with, rules_of
from integration.operator.process import OperatorProcess, configuration
from sluice.api.base import Json
from sluice.kube.rights import rights_of


@dataclass(frozen=True)
class Fenced:
    """An installation called sluice in the namespace of a test, which watches that namespace and those beside it."""

    helm: Helm
    objects: Objects
    kubeconfig: Path
    """Of the operator's account."""
    beside: tuple[str, ...] = ()

    @property
    def watched(self) -> list[str]:
        return [self.objects.namespace, *self.beside]

    @property
    def bodies(self) -> list[Json]:
        watched = ",".join(self.watched)
        rendered = self.helm.rendered(
            self.objects.namespace, NO_DEFINITIONS, f"watchNamespaces={{{watched}}}", release=RELEASE
        )
        return [body for body in rendered if body["kind"] in POLICIES]

    def install(self, prefix: str = "") -> None:
        """Those whose names begin so."""
        for body in self.bodies:
            if not body["metadata"]["name"].startswith(prefix):
                continue
            self.objects.server.ask("POST", POLICIES[body["kind"]], body)

    def remove(self) -> None:
        """As Helm does, which keeps what says so."""
        for body in self.bodies:
            if "helm.sh/resource-policy" in body["metadata"].get("annotations", {}):
                continue
            self.objects.server.ask("DELETE", f"{POLICIES[body['kind']]}/{body['metadata']['name']}")

    def loosen(self, spec: Json) -> None:
        """Somebody changes the bindings."""
        for body in self.bodies:
            if body["kind"] == "ValidatingAdmissionPolicyBinding":
                path = f"{POLICIES[body['kind']]}/{body['metadata']['name']}"
                self.objects.server.ask("PATCH", path, {"spec": spec}, content=MERGE)

    def operator(self, redis: RedisProcess, folder: Path, name: str = "operator") -> OperatorProcess:
        config = configuration(self.watched, redis.url, admissionPolicy=True)
        return OperatorProcess(self.kubeconfig, config, folder, name)

    @property
    def epoch(self) -> int:
        """What the parameter says."""
        found = self.objects.get("configmap", "sluice-epoch")
        assert found is not None, "there is no parameter"
        return int(found["data"]["epoch"])


@contextmanager
def fenced(
    helm: Helm, objects: Objects, admin: Path, folder: Path, *, beside: tuple[str, ...] = ()
) -> Iterator[Fenced]:
    """The policy itself is not installed yet. The account has its rights in the namespaces that are watched; where there are
    others beside its own, in the whole cluster, as by the chart's default."""
    watched = () if beside else (objects.namespace,)
    rules = rules_of(rights_of(RELEASE), objects.namespace, watched)
    with account_with(admin, objects.namespace, RELEASE, rules) as content:
        file = folder / "operator-kubeconfig.yaml"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        made = Fenced(helm, objects, file, beside)
        try:
            yield made
        finally:
            made.remove()
