"""Which pod runs a job, under which name and labels, is not for a setting to say: what isn't known to be harmless is refused."""

import pytest

from sluice.footprint import NotUnderstoodError
from sluice.footprint.sql.settings import refuse_settings

VOLCANO = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("spark.kubernetes.driver.podTemplateContainerName", "other", "end of a run"),
        ("spark.kubernetes.driver.podTemplateFile", "/opt/x", "end of a run"),
        ("spark.kubernetes.driver.pod.name", "x", "end of a run"),
        ("spark.kubernetes.namespace", "other", "end of a run"),
        ("spark.kubernetes.executor.podTemplateContainerName", "other", "driverPod and executorPod"),
        ("spark.kubernetes.executor.podTemplateFile", "/opt/x", "driverPod and executorPod"),
        ("spark.kubernetes.driver.pod.excludedFeatureSteps", "x.Y", "driverPod and executorPod"),
        ("spark.kubernetes.executor.pod.excludedFeatureSteps", "x.Y", "driverPod and executorPod"),
        ("spark.kubernetes.driver.pod.featureSteps", f"{VOLCANO},x.Y", VOLCANO),
        ("spark.kubernetes.executor.pod.featureSteps", "x.Y", VOLCANO),
        ("spark.kubernetes.driver.annotation.sluice.dev/lease", "no", "tell pods apart"),
        ("spark.kubernetes.driver.label.sluice.dev/job-uid", "no", "tell pods apart"),
        ("spark.kubernetes.driver.label.more.sluice.dev/x", "no", "tell pods apart"),
        ("spark.kubernetes.executor.annotation.sluice.dev/lease", "no", "tell pods apart"),
        ("spark.kubernetes.executor.label.sluice.dev/job-uid", "no", "tell pods apart"),
        ("spark.kubernetes.driver.service.label.sluice.dev/job", "no", "tell pods apart"),
        ("spark.kubernetes.driver.service.annotation.sluice.dev/job", "no", "tell pods apart"),
        ("spark.kubernetes.driver.label.spark-role", "executor", "tell pods apart"),
        ("spark.kubernetes.driver.label.spark-app-selector", "x", "tell pods apart"),
        ("spark.kubernetes.executor.label.spark-role", "driver", "tell pods apart"),
        ("spark.kubernetes.executor.label.spark-exec-id", "1", "tell pods apart"),
        ("spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name", "x", "tell pods apart"),
        ("spark.kubernetes.driver.annotation.sparkoperator.k8s.io/x", "x", "tell pods apart"),
        ("spark.kubernetes.driver.label.app.kubernetes.io/name", "sluice", "tell pods apart"),
        ("spark.kubernetes.executor.decommissionLabel", "sluice.dev/job-uid", "tell pods apart"),
        ("spark.kubernetes.driver.resourceNamePrefix", "x", "names of its own"),
        ("spark.kubernetes.executor.podNamePrefix", "x", "names of its own"),
        ("spark.kubernetes.context", "other", "own cluster"),
        ("spark.kubernetes.authenticate.submission.caCertFile", "/x", "own cluster"),
        ("spark.kubernetes.authenticate.driver.oauthTokenFile", "/x", "Spark operator's own pod"),
        ("spark.kubernetes.kerberos.krb5.path", "/x", "krb5.configMapName"),
        ("spark.kubernetes.scheduler.volcano.podGroupTemplateFile", "/x", "podGroupTemplateJson"),
        ("spark.kubernetes.file.upload.path", "s3a://x/y", "Spark operator's own pod"),
        ("spark.kubernetes.authenticate.driver.serviceAccountName", "boss", "the field serviceAccount"),
        ("spark.kubernetes.container.image", "x", "the field image"),
        ("spark.kubernetes.driver.container.image", "x", "the field image"),
        ("spark.kubernetes.submission.waitAppCompletion", "true", "no other driver"),
        ("spark.kubernetes.submitInDriver", "true", "Spark sets it itself"),
        ("spark.kubernetes.resource.type", "java", "Spark sets it itself"),
        ("spark.kubernetes.hadoop.configMapName", "x", "does not see"),
        ("spark.kubernetes.driverEnv.HADOOP_CONF_DIR", "/x", "does not see"),
        ("spark.kubernetes.driver.secretKeyRef.SPARK_CONF_DIR", "s:k", "does not see"),
        ("spark.kubernetes.driver.secretKeyRef.JAVA_TOOL_OPTIONS", "s:k", "does not see"),
        ("spark.kubernetes.driverEnv.SPARK_REMOTE", "sc://elsewhere", "another process"),
        ("spark.kubernetes.driver.secretKeyRef.SPARK_REMOTE", "s:k", "another process"),
        ("spark.remote", "sc://elsewhere", "another process"),
        ("spark.api.mode", "connect", "another process"),
        ("spark.databricks.delta.v2.enableMode", "STRICT", "past the LogStore"),
        ("spark.databricks.delta.v2.enableMode", "NONE", "past the LogStore"),
        ("spark.hadoop.sluice.gate.any", "com.example.Own", "spec.writes promises"),
        ("spark.master", "local[*]", "the Spark operator starts each run"),
        ("spark.submit.deployMode", "client", "the Spark operator starts each run"),
        ("spark.app.id", "mine", "from those of others"),
        ("spark.kubernetes.driver.finalizers", "x", "does not know"),
        ("spark.kubernetes.driver.schedulerName", "x", "does not know"),
        ("spark.kubernetes.", "x", "does not know"),
    ],
)
def test_what_decides_which_pod_runs_is_refused_with_what_to_do(name: str, value: str, says: str) -> None:
    with pytest.raises(NotUnderstoodError) as error:
        refuse_settings({name: value})
    assert str(error.value).startswith(f"sparkConf {name}: ")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        (
            "spark.kubernetes.driver.podtemplatecontainername",
            "spark.kubernetes.driver.podTemplateContainerName",
        ),
        ("spark.Kubernetes.driver.label.sluice.dev/job", "spark.kubernetes.driver.label."),
        ("spark.kubernetes.memoryoverheadfactor", "spark.kubernetes.memoryOverheadFactor"),
    ],
)
def test_another_case_is_told_by_the_right_spelling(name: str, right: str) -> None:
    with pytest.raises(NotUnderstoodError, match=rf"sparkConf {name}: .*{right}"):
        refuse_settings({name: "0.2"})


