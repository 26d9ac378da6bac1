"""What a job asks of its pods is found wherever it may stand, and is refused where the operator's configuration withholds it."""

from typing import Any

import pytest
from kubeflow_spark_api import models as kubeflow
from kubernetes import client as kubernetes

from sluice.api.job import DeltaWriteJobSpec
from sluice.templates import JobPermission, Permissions, asks_of
from sluice.templates.permissions import RESTRICTED_VOLUMES
from sluice.templates.requested_permissions import MOST, PermissionKind, RequestedPermission

SQL = {"sql": "INSERT INTO sales VALUES (1)"}
HOST = {"name": "node", "hostPath": {"path": "/"}}
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
PRIVILEGED = {"securityContext": {"privileged": True}}


def of_kubeflow(**template: Any) -> dict[str, Any]:
    footprint = [{"table": {"path": "s3://lake/sales"}, "operation": "Append"}]
    return {"application": {"engine": "kubeflow", "template": template}, "footprint": footprint}


def of_apache(**template: Any) -> dict[str, Any]:
    return of_kubeflow() | {"application": {"engine": "apache", "template": template}}


def in_pod(**spec: Any) -> dict[str, Any]:
    return of_kubeflow(driver={"template": {"spec": spec}})


def in_container(**container: Any) -> dict[str, Any]:
    return in_pod(containers=[{"name": "spark-kubernetes-driver", **container}])


def with_conf(**conf: str) -> dict[str, Any]:
    return SQL | {"runtime": {"sparkConf": conf}}


def asked(spec: dict[str, Any]) -> list[tuple[PermissionKind, str, str]]:
    """What it asks for, but for what each such job asks."""
    asks = asks_of(DeltaWriteJobSpec.model_validate(spec))
    usual = (PermissionKind.TEMPLATE, PermissionKind.SETTING)
    return [(ask.kind, ask.what, ask.place) for ask in asks if ask.kind not in usual]


def why_not(spec: dict[str, Any], *given: dict[str, Any], namespace: str = "etl") -> str | None:
    permissions = Permissions(tuple(JobPermission.model_validate(one) for one in given), {"spark"})
    return permissions.why_not(namespace, asks_of(DeltaWriteJobSpec.model_validate(spec)))


@pytest.mark.parametrize(
    "spec",
    [
        of_kubeflow(volumes=[HOST]),
        in_pod(volumes=[HOST]),
        of_kubeflow(executor={"template": {"spec": {"volumes": [HOST]}}}),
        of_apache(driverSpec={"podTemplateSpec": {"spec": {"volumes": [HOST]}}}),
        of_apache(executorSpec={"podTemplateSpec": {"spec": {"volumes": [HOST]}}}),
        with_conf(**{"spark.kubernetes.executor.volumes.hostPath.node.mount.path": "/node"}),
        of_kubeflow(sparkConf={"spark.kubernetes.driver.volumes.hostPath.node.options.path": "/"}),
        of_apache(sparkConf={"spark.kubernetes.executor.volumes.hostPath.node.options.path": "/"}),
        in_pod(hostNetwork=True),
        in_pod(hostPID=True),
        in_pod(hostIPC=True),
        of_kubeflow(executor={"hostNetwork": True}),
        of_kubeflow(driver=PRIVILEGED),
        of_kubeflow(executor={"podSecurityContext": {"runAsUser": 0}}),
        of_kubeflow(driver={"sidecars": [{"name": "a", "image": "b", **PRIVILEGED}]}),
        of_kubeflow(driver={"initContainers": [{"name": "a", "image": "b", **PRIVILEGED}]}),
        of_kubeflow(driver={"annotations": {f"{APP_ARMOR}a": "unconfined"}}),
        with_conf(
            **{f"spark.kubernetes.executor.annotation.{APP_ARMOR}a": "unconfined"},
        ),
        in_container(**PRIVILEGED),
        in_container(securityContext={"allowPrivilegeEscalation": True}),
        in_container(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}),
        in_container(securityContext={"procMount": "Unmasked"}),
        in_container(securityContext={"runAsNonRoot": False}),
        in_container(securityContext={"runAsUser": 0}),
        in_container(securityContext={"seccompProfile": {"type": "Unconfined"}}),
        in_container(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
        in_container(securityContext={"seLinuxOptions": {"type": "spc_t"}}),
        in_container(securityContext={"seLinuxOptions": {"user": "root"}}),
        in_container(securityContext={"windowsOptions": {"hostProcess": True}}),
        in_container(ports=[{"containerPort": 80, "hostPort": 80}]),
        in_container(livenessProbe={"httpGet": {"port": 80, "host": "10.0.0.1"}}),
        in_container(lifecycle={"preStop": {"tcpSocket": {"port": 80, "host": "10.0.0.1"}}}),
        in_pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
        in_pod(initContainers=[{"name": "a", "image": "b", **PRIVILEGED}]),
        in_pod(somethingNew=True),
        in_container(somethingNew=True),
        in_container(securityContext={"somethingNew": True}),
        of_kubeflow(driver={"somethingNew": True}),
        of_kubeflow(sparkConf={"spark.kubernetes.executor.podTemplateFile": "/opt/pod.yaml"}),
    ],
)
def test_what_a_restricted_pod_may_not_have_is_refused_unless_permitted(spec: dict[str, Any]) -> None:
    [(_, _, place)] = asked(spec)
    said = why_not(spec)
    assert said is not None
    assert f"({place})" in said
    assert "jobPermissions" in said
    assert why_not(spec, {"podSecurity": "privileged", "volumes": ["*"]}) is None


