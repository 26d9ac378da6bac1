"""What a driver's account may do in a real API server, by the token that is bound to the driver's pod: its work, no attack."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from integration.chart import policies
from integration.chart.helm import NO_DEFINITIONS, RELEASE, Helm
from integration.chart.policies import FORBIDDEN, INVALID, POLICIES, RBAC
from integration.objects import JSON_PATCH, MERGE, Objects, Server
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines.attempt import application_name, driver_pod_name, executor_names

PREFIXES = (f"drivers.{RELEASE}.", f"accounts.{RELEASE}.")
ACCOUNT, PLAIN, LISTED = "spark", "less", "etl"
"""The chart makes the first; its values name the second for executors, and the last one for drivers of any namespace."""
LEASE: Json = {names.ANNOTATION_LEASE: "{}", names.ANNOTATION_TOKEN: "1"}
JOB: Json = {
    "apiVersion": names.API_VERSION,
    "kind": names.JOB_KIND,
    "name": "orders",
    "uid": "5a1bcd3e-0000-4000-8000-000000000001",
}
APPLICATION: Json = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "name": "mine",
    "uid": "5a1bcd3e-0000-4000-8000-000000000002",
}
"""As kubeflow's operator writes it into the template of executors."""


@dataclass(frozen=True)
class Drivers:
    """Two drivers of one account in one namespace, each with an executor and a ConfigMap; `mine` is the one that asks."""

    objects: Objects
    mine: Json
    theirs: Json
    token: str
    """Bound to the pod `mine`."""
    helm: Helm

    @property
    def place(self) -> str:
        return f"/api/v1/namespaces/{self.objects.namespace}"

    def server(self, token: str) -> Server:
        return replace(self.objects.server, token=token)

    def token_of(self, pod: Json | None, account: str = ACCOUNT) -> str:
        """As a kubelet asks for it; None: as `kubectl create token` does."""
        spec: Json = {"expirationSeconds": 3600}
        if pod is not None:
            ref = {"apiVersion": "v1", "kind": "Pod", **_identity(pod)}
            spec |= {"boundObjectRef": ref}
        asked = self.objects.server.ask(
            "POST", f"{self.place}/serviceaccounts/{account}/token", {"spec": spec}
        )
        assert asked is not None
        return str(asked["status"]["token"])

    def policies(self) -> Iterator[tuple[str, Json]]:
        namespace = self.objects.namespace
        values = (
            f"watchNamespaces={{{namespace}}}",
            f"runtimes.default.executorPod.spec.serviceAccountName={PLAIN}",
            f"admissionPolicy.driverAccounts={{*:{LISTED}}}",
        )
        for body in self.helm.rendered(namespace, NO_DEFINITIONS, *values):
            if body["kind"] in POLICIES and body["metadata"]["name"].startswith(PREFIXES):
                yield POLICIES[body["kind"]], body


Ask = Callable[[Drivers, Server], object]


