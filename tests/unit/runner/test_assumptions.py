"""A driver whose settings are not those that the job was judged by runs nothing, and says which, from where, and what to do."""

from collections.abc import Mapping

import pytest

from sluice.footprint.sql import setting_effects
from sluice_runner import assumptions
from sluice_runner.assumptions import Assumed, NotAsJudgedError, refuse_other_settings

STORE = "spark.delta.logStore.file.impl"
CONF = {
    STORE: "dev.sluice.delta.LinkLogStore",
    "spark.sql.session.timeZone": "UTC",
    "spark.executor.cores": "2",
}


def refusal(configured: Mapping[str, str], assumed: Mapping[str, str] = CONF) -> str:
    with pytest.raises(NotAsJudgedError) as refused:
        refuse_other_settings(configured, Assumed("4.2.0", None, assumed))
    return str(refused.value)


def test_the_runner_compares_every_setting_that_the_operator_judges_by() -> None:
    assert assumptions.OF_SQL == setting_effects.OF_SQL


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"spark.executor.cores": "4", "spark.kubernetes.namespace": "team", "spark.master": "k8s://x"},
        {"spark.sql.session.timeZone": " UTC"},
        {
            "spark.hadoop.fs.s3a.secret.key": "x",
            "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": "x",
        },
    ],
)
def test_what_knows_no_tables_is_not_compared(more: Mapping[str, str]) -> None:
    refuse_other_settings({**CONF, **more}, Assumed("4.2.0", None, CONF))


@pytest.mark.parametrize(
    ("configured", "told"),
    [
        (
            {"spark.sql.caseSensitive": "true"},
            "spark.sql.caseSensitive is set to 'true', and neither job nor profile sets it",
        ),
        (
            {"spark.databricks.delta.schema.autoMerge.enabled": "false"},
            "spark.databricks.delta.schema.autoMerge.enabled is set to 'false', and neither",
        ),
        ({STORE: "org.x.Mine"}, f"{STORE} is 'org.x.Mine', and should be 'dev.sluice.delta.LinkLogStore'"),
        ({"spark.hadoop.fs.s3a.endpoint": "e"}, "spark.hadoop.fs.s3a.endpoint is set, and neither"),
        ({"spark.hive.x": ""}, "spark.hive.x is set to '', and neither"),
    ],
)
def test_a_setting_from_elsewhere_is_refused_by_name(configured: Mapping[str, str], told: str) -> None:
    message = refusal({**CONF, **configured})
    assert message.startswith(
        "nothing was run, because this driver has other settings than the job was judged by: "
    )
    assert told in message
    assert "sparkConf of the job's runtime profile" in message


def test_a_setting_that_did_not_arrive_is_refused() -> None:
    told = f"{STORE} is not set, and should be 'dev.sluice.delta.LinkLogStore'"
    assert told in refusal({name: value for name, value in CONF.items() if name != STORE})


def test_values_that_may_be_secrets_are_not_told() -> None:
    message = refusal(
        {**CONF, "spark.hadoop.x": "planted", "spark.hadoop.y": "planted"}, {**CONF, "spark.hadoop.y": "z"}
    )
    assert "spark.hadoop.y is another value, and should be 'z'" in message
    assert "planted" not in message


def test_of_many_the_first_are_told_and_the_rest_counted() -> None:
    message = refusal({**CONF, **{f"spark.sql.{letter}": "1" for letter in "abcdefgh"}})
    assert "spark.sql.e is set" in message
    assert "spark.sql.f" not in message
    assert "; and 3 more: " in message
