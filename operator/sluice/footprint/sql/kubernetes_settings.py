"""The settings of Spark on Kubernetes, as a closed list: which pod runs a job, under which name, namespace and labels, from
which image and as whom, is not for them to say. One that isn't listed may say it, and is refused."""

from collections.abc import Mapping

from sluice.api.reserved_names import is_reserved

_PREFIX = "spark.kubernetes."

_OWN_POD = (
    "Sluice proves the end of a run by the name, namespace and container of its driver's pod: remove it"
)
_OWN_NAMES = "each run needs names of its own, which Spark makes: remove it"
_FILES = "the file would be one of the Spark operator's own pod: remove it"
_ACCOUNT = "drivers run as the service account that the field serviceAccount names: use that field"
_CLUSTER = "the Spark operator makes drivers in its own cluster, with its own rights: remove it"
_IMAGE = "the driver's image is what the field image names, with sparkVersion and deltaVersion beside it: use these fields"
_TEMPLATE = "pods are as the runtime profile's driverPod and executorPod say: remove it"
_INTERNAL = "Spark sets it itself when it makes a driver: remove it"
_OTHER_SETTINGS = "Spark would read settings from there that Sluice does not see: set them under sparkConf"
_RESERVED = "Sluice, Spark and the Spark operator tell pods apart by it: remove it"
_VOLCANO = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
_STEPS = f"it would change pods in ways that Sluice does not see: remove it, or write {_VOLCANO}"
_ELSEWHERE = (
    "the writes would run in another process than the driver, whose end Sluice would not see: remove it"
)
_UNKNOWN = (
    "Sluice does not know whether it decides which pod runs the job: remove it, or say by driverPod and executorPod of a runtime "
    "profile what the pods need"
)

_REFUSED: Mapping[str, str] = {
    "authenticate.driver.": _FILES,
    "authenticate.driver.serviceAccountName": _ACCOUNT,
    "authenticate.submission.": _CLUSTER,
    "container.image": _IMAGE,
    "context": _CLUSTER,
    "driver.container.image": _IMAGE,
    "driver.pod.excludedFeatureSteps": _TEMPLATE,
    "driver.pod.name": _OWN_POD,
    "driver.podTemplateContainerName": _OWN_POD,
    "driver.podTemplateFile": _OWN_POD,
    "driver.resourceNamePrefix": _OWN_NAMES,
    "executor.hadoopConfigMapName": _INTERNAL,
    "executor.pod.excludedFeatureSteps": _TEMPLATE,
    "executor.podNamePrefix": _OWN_NAMES,
    "executor.podTemplateContainerName": _TEMPLATE,
    "executor.podTemplateFile": _TEMPLATE,
    "file.upload.path": _FILES,
    "hadoop.configMapName": _OTHER_SETTINGS,
    "kerberos.krb5.path": f"{_FILES}, and use spark.kubernetes.kerberos.krb5.configMapName",
    "namespace": _OWN_POD,
    "resource.type": _INTERNAL,
    "scheduler.volcano.podGroupTemplateFile": f"{_FILES}, and use spark.kubernetes.scheduler.volcano.podGroupTemplateJson",
    "submission.waitAppCompletion": "the Spark operator would make no other driver until this one has ended: remove it",
    "submitInDriver": _INTERNAL,
}
"""What ends in a dot stands for all names that begin so, unless a longer one is listed."""

