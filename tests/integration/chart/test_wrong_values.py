"""Values that cannot work are refused before anything is installed, with their place."""

from pathlib import Path

import pytest
import yaml

from integration.chart.helm import CHART, NO_DEFINITIONS, Helm, one
from integration.chart.switches import OTHER_REDIS
from sluice.api.base import Json
from sluice.leases.endpoint import Endpoint

ACCOUNT_OF_THE_HOOKS = ("jobServiceAccount.name=sluice-hooks", "runtimes.default.serviceAccount=sluice-hooks")


def _mounts(*mounts: str) -> tuple[str, ...]:
    return tuple(
        f"operator.extraVolumeMounts[{number}].name={name},operator.extraVolumeMounts[{number}].mountPath={path}"
        for number, (name, path) in enumerate(mount.split("=") for mount in mounts)
    )


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (("redis.instal=false",), "at '/redis': additional properties 'instal' not allowed"),
        (("tableOwners[0].paths={s3://lake}",), "at '/tableOwners/0': missing property 'namespaces'"),
        (("tableOwners[0].namespaces={sales}",), "at '/tableOwners/0'"),
        (
            ("tableOwners[0].namespaces={sales}", "tableOwners[0].names={sales/orders}"),
            "at '/tableOwners/0/names/0'",
        ),
        (("jobPermissions[0].podSecurity=baseline",), "at '/jobPermissions/0/podSecurity'"),
        (("jobPermissions[0].namespaces={}",), "at '/jobPermissions/0/namespaces/0'"),
        (
            ("jobPermissions[0].namespace=etl",),
            "at '/jobPermissions/0': additional properties 'namespace' not allowed",
        ),
        (("runtimes.default.sparkVersoin=4.2.0",), "at '/runtimes/default': additional properties"),
        (("runtimes.default.driver.memory=4Gi",), "at '/runtimes/default/driver/memory'"),
        (("runtimes.default.sparkVersion=banana",), "at '/runtimes/default/sparkVersion'"),
        (("runtimes.default.deltaVersion=banana",), "at '/runtimes/default/deltaVersion'"),
        (("runtimes.default.serviceAccount=Spark User",), "at '/runtimes/default/serviceAccount'"),
        (("runtimes.default.imagePullPolicy=Sometimes",), "at '/runtimes/default/imagePullPolicy'"),
        (("runtimes.default.image=",), "at '/runtimes/default/image'"),
        (("runtimes.Big One.sparkVersion=4.2.0",), "invalid propertyName 'Big One'"),
        (("runtimes.default.driverPod.spec=nonsense",), "at '/runtimes/default/driverPod/spec'"),
        (
            ("runtimes.default.driverPod.spec.containers={nonsense}",),
            "at '/runtimes/default/driverPod/spec/containers/0'",
        ),
        (
            ("runtimes.default.executorPod.spec.containers.name=nonsense",),
            "at '/runtimes/default/executorPod/spec/containers'",
        ),
        (
            ("runtimes.default.driverPod.spec.containers[1].image=x",),
            "at '/runtimes/default/driverPod/spec/containers/1': missing property 'name'",
        ),
        (
            ("runtimes.default.driverPod.spec.containers[1].name=shipper",),
            "at '/runtimes/default/driverPod/spec/containers/1': missing property 'image'",
        ),
        (
            (r"runtimes.default.driverPod.metadata.labels.sluice\.dev/job=x",),
            "at '/runtimes/default/driverPod/metadata/labels/sluice.dev~1job'",
        ),
        (
            ("runtimes.default.executorPod.metadata.annotations.spark-role=driver",),
            "at '/runtimes/default/executorPod/metadata/annotations/spark-role'",
        ),
        (
            ("runtimes.default.driverPod.metadata.finalizers={a/b,sluice.dev/lease}",),
            "at '/runtimes/default/driverPod/metadata/finalizers/1'",
        ),
        (
            ("runtimes.default.driverPod.metadata.name=mine",),
            "at '/runtimes/default/driverPod/metadata/name'",
        ),
        (
            ("runtimes.default.driverPod.spec.restartPolicy=Always",),
            "at '/runtimes/default/driverPod/spec/restartPolicy'",
        ),
        (("apiBurst=0",), "at '/apiBurst': minimum"),
        (("watchNamespaces={Team A}",), "at '/watchNamespaces/0'"),
        (("operator.image.pullPolicy=Sometimes",), "at '/operator/image/pullPolicy'"),
        (("redis.maxMemory=plenty",), "at '/redis/maxMemory'"),
        (("runtimes.default=null",), "at '/runtimes': missing property 'default'"),
        (("runtimes.default.image=null",), "at '/runtimes/default': missing property 'image'"),
        (("runtimes.other.sparkVersion=4.2.0",), "at '/runtimes/other': missing property 'image'"),
        (("imageRegistry=https://registry.example",), "at '/imageRegistry'"),
        (("watchNamespaces=null",), "at '': missing property 'watchNamespaces'"),
        (("imagePullSecrets={Bad Name}",), "at '/imagePullSecrets/0'"),
        (("operator.image.repository=sluice-operator:0.1.0",), "at '/operator/image/repository'"),
        (("operator.image.tag=a b",), "at '/operator/image/tag'"),
        (("operator.resources.limits.memory=lots",), "at '/operator/resources/limits/memory'"),
        (("operator.resources.requests.cpu=-1",), "at '/operator/resources/requests/cpu'"),
        (("operator.serviceAccount.name=Bad Name",), "at '/operator/serviceAccount/name'"),
        (("operator.priorityClassName=Bad Name",), "at '/operator/priorityClassName'"),
        (("jobServiceAccount.name=Bad Name",), "at '/jobServiceAccount/name'"),
        (("redis.persistence.size=abc",), "at '/redis/persistence/size'"),
        (("redis.persistence.size=-1",), "at '/redis/persistence/size'"),
        (("redis.persistence.size=0Gi",), "at '/redis/persistence/size'"),
        (("redis.persistence.storageClass=Bad Name",), "at '/redis/persistence/storageClass'"),
        (("redis.existingSecret=Bad Name",), "at '/redis/existingSecret'"),
        (("redis.key=a key",), "at '/redis/key'"),
        (("redis.existingUrl.secret=Bad Name",), "at '/redis/existingUrl/secret'"),
        (("monitoring.serviceMonitor.interval=banana",), "at '/monitoring/serviceMonitor/interval'"),
        (("monitoring.serviceMonitor.interval=",), "at '/monitoring/serviceMonitor/interval'"),
        (("redis.key=.",), "at '/redis/key'"),
        (("redis.key=..",), "at '/redis/key'"),
        (("redis.existingUrl.key=..url",), "at '/redis/existingUrl/key'"),
        (("operator.podLabels.a b=x",), "at '/operator/podLabels': additional properties 'a b' not allowed"),
        (("redis.podLabels.team=a b",), "at '/redis/podLabels/team'"),
        ((f"redis.podLabels.team={'x' * 64}",), "at '/redis/podLabels/team'"),
        (("operator.nodeSelector.a//b=x",), "at '/operator/nodeSelector': additional properties"),
        (("operator.podAnnotations.a b=x",), "at '/operator/podAnnotations': additional properties"),
        (("operator.serviceAccount.annotations.a b=x",), "at '/operator/serviceAccount/annotations'"),
        (
            (r"operator.podLabels.app\.kubernetes\.io/component=x",),
            "operator.podLabels has app.kubernetes.io/component, which the chart sets itself",
        ),
        (
            (r"redis.podLabels.app\.kubernetes\.io/instance=x",),
            "redis.podLabels has app.kubernetes.io/instance, which the chart sets itself",
        ),
        (("redis.podAnnotations.checksum/config=x",), "redis.podAnnotations has checksum/config, which"),
        (
            (
                *("operator.serviceAccount.create=false", "operator.serviceAccount.name=mine"),
                r"operator.serviceAccount.annotations.eks\.amazonaws\.com/role-arn=arn",
            ),
            "annotate the account yourself",
        ),
        (("jobServiceAccount.annotations.role=writer",), "annotate the account yourself in each namespace"),
        (
            (r"operator.serviceAccount.annotations.azure\.workload\.identity/client-id=id",),
            "set it in operator.podLabels",
        ),
        (("operator.extraEnvFrom[0].secretref.name=x",), "at '/operator/extraEnvFrom/0'"),
        (("operator.extraEnvFrom[0].prefix=x",), "at '/operator/extraEnvFrom/0'"),
        (("operator.extraEnvFrom[0].secretRef.nam=x",), "at '/operator/extraEnvFrom/0/secretRef'"),
        (
            ("operator.extraEnvFrom[0].secretRef.name=Bad Name",),
            "at '/operator/extraEnvFrom/0/secretRef/name'",
        ),
        ((r"operator.podLabels.azure\.workload\.identity/use=true",), "at '/operator/podLabels/azure"),
        (("operator.extraEnv[0].value=x",), "at '/operator/extraEnv/0': missing property 'name'"),
        (
            ("operator.extraEnv[0].name=SLUICE_REDIS_PASSWORD",),
            "operator.extraEnv has SLUICE_REDIS_PASSWORD twice, or the chart sets it itself",
        ),
        (
            ("operator.extraEnv[0].name=SLUICE_REDIS_PASSWORD_FILE",),
            "operator.extraEnv has SLUICE_REDIS_PASSWORD_FILE twice, or the chart sets it itself",
        ),
        (
            (
                *("redis.install=false", "redis.url=redis://redis?password_file=/run/password"),
                "redis.existingSecret=x",
            ),
            "redis.url has a password_file, and redis.existingSecret names a Secret with a password",
        ),
        (
            (
                "redis.install=false",
                "redis.existingUrl.secret=x",
                "operator.extraEnv[0].name=SLUICE_REDIS_URL",
            ),
            "operator.extraEnv has SLUICE_REDIS_URL twice, or the chart sets it itself",
        ),
        (("operator.extraEnv[0].name=A", "operator.extraEnv[1].name=A"), "operator.extraEnv has A twice"),
        (("operator.extraVolumes[0].name=tmp",), "operator.extraVolumes has tmp twice, or it is the name of"),
        (
            _mounts("lake=/lake"),
            "operator.extraVolumeMounts has lake, which is no volume (config, tmp, redis-password)",
        ),
        (
            _mounts("tmp=/etc/sluice/"),
            "operator.extraVolumeMounts has the mountPath /etc/sluice twice, or it",
        ),
        (
            _mounts("tmp=/etc/sluice-redis"),
            "operator.extraVolumeMounts has the mountPath /etc/sluice-redis twice",
        ),
        (_mounts("config=tmp"), "operator.extraVolumeMounts has the mountPath /tmp twice, or it is one of"),
        (_mounts("tmp=/a", "tmp=/a/"), "operator.extraVolumeMounts has the mountPath /a twice"),
        (
            ("operator.resources.limits.memory=256Mi",),
            "operator.resources.limits.memory 256Mi is below operator.resources.requests.memory 512Mi",
        ),
        (
            ("redis.resources.limits.cpu=.04",),
            "redis.resources.limits.cpu .04 is below redis.resources.requests.cpu 50m",
        ),
        (
            ("operator.resources.requests=null", "operator.resources.limits.memory=1"),
            "operator.resources.limits.memory 1 is too little to start with: set 128Mi or more",
        ),
        (
            ("operator.resources.requests=null", "operator.resources.limits.cpu=1m"),
            "operator.resources.limits.cpu 1m is too little to start with: set 50m or more",
        ),
        (
            ("redis.resources.requests=null", "redis.resources.limits.memory=5Mi", "redis.maxMemory=4mb"),
            "redis.resources.limits.memory 5Mi is too little to start with: set 32Mi or more",
        ),
        (("redis.maxMemory=900kb",), "redis.maxMemory 900kb is too little"),
        (
            ("redis.maxMemory=300mb",),
            "redis.maxMemory 300mb is not below redis.resources.limits.memory 256Mi",
        ),
        (
            ("redis.resources.limits.memory=100M",),
            "redis.maxMemory 160mb is not below redis.resources.limits.memory 100M",
        ),
        (
            ("redis.resources.limits.memory=167772160",),
            "redis.maxMemory 160mb is not below redis.resources.limits.memory 167772160",
        ),
        (("operator.serviceAccount.create=false",), "set operator.serviceAccount.name to the account"),
        (("operator.serviceAccount.name=sluice-hooks",), "sluice-hooks, which is the account of the hooks"),
        (
            ("jobServiceAccount.name=etl",),
            "jobServiceAccount.name is etl, and no runtime uses that account (spark)",
        ),
        (("runtimes.default.serviceAccount=null",), "no runtime uses that account (default)"),
        (
            ("watchNamespaces={anywhere}", "operator.serviceAccount.name=spark"),
            "the account spark in namespace anywhere would be that of jobs and of Sluice itself",
        ),
        (
            ("jobServiceAccount.namespaces={anywhere}", *ACCOUNT_OF_THE_HOOKS),
            "the account sluice-hooks in namespace anywhere would be that of jobs and of Sluice itself",
        ),
        (("monitoring.prometheusRule.enabled=true",), "needs monitoring.serviceMonitor.enabled"),
        (("redis.install=false",), "set redis.url, or redis.existingUrl.secret"),
        (("redis.url=redis://elsewhere:6379/0",), "set redis.install=false"),
        ((*OTHER_REDIS, "redis.existingUrl.secret=mine"), "set one of them"),
        (("deployment=1e3",), "cannot be that of a Service"),
        (("redis.image.tag=",), "redis.image.tag and redis.image.digest are empty"),
        (
            ("imageRegistry=registry.example", "redis.image.repository=docker.io/library/redis"),
            "redis.image.repository docker.io/library/redis names a registry",
        ),
        (
            ("imageRegistry=registry.example", "operator.image.repository=localhost/sluice-operator"),
            "operator.image.repository localhost/sluice-operator names a registry",
        ),
    ],
)
def test_a_wrong_value_is_told_in_a_sentence_before_anything_is_installed(
    helm: Helm, values: tuple[str, ...], says: str
) -> None:
    done = helm.template("anywhere", *values)
    assert done.returncode != 0
    assert says in done.stderr


VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
BLOCKS = [
    *(name for name, value in VALUES.items() if isinstance(value, dict)),
    *(
        f"{name}.{inner}"
        for name, value in VALUES.items()
        if isinstance(value, dict) and name != "runtimes"
        for inner in value
        if isinstance(value[inner], dict) and value[inner]
    ),
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_that_a_file_of_values_leaves_empty_is_named(helm: Helm, tmp_path: Path, block: str) -> None:
    outer, _, inner = block.partition(".")
    file = tmp_path / "values.yaml"
    file.write_text(f"{outer}:\n  {inner}:\n" if inner else f"{outer}:\n", encoding="utf-8")
    done = helm.template("anywhere", f"file:{file}")
    assert done.returncode != 0
    place = f"/{outer}" if inner else ""
    assert f"at '{place}': missing property '{inner or outer}'" in done.stderr


@pytest.mark.parametrize("monitoring", [True, False])
def test_a_value_that_may_be_empty_may_be_left_empty(helm: Helm, tmp_path: Path, monitoring: bool) -> None:
    """Helm then takes its default away."""
    without = _without_what_may_be_empty(VALUES)
    for part in without["monitoring"].values():
        part["enabled"] = monitoring
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(without), encoding="utf-8")
    plain = [f"monitoring.{part}.enabled={str(monitoring).lower()}" for part in VALUES["monitoring"]]
    assert helm.rendered("anywhere", f"file:{file}") == helm.rendered("anywhere", *plain)


