"""The chart as Helm renders it, and what a real API server says of every object in it."""

import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from generate.values_schema import schema
from integration.chart.helm import CHART, NO_DEFINITIONS, RELEASE, Helm, bodies_in, one, pods
from integration.chart.switches import EVERYTHING, OTHER_REDIS, SWITCHES, WATCHED
from integration.conftest import Kubectl
from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.controller.process.configuration import load
from sluice.engines import placeholder
from sluice.engines.account import driver_rules
from sluice.kube.rights import asks, rights_of


@pytest.fixture(scope="module")
def taken() -> set[str]:
    """Objects, as JSON, that the API server would take. The definitions are the same in most cases, and cost it the most."""
    return set()


@pytest.mark.usefixtures("prometheus_operator")
@pytest.mark.parametrize("values", SWITCHES.values(), ids=SWITCHES.keys())
def test_the_api_server_takes_every_object_whatever_is_switched(
    helm: Helm, kubectl: Kubectl, restricted: str, taken: set[str], values: tuple[str, ...]
) -> None:
    given = [value.replace(WATCHED, restricted) for value in values]
    rendered = helm.rendered(restricted, *given)
    asked = {text: body for body in rendered if (text := json.dumps(body)) not in taken}
    done = kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict"),
        *("--field-manager=helm", "--force-conflicts", "-f", "-"),
        stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [*asked.values()]}),
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    taken.update(asked)


@pytest.mark.parametrize("values", [(), EVERYTHING], ids=["as it comes", "everything said"])
def test_a_restricted_namespace_lets_all_its_pods_in(
    helm: Helm, kubectl: Kubectl, restricted: str, values: tuple[str, ...]
) -> None:
    made = dict(pods(helm.rendered(restricted, *values)))
    assert set(made) == {
        *(f"deployment-{RELEASE}", f"statefulset-{RELEASE}-redis"),
        *(f"job-{RELEASE}-{hook}" for hook in ("password", "may-go", "tidy-up")),
    }
    for name, pod in made.items():
        # Accounts are made with the release; volumes of a StatefulSet by it.
        spec = {key: value for key, value in pod["spec"].items() if key != "serviceAccountName"}
        claimed = {"name": "data", "emptyDir": {}}
        if name.startswith("statefulset"):
            spec["volumes"] = [*spec.get("volumes", []), claimed]
        _create_dry(kubectl, restricted, pod | {"spec": spec})


def test_a_restricted_namespace_lets_drivers_and_what_takes_their_place_in(
    helm: Helm, kubectl: Kubectl, restricted: str, tmp_path: Path
) -> None:
    profile = load(_configuration(helm, tmp_path)).runtimes["default"]
    for name, template in (("driver", profile.driver_pod), ("executor", profile.executor_pod)):
        spec = template["spec"]
        containers = [{"image": "sluice-spark"} | container for container in spec["containers"]]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
        _create_dry(kubectl, restricted, pod | {"spec": spec | {"containers": containers}})
    _create_dry(kubectl, restricted, placeholder(restricted, "some-application", {}))


def _create_dry(kubectl: Kubectl, namespace: str, pod: Json) -> None:
    arguments = ("create", "--namespace", namespace, "--dry-run=server", "--validate=strict", "-f", "-")
    done = kubectl(*arguments, stdin=json.dumps(pod))
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_a_release_with_a_dot_in_its_name_is_told_what_to_set(helm: Helm) -> None:
    done = helm.template("anywhere", release="my.sluice")
    assert done.returncode != 0
    assert "the name my.sluice" in done.stderr
    assert "set deployment" in done.stderr
    assert helm.rendered("anywhere", "deployment=sluice", release="my.sluice")


def test_a_name_that_is_cut_ends_with_no_dash(helm: Helm) -> None:
    bodies = helm.rendered("anywhere", release="a" * 37 + "-----" + "b")
    assert one(bodies, "Deployment", "a" * 37)