_HARMLESS = frozenset(
    {
        # how many pods, and when
        "allocation.batch.delay",
        "allocation.batch.size",
        "allocation.driver.readinessTimeout",
        "allocation.executor.timeout",
        "allocation.maxPendingPods",
        "allocation.maxPendingPodsPerRp",
        "allocation.maximum",
        "allocation.pods.allocator",
        "allocation.recoveryMode.enabled",
        "appKillPodDeletionGracePeriod",
        "dynamicAllocation.deleteGracePeriod",
        "executor.minTasksPerExecutorBeforeRolling",
        "executor.podDeletionCost",
        "executor.rollInterval",
        "executor.rollPolicy",
        "executor.terminationGracePeriodSeconds",
        # how the driver, which runs already, asks for executors and watches them
        "authenticate.caCertFile",
        "authenticate.clientCertFile",
        "authenticate.clientKeyFile",
        "authenticate.oauthToken",
        "authenticate.oauthTokenFile",
        "authenticate.driver.mounted.",
        "authenticate.executor.serviceAccountName",
        "driver.connectionTimeout",
        "driver.master",
        "driver.requestTimeout",
        "executor.apiPollingInterval",
        "executor.checkAllContainers",
        "executor.deleteOnTermination",
        "executor.deletedExecutorsCacheTimeout",
        "executor.enableApiPolling",
        "executor.enableApiWatcher",
        "executor.enablePollingWithResourceVersion",
        "executor.eventProcessingInterval",
        "executor.lostCheck.maxAttempts",
        "executor.missingPodDetectDelta",
        "executor.useDriverPodIP",
        "executorSnapshotsSubscribersShutdownGracePeriod",
        "report.interval",
        "submission.connectionTimeout",
        "submission.requestTimeout",
        "trust.certificates",
        # what a pod has and where it is placed
        "configMap.maxSize",
        "container.image.pullPolicy",
        "container.image.pullSecrets",
        "decommission.script",
        "driver.annotateExitException",
        "driver.annotation.",
        "driver.label.",
        "driver.limit.cores",
        "driver.node.selector.",
        "driver.ownPersistentVolumeClaim",
        "driver.request.cores",
        "driver.reusePersistentVolumeClaim",
        "driver.scheduler.name",
        "driver.secretKeyRef.",
        "driver.secrets.",
        "driver.service.annotation.",
        "driver.service.deleteOnTermination",
        "driver.service.ipFamilies",
        "driver.service.ipFamilyPolicy",
        "driver.service.label.",
        "driver.volumes.",
        "driver.waitToReusePersistentVolumeClaim",
        "driverEnv.",
        "executor.annotation.",
        "executor.container.image",
        "executor.decommissionLabel",
        "executor.decommissionLabelValue",
        "executor.disableConfigMap",
        "executor.label.",
        "executor.limit.cores",
        "executor.node.selector.",
        "executor.pvc.resizeFactor",
        "executor.pvc.resizeInterval",
        "executor.pvc.resizeThreshold",
        "executor.request.cores",
        "executor.resizeFactor",
        "executor.resizeInterval",
        "executor.resizeThreshold",
        "executor.scheduler.name",
        "executor.secretKeyRef.",
        "executor.secrets.",
        "executor.volumes.",
        "kerberos.krb5.configMapName",
        "kerberos.tokenSecret.itemKey",
        "kerberos.tokenSecret.name",
        "legacy.useReadWriteOnceAccessMode",
        "local.dirs.tmpfs",
        "memoryOverheadFactor",
        "node.selector.",
        "pyspark.pythonVersion",
        "scheduler.name",
        "scheduler.volcano.podGroupTemplateJson",
    }
)
_STEPS_OF_PODS = frozenset({"driver.pod.featureSteps", "executor.pod.featureSteps"})
_FROM_ELSEWHERE = "driver.secretKeyRef."
_ENVIRONMENTS = ("driverEnv.", _FROM_ELSEWHERE)
_VARIABLES: Mapping[str, str] = {
    "HADOOP_CONF_DIR": _OTHER_SETTINGS,
    "SPARK_API_MODE": _ELSEWHERE,
    "SPARK_CONF_DIR": _OTHER_SETTINGS,
    "SPARK_CONNECT_MODE_ENABLED": _ELSEWHERE,
    "SPARK_LOCAL_REMOTE": _ELSEWHERE,
    "SPARK_REMOTE": _ELSEWHERE,
}
_JAVA_OPTIONS = frozenset({"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
"""What they hold in a Secret, nobody sees before the run."""
_KNOWN = (*_REFUSED, *_HARMLESS, *_STEPS_OF_PODS)
_SPELLED = {known.lower(): known for known in _KNOWN}
_LONGEST = max(map(len, _KNOWN))
_KINDS_OF_KEYS = (
    "driver.annotation.",
    "driver.label.",
    "driver.service.annotation.",
    "driver.service.label.",
    "executor.annotation.",
    "executor.label.",
)


def why_not_on_kubernetes(name: str, value: str) -> str | None:
    """Why a setting of Spark on Kubernetes is refused; None for any other setting, too."""
    if not name.lower().startswith(_PREFIX):
        return None
    listed = _listed(name[len(_PREFIX) :].lower())
    if listed is None:
        return _UNKNOWN
    right = f"{_PREFIX}{listed}"
    is_spelled_so = name.startswith(right)
    why = _why_not(listed, name[len(right) :], value)
    if why is not None:
        return why if is_spelled_so else f"the setting is spelled {right}, and {why}"
    return None if is_spelled_so else f"names are case-sensitive, so Spark would ignore it: write {right}"


def is_listed(name: str) -> bool:
    return _listed(name.removeprefix(_PREFIX).lower()) is not None


def _listed(lower: str) -> str | None:
    """What the list says about a name: itself, or the longest beginning of it that stands for more."""
    if lower in _SPELLED:
        return _SPELLED[lower]
    longest = min(len(lower), _LONGEST)
    beginnings = (lower[: end + 1] for end in range(longest - 1, -1, -1) if lower[end] == ".")
    return next((_SPELLED[beginning] for beginning in beginnings if beginning in _SPELLED), None)


def _why_not(listed: str, rest: str, value: str) -> str | None:
    if listed in _REFUSED:
        return _REFUSED[listed]
    if listed in _STEPS_OF_PODS:
        return None if all(step.strip() in ("", _VOLCANO) for step in value.split(",")) else _STEPS
    if listed in _ENVIRONMENTS:
        is_hidden = listed == _FROM_ELSEWHERE and rest in _JAVA_OPTIONS
        return _OTHER_SETTINGS if is_hidden else _VARIABLES.get(rest)
    key = (
        value.strip() if listed == "executor.decommissionLabel" else rest if listed in _KINDS_OF_KEYS else ""
    )
    return _RESERVED if is_reserved(key, value) else None