def _without_what_may_be_empty(values: Json) -> Json:
    """The same values, with nothing after the name of each that is empty; `watchNamespaces` is not among these, because nobody
    could tell whether all namespaces are meant or none."""
    return {
        name: _without_what_may_be_empty(value)
        if isinstance(value, dict) and value
        else None
        if value in ("", [], {}) and name != "watchNamespaces"
        else value
        for name, value in values.items()
    }


@pytest.mark.parametrize(
    "value",
    [
        *("imageRegistry=registry.example:5000/team", "imageRegistry=localhost:5000/", "imageRegistry=team"),
        *("operator.image.repository=registry.example:5000/a/b_c", "redis.image.repository=localhost/redis"),
        *("operator.image.repository=public.ecr.aws/x--y/z", "string:operator.image.tag=1.0"),
        *(
            "operator.resources.limits.cpu=1.5",
            "operator.resources.limits.cpu=2",
            "redis.persistence.size=.5Gi",
        ),
        *("redis.persistence.size=1000000000", "redis.persistence.size=1e9", "redis.persistence.size=1.5Ti"),
        *("redis.resources.limits.memory=null", "redis.resources.limits.memory=1e9", "redis.maxMemory=255mb"),
        *("redis.resources.limits.memory=168M", "redis.resources.limits.memory=1073741824"),
        *("monitoring.serviceMonitor.interval=1m30s", "monitoring.serviceMonitor.interval=500ms"),
        *("operator.serviceAccount.name=a.dotted.name", "redis.persistence.storageClass=fast.ssd"),
        *("redis.key=.hidden", "redis.key=a..b", "redis.existingUrl.key=-"),
        *(r"operator.podLabels.example\.com/A_b\.c=", r"redis.podAnnotations.Example\.com/a=some words"),
        *("redis.podLabels.team=A-b_c.d", r"operator.nodeSelector.kubernetes\.io/os=linux"),
        *("operator.extraEnv[0].name=SLUICE_REDIS_URL", "operator.extraEnv[0].name=a.b"),
        *(f"{','.join(_mounts(mount))}" for mount in ("tmp=/tmp/more", "config=/etc/sluice-too")),
        *("operator.resources.limits.memory=512Mi", "operator.resources.limits.cpu=.1"),
    ],
)
def test_what_kubernetes_takes_is_taken(helm: Helm, value: str) -> None:
    assert helm.rendered("anywhere", NO_DEFINITIONS, value)


