"""Every mistake in the operator's configuration is named with its place, before anything starts."""

import re
from pathlib import Path

import pytest

from sluice.api.durations import seconds
from sluice.controller.process.configuration import ConfigError, load
from sluice.leases.endpoint import UNREADABLE, Endpoint

GOOD = "runtimes: {default: {sparkVersion: 4.2.0}}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must be a mapping of fields: deployment, "),
        ("[]", "must be a mapping of fields: deployment, "),
        ("a: [", "is not YAML"),
        ("runtimes: {}", "runtimes"),
        ("runtimes: {other: {sparkVersion: 4.2.0}}", "runtimes.default"),
        ("runtimes: {default: {}}", "runtimes.default.sparkVersion"),
        (GOOD + "redisURL: redis://x", "redisURL"),
        (GOOD + "deployment: Not A Name", "deployment"),
        (GOOD + "redisUrl: http://example", "redisUrl"),
        (GOOD + "apiQps: -1", "apiQps"),
        (GOOD + "policyLook: 0s", "policyLook: must be from 1s to 24h"),
        (GOOD + "policyLook: 25h", "policyLook: must be from 1s to 24h"),
        (GOOD + "policyLook: often", "policyLook"),
        (GOOD + "apiQps: .inf", "apiQps"),
        (GOOD + "apiBurst: 0", "apiBurst"),
        (
            "runtimes: {default: {sparkVersion: 4.2.0, driver: {cores: many}}}",
            "runtimes.default.driver.cores",
        ),
        *(
            (f"runtimes: {{default: {{sparkVersion: 4.2.0, {given}}}}}", f"runtimes.default.{place}: ")
            for given, place in (
                ("driver: {memory: 4Gi}", "driver.memory"),
                ("deltaVersion: banana", "deltaVersion"),
                ("serviceAccount: Spark User", "serviceAccount"),
                ("imagePullPolicy: Sometimes", "imagePullPolicy"),
                ("image: ''", "image"),
                ("driverPod: nonsense", "driverPod"),
                ("driverPod: {sepc: {}}", "driverPod.sepc"),
                ("driverPod: {spec: nonsense}", "driverPod.spec"),
                ("driverPod: {metadata: nonsense}", "driverPod.metadata"),
                ("driverPod: {metadata: {labels: [a]}}", "driverPod.metadata.labels"),
                ("driverPod: {metadata: {annotations: {a: 1}}}", "driverPod.metadata.annotations.a"),
                ("driverPod: {metadata: {finalizers: a}}", "driverPod.metadata.finalizers"),
                ("driverPod: {spec: {containers: {name: a}}}", "driverPod.spec.containers"),
                ("driverPod: {spec: {containers: [a]}}", "driverPod.spec.containers[0]"),
                ("driverPod: {spec: {containers: [{env: {A: b}}]}}", "driverPod.spec.containers[0].env"),
                (
                    "sparkConf: {spark.kubernetes.driver.pod.name: x}",
                    "sparkConf.spark.kubernetes.driver.pod.name",
                ),
                (
                    "sparkConf: {spark.sql.sources.partitionoverwritemode: dynamic}",
                    "sparkConf.spark.sql.sources.partitionoverwritemode",
                ),
                ("sparkConf: {spark.sql.ansi.enabled: 'yes'}", "sparkConf.spark.sql.ansi.enabled"),
                ("executorPod: {spec: {containers: [a]}}", "executorPod.spec.containers[0]"),
                ("executorPod: {spec: {tolerations: {key: a}}}", "executorPod.spec.tolerations"),
            )
        ),
        ("runtimes: {default: {sparkVersion: banana}}", "runtimes.default.sparkVersion: "),
        ("runtimes: {default: {sparkVersion: 4.2.0}, Big One: {sparkVersion: 4.2.0}}", "runtimes.Big One"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load(file)
    assert says in str(error.value)
    assert str(file) in str(error.value)


def test_a_mistake_is_told_in_the_words_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text("httpAdress: off\nwatchNamespaces: team\n", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load(file)
    assert set(re.split(r"; (?!did you mean)", str(error.value).removeprefix(f"{file}: "))) == {
        "httpAdress: there is no such field; did you mean httpAddress?",
        "watchNamespaces: must be a list, not text",
        "runtimes: is required",
    }


TOLD_APART = "tell pods apart by it, and set it themselves: remove it"
NAMED = "give each pod its name, in the namespace of its job: remove it"


@pytest.mark.parametrize(
    ("given", "place", "says"),
    [
        *(
            (f"{pod}: {{{part}}}", f"{pod}.{place}", says)
            for pod in ("driverPod", "executorPod")
            for part, place, says in (
                (
                    "metadata: {labels: {sluice.dev/job-uid: z}}",
                    "metadata.labels.sluice.dev/job-uid",
                    TOLD_APART,
                ),
                ("metadata: {labels: {spark-role: driver}}", "metadata.labels.spark-role", TOLD_APART),
                (
                    "metadata: {labels: {app.kubernetes.io/name: sluice}}",
                    "metadata.labels.app.kubernetes.io/name",
                    TOLD_APART,
                ),
                (
                    "metadata: {annotations: {sluice.dev/lease: z}}",
                    "metadata.annotations.sluice.dev/lease",
                    TOLD_APART,
                ),
                ("metadata: {finalizers: [a/b, sluice.dev/lease]}", "metadata.finalizers[1]", TOLD_APART),
                ("metadata: {name: n}", "metadata.name", NAMED),
                ("metadata: {generateName: n}", "metadata.generateName", NAMED),
                ("metadata: {namespace: kube-system}", "metadata.namespace", NAMED),
                (
                    "metadata: {ownerReferences: [{uid: y}]}",
                    "metadata.ownerReferences",
                    "objects of its run: remove it",
                ),
                ("metadata: {uid: y}", "metadata.uid", "there is no such field"),
                (
                    "spec: {schedulingGates: [{name: a/b}, {name: sluice.dev/never-starts}]}",
                    "spec.schedulingGates[1].name",
                    TOLD_APART,
                ),
                ("spec: {restartPolicy: Always}", "spec.restartPolicy", "must be 'Never', not 'Always'"),
                (
                    "spec: {containers: [{name: main, env: []}]}",
                    "spec.containers[0].image",
                    "rename it",
                ),
                ("spec: {containers: [{env: []}]}", "spec.containers[0].name", "runs beside it"),
                (
                    "spec: {containers: [{name: a, image: x}, {name: a, image: x}]}",
                    "spec.containers[1].name",
                    "two containers are called a: rename one",
                ),
            )
        ),
        (
            "driverPod: {spec: {containers: [{name: spark-kubernetes-driver, restartPolicy: Always}]}}",
            "driverPod.spec.containers[0].restartPolicy",
            "ended once: remove it",
        ),
        (
            "driverPod: {spec: {containers: [{name: spark-kubernetes-driver, terminationMessagePath: /x}]}}",
            "driverPod.spec.containers[0].terminationMessagePath",
            "/dev/termination-log: remove it",
        ),
        (
            "driverPod: {spec: {serviceAccountName: boss}}",
            "driverPod.spec.serviceAccountName",
            "not set: use that field",
        ),
        (
            "serviceAccount: spark, driverPod: {spec: {serviceAccount: boss}}",
            "driverPod.spec.serviceAccount",
            "which is spark: use that field",
        ),
    ],
)
def test_what_would_have_one_pod_taken_for_another_is_refused_in_its_template(
    tmp_path: Path, given: str, place: str, says: str
) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(f"runtimes: {{default: {{sparkVersion: 4.2.0, {given}}}}}", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load(file)
    assert str(error.value).startswith(f"{file}: runtimes.default.{place}: ")
    assert str(error.value).endswith(says)


@pytest.mark.parametrize(
    "given",
    [
        "driverPod: {metadata: {creationTimestamp: null, labels: {team: etl}, finalizers: [a/b]}}",
        "driverPod: {metadata: {labels: {kueue.x-k8s.io/queue-name: lake}, annotations: {a: b}}}",
        "driverPod: {spec: {hostNetwork: true, restartPolicy: Never, schedulingGates: [{name: a/b}]}}",
        "driverPod: {spec: {initContainers: [{name: proxy, image: x, restartPolicy: Always}]}}",
        "driverPod: {spec: {containers: [{name: spark-kubernetes-driver, env: []}, {name: a, image: x}]}}",
        "serviceAccount: spark, driverPod: {spec: {serviceAccountName: spark}}",
        "serviceAccount: spark, executorPod: {spec: {serviceAccountName: less}}",
    ],
)
def test_a_template_may_say_what_pods_have_and_where_they_are_placed(tmp_path: Path, given: str) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(f"runtimes: {{default: {{sparkVersion: 4.2.0, {given}}}}}", encoding="utf-8")
    assert load(file).runtimes


def test_each_setting_that_no_job_could_run_with_is_named_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(
        "runtimes:\n  default: {sparkVersion: 4.2.0}\n  big: {sparkVersion: 4.2.0, sparkConf: {spark.x: '1', "
        "spark.kubernetes.driver.pod.name: x, spark.kubernetes.driver.label.sluice.dev/job-uid: z}}\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as error:
        load(file)
    name, label = str(error.value).removeprefix(f"{file}: ").split("; ")
    assert name.startswith(
        "runtimes.big.sparkConf.spark.kubernetes.driver.pod.name: Sluice proves the end of a run"
    )
    assert label.startswith("runtimes.big.sparkConf.spark.kubernetes.driver.label.sluice.dev/job-uid: ")
    assert all(one.endswith("remove it") for one in (name, label))


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        load(tmp_path / "absent.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ConfigError, match=r"binary\.yaml"):
        load(tmp_path / "binary.yaml")


def test_the_environment_names_redis_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(GOOD, encoding="utf-8")
    assert load(file).redis_url.startswith("redis://127.0.0.1")
    monkeypatch.setenv("SLUICE_REDIS_URL", "rediss://elsewhere:6380/1")
    assert load(file).redis_url == "rediss://elsewhere:6380/1"
    monkeypatch.setenv("SLUICE_REDIS_URL", "elsewhere:6380")
    with pytest.raises(ConfigError, match="SLUICE_REDIS_URL"):
        load(file)


@pytest.mark.parametrize("password", ["", "other"])
@pytest.mark.parametrize("place", ["file", "environment"])
@pytest.mark.parametrize(
    "url",
    [
        "redis://:sup3r/Half@h:6379/0",
        "redis://:1234/Half@h:6379/0",
        "redis://:1234#Half@h:6379/0",
        "redis://:1234?Half@h:6379/0",
        "redis://h:99999/0",
        "redis://h:Half/0",
        "redis://[::1",
        "redis://h:6379/Half",
    ],
)
def test_a_redis_url_that_cannot_be_read_is_refused_without_a_word_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, place: str, password: str
) -> None:
    file = tmp_path / "operator.yaml"
    in_file = place == "file"
    file.write_text(GOOD + (f"redisUrl: '{url}'\n" if in_file else ""), encoding="utf-8")
    if not in_file:
        monkeypatch.setenv("SLUICE_REDIS_URL", url)
    monkeypatch.setenv("SLUICE_REDIS_PASSWORD", password)
    with pytest.raises(ConfigError) as error:
        load(file)
    said = str(error.value).removeprefix(f"{file}: ")
    assert said.startswith("redisUrl: " if in_file else "the environment variable SLUICE_REDIS_URL ")
    assert said.endswith(UNREADABLE)


@pytest.mark.parametrize(
    ("url", "with_it"),
    [
        ("redis://redis:6379/0", "redis://:p%40ss%2Fword@redis:6379/0"),
        (
            "rediss://writer@redis:6380/1?ssl_check_hostname=false",
            "rediss://writer:p%40ss%2Fword@redis:6380/1?ssl_check_hostname=false",
        ),
        ("redis://writer:known@redis:6379/0", "redis://writer:known@redis:6379/0"),
        ("unix:///run/redis.sock?db=2", "unix://:p%40ss%2Fword@/run/redis.sock?db=2"),
    ],
)
def test_the_password_of_the_environment_counts_where_the_url_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, with_it: str
) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(GOOD + f"redisUrl: {url}\n", encoding="utf-8")
    assert load(file).redis_url == url
    monkeypatch.setenv("SLUICE_REDIS_PASSWORD", "p@ss/word")
    assert load(file).redis_url == with_it
    assert Endpoint.of(with_it).password in ("p@ss/word", "known")


def test_the_file_of_a_password_counts_before_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(GOOD + "redisUrl: redis+sentinel://writer@a,b/lake\n", encoding="utf-8")
    monkeypatch.setenv("SLUICE_REDIS_PASSWORD", "another")
    monkeypatch.setenv("SLUICE_REDIS_PASSWORD_FILE", "/etc/sluice-redis/password")
    redis = load(file).redis
    assert (redis.user, redis.password) == ("writer", None)
    assert redis.password_file == "/etc/sluice-redis/password"
    monkeypatch.setenv("SLUICE_REDIS_PASSWORD_FILE", "password")
    with pytest.raises(
        ConfigError, match="SLUICE_REDIS_PASSWORD_FILE must be a path that begins with a slash"
    ):
        load(file)


@pytest.mark.parametrize("place", ["file", "environment"])
def test_an_option_of_the_redis_url_that_is_not_known_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    url = "redis://h:6379/0?no_such_option=1"
    file = tmp_path / "operator.yaml"
    file.write_text(GOOD + (f"redisUrl: '{url}'\n" if place == "file" else ""), encoding="utf-8")
    if place == "environment":
        monkeypatch.setenv("SLUICE_REDIS_URL", url)
    says = {"file": "redisUrl: ", "environment": "the environment variable SLUICE_REDIS_URL "}[place]
    with pytest.raises(
        ConfigError, match=f"{says}has an option that is not known, no_such_option: there are"
    ):
        load(file)


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2h", 7200), ("1m1m", 120), ("0s", 0)]
)
def test_durations_are_read_as_they_are_written(text: str, expected: int) -> None:
    assert seconds(text) == expected