def _identity(pod: Json) -> Json:
    return {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def owned(pod: Json, **more: object) -> Json:
    ref = {"apiVersion": "v1", "kind": "Pod", "controller": True, **_identity(pod)}
    return {"ownerReferences": [ref], **more}


def pod(name: str, role: str, metadata: Json, account: str = ACCOUNT) -> Json:
    labels = {"spark-role": role, "spark-app-selector": name.partition("-")[0]}
    return {
        "metadata": {"name": name, "labels": labels | metadata.get("labels", {})}
        | {key: value for key, value in metadata.items() if key != "labels"},
        "spec": {"serviceAccountName": account, "containers": [{"name": "spark", "image": "spark"}]},
    }


def thing(name: str, metadata: Json, **content: object) -> Json:
    return {
        "metadata": {"name": name, "labels": {"spark-app-selector": name.partition("-")[0]}, **metadata},
        **content,
    }


def claim(name: str, metadata: Json) -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return thing(name, metadata, spec=spec)


def create(plural: str, body: Callable[[Drivers], Json]) -> Ask:
    return lambda at, server: server.ask("POST", f"{at.place}/{plural}?dryRun=All", body(at))


def patch(what: str, body: object, content: str = MERGE) -> Ask:
    return lambda at, server: server.ask("PATCH", f"{at.place}/{what}?dryRun=All", body, content=content)


def delete(what: str, query: str = "") -> Ask:
    return lambda at, server: server.ask("DELETE", f"{at.place}/{what}?dryRun=All{query}")


def annotated(what: str, **annotations: str | None) -> Ask:
    return patch(
        what, {"metadata": {"annotations": {f"sluice.dev/{key}": text for key, text in annotations.items()}}}
    )


OF_APP = "&labelSelector=spark-app-selector%3D"

WORK: dict[str, Ask] = {
    "tells its progress": annotated("pods/mine-driver", progress="{}"),
    "says with which exception it ends": patch(
        "pods/mine-driver", {"metadata": {"annotations": {"spark.exit-exception": "no such table"}}}
    ),
    "makes an executor": create("pods", lambda at: pod("mine-exec-2", "executor", owned(at.mine))),
    "makes an executor that its application owns, too": create(
        "pods",
        lambda at: pod(
            "mine-exec-2", "executor", {"ownerReferences": [APPLICATION, *owned(at.mine)["ownerReferences"]]}
        ),
    ),
    "makes an executor by a part of its name": create(
        "pods", lambda at: pod("", "executor", owned(at.mine, generateName="mine-exec-"))
    ),
    "makes an executor as the account of its runtime": create(
        "pods", lambda at: pod("mine-exec-2", "executor", owned(at.mine), PLAIN)
    ),
    "labels its executor": patch(
        "pods/mine-exec-1", {"metadata": {"labels": {"spark-exec-inactive": "true"}}}
    ),
    "deletes its executor": delete("pods/mine-exec-1"),
    "deletes all its executors": delete("pods", f"{OF_APP}mine%2Cspark-role%3Dexecutor"),
    "makes the configuration of its executors": create(
        "configmaps", lambda at: thing("spark-exec-2-conf-map", owned(at.mine))
    ),
    "deletes the configuration of its executors": delete("configmaps", f"{OF_APP}mine"),
    "makes a claim": create("persistentvolumeclaims", lambda at: claim("mine-exec-2-pvc-0", owned(at.mine))),
    "deletes its claims": delete("persistentvolumeclaims", f"{OF_APP}mine"),
    "deletes its services": delete("services", f"{OF_APP}mine"),
    "makes its report": create("configmaps", lambda _: thing("mine-report", {"ownerReferences": [JOB]})),
}

NOT_ITS_OWN = "does not belong to the driver mine-driver"
ONE_OWNER = "must belong to the pod mine-driver"
OWN_POD = "of its own pod a driver writes only the annotations"
OF_SLUICE = "say which leases an object holds"
NO_EXECUTOR = "a driver makes no pods but executors"
OTHERS_NAME = "has a name that an executor of another driver may need: begin it with mine-exec-"
OTHER_MAP = "a driver makes no ConfigMaps but its report"

ATTACKS: dict[str, tuple[Ask, str]] = {
    "strips the finalizer of another driver": (
        patch("pods/theirs-driver", {"metadata": {"finalizers": None}}),
        NOT_ITS_OWN,
    ),
    "strips it by a JSON patch": (
        patch("pods/theirs-driver", [{"op": "remove", "path": "/metadata/finalizers"}], JSON_PATCH),
        NOT_ITS_OWN,
    ),
    "deletes another driver": (delete("pods/theirs-driver"), NOT_ITS_OWN),
    "deletes another driver by its labels": (delete("pods", f"{OF_APP}theirs"), NOT_ITS_OWN),
    "deletes all pods": (delete("pods"), NOT_ITS_OWN),
    "deletes itself": (delete("pods/mine-driver"), NOT_ITS_OWN),
    "deletes another driver's executor": (delete("pods/theirs-exec-1"), NOT_ITS_OWN),
    "annotates another driver": (annotated("pods/theirs-driver", progress="{}"), NOT_ITS_OWN),
    "annotates another driver's executor": (annotated("pods/theirs-exec-1", progress="{}"), NOT_ITS_OWN),
    "takes another driver's executor over": (
        lambda at, server: patch("pods/theirs-exec-1", {"metadata": owned(at.mine)})(at, server),
        NOT_ITS_OWN,
    ),
    "takes its own finalizer off": (patch("pods/mine-driver", {"metadata": {"finalizers": None}}), OWN_POD),
    "gives itself a finalizer": (patch("pods/mine-driver", {"metadata": {"finalizers": ["a.b/c"]}}), OWN_POD),
    "changes its own lease": (annotated("pods/mine-driver", lease='{"uid": "x"}'), OWN_POD),
    "takes its own token off": (annotated("pods/mine-driver", token=None), OWN_POD),
    "asks itself to stop": (annotated("pods/mine-driver", stop="now"), OWN_POD),
    "takes its own labels off": (patch("pods/mine-driver", {"metadata": {"labels": None}}), OWN_POD),
    "gives itself another owner": (
        lambda at, server: patch("pods/mine-driver", {"metadata": owned(at.theirs)})(at, server),
        OWN_POD,
    ),
    "ends itself by a deadline": (patch("pods/mine-driver", {"spec": {"activeDeadlineSeconds": 1}}), OWN_POD),
    "makes an impostor": (
        create("pods", lambda at: pod("mine-exec-2-driver", "driver", owned(at.mine))),
        NO_EXECUTOR,
    ),
    "makes an impostor that calls itself an executor": (
        create("pods", lambda at: pod("mine-exec-2-driver", "executor", owned(at.mine))),
        NO_EXECUTOR,
    ),
    "makes a pod of no role": (
        create("pods", lambda at: pod("mine-exec-2", "none", owned(at.mine))),
        NO_EXECUTOR,
    ),
    "makes a pod that has no owner": (
        create("pods", lambda _: pod("mine-exec-2", "executor", {})),
        ONE_OWNER,
    ),
    "adds an executor to another driver": (
        create("pods", lambda at: pod("theirs-exec-2", "executor", owned(at.theirs))),
        ONE_OWNER,
    ),
    "takes the name of another driver's next executor": (
        create("pods", lambda at: pod("theirs-exec-2", "executor", owned(at.mine))),
        OTHERS_NAME,
    ),
    "takes it by a part": (
        create("pods", lambda at: pod("", "executor", owned(at.mine, generateName="theirs-exec-"))),
        OTHERS_NAME,
    ),
    "takes the name of another driver's next claim": (
        create("persistentvolumeclaims", lambda at: claim("theirs-exec-2-pvc-0", owned(at.mine))),
        OTHERS_NAME,
    ),
    "makes an executor of two drivers": (
        create(
            "pods",
            lambda at: pod(
                "mine-exec-2",
                "executor",
                {
                    "ownerReferences": [
                        {**owned(one)["ownerReferences"][0], "controller": False}
                        for one in (at.mine, at.theirs)
                    ]
                },
            ),
        ),
        ONE_OWNER,
    ),
    "makes an executor that a job owns": (
        create(
            "pods",
            lambda at: pod(
                "mine-exec-2", "executor", {"ownerReferences": [JOB, *owned(at.mine)["ownerReferences"]]}
            ),
        ),
        ONE_OWNER,
    ),
    "makes an executor of its application alone": (
        create("pods", lambda _: pod("mine-exec-2", "executor", {"ownerReferences": [APPLICATION]})),
        ONE_OWNER,
    ),
    "makes an executor that is the operator": (
        create("pods", lambda at: pod("mine-exec-2", "executor", owned(at.mine), RELEASE)),
        f"account {RELEASE}",
    ),
    "makes an executor of another account": (
        create("pods", lambda at: pod("mine-exec-2", "executor", owned(at.mine), "default")),
        "may not run as the account default, but as etl or less or spark",
    ),
    "makes an executor that holds a lease": (
        create("pods", lambda at: pod("mine-exec-2", "executor", owned(at.mine, annotations=LEASE))),
        OF_SLUICE,
    ),
    "makes an executor that our finalizer keeps": (
        create(
            "pods",
            lambda at: pod("mine-exec-2", "executor", owned(at.mine, finalizers=[names.FINALIZER_LEASE])),
        ),
        OF_SLUICE,
    ),
    "makes its executor a driver": (
        patch("pods/mine-exec-1", {"metadata": {"labels": {"spark-role": "driver"}}}),
        NO_EXECUTOR,
    ),
    "gives its executor away": (
        lambda at, server: patch("pods/mine-exec-1", {"metadata": owned(at.theirs)})(at, server),
        ONE_OWNER,
    ),
    "makes a ConfigMap that is not its own": (
        create("configmaps", lambda at: thing("spark-exec-2-conf-map", owned(at.theirs))),
        ONE_OWNER,
    ),
    "makes a ConfigMap of the operator": (
        create("configmaps", lambda at: thing(names.unexplained_leases(RELEASE), owned(at.mine))),
        OTHER_MAP,
    ),
    "makes another run's report": (
        create("configmaps", lambda _: thing("third-report", {"ownerReferences": [JOB]})),
        ONE_OWNER,
    ),
    "changes another run's report": (
        patch("configmaps/theirs-report", {"data": {"report.json": "{}"}}),
        NOT_ITS_OWN,
    ),
    "changes a ConfigMap of the operator": (
        patch(f"configmaps/{names.epoch_parameter(RELEASE)}", {"data": {"epoch": "1"}}),
        NOT_ITS_OWN,
    ),
    "deletes another driver's configuration": (delete("configmaps", f"{OF_APP}theirs"), NOT_ITS_OWN),
    "makes a claim that is not its own": (
        create("persistentvolumeclaims", lambda _: claim("mine-exec-2-pvc-0", {})),
        ONE_OWNER,
    ),
    "deletes another driver's claims": (delete("persistentvolumeclaims", f"{OF_APP}theirs"), NOT_ITS_OWN),
    "deletes another driver's services": (delete("services", f"{OF_APP}theirs"), NOT_ITS_OWN),
}

BEYOND_ITS_ROLE: dict[str, Ask] = {
    "makes a service": create(
        "services", lambda at: thing("theirs-driver-svc-2", owned(at.mine), spec={"ports": [{"port": 1}]})
    ),
    "changes a claim": patch(
        "persistentvolumeclaims/mine-exec-1-pvc-0", {"metadata": {"labels": {"a": "b"}}}
    ),
    "evicts another driver": lambda at, server: server.ask(
        "POST", f"{at.place}/pods/theirs-driver/eviction?dryRun=All", {"metadata": {"name": "theirs-driver"}}
    ),
    "runs a command in another driver": lambda at, server: server.ask(
        "GET", f"{at.place}/pods/theirs-driver/exec?command=id"
    ),
    "adds a container to another driver": patch("pods/theirs-driver/ephemeralcontainers", {"spec": {}}),
    "reads secrets": lambda at, server: server.ask("GET", f"{at.place}/secrets"),
    "makes itself a token": lambda at, server: server.ask(
        "POST", f"{at.place}/serviceaccounts/{ACCOUNT}/token", {"spec": {}}
    ),
}


def refusal(at: Drivers, ask: Ask, token: str) -> str:
    return policies.refusal(partial(ask, at, at.server(token)), FORBIDDEN, INVALID)


@pytest.fixture(scope="module")
def without_policy(helm: Helm, kubeconfig: Any) -> Iterator[tuple[Drivers, dict[str, str]]]:
    """The drivers with the Role that the chart gives them, and what the API server says of each attack without the policy."""
    objects = Objects(Server.of(kubeconfig), f"drivers-{RELEASE}")
    objects.create_namespace()
    server, namespace = objects.server, objects.namespace
    for account in (ACCOUNT, PLAIN, LISTED, RELEASE):
        objects.create("serviceaccount", {"metadata": {"name": account}})
    for body in helm.rendered(namespace, NO_DEFINITIONS, f"watchNamespaces={{{namespace}}}"):
        if body["metadata"]["name"] == f"{ACCOUNT}-driver":
            for subject in body.get("subjects", [])[:1]:
                body["subjects"].append(subject | {"name": LISTED})
            server.ask("POST", f"{RBAC}/namespaces/{namespace}/{body['kind'].lower()}s", body)
    marked: Json = {"finalizers": [names.FINALIZER_LEASE], "annotations": LEASE}
    mine, theirs = (
        objects.create("pod", pod(f"{name}-driver", "driver", marked)) for name in ("mine", "theirs")
    )
    for driver in (mine, theirs):
        _surround(objects, driver)
    objects.create(
        "configmap", {"metadata": {"name": names.epoch_parameter(RELEASE)}, "data": {"epoch": "7"}}
    )
    objects.create("configmap", thing("theirs-report", {}))
    token = Drivers(objects, mine, theirs, "", helm).token_of(mine)
    at = Drivers(objects, mine, theirs, token, helm)
    yield at, {name: refusal(at, ask, token) for name, (ask, _) in ATTACKS.items()}
    for name in ("mine-driver", "theirs-driver"):
        objects.patch("pod", name, {"metadata": {"finalizers": None}})
    for path, body in at.policies():
        server.ask("DELETE", f"{path}/{body['metadata']['name']}")


def _surround(objects: Objects, driver: Json) -> None:
    """What belongs to a driver, and would be collected without it."""
    app = driver["metadata"]["name"].removesuffix("-driver")
    place = f"/api/v1/namespaces/{objects.namespace}"
    objects.create("pod", pod(f"{app}-exec-1", "executor", owned(driver)))
    objects.create("configmap", thing(f"{app}-exec-conf-map", owned(driver)))
    objects.server.ask("POST", f"{place}/persistentvolumeclaims", claim(f"{app}-exec-1-pvc-0", owned(driver)))
    ports = {"ports": [{"port": 7078}], "clusterIP": "None"}
    objects.server.ask("POST", f"{place}/services", thing(f"{app}-driver-svc", owned(driver), spec=ports))


@pytest.fixture(scope="module")
def drivers(without_policy: tuple[Drivers, dict[str, str]]) -> Drivers:
    """The same with the policy in force."""
    at, _ = without_policy
    for path, body in at.policies():
        at.objects.server.ask("POST", path, body)
    for probe in ("deletes another driver", "makes an executor that is the operator"):
        ask, words = ATTACKS[probe]
        eventually(partial(_is_refused, at, ask, words), "the policy is in force")
    return at


def _is_refused(at: Drivers, ask: Ask, words: str) -> bool:
    return words in refusal(at, ask, at.token)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_by_a_drivers_account_is_refused_by_the_policy_and_by_nothing_else(
    without_policy: tuple[Drivers, dict[str, str]], drivers: Drivers, attack: str
) -> None:
    ask, words = ATTACKS[attack]
    assert without_policy[1][attack] == ""
    told = refusal(drivers, ask, drivers.token)
    assert words in told
    assert ": " in told.partition("denied request: ")[2], f"it says what to do: {told}"


@pytest.mark.parametrize("work", WORK)
def test_a_driver_does_its_work_by_its_own_token_and_by_no_other(drivers: Drivers, work: str) -> None:
    assert refusal(drivers, WORK[work], drivers.token) == ""
    for token in (drivers.token_of(drivers.theirs), drivers.token_of(None)):
        assert refusal(drivers, WORK[work], token) != ""


def test_an_executor_and_a_token_of_no_pod_write_nothing(drivers: Drivers) -> None:
    executor = drivers.objects.get("pod", "mine-exec-1")
    assert executor is not None
    of_executor = create("pods", lambda _: pod("mine-exec-3", "executor", owned(executor)))
    for token in (drivers.token_of(executor), drivers.token_of(None)):
        for ask in (of_executor, WORK["tells its progress"], annotated("pods/mine-exec-1", progress="{}")):
            assert "is not bound to the pod of one, whose name ends in -driver" in refusal(
                drivers, ask, token
            )


def _executor_called(name: str, driver: Json, _: Drivers) -> Json:
    return pod(f"{name}-exec-1", "executor", owned(driver))


@pytest.mark.parametrize("longest", ["m" * 80, "3" + "m-" * 40], ids=["of letters", "of parts"])
def test_the_executors_of_a_driver_with_a_long_name_bear_a_name_that_it_may_give(
    drivers: Drivers, longest: str
) -> None:
    objects, app = drivers.objects, application_name(longest, "one", 7)
    (prefix,) = executor_names(app).values()
    assert len(prefix) == 47 < len(app)
    driver = objects.create("pod", pod(driver_pod_name(app), "driver", {}))
    token = drivers.token_of(driver)
    first, other = (create("pods", partial(_executor_called, name, driver)) for name in (prefix, app))
    assert refusal(drivers, first, token) == ""
    assert f"begin it with {prefix}-exec-" in refusal(drivers, other, token)


def test_an_account_that_is_listed_is_judged_and_one_that_is_not_is_not(
    drivers: Drivers,
) -> None:
    deletes = delete("pods/theirs-exec-1")
    assert "not bound to the pod" in refusal(drivers, deletes, drivers.token_of(None, LISTED))
    assert "cannot delete" in refusal(drivers, deletes, drivers.token_of(None, PLAIN))


def test_a_driver_replaces_its_own_report_and_no_other_of_that_name(drivers: Drivers) -> None:
    objects = drivers.objects
    specs: dict[str, Json] = {
        names.POLICY_KIND: {"table": {"path": "/lake/made"}},
        names.JOB_KIND: {"sql": "DELETE FROM delta.`/lake/made`"},
    }
    owners = [
        _owner(
            objects.create(
                kind.lower(),
                {"apiVersion": names.API_VERSION, "kind": kind, "metadata": {"name": "orders"}, "spec": spec},
            )
        )
        for kind, spec in specs.items()
    ]
    replaces = patch("configmaps/mine-report", {"data": {"report.json": "{}"}})
    objects.create("configmap", thing("mine-report", {}))
    assert NOT_ITS_OWN in refusal(drivers, replaces, drivers.token)
    for owner in owners:
        objects.patch("configmap", "mine-report", {"metadata": {"ownerReferences": [owner]}})
        told = refusal(drivers, replaces, drivers.token)
        assert (told == "") == (owner["kind"] == names.JOB_KIND), told


def _owner(body: Json) -> Json:
    return {"apiVersion": names.API_VERSION, "kind": body["kind"], **_identity(body)}


@pytest.mark.parametrize("attempt", BEYOND_ITS_ROLE)
def test_what_spark_does_not_need_is_not_in_the_role(drivers: Drivers, attempt: str) -> None:
    assert "cannot" in refusal(drivers, BEYOND_ITS_ROLE[attempt], drivers.token)


def test_others_are_not_judged(drivers: Drivers) -> None:
    """Spark operators make drivers, their services and ConfigMaps under accounts of their own, and people delete pods."""
    admin = str(drivers.objects.server.token)
    asks = (
        create("pods", lambda _: pod("new-driver", "driver", {"annotations": LEASE})),
        create("configmaps", lambda _: thing("spark-drv-1-conf-map", {})),
        create("services", lambda _: thing("new-driver-svc", {}, spec={"ports": [{"port": 1}]})),
        delete("pods/mine-driver"),
        patch("pods/mine-driver", {"metadata": {"finalizers": None}}),
    )
    for ask in asks:
        assert refusal(drivers, ask, admin) == ""


def test_nobody_starts_a_driver_as_the_operator(drivers: Drivers) -> None:
    admin = str(drivers.objects.server.token)
    ask = create("pods", lambda _: pod("new-driver", "driver", {}, RELEASE))
    assert f"the account {RELEASE} is of Sluice itself" in refusal(drivers, ask, admin)
    plain = partial(pod, "new", "driver", {}, RELEASE)

    def without_role(_: Drivers) -> Json:
        body = plain()
        del body["metadata"]["labels"]["spark-role"]
        return body

    assert refusal(drivers, create("pods", without_role), admin) == ""