@pytest.mark.parametrize(
    "spec",
    [
        SQL,
        with_conf(**{"spark.sql.shuffle.partitions": "8"}),
        with_conf(**{"spark.kubernetes.executor.volumes.emptyDir.scratch.mount.path": "/scratch"}),
        of_kubeflow(
            volumes=[{"name": "scratch", "emptyDir": {}}],
            driver={"cores": 1, "serviceAccount": "spark", "securityContext": {"runAsNonRoot": True, "runAsUser": 185}},
            executor={"instances": 2, "configMaps": [{"name": "a", "path": "/a"}]},
        ),
        in_pod(
            volumes=[{"name": kind, kind: {}} for kind in RESTRICTED_VOLUMES],
            securityContext={"seccompProfile": {"type": "RuntimeDefault"}, "fsGroup": 185},
            hostNetwork=False,
            tolerations=[{"key": "spot"}],
        ),
        in_container(
            securityContext={
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
                "privileged": False,
            },
            ports=[{"containerPort": 80}],
            livenessProbe={"httpGet": {"port": 80}},
        ),
    ],
)  # fmt: skip
def test_what_a_restricted_pod_may_have_is_permitted(spec: dict[str, Any]) -> None:
    assert why_not(spec) is None


@pytest.mark.parametrize(
    "spec",
    [
        SQL | {"runtime": {"serviceAccount": "admin"}},
        with_conf(**{"spark.kubernetes.authenticate.executor.serviceAccountName": "admin"}),
        of_kubeflow(driver={"serviceAccount": "admin"}),
        of_kubeflow(executor={"serviceAccount": "admin"}),
        in_pod(serviceAccountName="admin"),
        in_pod(serviceAccount="admin"),
        of_apache(sparkConf={"spark.kubernetes.authenticate.driver.serviceAccountName": "admin"}),
    ],
)
def test_service_accounts_can_be_withheld(spec: dict[str, Any]) -> None:
    assert [one[:2] for one in asked(spec)] == [(PermissionKind.SERVICE_ACCOUNT, "admin")]
    assert why_not(spec) is None
    said = why_not(spec, {"serviceAccounts": ["etl-*"]})
    assert said is not None
    assert "use the service account admin (spec." in said
    assert why_not(spec, {"serviceAccounts": ["ad*"]}) is None


def test_the_service_accounts_of_the_profiles_are_all_jobs_to_use() -> None:
    assert why_not(SQL | {"runtime": {"serviceAccount": "spark"}}, {"serviceAccounts": []}) is None