@pytest.mark.parametrize("release", ["true", "null", "y", "e1"])
def test_names_that_read_as_numbers_or_words_are_names(helm: Helm, kubectl: Kubectl, release: str) -> None:
    values = (
        *("redis.key=1", "operator.priorityClassName=100", "redis.priorityClassName=yes"),
        *("imagePullSecrets={123}", "watchNamespaces={null,123}", "jobServiceAccount.name=off"),
        *("operator.serviceAccount.name=1e3", "runtimes.default.serviceAccount=off"),
    )
    texts = ("redis.key", "operator", "redis.prio", "imageP", "watchN", "jobS", "runtimes")
    given = [f"string:{value}" if value.startswith(texts) else value for value in values]
    rendered = helm.template("123", *given, release=release)
    assert rendered.returncode == 0, rendered.stderr
    text = rendered.stdout
    # Go reads more words as numbers than Python does.
    read = kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text)
    assert read.returncode == 0, read.stderr
    one_after_another = re.sub(r"^}\n{$", "},\n{", read.stdout, flags=re.MULTILINE)
    bodies = json.loads(f"[{one_after_another}]")
    _names_are_texts(bodies)
    taken = one(bodies, "Deployment", release)["spec"]["template"]["spec"]
    assert taken["priorityClassName"] == "100"
    assert taken["imagePullSecrets"] == [{"name": "123"}]


