"""The values that tests of the chart switch: each of values.yaml is among them."""

OTHER_REDIS = ("redis.install=false", "redis.url=rediss://writer@redis.example:6380/1")
EVERYTHING = (
    "imageRegistry=registry.example:5000/team",
    "imagePullSecrets={pull,pull-too}",
    "ttlSecondsAfterFinished=3600",
    "operator.verbose=true",
    "operator.image.tag=next",
    "operator.extraEnv[0].name=AWS_REGION,operator.extraEnv[0].value=eu-central-1",
    "operator.extraEnvFrom[0].secretRef.name=store",
    "operator.extraVolumes[0].name=lake,operator.extraVolumes[0].persistentVolumeClaim.claimName=lake",
    "operator.extraVolumeMounts[0].name=lake,operator.extraVolumeMounts[0].mountPath=/lake",
    "operator.nodeSelector.disk=fast",
    "operator.tolerations[0].key=only,operator.tolerations[0].operator=Exists",
    "operator.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key=metadata.name",
    "operator.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator=In",
    "operator.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values={node1}",
    "operator.podAnnotations.told=yes",
    "operator.podLabels.team=lake",
    "operator.serviceAccount.annotations.role=reader",
    "redis.image.digest=sha256:" + "0" * 64,
    "redis.persistence.storageClass=fast",
    "redis.podLabels.team=lake",
    "networkPolicies.enabled=true",
)
WATCHED = "the-watched-namespace"
SWITCHES = {
    "as it comes": (),
    "one namespace": (f"watchNamespaces={{{WATCHED}}}",),
    "one namespace and everything said": (f"watchNamespaces={{{WATCHED}}}", *EVERYTHING),
    "everything said": EVERYTHING,
    "another Redis": OTHER_REDIS,
    "another Redis with a password": (*OTHER_REDIS, "redis.existingSecret=mine", "redis.key=secret"),
    "another Redis by a Secret": ("redis.install=false", "redis.existingUrl.secret=mine"),
    "its own Redis with a password that is there": ("redis.existingSecret=mine",),
    "no volume": ("redis.persistence.enabled=false",),
    "no CRDs": ("crds.install=false",),
    "CRDs that go": ("crds.keep=false",),
    "no roles": ("rbac.create=false",),
    "an account of another name": ("operator.serviceAccount.name=other",),
    "no check before the end": ("hooks.refuseUninstall=false",),
    "no account for jobs": ("jobServiceAccount.create=false",),
}