def test_settings_and_templates_can_be_withheld() -> None:
    spec = with_conf(**{"spark.sql.ansi.enabled": "true", "spark.executor.cores": "1"})
    assert why_not(spec, {"settings": ["spark.sql.*", "spark.executor.*"]}) is None
    said = why_not(spec, {"settings": ["spark.sql.*"]})
    assert said is not None
    assert "use this setting (spec.runtime.sparkConf.spark.executor.cores)" in said
    hadoop = of_kubeflow(hadoopConf={"fs.s3a.endpoint": "a"})
    assert why_not(hadoop, {"settings": ["spark.hadoop.fs.s3a.*"]}) is None
    assert why_not(hadoop, {"settings": []}) is not None
    said = why_not(of_kubeflow(mode="cluster"), {"templates": False})
    assert said is not None
    assert "use an application of their own (spec.application.template)" in said


def test_the_first_entry_that_names_the_namespace_counts_alone() -> None:
    entries = ({"namespaces": ["team-*"], "podSecurity": "privileged"}, {"templates": False})
    assert why_not(of_kubeflow(driver=PRIVILEGED), *entries, namespace="team-a") is None
    assert why_not(of_kubeflow(mode="cluster"), *entries, namespace="etl") is not None


def test_of_much_that_is_refused_three_are_named_and_the_rest_counted() -> None:
    said = why_not(of_kubeflow(volumes=[HOST | {"name": f"v{at}"} for at in range(9)]))
    assert said is not None
    assert said.count("hostPath volumes") == 3
    assert "and 6 more" in said


def test_a_job_that_asks_for_more_than_can_be_judged_is_refused_whatever_is_permitted() -> None:
    spec = of_kubeflow(volumes=[{"name": str(at), f"kind{at}": {}} for at in range(MOST)])
    everything = {"podSecurity": "privileged", "volumes": ["*"]}
    said = why_not(spec, everything)
    assert said is not None
    assert "use more than 3,000 volumes, settings and other things that may be withheld (spec)" in said
    spec["application"]["template"]["volumes"].pop()
    assert why_not(spec, everything) is None


def test_values_that_are_no_objects_ask_for_nothing_and_break_nothing() -> None:
    spec = of_kubeflow(driver={"template": {"spec": {"containers": [{"name": "spark-kubernetes-driver"}]}}})
    assert asks_of(DeltaWriteJobSpec.model_validate(spec)) == (
        RequestedPermission(PermissionKind.TEMPLATE, "", "spec.application.template"),
    )
    odd = of_kubeflow(volumes={"hostPath": 1}, driver=[], executor="a", sparkConf=[1])
    assert [one.kind for one in asks_of(DeltaWriteJobSpec.model_validate(odd))] == [PermissionKind.TEMPLATE]


def known(spec: dict[str, Any]) -> bool:
    return all("does not know" not in what for _, what, _ in asked(spec))


def test_all_fields_of_pods_and_containers_are_known() -> None:
    """Of Kubernetes and of kubeflow's Spark operator, as their clients have them."""
    pod = set(kubernetes.V1PodSpec.attribute_map.values())
    container = set(kubernetes.V1Container.attribute_map.values()) - {"name"}
    security = set(kubernetes.V1SecurityContext.attribute_map.values())
    security |= set(kubernetes.V1PodSecurityContext.attribute_map.values())
    unknown = [field for field in pod if not known(in_pod(**{field: None}))]
    unknown += [field for field in container if not known(in_container(**{field: None}))]
    unknown += [field for field in security if not known(in_container(securityContext={field: None}))]
    for role, model in (
        ("driver", kubeflow.SparkV1beta2DriverSpec),
        ("executor", kubeflow.SparkV1beta2ExecutorSpec),
    ):
        fields = {field.alias or name for name, field in model.model_fields.items()}
        unknown += [field for field in fields if not known(of_kubeflow(**{role: {field: None}}))]
    assert unknown == []
