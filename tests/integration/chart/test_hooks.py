"""What the chart runs before an installation, before its end and after it, with the rights that the chart gives these Jobs."""

import base64
import json
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from integration.chart.helm import RELEASE, Helm, one
from integration.conftest import Kubectl, OwnObjects
from integration.forking import OPERATOR, Forked
from integration.operator.process import FORKED_COMMANDS
from integration.waiting import PATIENCE, eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.cli.hooks import FINAL
from sluice.engines import placeholder
from sluice.installations.claims import Claim, Identity
from sluice.online.access.connection import OWN_CONFIG

Hook = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[[str], Forked]

REPLICAS = 2
"""How many operators the chart runs on a Kubernetes with admission policies."""

DRIVER: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "some-driver", "finalizers": [names.FINALIZER_LEASE]},
    "spec": {"containers": [{"name": "driver", "image": "never-pulled"}]},
}


@pytest.fixture
def extra(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Values of the release that a test asks for."""
    given: tuple[str, ...] = getattr(request, "param", ())
    return given


@pytest.fixture
def bodies(helm: Helm, namespace: str, extra: tuple[str, ...]) -> list[Json]:
    """An installation for the jobs of its own namespace, so that no other test's drivers are in its way."""
    return helm.rendered(namespace, f"watchNamespaces={{{namespace}}}", *extra)


@pytest.fixture
def environment(
    bodies: list[Json], kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> dict[str, str]:
    """Of a process that may what the account of the chart's hooks may."""
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    of_hooks = [body for body in bodies if body["kind"] in kinds and "hooks" in body["metadata"]["name"]]
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(of_hooks))
    assert done.returncode == 0, done.stderr
    token = kubectl("create", "token", f"{RELEASE}-hooks", "-n", namespace).stdout.strip()
    assert token
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    own = tmp_path / "kubeconfig"
    own.write_text(yaml.safe_dump(config), encoding="utf-8")

    return {"KUBECONFIG": str(own), "PYTHONPATH": str(OPERATOR), "PATH": ""}


@pytest.fixture
def start(bodies: list[Json], environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Starts one of the chart's hooks."""
    started: list[Forked] = []

    def begin(name: str) -> Forked:
        with (tmp_path / "said").open("wb") as said:
            process = FORKED_COMMANDS.start(_words(bodies, name), environment, said, said)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait(PATIENCE)


@pytest.fixture
def hook(bodies: list[Json], environment: dict[str, str]) -> Hook:
    """Runs one of the chart's hooks until it has ended."""
    return lambda name, *more: FORKED_COMMANDS.run([*_words(bodies, name), *more], environment)


def _words(bodies: list[Json], name: str) -> list[str]:
    container = one(bodies, "Job", f"{RELEASE}-{name}")["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["sluice", "hooks"]
    return [*container["command"], *container["args"]]


def test_a_password_is_made_once_and_kept(hook: Hook, objects: OwnObjects) -> None:
    first = hook("password")
    assert (first.returncode, first.stderr) == (0, "")
    made = objects.get("secret", f"{RELEASE}-redis")
    assert made is not None
    assert len(base64.b64decode(made["data"]["password"])) == 48
    again = hook("password")
    assert again.returncode == 0, again.stderr
    assert "is kept" in again.stdout
    kept = objects.get("secret", f"{RELEASE}-redis")
    assert kept is not None
    assert kept["data"] == made["data"]


def test_an_uninstall_waits_for_the_last_driver_and_the_operator_goes_on_until_then(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    """The stack starts no pods: that the operator's own has stopped is for the end-to-end tests to see."""
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(one(bodies, "Deployment")))
    assert done.returncode == 0, done.stderr
    objects.create("pod", DRIVER)
    refused = hook("may-go")
    assert refused.returncode == FINAL
    assert f"pod {objects.namespace}/some-driver has the finalizer {names.FINALIZER_LEASE}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert _replicas(kubectl, objects) == REPLICAS

    _, _, told = refused.stderr.partition("take the finalizer off: kubectl ")
    taken = kubectl(*shlex.split(told))
    assert taken.returncode == 0, taken.stderr
    let_go = hook("may-go")
    assert let_go.returncode == 0, let_go.stderr
    assert _replicas(kubectl, objects) == 0


def test_an_uninstall_lets_placeholders_go_but_not_those_of_another_installation(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(one(bodies, "Deployment")))
    assert done.returncode == 0, done.stderr
    taken = placeholder(objects.namespace, "some", {names.LABEL_JOB_UID: "5a1b"})
    taken["metadata"]["finalizers"].insert(0, "lake.example/keep")
    objects.create("pod", taken)

    def finalizers() -> object:
        return (objects.get("pod", "some-driver") or {})["metadata"]["finalizers"]

    with _claimed(kubectl, objects, "first"):
        assert hook("may-go").returncode == 0
    assert finalizers() == ["lake.example/keep", names.FINALIZER_PLACEHOLDER]
    let_go = hook("may-go")
    assert let_go.returncode == 0, let_go.stderr
    assert finalizers() == ["lake.example/keep"]
    objects.patch("pod", "some-driver", {"metadata": {"finalizers": None}})


def test_an_installation_that_was_refused_beside_another_goes_though_that_one_has_drivers(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(one(bodies, "Deployment")))
    assert done.returncode == 0, done.stderr
    objects.create("pod", DRIVER)
    with _claimed(kubectl, objects, "first"):
        let_go = hook("may-go")
    assert let_go.returncode == 0, let_go.stderr
    assert _replicas(kubectl, objects) == 0


def test_nobody_is_told_to_touch_the_drivers_of_another_installation(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(one(bodies, "Deployment")))
    assert done.returncode == 0, done.stderr
    objects.create("pod", DRIVER)
    with _claimed(kubectl, objects, "first"), _claimed(kubectl, objects, RELEASE):
        refused = hook("may-go")
    assert refused.returncode == FINAL
    assert f"installation first in {objects.namespace}" in refused.stderr
    assert "some-driver" in refused.stderr
    assert "patch" not in refused.stderr
    assert "delete" not in refused.stderr
    assert _replicas(kubectl, objects) == REPLICAS


def test_an_operator_that_was_evicted_keeps_nobody_from_an_uninstall(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    _operator_pod(bodies, kubectl, objects, "evicted")
    ended = {"exitCode": 137, "reason": "ContainerStatusUnknown"}
    status = {"phase": "Failed", "reason": "Evicted", "containerStatuses": [_container(terminated=ended)]}
    objects.patch("pod", "evicted", {"status": status}, sub="status")
    _operator_pod(bodies, kubectl, objects, "rejected")
    status = {"phase": "Failed", "reason": "NodeShutdown", "message": "Pod was rejected"}
    objects.patch("pod", "rejected", {"status": status}, sub="status")
    let_go = hook("may-go", "--patience", "20")
    assert let_go.returncode == 0, let_go.stderr
    assert _replicas(kubectl, objects) == 0


def test_an_operator_on_a_lost_node_is_no_proof_and_it_is_told_which_pod_it_is_and_what_to_do(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    _operator_pod(bodies, kubectl, objects, "lost")
    by_pod_gc = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}
    running = _container(running={"startedAt": "2026-01-01T00:00:00Z"})
    status = {"phase": "Failed", "conditions": [by_pod_gc], "containerStatuses": [running]}
    objects.patch("pod", "lost", {"status": status}, sub="status")
    refused = hook("may-go", "--patience", "1")
    assert refused.returncode == FINAL
    assert "pod lost (Failed) may still act" in refused.stderr
    assert _replicas(kubectl, objects) == REPLICAS
    _, _, told = refused.stderr.partition("remove it: kubectl ")
    removed = kubectl(*shlex.split(told))
    assert removed.returncode == 0, removed.stderr
    let_go = hook("may-go")
    assert let_go.returncode == 0, let_go.stderr


def test_an_operator_that_never_ends_terminating_is_named_and_goes_on_until_it_is_removed(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    """Its node answers no more: nobody tells the API server that it has ended."""
    _operator_pod(bodies, kubectl, objects, "stuck", node="silent")
    running = _container(running={"startedAt": "2026-01-01T00:00:00Z"})
    status = {"phase": "Running", "containerStatuses": [running]}
    objects.patch("pod", "stuck", {"status": status}, sub="status")
    objects.delete("pod", "stuck")
    stuck = objects.get("pod", "stuck")
    assert stuck is not None
    assert stuck["metadata"]["deletionTimestamp"]
    refused = hook("may-go", "--patience", "1")
    assert refused.returncode == FINAL
    assert "pod stuck on node silent (Running) may still act" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert _replicas(kubectl, objects) == REPLICAS
    _, _, told = refused.stderr.partition("remove it: kubectl ")
    removed = kubectl(*shlex.split(told))
    assert removed.returncode == 0, removed.stderr
    let_go = hook("may-go")
    assert let_go.returncode == 0, let_go.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_check_that_is_stopped_halfway_leaves_an_operator_that_goes_on(  # noqa: PLR0917 - fixtures
    start: Start,
    hook: Hook,
    bodies: list[Json],
    kubectl: Kubectl,
    objects: OwnObjects,
    how: signal.Signals,
) -> None:
    deployment = one(bodies, "Deployment")
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(deployment))
    assert done.returncode == 0, done.stderr
    operator = deployment["spec"]["template"]["metadata"]["labels"]
    objects.create("pod", DRIVER | {"metadata": {"name": "operator", "labels": operator}})
    objects.create("pod", DRIVER)
    process = start("may-go")
    eventually(lambda: _replicas(kubectl, objects) == 0, "the operator is told to stop")
    process.send_signal(how)
    process.wait(PATIENCE)
    if how is signal.SIGKILL:  # its Job makes the pod anew
        objects.delete("pod", "operator", grace_seconds=0)
        assert hook("may-go").returncode == FINAL
    else:
        assert process.returncode not in (0, FINAL)
    assert _replicas(kubectl, objects) == REPLICAS


def test_commands_in_an_operators_pod_find_its_configuration(bodies: list[Json]) -> None:
    container = one(bodies, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert f"--config={OWN_CONFIG}" in container["args"]


def test_a_hook_is_tried_again_unless_it_gave_an_answer(bodies: list[Json]) -> None:
    for name in ("password", "may-go", "tidy-up"):
        spec = one(bodies, "Job", f"{RELEASE}-{name}")["spec"]
        assert spec["backoffLimit"] > 0
        [failing] = [rule for rule in spec["podFailurePolicy"]["rules"] if rule["action"] == "FailJob"]
        assert failing["onExitCodes"] == {"operator": "In", "values": [FINAL]}


def test_a_secret_without_the_key_of_the_password_is_told(hook: Hook, objects: OwnObjects) -> None:
    objects.create("secret", {"metadata": {"name": f"{RELEASE}-redis"}, "data": {"former": "eA=="}})
    told = hook("password")
    assert told.returncode == FINAL
    assert (
        f"Secret {objects.namespace}/{RELEASE}-redis is there and has no password under the key password"
        in told.stderr
    )
    assert "its keys: former" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_secret_that_somebody_made_stays(hook: Hook, objects: OwnObjects) -> None:
    objects.create("secret", {"metadata": {"name": f"{RELEASE}-redis"}, "data": {"password": "eA=="}})
    done = hook("tidy-up")
    assert (done.returncode, done.stderr) == (0, "")
    assert objects.get("secret", f"{RELEASE}-redis") is not None


def test_a_password_that_was_made_goes_with_a_release_that_uses_another_redis_by_then(helm: Helm) -> None:
    bodies = helm.rendered("anywhere", "redis.install=false", "redis.url=redis://elsewhere")
    container = one(bodies, "Job", f"{RELEASE}-tidy-up")["spec"]["template"]["spec"]["containers"][0]
    assert f"--secret {RELEASE}-redis" in " ".join(container["args"])
    rules = one(bodies, "Role", f"{RELEASE}-hooks")["rules"]
    [rule] = [rule for rule in rules if rule["resources"] == ["secrets"]]
    assert (rule["resourceNames"], rule["verbs"]) == ([f"{RELEASE}-redis"], ["get", "delete"])


@pytest.mark.parametrize("extra", [("crds.keep=false",)], indirect=True)
def test_definitions_stay_as_long_as_another_installation_has_jobs(
    hook: Hook, bodies: list[Json], kubectl: Kubectl, objects: OwnObjects
) -> None:
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(one(bodies, "Deployment")))
    assert done.returncode == 0, done.stderr
    with _claimed(kubectl, objects, "other", namespaces=(f"other-{objects.namespace}",)):
        refused = hook("may-go")
    assert refused.returncode == FINAL
    assert f"other in {objects.namespace}" in refused.stderr
    assert "Set crds.keep=true" in refused.stderr
    assert _replicas(kubectl, objects) == REPLICAS


def test_an_uninstall_waits_until_unexplained_leases_are_revoked(hook: Hook, objects: OwnObjects) -> None:
    text = json.dumps({"lease": "{", "token": 1})
    held = {"metadata": {"name": names.unexplained_leases(RELEASE)}, "data": {"uid.1": text}}
    objects.create("configmap", held)
    refused = hook("may-go")
    assert refused.returncode == FINAL
    assert "it stands for a lease" in refused.stderr


def test_nothing_of_an_installation_is_left(hook: Hook, objects: OwnObjects, kubectl: Kubectl) -> None:
    assert hook("password").returncode == 0
    objects.create("lease", {"metadata": {"name": names.leader_lease(RELEASE)}, "spec": {}})
    objects.create("configmap", {"metadata": {"name": names.unexplained_leases(RELEASE)}})
    objects.create("configmap", {"metadata": {"name": names.reported_names(RELEASE)}})
    objects.create("configmap", {"metadata": {"name": names.epoch_parameter(RELEASE)}})
    with _claimed(kubectl, objects, RELEASE) as key:
        done = hook("tidy-up")
        claims = kubectl.json("get", "configmap", names.CLAIMS, "-n", names.CLAIMS_NAMESPACE).get("data", {})
        assert isinstance(claims, dict)
        assert key not in claims
    assert (done.returncode, done.stderr) == (0, "")
    assert objects.get("secret", f"{RELEASE}-redis") is None
    assert objects.get("lease", names.leader_lease(RELEASE)) is None
    assert objects.get("configmap", names.unexplained_leases(RELEASE)) is None
    assert objects.get("configmap", names.reported_names(RELEASE)) is None
    assert objects.get("configmap", names.epoch_parameter(RELEASE)) is None
    again = hook("tidy-up")
    assert (again.returncode, again.stderr) == (0, "")


def _operator_pod(
    bodies: list[Json], kubectl: Kubectl, objects: OwnObjects, name: str, *, node: str | None = None
) -> None:
    deployment = one(bodies, "Deployment")
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(deployment))
    assert done.returncode == 0, done.stderr
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    spec = DRIVER["spec"] | ({"nodeName": node} if node else {})
    objects.create("pod", DRIVER | {"metadata": {"name": name, "labels": labels}, "spec": spec})


def _container(**state: Json) -> Json:
    return {
        "name": "driver",
        "image": "never-pulled",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": state,
    }


@contextmanager
def _claimed(
    kubectl: Kubectl,
    objects: OwnObjects,
    deployment: str,
    *,
    namespaces: tuple[str, ...] = (),
) -> Iterator[str]:
    """Claims as an operator does, by default the jobs of the test's namespace; other tests' operators may do so at the same
    time."""
    cluster = kubectl.json("get", "namespace", names.CLAIMS_NAMESPACE)["metadata"]
    assert isinstance(cluster, dict)
    own = Identity(cluster["uid"], objects.namespace, deployment)
    redis = f"none-{own.namespace}:6379/0"
    claim = Claim(own, namespaces or (objects.namespace,), redis, deployment, "now", "0").to_json()
    at = ("-n", names.CLAIMS_NAMESPACE, names.CLAIMS)
    kubectl("create", "configmap", *at)  # refused where it is there

    def write(content: str | None) -> None:
        patch = json.dumps({"data": {own.key: content}})
        done = kubectl("patch", "configmap", *at, "--type=merge", "-p", patch)
        assert done.returncode == 0, done.stderr

    write(claim)
    try:
        yield own.key
    finally:
        write(None)


def _replicas(kubectl: Kubectl, objects: OwnObjects) -> object:
    spec = kubectl.json("get", "deployment", RELEASE, "-n", objects.namespace)["spec"]
    assert isinstance(spec, dict)
    return spec["replicas"]
