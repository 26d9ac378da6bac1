"""What is left of an object in a bundle."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sluice.online.bundle.masked_objects import ObjectMasking


def masked(body: Any) -> Any:
    return ObjectMasking().masked(body)


def test_of_variables_only_those_that_are_known_to_be_harmless_keep_their_values() -> None:
    from_secret = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "lake", "key": "secret"}}}
    given = {
        "env": [
            {"name": "DB_PASSWORD", "value": "hunter2"},
            {"name": "GREETING", "value": "hello"},
            {"name": "SPARK_USER", "value": "185"},
            from_secret,
        ],
        "envVars": {"ANYTHING": "hello", "TZ": "UTC"},
    }
    assert masked(given) == {
        "env": [
            {"name": "DB_PASSWORD", "value": "***"},
            {"name": "GREETING", "value": "***"},
            {"name": "SPARK_USER", "value": "185"},
            from_secret,
        ],
        "envVars": {"ANYTHING": "***", "TZ": "UTC"},
    }


def test_settings_and_fields_that_are_called_secret_lose_their_values_whatever_they_are() -> None:
    given = {
        "sparkConf": {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.executor.memory": "4g"},
        "apiKey": 12345,
        "imagePullSecrets": ["registry"],
        "volumes": [{"secret": {"secretName": "lake"}}],
        "automountServiceAccountToken": True,
        "attempts": [{"token": 17179869184}],
    }
    assert masked(given) == given | {
        "sparkConf": {"spark.hadoop.fs.s3a.secret.key": "***", "spark.executor.memory": "4g"},
        "apiKey": "***",
    }


def test_all_that_lies_below_a_field_that_is_called_secret_is_left_out() -> None:
    given: dict[str, Any] = {
        "parameters": {"password": {"string": "hunter2"}, "day": {"date": "2026-11-19"}},
        "sparkConf": {"spark.lake.password": ["hunter2"]},
        "credentials": {"user": "me", "keys": [{"first": 7}]},
        "settings": [{"name": "db-password", "value": "hunter2"}, {"key": "rows", "value": "7"}],
        "volumes": [
            {"secret": {"secretName": "lake", "items": [{"key": "a", "path": "b"}]}},
            {"csi": {"driver": "x", "volumeAttributes": {"connection": "hunter2"}}},
            {"projected": {"sources": [{"serviceAccountToken": {"audience": "sts", "path": "token"}}]}},
        ],
        "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Cookie", "value": "hunter2"}]}},
    }
    assert masked(given) == given | {
        "parameters": {"password": {"string": "***"}, "day": {"date": "2026-11-19"}},
        "sparkConf": {"spark.lake.password": ["***"]},
        "credentials": {"user": "***", "keys": [{"first": "***"}]},
        "settings": [{"name": "db-password", "value": "***"}, {"key": "rows", "value": "7"}],
        "volumes": [
            given["volumes"][0],
            {"csi": {"driver": "x", "volumeAttributes": {"connection": "***"}}},
            given["volumes"][2],
        ],
        "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Cookie", "value": "***"}]}},
    }


def test_variables_and_annotations_of_pods_are_left_out_where_settings_set_them() -> None:
    kept = {
        "spark.executorEnv.TZ": "UTC",
        "spark.kubernetes.driver.annotation.sluice.dev/token": "1",
        "spark.kubernetes.executor.label.team": "sales",
    }
    left_out = (
        "spark.kubernetes.driverEnv.DBPASS",
        "spark.executorEnv.GREETING",
        "spark.kubernetes.driver.annotation.team.example/contact",
        "spark.kubernetes.executor.annotation.team.example/contact",
        "spark.kubernetes.driver.service.annotation.team.example/contact",
    )
    given = {"sparkConf": kept | dict.fromkeys(left_out, "hello")}
    assert masked(given) == {"sparkConf": kept | dict.fromkeys(left_out, "***")}


def test_options_of_a_source_are_kept_only_where_they_say_how_to_read() -> None:
    given = {"source": {"options": {"Header": "true", "url": "jdbc:x", "dbtable": "orders"}}}
    assert masked(given) == {"source": {"options": {"Header": "true", "url": "***", "dbtable": "***"}}}


def test_annotations_of_others_and_copies_of_whole_manifests_are_left_out() -> None:
    given = {
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": '{"password": "hunter2"}',
            "team.example/contact": "hello",
            "sluice.dev/lease": '{"token":17179869184,"note":"password=hunter2"}',
        },
        "managedFields": [{"manager": "kubectl"}],
    }
    assert masked(given) == {
        "annotations": {
            "team.example/contact": "***",
            "sluice.dev/lease": '{"token": 17179869184, "note": "password=***"}',
        }
    }


def test_annotations_of_a_drivers_service_are_annotations() -> None:
    given = {"serviceAnnotations": {"team.example/contact": "hello"}}
    assert masked(given) == {"serviceAnnotations": {"team.example/contact": "***"}}


def test_of_arguments_the_plan_and_what_follows_the_name_of_a_secret_are_left_out() -> None:
    given = {"args": ["--plan=eJwVz", "--password", "hunter2", "--api-key=hunter2", "--rows", "1000"]}
    assert masked(given) == {"args": ["--plan=***", "--password", "***", "--api-key=***", "--rows", "1000"]}


def test_a_text_that_is_an_object_is_read_as_one() -> None:
    report = json.dumps({"settings": {"db.password": "hun ter2"}, "memory": "4g"})
    told = masked({"data": {"report.json": report}})["data"]["report.json"]
    assert json.loads(told) == {"settings": {"db.password": "***"}, "memory": "4g"}
    assert masked("{not JSON, password=hunter2}") == "{not JSON, password=***}"
    assert masked("[" * 100_000).startswith("[[[")


@pytest.mark.parametrize(
    "written",
    ["{}", "x{}y", "https://h/?q={}", "said {}."],
)
def test_what_was_left_out_at_one_place_is_left_out_everywhere(written: str) -> None:
    secret = 'p"ss wörd/1'
    masking = ObjectMasking("nightly")
    masking.masked({"env": [{"name": "DB_PASSWORD", "value": secret}]})
    for form in (secret, json.dumps(secret)[1:-1], "p%22ss%20w%C3%B6rd%2F1", "cCJzcyB3w7ZyZC8x"):
        text = written.format(form)
        assert masking.without_found(text) == written.format("***"), form


def test_ordinary_words_are_not_looked_for_elsewhere() -> None:
    masking = ObjectMasking("nightly", "etl")
    values = ["true", "/opt/spark/work-dir1", "production", "nightly-0123abcd-1"]
    masking.masked({"env": [{"name": f"V{number}", "value": value} for number, value in enumerate(values)]})
    assert masking.without_found(" ".join(values)) == " ".join(values)
    masking.masked({"env": [{"name": "OPAQUE", "value": "x9Kq2LmP0aZ7"}]})
    assert masking.without_found("it is x9Kq2LmP0aZ7") == "it is ***", "what nobody would write by hand is"


def test_of_javas_properties_those_of_java_its_logging_and_spark_are_kept() -> None:
    options = "-Dfile.encoding=UTF-8 -Dlake.license={0} -Ddb.note='{0} x' -Dsun.pw={0} -Dlog4j2.level=INFO -Dspark.ui.port=1"
    given = {
        "sparkConf": {"spark.driver.extraJavaOptions": options.format("hunter2")},
        "driver": {"javaOptions": options.format("hunter2")},
        "args": [options.format("hunter2"), "-Dlake.license=hunter2"],
    }
    left = "-Dfile.encoding=UTF-8 -Dlake.license=*** -Ddb.note='***' -Dsun.pw=*** -Dlog4j2.level=INFO -Dspark.ui.port=1"
    assert masked(given) == {
        "sparkConf": {"spark.driver.extraJavaOptions": left},
        "driver": {"javaOptions": left},
        "args": [left, "-Dlake.license=***"],
    }


CALLED = ("password", "dbPass", "PGPASS", "pwd", "lake.credential", "accountkey", "apiKey", "client.secret")
SECRET = "S3cretx9Kq2Lm"
POD_PLACES: tuple[str, ...] = ("env", "args", "command", "annotation")


def _pod(place: str, name: str) -> Any:
    container: dict[str, Any] = {"name": "main"}
    if place == "env":
        container["env"] = [{"name": name, "value": SECRET}]
    if place in ("args", "command"):
        container[place] = [
            f"--{name}",
            SECRET,
            f"--{name}={SECRET}",
            f"{name}={SECRET}",
            f"-D{name}={SECRET}",
        ]
    annotations = {f"team.example/{name}": SECRET} if place == "annotation" else {}
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}


def _kubeflow(place: str, name: str) -> Any:
    template = {
        "conf": {"sparkConf": {f"spark.lake.{name}": SECRET}},
        "hadoop": {"hadoopConf": {f"fs.lake.{name}": SECRET}},
        "environment": {"sparkConf": {f"spark.executorEnv.{name}": SECRET}},
        "java": {"driver": {"javaOptions": f"-Xmx1g -D{name}={SECRET}"}},
        "java-conf": {"sparkConf": {"spark.executor.extraJavaOptions": f"-Dx.{name}='{SECRET}'"}},
        "arguments": {"arguments": [f"--{name}", SECRET, f"{name}={SECRET}", f"-D{name}={SECRET}"]},
        "envVars": {"driver": {"envVars": {name: SECRET}}},
        "sidecar": {"driver": {"sidecars": [_pod("args", name)["spec"]["containers"][0]]}},
        "address": {"deps": {"repositories": [f"https://me:{SECRET}@repo.example/maven"]}},
    }
    return {"application": {"engine": "kubeflow", "template": template[place]}}


def _apache(place: str, name: str) -> Any:
    template = {
        "conf": {"sparkConf": {f"spark.lake.{name}": SECRET}},
        "arguments": {"driverArgs": [f"--{name}", SECRET, f"--{name}={SECRET}"]},
        "driver": {"driverSpec": {"podTemplateSpec": _pod("env", name)}},
        "executor": {"executorSpec": {"podTemplateSpec": _pod("command", name)}},
    }
    return {"application": {"engine": "apache", "template": template[place]}}


def _profile(place: str, name: str) -> Any:
    profile = {
        "conf": {"sparkConf": {f"spark.lake.{name}": SECRET}},
        "java": {"sparkConf": {"spark.driver.extraJavaOptions": f"-Dx.{name}={SECRET}"}},
        "driver": {"driverPod": _pod("env", name)},
        "executor": {"executorPod": _pod("args", name)},
    }
    return {"runtimes": {"default": profile[place]}}


def _job(place: str, name: str) -> Any:
    spec = {
        "conf": {"runtime": {"sparkConf": {f"spark.lake.{name}": SECRET}}},
        "options": {"write": {"source": {"options": {name: SECRET}}}},
        "sql": {"sql": f"CREATE TABLE t USING jdbc OPTIONS ({name} '{SECRET}')"},
        "parameters": {"parameters": {name: SECRET}},
    }
    return {"metadata": {"annotations": {f"x/{name}": SECRET}}, "spec": spec[place]}


PLANTED = [
    *((_pod, place) for place in POD_PLACES),
    *((_kubeflow, place) for place in ("conf", "hadoop", "environment", "java", "java-conf", "arguments")),
    *((_kubeflow, place) for place in ("envVars", "sidecar", "address")),
    *((_apache, place) for place in ("conf", "arguments", "driver", "executor")),
    *((_profile, place) for place in ("conf", "java", "driver", "executor")),
    *((_job, place) for place in ("conf", "options", "sql", "parameters")),
]


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize(("body", "place"), PLANTED)
def test_a_secret_is_left_out_wherever_a_manifest_may_hold_it_and_of_what_is_printed_of_it(
    body: Callable[[str, str], Any], place: str, name: str
) -> None:
    given = body(place, name)
    assert SECRET in json.dumps(given)
    masking = ObjectMasking("nightly")
    assert SECRET not in json.dumps(masking.masked(given))
    if (body, place) not in ((_kubeflow, "address"), (_job, "sql")):
        assert masking.without_found(f"a log prints {SECRET}") == "a log prints ***"
