"""The values that tests of the chart switch: each of values.yaml is among them."""

OTHER_REDIS = ("redis.install=false", "redis.url=rediss://writer@redis.example:6380/1")
WATCHED = "the-watched-namespace"
ON_A_NODE = (
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0]"
)


def _placed(part: str) -> tuple[str, ...]:
    return (
        f"{part}.nodeSelector.disk=fast",
        f"{part}.tolerations[0].key=only,{part}.tolerations[0].operator=Exists",
        f"{part}.{ON_A_NODE}.key=metadata.name,{part}.{ON_A_NODE}.operator=In,{part}.{ON_A_NODE}.values={{node1}}",
        f"{part}.priorityClassName=system-cluster-critical",
        f"{part}.podAnnotations.told=yes",
        f"{part}.podLabels.team=lake",
    )


EVERYTHING = (
    "imageRegistry=registry.example:5000/team",
    "imagePullSecrets={pull,pull-too}",
    "ttlSecondsAfterFinished=3600",
    "sharedNamespaces={team,other}",
    "tableOwners[0].namespaces={team},tableOwners[0].paths={s3://lake/sales},tableOwners[0].names={sales.*}",
    "jobPermissions[0].namespaces={team},jobPermissions[0].templates=false,jobPermissions[0].serviceAccounts={etl-*}",
    "jobPermissions[0].volumes={emptyDir},jobPermissions[0].settings={spark.sql.*},jobPermissions[0].podSecurity=restricted",
    "engines={kubeflow,apache}",
    "policyLook=1m",
    "apiQps=50",
    "apiBurst=60",
    "ageAfter=10m",
    "runtimes.default.driver.cores=2",
    f"jobServiceAccount.namespaces={{{WATCHED}}}",
    "jobServiceAccount.annotations.role=writer",
    "admissionPolicy.driverAccounts={team:etl,*:spark}",
    "operator.verbose=true",
    "operator.replicas=3",
    "operator.image.repository=team/sluice-operator",
    "operator.image.tag=next",
    "operator.image.pullPolicy=Always",
    "operator.resources.limits.cpu=2",
    "operator.extraEnv[0].name=AWS_REGION,operator.extraEnv[0].value=eu-central-1",
    "operator.extraEnvFrom[0].secretRef.name=store",
    "operator.extraVolumes[0].name=lake,operator.extraVolumes[0].persistentVolumeClaim.claimName=lake",
    "operator.extraVolumeMounts[0].name=lake,operator.extraVolumeMounts[0].mountPath=/lake",
    "operator.serviceAccount.annotations.role=reader",
    *_placed("operator"),
    "redis.image.repository=team/redis",
    "redis.image.digest=sha256:" + "0" * 64,
    "redis.image.pullPolicy=Always",
    "redis.persistence.size=500Mi",
    "redis.persistence.storageClass=fast",
    "redis.resources.limits.memory=1Gi",
    "redis.maxMemory=512mb",
    *_placed("redis"),
    "rbac.aggregate=false",
    "networkPolicies.enabled=true",
    "monitoring.serviceMonitor.enabled=true",
    "monitoring.serviceMonitor.interval=1m",
    "monitoring.serviceMonitor.labels.release=prometheus",
    "monitoring.prometheusRule.enabled=true",
    "monitoring.prometheusRule.docs=https://docs.example/sluice",
    "monitoring.prometheusRule.labels.release=prometheus",
    "monitoring.dashboard.enabled=true",
    "monitoring.dashboard.labels.folder=lake",
)
"""Each of them changes something, whatever the others say."""

SWITCHES = {
    "as it comes": (),
    "one namespace": (f"watchNamespaces={{{WATCHED}}}",),
    "one namespace and everything said": (f"watchNamespaces={{{WATCHED}}}", *EVERYTHING),
    "everything said": EVERYTHING,
    "another Redis": OTHER_REDIS,
    "another Redis with a password": (*OTHER_REDIS, "redis.existingSecret=mine", "redis.key=secret"),
    "another Redis by its Sentinels": (
        *("redis.install=false", r"redis.url=rediss+sentinel://writer@one\,two:26380/lake?sentinel_auth=1"),
        "redis.existingSecret=mine",
    ),
    "another Redis by a Secret": (
        *("redis.install=false", "redis.existingUrl.secret=mine"),
        "redis.existingUrl.key=where",
    ),
    "its own Redis with a password that is there": ("redis.existingSecret=mine",),
    "no volume": ("redis.persistence.enabled=false",),
    "a Redis of the cluster's own user": ("redis.userId=null",),
    "other images": ("string:redis.image.tag=8.0", "operator.image.digest=sha256:" + "0" * 64),
    "no CRDs": ("crds.install=false",),
    "CRDs that go": ("crds.keep=false",),
    "no roles": ("rbac.create=false",),
    "no admission policy": ("admissionPolicy.enabled=false",),
    "another name": ("deployment=lake",),
    "an account of another name": ("operator.serviceAccount.name=other",),
    "an account that is there": (
        *("operator.serviceAccount.create=false", "operator.serviceAccount.name=other"),
    ),
    "no check before the end": ("hooks.refuseUninstall=false",),
    "no account for jobs": ("jobServiceAccount.create=false",),
    "an account of another name for jobs": (
        *("jobServiceAccount.name=etl", "runtimes.default.serviceAccount=etl"),
        f"jobServiceAccount.namespaces={{{WATCHED}}}",
    ),
}
