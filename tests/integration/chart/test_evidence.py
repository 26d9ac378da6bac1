"""Only the operator and Spark operators write what binds pods and applications to leases, in a real API server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from integration.chart import policies
from integration.chart.helm import NO_DEFINITIONS, RELEASE, Helm
from integration.chart.policies import INVALID, POLICIES, RBAC
from integration.objects import JSON_PATCH, MERGE, Objects, Server
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines import placeholder

GROUP = "sparkoperator.k8s.io"
ALL = ["get", "list", "create", "update", "patch", "delete"]
EDITOR: list[Json] = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ALL},
    {"apiGroups": [GROUP], "resources": ["sparkapplications"], "verbs": ALL},
]
SPARK_OPERATOR: list[Json] = [
    *EDITOR,
    {"apiGroups": [GROUP], "resources": ["sparkapplications/status"], "verbs": ["get", "update", "patch"]},
]
LABELS = {names.LABEL_JOB_UID: "5a1b", names.LABEL_ATTEMPT: "1"}
RECORD = {names.ANNOTATION_LEASE: "{}", names.ANNOTATION_TOKEN: "1"}
MARKS: Json = {
    "labels": LABELS,
    "annotations": RECORD,
    "finalizers": [names.FINALIZER_LEASE],
}
HOOKS = f"{RELEASE}-hooks"
WORDS = "only the operator and Spark operators write them"


@dataclass(frozen=True)
class Place:
    objects: Objects
    tokens: dict[str, str]
    """By account."""

    def server(self, account: str) -> Server:
        return replace(self.objects.server, token=self.tokens[account])

    @property
    def pods(self) -> str:
        return f"/api/v1/namespaces/{self.objects.namespace}/pods"

    @property
    def applications(self) -> str:
        return f"/apis/{GROUP}/v1beta2/namespaces/{self.objects.namespace}/sparkapplications"


Ask = Callable[[Place, Server], object]


def pod(name: str, metadata: Json) -> Json:
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "spark", "image": "spark"}]},
    }


def application(name: str, metadata: Json) -> Json:
    spec: Json = {
        "type": "Scala",
        "mode": "cluster",
        "sparkVersion": "4.2.0",
        "mainApplicationFile": "local:///a.jar",
    }
    spec |= {"driver": {}, "executor": {}}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def makes(body: Json) -> Ask:
    is_pod = body.get("kind") != "SparkApplication"
    return lambda at, server: server.ask("POST", f"{at.pods if is_pod else at.applications}?dryRun=All", body)


def changes(what: str, body: object, content: str = MERGE) -> Ask:
    """`what`: pods/NAME or applications/NAME."""
    kind, _, name = what.partition("/")
    return lambda at, server: server.ask(
        "PATCH", f"{getattr(at, kind)}/{name}?dryRun=All", body, content=content
    )


def metadata(**fields: object) -> Json:
    return {"metadata": fields}


ATTACKS: dict[str, Ask] = {
    "makes a pod that is evidence": makes(pod("other-driver", MARKS)),
    "makes a pod with the label alone": makes(pod("other-driver", {"labels": LABELS})),
    "makes an executor that our finalizer keeps": makes(
        pod("other-driver", MARKS | {"labels": {**LABELS, "spark-role": "executor"}})
    ),
    "makes an executor with a driver's name": makes(
        pod("other-driver", {"labels": {**LABELS, "spark-role": "executor"}})
    ),
    "makes an executor that says which leases it holds": makes(
        pod("a-exec-2", {"labels": {**LABELS, "spark-role": "executor"}, "annotations": RECORD})
    ),
    "makes a pod that says which leases it holds, without our label": makes(
        pod("other-driver", {"annotations": RECORD})
    ),
    "makes a pod that our finalizer keeps, without our label": makes(
        pod("other-driver", {"finalizers": [names.FINALIZER_LEASE]})
    ),
    "makes an application that is evidence": makes(application("other", MARKS)),
    "makes an application that says which leases it holds, without our label": makes(
        application("other", {"annotations": RECORD})
    ),
    "takes a driver's finalizer off": changes("pods/a-driver", metadata(finalizers=None)),
    "takes it off by a JSON patch": changes(
        "pods/a-driver", [{"op": "remove", "path": "/metadata/finalizers/0"}], JSON_PATCH
    ),
    "takes an application's finalizer off": changes("applications/a", metadata(finalizers=None)),
    "takes a driver's label off": changes("pods/a-driver", metadata(labels={names.LABEL_JOB_UID: None})),
    "gives a driver to another job": changes("pods/a-driver", metadata(labels={names.LABEL_JOB_UID: "b"})),
    "makes it another attempt's": changes("pods/a-driver", metadata(labels={names.LABEL_ATTEMPT: "2"})),
    "changes its lease": changes("pods/a-driver", metadata(annotations={names.ANNOTATION_LEASE: "{1}"})),
    "takes its token off": changes("applications/a", metadata(annotations={names.ANNOTATION_TOKEN: None})),
    "tells a loss of a driver": changes(
        "pods/a-driver", metadata(annotations={names.ANNOTATION_DRIVER_LOST: "{}"})
    ),
    "makes a pod evidence that was none": changes("pods/plain", metadata(**MARKS)),
    "makes an executor a driver": changes("pods/a-exec-1", metadata(labels={"spark-role": "driver"})),
    "makes an executor a pod of no role": changes("pods/a-exec-1", metadata(labels={"spark-role": None})),
    "makes a driver an executor, and takes its finalizer off": changes(
        "pods/a-driver", metadata(labels={"spark-role": "executor"}, finalizers=None)
    ),
    "takes a placeholder's finalizer off": changes("pods/taken-driver", metadata(finalizers=None)),
    "takes it off a placeholder that is labelled as an executor": changes(
        "pods/labelled-driver", metadata(finalizers=None)
    ),
    "takes a placeholder's gate off": changes(
        "pods/taken-driver", [{"op": "remove", "path": "/spec/schedulingGates"}], JSON_PATCH
    ),
    "makes a placeholder": makes(placeholder("", "free", LABELS)),
}
WORK: dict[str, Ask] = {
    "makes a pod of its own": makes(pod("own", {"labels": {"app": "own"}})),
    "makes an executor with the labels of its application": makes(
        pod("a-exec-2", {"labels": {**LABELS, "spark-role": "executor"}})
    ),
    "annotates a driver": changes("pods/a-driver", metadata(annotations={"team": "lake"})),
    "gives a driver a finalizer of its own": changes(
        "pods/a-driver", metadata(finalizers=[names.FINALIZER_LEASE, "lake.example/keep"])
    ),
    "says that a lost driver is dead": changes(
        "applications/a", metadata(annotations={names.ANNOTATION_DRIVER_DEAD: "a"})
    ),
    "deletes a placeholder": lambda at, server: server.ask("DELETE", f"{at.pods}/taken-driver?dryRun=All"),
    "deletes a driver": lambda at, server: server.ask("DELETE", f"{at.pods}/a-driver?dryRun=All"),
    "changes an executor": changes("pods/a-exec-1", metadata(labels={names.LABEL_JOB_UID: None})),
}


def refusal(at: Place, ask: Ask, account: str) -> str:
    return policies.refusal(partial(ask, at, at.server(account)), INVALID)


@pytest.fixture(scope="module")
def without_policy(helm: Helm, kubeconfig: Any) -> Iterator[tuple[Place, dict[str, str], list[Json]]]:
    """What the API server says of each attack without the policy, and the policy."""
    objects = Objects(Server.of(kubeconfig), f"evidence-{RELEASE}")
    objects.create_namespace()
    tokens = {}
    for account, rules in {
        "editor": EDITOR,
        "engine": SPARK_OPERATOR,
        RELEASE: EDITOR,
        HOOKS: EDITOR,
    }.items():
        tokens[account] = _account(objects, account, rules)
    at = Place(objects, tokens)
    objects.create("pod", pod("a-driver", MARKS))
    objects.create("pod", pod("a-exec-1", {"labels": {**LABELS, "spark-role": "executor"}}))
    objects.create("pod", pod("plain", {}))
    for name, labels in {"taken": LABELS, "labelled": {**LABELS, "spark-role": "executor"}}.items():
        objects.create("pod", placeholder(objects.namespace, name, labels))
    objects.server.ask("POST", at.applications, application("a", MARKS))
    watched = f"watchNamespaces={{{objects.namespace}}}"
    bodies = [
        body
        for body in helm.rendered(objects.namespace, NO_DEFINITIONS, watched)
        if body["kind"] in POLICIES and body["metadata"]["name"].startswith("evidence.")
    ]
    yield at, {name: refusal(at, ask, "editor") for name, ask in ATTACKS.items()}, bodies
    for body in bodies:
        objects.server.ask("DELETE", f"{POLICIES[body['kind']]}/{body['metadata']['name']}")
    for name in ("a-driver", "taken-driver", "labelled-driver"):
        objects.patch("pod", name, {"metadata": {"finalizers": None}})
    objects.server.ask("PATCH", f"{at.applications}/a", {"metadata": {"finalizers": None}}, content=MERGE)


def _account(objects: Objects, name: str, rules: list[Json]) -> str:
    """Its token."""
    namespace, server = objects.namespace, objects.server
    objects.create("serviceaccount", {"metadata": {"name": name}})
    role = {"metadata": {"name": name}, "rules": rules}
    server.ask("POST", f"{RBAC}/namespaces/{namespace}/roles", role)
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    server.ask("POST", f"{RBAC}/namespaces/{namespace}/rolebindings", binding)
    asked = server.ask("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", {"spec": {}})
    assert asked is not None
    return str(asked["status"]["token"])


@pytest.fixture(scope="module")
def place(without_policy: tuple[Place, dict[str, str], list[Json]]) -> Place:
    """With the policy in force."""
    at, _, bodies = without_policy
    for body in bodies:
        at.objects.server.ask("POST", POLICIES[body["kind"]], body)
    for probe in ("makes a pod that is evidence", "makes an application that is evidence"):
        eventually(partial(_is_refused, at, ATTACKS[probe]), "the policy is in force")
    return at


def _is_refused(at: Place, ask: Ask) -> bool:
    return WORDS in refusal(at, ask, "editor")


@pytest.mark.parametrize("attack", ATTACKS)
def test_evidence_that_an_editor_writes_is_refused_by_the_policy_and_by_nothing_else(
    without_policy: tuple[Place, dict[str, str], list[Json]], place: Place, attack: str
) -> None:
    assert without_policy[1][attack] == ""
    assert WORDS in refusal(place, ATTACKS[attack], "editor")


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("account", ["engine", RELEASE, HOOKS])
def test_the_operator_its_hooks_and_spark_operators_write_evidence(
    place: Place, attack: str, account: str
) -> None:
    assert refusal(place, ATTACKS[attack], account) == ""


@pytest.mark.parametrize("work", WORK)
def test_what_is_no_evidence_an_editor_may_write(place: Place, work: str) -> None:
    assert refusal(place, WORK[work], "editor") == ""