def _names_are_texts(part: object) -> None:
    """Whatever names something, or stands among such names, is a text."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name in ("name", "namespace", "key", "serviceAccountName", "app.kubernetes.io/instance"):
                assert isinstance(value, str | dict), (name, value)
            if name == "resourceNames":
                assert all(isinstance(one, str) for one in value), value
            _names_are_texts(value)
    elif isinstance(part, list):
        for one_of in part:
            _names_are_texts(one_of)


def test_without_roles_the_chart_makes_none(helm: Helm) -> None:
    values = ("rbac.create=false", "watchNamespaces={team}")
    kinds = {body["kind"] for body in helm.rendered("anywhere", *values)}
    assert not kinds & {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
    assert {"ServiceAccount", "Job"} <= kinds


@pytest.mark.parametrize("watched", [(), ("team",)], ids=["all namespaces", "some namespaces"])
def test_the_docs_list_what_the_hooks_need(helm: Helm, watched: tuple[str, ...]) -> None:
    values = [f"watchNamespaces[{number}]={name}" for number, name in enumerate(watched)]
    bodies = helm.rendered("sluice-system", "engines={kubeflow,apache}", *values)
    text = (CHART.parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = text.partition("## What the hooks of the chart need to be allowed")[2].splitlines()
    listed = {tuple(cell.strip() for cell in row.split("|")[1:4]) for row in rows if row.startswith("| ")}
    where = {"sluice-system": "its own namespace", "kube-system": "`kube-system`"}
    granted = set()
    for body in bodies:
        if body["kind"] not in ("Role", "ClusterRole") or "hooks" not in body["metadata"]["name"]:
            continue
        place = where.get(body["metadata"].get("namespace"), "cluster-wide, or each watched namespace")
        for rule in body["rules"]:
            [resource], [name] = rule["resources"], rule.get("resourceNames", [""])
            called = f" called `{name.replace(RELEASE + '-', 'DEPLOYMENT-')}`" if name else ""
            called = called.replace("`DEPLOYMENT-installations`", f"`{RELEASE}-installations`")
            called = "" if not name else called.replace(f"`{RELEASE}`", "`DEPLOYMENT`")
            for group in rule["apiGroups"]:
                on = f"`{resource}.{group}`" if group else f"`{resource}`"
                granted.add((", ".join(rule["verbs"]), on + called, place))
    assert listed - {("verbs", "on", "where"), ("---", "---", "---")} == granted


@pytest.mark.parametrize(("value", "user"), [("999", 999), ("1000700000", 1000700000), ("null", None)])
def test_redis_runs_as_the_user_that_is_said_or_as_the_clusters(
    helm: Helm, value: str, user: int | None
) -> None:
    pod = one(helm.rendered("anywhere", f"redis.userId={value}"), "StatefulSet", f"{RELEASE}-redis")
    security = pod["spec"]["template"]["spec"]["securityContext"]
    assert [security.get(name) for name in ("runAsUser", "runAsGroup", "fsGroup")] == [user] * 3
    assert security["runAsNonRoot"]


def test_redis_does_not_start_with_an_empty_password(helm: Helm) -> None:
    pod = one(helm.rendered("anywhere"), "StatefulSet", f"{RELEASE}-redis")["spec"]["template"]["spec"]
    [shell, flag, script] = pod["containers"][0]["command"]
    done = subprocess.run(
        [f"/bin/{shell}", flag, script],
        env={"REDISCLI_AUTH": "", "PATH": "/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Redis does not start without a password" in done.stderr


def test_a_kubernetes_that_is_too_old_is_told_in_a_sentence(helm: Helm) -> None:
    done = helm.template("anywhere", kubernetes="1.28.9")
    assert done.returncode != 0
    assert (
        "chart requires kubeVersion: >=1.29.0-0 which is incompatible with Kubernetes v1.28.9" in done.stderr
    )


def test_the_operator_takes_the_configuration_that_the_chart_writes(helm: Helm, tmp_path: Path) -> None:
    plain = load(_configuration(helm, tmp_path))
    assert (plain.deployment, plain.namespace, plain.watch_namespaces) == (RELEASE, "sluice-system", ())
    assert plain.redis_url == f"redis://{RELEASE}-redis.sluice-system.svc:6379/0"
    assert plain.ttl_seconds_after_finished is None
    other = load(_configuration(helm, tmp_path, *OTHER_REDIS, "ttlSecondsAfterFinished=0", "apiQps=50"))
    assert other.redis_url == "rediss://writer@redis.example:6380/1"
    assert (other.ttl_seconds_after_finished, other.api_qps) == (0, 50)


@pytest.mark.parametrize(
    ("values", "secret"),
    [
        ((), (f"{RELEASE}-redis", "password")),
        (("redis.existingSecret=mine", "redis.key=secret"), ("mine", "secret")),
        ((*OTHER_REDIS, "redis.existingSecret=mine"), ("mine", "password")),
    ],
)
def test_the_operator_has_the_password_of_redis_as_a_file(
    helm: Helm,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    values: tuple[str, ...],
    secret: tuple[str, str],
) -> None:
    name, key = secret
    pod = one(helm.rendered("anywhere", *values), "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [volume] = [volume for volume in pod["volumes"] if volume["name"] == "redis-password"]
    assert volume["secret"] == {"secretName": name, "items": [{"key": key, "path": "password"}]}
    [mount] = [mount for mount in container["volumeMounts"] if mount["name"] == "redis-password"]
    assert "subPath" not in mount  # which would keep the file as it was when the pod began
    for variable in container["env"]:
        monkeypatch.setenv(variable["name"], variable["value"])
    redis = load(_configuration(helm, tmp_path, *values)).redis
    assert redis.password_file == f"{mount['mountPath']}/password"


def test_without_a_secret_the_operator_has_no_password(helm: Helm) -> None:
    pod = one(helm.rendered("anywhere", *OTHER_REDIS), "Deployment")["spec"]["template"]["spec"]
    assert "redis-password" not in {volume["name"] for volume in pod["volumes"]}
    assert "env" not in pod["containers"][0] or not pod["containers"][0]["env"]


def test_its_definitions_are_those_of_the_repository_and_stay_unless_told_otherwise(helm: Helm) -> None:
    kept, goes = helm.rendered("anywhere"), helm.rendered("anywhere", "crds.keep=false")
    for file in sorted((CHART.parent.parent / "crds").glob("*.yaml")):
        [written] = bodies_in(file.read_text(encoding="utf-8"))
        given = ("CustomResourceDefinition", written["metadata"]["name"])
        assert one(kept, *given)["spec"] == written["spec"]
        assert one(kept, *given)["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        assert "helm.sh/resource-policy" not in one(goes, *given)["metadata"].get("annotations", {})
    without = helm.rendered("anywhere", NO_DEFINITIONS)
    assert not [body for body in without if body["kind"] == "CustomResourceDefinition"]


def test_the_chart_has_the_version_of_what_it_installs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((CHART.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {chart["version"], chart["appVersion"]} == {project["version"]}


def test_no_password_stands_in_any_object(helm: Helm) -> None:
    """It is made in the cluster: what Helm renders lies in Git, and in the release's own Secret."""
    bodies = helm.rendered("anywhere")
    assert not [body for body in bodies if body["kind"] == "Secret"]