@pytest.mark.parametrize(
    "url",
    [
        *("http://redis", "unix:///socket?password=word", "redis://:word@redis:6379/0"),
        *(
            "redis://redis?password=word",
            "redis://us@er:pw@redis",
            "redis://:pa/ss@redis",
            "redis://user:@redis",
        ),
        *(
            "redis://us%3Aer@redis",
            "redis://redis:0",
            "redis://redis:65536",
            "redis://redis/zero",
            "redis://",
        ),
        *("redis://::1", "redis://redis/0#word", "redis://redis:6379:word/0"),
        *("redis+sentinel://:word@one/lake", "redis+sentinel://one", "redis+sentinel://one?sentinel_auth=1"),
        *("rediss://redis?ssl_ca_certs=/ca.crt&password=word", "redis://redis?", r"redis://one\,two/0"),
    ],
)
def test_a_redis_url_that_could_hold_a_password_is_refused_with_the_form_that_it_has_to_have(
    helm: Helm, url: str
) -> None:
    done = helm.template("anywhere", "redis.install=false", f"redis.url={url}")
    assert done.returncode != 0
    assert "redis://[USER@]HOST[:PORT][/DATABASE]" in done.stderr
    assert "put a password into a Secret" in done.stderr
    assert "word" not in done.stderr.replace("password", "")


@pytest.mark.parametrize(
    "url",
    [
        *("redis://redis", "redis://redis.team.svc:6379/0", "rediss://writer@redis.example:6380/1"),
        *("redis://[::1]:65535/15", "redis://10.0.0.1/2", "rediss://some-one@my_redis:1"),
        *(
            r"redis+sentinel://one:26379\,two:26379\,three/lake",
            "redis+sentinel://writer@[::1]:26379/lake-1/2",
        ),
        "rediss+sentinel://one/lake?sentinel_auth=1&ssl_ca_certs=/etc/authority/ca.crt&socket_timeout=1.5",
        "redis://redis?password_file=/run/secrets/password",
    ],
)
def test_a_redis_url_of_that_form_is_taken(helm: Helm, url: str) -> None:
    given = (NO_DEFINITIONS, "redis.install=false", f"redis.url={url}")
    written = one(helm.rendered("anywhere", *given), "ConfigMap")
    taken = yaml.safe_load(written["data"]["sluice.yaml"])["redisUrl"]
    assert taken == url.replace("\\,", ",")
    Endpoint.of(taken)  # which the operator takes, too
