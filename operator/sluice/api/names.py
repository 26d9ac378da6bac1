"""The one place that names what Sluice writes into a cluster and into tables' logs: group, kinds, labels, annotations,
finalizers, its own objects, stamps."""

GROUP = "sluice.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
CATEGORY = "sluice"

JOB_KIND = "DeltaWriteJob"
JOB_PLURAL = "deltawritejobs"
JOB_SHORT = "dwj"

POLICY_KIND = "DeltaTablePolicy"
POLICY_PLURAL = "deltatablepolicies"
POLICY_SHORT = "dtp"

LABEL_JOB = f"{GROUP}/job"
LABEL_JOB_UID = f"{GROUP}/job-uid"
LABEL_ATTEMPT = f"{GROUP}/attempt"
LABEL_POLICY = f"{GROUP}/policy"
"""On a job that a policy made: that policy's name, as much of it as a label takes. Whose it is tells its owner."""
LABEL_POLICY_KIND = f"{GROUP}/policy-kind"
"""On a job that a policy made: what it is for, in one word."""

ANNOTATION_TOKEN = f"{GROUP}/token"
ANNOTATION_WRITER_EPOCH = f"{GROUP}/writer-epoch"
ANNOTATION_LEASE = f"{GROUP}/lease"
ANNOTATION_PROGRESS = f"{GROUP}/progress"
"""On the driver's pod; the runner writes it."""
ANNOTATION_STOP = f"{GROUP}/stop"
"""On the pod of a stream's driver: that it is to stop at a batch boundary, with why. The runner reads it."""
ANNOTATION_DRIVER_DEAD = f"{GROUP}/driver-is-dead"
"""On a job, or on what is left of one: a person's word that the driver is dead, as APPLICATION@MOMENT, when its loss was told."""
ANNOTATION_DRIVER_LOST = f"{GROUP}/driver-lost"
"""On what is left of an attempt of which no job's status tells: the loss of its driver that was told."""
ANNOTATION_RETRY = f"{GROUP}/retry"
"""On a failed job: the number of its last attempt, which is to be followed by one more."""
ANNOTATION_RUN = f"{GROUP}/run"
"""On a policy: the kind of maintenance that is to be done now, or enforce, which has changes of the table tried again; and a dot
and anything, so that it can be said again."""
ANNOTATION_RUN_AT = f"{GROUP}/run-at"
"""On a job that a policy made: the time of which it is the run."""
ANNOTATION_ASKED = f"{GROUP}/asked-by"
"""On a job that a policy made: the word of the policy's annotation by which somebody asked for it."""
ANNOTATION_CHANGES = f"{GROUP}/changes"
"""On a job that a policy made: the policy's fields that it carries out, with commas between them."""
ANNOTATION_AGE_AFTER = f"{GROUP}/age-after"
"""On a job: the time for which it leaves others ahead of it in the queue, where that is longer than its tables' policies
have jobs wait until they age."""
ANNOTATION_CAME_BACK = f"{GROUP}/came-back"
"""On an application that came back with an earlier state of the API server, and is being ended."""

ANNOTATION_EPOCH = f"{GROUP}/epoch"
ANNOTATION_CONDITIONS = f"{GROUP}/conditions"
ANNOTATION_BEAT = f"{GROUP}/beat"
ANNOTATION_REVOKE = f"{GROUP}/revoke"
ANNOTATION_REVOKED = f"{GROUP}/revoked"
ANNOTATION_DRIVER_ACCOUNTS = f"{GROUP}/driver-accounts"
"""On the admission policy for drivers: the accounts that it judges, NAMESPACE:NAME or *:NAME, separated by commas."""
ANNOTATION_QUARANTINE = f"{GROUP}/quarantined-tables"
"""On the operator's Lease: the tables whose logs it does not read for a while. It reads the log of one that a person removes."""

FINALIZER_LEASE = f"{GROUP}/lease"
FINALIZER_PLACEHOLDER = f"{GROUP}/placeholder"
"""Keeps a driver's name taken when the placeholder is deleted."""
FINALIZER_KOPF = f"{GROUP}/kopf"

LABEL_PLACEHOLDER = f"{GROUP}/placeholder"
SCHEDULING_GATE = f"{GROUP}/never-starts"
PLACEHOLDER_IMAGE = f"{GROUP}/never-starts"

REPORTING_COMPONENT = f"{GROUP}/operator"

STAMP = "sluice"
"""The key in a commit's userMetadata that says whose commit it is; the runner writes it."""

DEPLOYMENT = "sluice"
"""The name of an installation that was given none."""

DISTRIBUTION = "sluice-operator"
"""What the Python package is called."""

LABEL_CHART = "app.kubernetes.io/name=sluice"
"""By which everything that the chart makes is found."""

CLAIMS_NAMESPACE = "kube-system"
CLAIMS = "sluice-installations"

EPOCH_KEY = "epoch"
"""In the admission policy's parameter."""
JUDGED_BY_EPOCH = ("objects", "statuses", "jobs")
"""What an admission policy of its own judges: the objects of runs, the statuses of jobs, and the jobs that policies make."""


def leader_lease(deployment: str) -> str:
    """The Lease object of an installation, in the operator's namespace."""
    return f"{deployment}-leader"


def unexplained_leases(deployment: str) -> str:
    """The ConfigMap of leases that no object explains, in the operator's namespace."""
    return f"{deployment}-unexplained-leases"


def reported_names(deployment: str) -> str:
    """The ConfigMap that says where runs reported that catalog names lead, in the operator's namespace."""
    return f"{deployment}-reported-names"


def epoch_parameter(deployment: str) -> str:
    """The ConfigMap in the operator's namespace that says which epoch is in force."""
    return f"{deployment}-epoch"


def epoch_probe(deployment: str, judged: str) -> str:
    """The ConfigMap that is never made: whether it would be refused tells which epoch is in force."""
    return f"{deployment}-epoch-probe-{judged}"


def epoch_policy(namespace: str, deployment: str, judged: str) -> str:
    """The admission policy of an installation that judges these, and its binding: they are of the whole cluster."""
    return f"{judged}.{deployment}.{namespace}.epoch.{GROUP}"


def drivers_policy(namespace: str, deployment: str) -> str:
    """The admission policy of an installation that judges what drivers write."""
    return f"drivers.{deployment}.{namespace}.{GROUP}"


def revoke_command(holder: str, *, namespace: str, deployment: str) -> str:
    """The whole command that frees a lease of an installation, which is in that namespace."""
    which = "" if deployment == DEPLOYMENT else f" --deployment {deployment}"
    return f"sluice leases revoke {holder} -n {namespace}{which} --yes"