@pytest.mark.parametrize(
    "engines",
    [(EngineKind.KUBEFLOW,), (EngineKind.APACHE,), (EngineKind.KUBEFLOW, EngineKind.APACHE)],
    ids=["kubeflow", "apache", "both"],
)
@pytest.mark.parametrize("watched", [(), ("team", "lake")], ids=["all namespaces", "some namespaces"])
def test_the_operator_has_the_rights_of_the_list_and_no_others(
    helm: Helm, watched: tuple[str, ...], engines: tuple[EngineKind, ...]
) -> None:
    values = [f"watchNamespaces[{number}]={name}" for number, name in enumerate(watched)]
    values.append(f"engines={{{','.join(engines)}}}")
    bodies = helm.rendered("sluice-system", *values)
    assert _granted(bodies) == {
        (ask.namespace, ask.right.resource.group, ask.right.plural, ask.right.name, ask.verb)
        for ask in asks(rights_of(RELEASE, engines), "sluice-system", watched)
    }


@pytest.mark.parametrize(
    ("engines", "groups"),
    [
        ("kubeflow", ["sparkoperator.k8s.io"]),
        ("apache", ["spark.apache.org"]),
        ("kubeflow,apache", ["sparkoperator.k8s.io", "spark.apache.org"]),
    ],
)
def test_the_admission_policy_judges_the_applications_of_each_engine(
    helm: Helm, engines: str, groups: list[str]
) -> None:
    """One that it doesn't judge, a former leader could still create."""
    bodies = helm.rendered("sluice-system", f"engines={{{engines}}}")
    name = names.epoch_policy("sluice-system", RELEASE, "objects")
    rules = one(bodies, "ValidatingAdmissionPolicy", name)["spec"]["matchConstraints"]["resourceRules"]
    judged = [rule for rule in rules if rule["resources"] == ["sparkapplications"]]
    assert [(rule["apiGroups"], rule["operations"]) for rule in judged] == [(groups, ["CREATE", "UPDATE"])]


def test_the_operator_is_told_of_the_engines(helm: Helm, tmp_path: Path) -> None:
    values = ("engines={apache}", "runtimes.default.engine=apache")
    assert load(_configuration(helm, tmp_path, *values)).engines == (EngineKind.APACHE,)


def test_the_account_of_jobs_has_the_rights_of_a_driver_and_no_others(helm: Helm) -> None:
    bodies = helm.rendered("sluice-system", "watchNamespaces={team}")
    assert one(bodies, "Role", "spark-driver")["rules"] == driver_rules()


@pytest.mark.parametrize(
    ("release", "values"),
    [
        (RELEASE, ("watchNamespaces={kube-system}",)),
        (RELEASE, ("watchNamespaces={kube-system,sluice-system}",)),
        (RELEASE, ("operator.serviceAccount.create=false", "operator.serviceAccount.name=other")),
        ("spark", ()),
        ("spark", ("watchNamespaces={team}",)),
        ("spark", ("watchNamespaces={sluice-system}", "operator.serviceAccount.name=other")),
        ("spark-driver", ("watchNamespaces={sluice-system}",)),
        ("sluice-hooks", ("watchNamespaces={kube-system,sluice-system}",)),
    ],
)
def test_no_object_is_made_twice(helm: Helm, release: str, values: tuple[str, ...]) -> None:
    bodies = helm.rendered("sluice-system", *values, release=release)
    made = Counter(
        (body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"]) for body in bodies
    )
    assert [key for key, times in made.items() if times > 1] == []


def test_what_pulls_the_images_pulls_those_of_jobs_too(helm: Helm, tmp_path: Path) -> None:
    own = "runtimes.own.driverPod.spec.imagePullSecrets[0].name=mine"
    own_image = ("runtimes.own.image=x", "string:runtimes.own.sparkVersion=4.2.0")
    file = _configuration(helm, tmp_path, "imagePullSecrets={pull,too}", own, *own_image)
    runtimes = load(file).runtimes
    shared = [{"name": "pull"}, {"name": "too"}]
    default, other = runtimes["default"], runtimes["own"]
    for pod in (default.driver_pod, default.executor_pod, other.executor_pod):
        assert pod["spec"]["imagePullSecrets"] == shared
    assert default.driver_pod["spec"]["containers"]
    assert other.driver_pod["spec"]["imagePullSecrets"] == [{"name": "mine"}]


@pytest.mark.parametrize("takes", [True, False])
def test_an_upgrade_does_not_delete_the_definitions_of_a_release_that_would_take_them_with_it(
    helm: Helm, kubectl: Kubectl, namespace: str, takes: bool
) -> None:
    before = one(helm.rendered(namespace, f"crds.keep={str(not takes).lower()}"), "Deployment")
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(before))
    assert done.returncode == 0, done.stderr
    without = helm.template(namespace, "crds.install=false", upgrading=kubectl.kubeconfig)
    assert (without.returncode != 0) is takes, without.stderr
    assert ("this upgrade would delete the resource definitions" in without.stderr) is takes
    kept = helm.template(namespace, "crds.keep=true", upgrading=kubectl.kubeconfig)
    assert kept.returncode == 0, kept.stderr


