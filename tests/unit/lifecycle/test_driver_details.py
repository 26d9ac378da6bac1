"""An attempt tells where there is more to read of its driver."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from sluice.api.job_status import Attempt, AttemptDriver
from sluice.engines import Observation, RuntimeProfile, Stage
from sluice.lifecycle.attempt import next_step as way
from sluice.lifecycle.evidence.driver_details import with_driver
from sluice.lifecycle.job import pruned_objects
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body
from unit.lifecycle.objects import NAME, RUNNING, application, placeholder, pod
from unit.lifecycle.test_attempt_evidence import NOW, job
from unit.lifecycle.test_next_step import intent, step

SERVER = "https://spark-history.example/spark/"
LOGS = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": "s3a://lake/events"}


def profile(**given: Any) -> RuntimeProfile:
    return RuntimeProfile(spark_version="4.2.0", **given)


def seen(stage: Stage = Stage.RUNNING, spark_application: str | None = "spark-1") -> Observation:
    return Observation(stage, spark_application=spark_application)


def told(found: Attempt) -> AttemptDriver:
    assert found.driver is not None
    return found.driver


def view(default: RuntimeProfile, **spec: Any) -> JobView:
    return JobView(job_body("a", **spec), {"default": default}, NOW)


def test_a_driver_is_told_as_soon_as_it_runs() -> None:
    driver = pod(RUNNING)
    driver["metadata"]["labels"]["spark-app-selector"] = "spark-1"
    found = step(application("RUNNING"), pruned_objects.of_pod(driver))
    assert isinstance(found, way.ReportProgress)
    assert found.change.attempt is not None
    assert told(found.change.attempt) == AttemptDriver(
        pod=f"{NAME}-driver", pod_uid=f"uid-of-{NAME}-driver", node="node-1", spark_application="spark-1"
    )


@pytest.mark.parametrize("stage", sorted(set(Stage) - {Stage.RUNNING, Stage.ENDED}))
def test_none_is_told_before_and_where_there_was_none(stage: Stage) -> None:
    assert with_driver(job(), intent(), seen(stage)).driver is None


def test_a_driver_that_ended_before_its_application_is_over_is_told() -> None:
    assert with_driver(job(), intent(), replace(seen(Stage.NOT_OVER), exit_code=0)).driver is not None


def test_what_was_known_stays_and_what_was_not_is_added() -> None:
    unnamed = with_driver(job(), intent(), seen(spark_application=None))
    assert told(unnamed) == AttemptDriver(pod=f"{NAME}-driver")
    named = with_driver(job(), unnamed, seen(Stage.ENDED))
    assert told(named).spark_application == "spark-1"
    assert with_driver(job(), named, seen(Stage.ENDED, None)) == named


def test_its_history_is_linked_where_there_is_one() -> None:
    linked = view(profile(history_server=SERVER, spark_conf=LOGS))
    page = "https://spark-history.example/spark/history/spark-1/"
    assert told(with_driver(linked, intent(), seen())).history == page
    assert told(with_driver(linked, intent(), seen(spark_application=None))).history is None
    assert told(with_driver(view(profile(spark_conf=LOGS)), intent(), seen())).history is None


def test_a_job_that_writes_no_event_log_has_no_history() -> None:
    silent = view(
        profile(history_server=SERVER, spark_conf=LOGS),
        runtime={"sparkConf": {"spark.eventLog.enabled": "false"}},
    )
    assert told(with_driver(silent, intent(), seen())).history is None


def test_a_history_server_needs_event_logs() -> None:
    with pytest.raises(ValidationError, match=r"spark\.eventLog\.enabled"):
        profile(history_server=SERVER)


@pytest.mark.parametrize(
    "url", ["history", "ftp://history", "https://", "https://u:p@history", "https://a/b?c", "https://a\n"]
)
def test_it_is_a_url_without_credentials(url: str) -> None:
    with pytest.raises(ValidationError, match="must be a URL"):
        profile(history_server=url, spark_conf=LOGS)


def test_a_placeholder_is_no_driver() -> None:
    found = step(application("FAILED"), placeholder())
    assert isinstance(found, way.End)
    assert with_driver(job(), intent(), found.seen).driver is None