@pytest.mark.parametrize(
    "name",
    [
        "spark.kubernetes.driver.podTemplateContainerName=other",
        "spark.driver.extraJavaOptions=-Dspark.sql.ansi.enabled",
        "spark.hadoop.fs.defaultFS = hdfs://nn",
        "spark.kubernetes.namespace ",
    ],
)
def test_a_name_that_spark_submit_would_cut_in_two_is_refused(name: str) -> None:
    with pytest.raises(NotUnderstoodError, match="spark-submit would read another name"):
        refuse_settings({name: "x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.kubernetes.driver.label.team", "etl"),
        ("spark.kubernetes.driver.label.kueue.x-k8s.io/queue-name", "lake"),
        ("spark.kubernetes.driver.label.not-sluice.dev/x", "y"),
        ("spark.kubernetes.driver.label.app.kubernetes.io/name", "orders"),
        ("spark.kubernetes.driver.annotation.prometheus.io/scrape", "true"),
        ("spark.kubernetes.executor.label.a.b.c", "d"),
        ("spark.kubernetes.driver.secretKeyRef.TOKEN", "db:token"),
        ("spark.kubernetes.driver.secrets.db", "/etc/secrets"),
        ("spark.kubernetes.driver.volumes.persistentVolumeClaim.lake.mount.path", "/lake"),
        ("spark.kubernetes.authenticate.driver.mounted.oauthTokenFile", "/var/run/token"),
        ("spark.kubernetes.authenticate.oauthTokenFile", "/var/run/token"),
        ("spark.kubernetes.authenticate.executor.serviceAccountName", "less"),
        ("spark.kubernetes.driver.pod.featureSteps", VOLCANO),
        ("spark.kubernetes.driver.scheduler.name", "volcano"),
        ("spark.kubernetes.driverEnv.TZ", "UTC"),
        ("spark.kubernetes.driver.limit.cores", "2"),
        ("spark.kubernetes.executor.deleteOnTermination", "false"),
        ("spark.kubernetes.node.selector.disktype", "ssd"),
        ("spark.api.mode", "classic"),
        ("spark.databricks.delta.v2.enableMode", "AUTO"),
    ],
)
def test_what_a_pod_has_and_where_it_is_placed_may_be_said(name: str, value: str) -> None:
    refuse_settings({name: value})