def test_definitions_that_go_with_the_release_are_asked_for_even_if_drivers_are_not(helm: Helm) -> None:
    unasked = "hooks.refuseUninstall=false"
    bodies = helm.rendered("anywhere", unasked, "crds.keep=false")
    [container] = one(bodies, "Job", f"{RELEASE}-may-go")["spec"]["template"]["spec"]["containers"]
    assert "--takes-definitions" in container["args"]
    assert not [body for body in helm.rendered("anywhere", unasked) if "may-go" in body["metadata"]["name"]]


def test_in_some_namespaces_its_hooks_have_no_rights_in_all(helm: Helm) -> None:
    bodies = helm.rendered("sluice-system", "watchNamespaces={team}")
    hooks = [body for body in bodies if body["kind"] == "ClusterRole" and "hooks" in body["metadata"]["name"]]
    assert not hooks


VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


def test_every_value_is_described_where_people_look_and_in_the_schema() -> None:
    assert _names(VALUES) == _names_of_schema(schema())


def test_every_value_is_switched_by_a_test() -> None:
    names = _names(VALUES)
    leaves = {name for name in names if not any(other.startswith(f"{name}.") for other in names)}
    switched = {
        place
        for values in SWITCHES.values()
        for value in values
        for place in re.findall(r"(?:^|,)([A-Za-z.]+)[^=,]*=", value.removeprefix("string:"))
    }
    assert [
        leaf for leaf in sorted(leaves) if not any(f"{place}.".startswith(f"{leaf}.") for place in switched)
    ] == []


@pytest.fixture(scope="module")
def everything(helm: Helm) -> str:
    return helm.template("anywhere", NO_DEFINITIONS, *EVERYTHING).stdout


@pytest.mark.parametrize("value", EVERYTHING)
def test_every_value_changes_what_is_made(helm: Helm, everything: str, value: str) -> None:
    assert everything
    others = (other for other in EVERYTHING if other != value)
    assert helm.template("anywhere", NO_DEFINITIONS, *others).stdout != everything


def _granted(bodies: list[Json]) -> set[tuple[str | None, str, str, str, str]]:
    """What the operator's account is allowed, one by one."""
    roles = {
        (body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"]): body for body in bodies
    }
    granted = set()
    for binding in bodies:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if [subject["name"] for subject in binding["subjects"]] != [RELEASE]:
            continue
        place = binding["metadata"].get("namespace")
        rules = roles[binding["roleRef"]["kind"], place, binding["roleRef"]["name"]]["rules"]
        granted |= {(place, *right) for rule in rules for right in _rights_in(rule)}
    return granted


def _rights_in(rule: Json) -> Iterator[tuple[str, str, str, str]]:
    yield from product(rule["apiGroups"], rule["resources"], rule.get("resourceNames", [""]), rule["verbs"])


def _configuration(helm: Helm, folder: Path, *values: str) -> Path:
    file = folder / "sluice.yaml"
    file.write_text(
        one(helm.rendered("sluice-system", *values), "ConfigMap")["data"]["sluice.yaml"], encoding="utf-8"
    )
    return file


_OPEN = ("runtimes", "global", "resources")
"""What is not a closed list of the chart's own names."""


def _names(values: Json, prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, value in values.items():
        found.add(f"{prefix}{name}")
        if isinstance(value, dict) and name not in _OPEN:
            found |= _names(value, f"{prefix}{name}.")
    return found


def _names_of_schema(part: dict[str, Any], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, value in part.get("properties", {}).items():
        if name == "global":
            continue
        found.add(f"{prefix}{name}")
        if name not in _OPEN:
            found |= _names_of_schema(value, f"{prefix}{name}.")
    return found
