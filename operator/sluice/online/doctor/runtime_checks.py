"""What runtime profiles need in the namespaces of jobs: the account of the drivers, its rights, a log store that is safe."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence

from sluice.api import names
from sluice.engines import RuntimeProfile
from sluice.engines.account import DRIVER_RIGHTS, commands
from sluice.kube.client import ApiError, Kube, NotFoundError
from sluice.kube.resources import ADMISSION_POLICIES, JOBS, SERVICE_ACCOUNTS, Resource
from sluice.kube.rights import AccessQuestion, Right, Where, may_account
from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Finding, fail, ok, warn
from sluice.tables.identity import TableKey, key_of_path
from sluice.tables.log_store import S3_CONDITIONAL_LOG_STORE, LogStore, log_store_of

DEFAULT_ACCOUNT = "default"
"""As which drivers run whose profile names no account."""

_FILE = key_of_path("file:/any/table")
_S3 = {scheme: key_of_path(f"{scheme}://any/table") for scheme in ("s3", "s3a")}
"""Delta looks a log store up by the scheme as it is written."""
_WRITES_CONDITIONALLY = (4, 1)
"""The first Spark whose Hadoop, 3.4.2, does."""
_DRIVER = tuple(
    Right(verbs, Resource("/api/v1", plural), Where.JOBS, "to make executors")
    for plural, verbs in DRIVER_RIGHTS.items()
)


async def job_namespaces(kube: Kube, at: Installation) -> list[str]:
    """The watched namespaces; where all are watched, those that have jobs."""
    if at.watch_namespaces:
        return sorted(set(at.watch_namespaces))
    pages = [page async for page in kube.pages(JOBS, None)]
    return sorted({job["metadata"]["namespace"] for page in pages for job in page["items"]})


async def judged_accounts(kube: Kube, at: Installation) -> Collection[str] | None:
    """The accounts whose drivers the chart's policy judges, as admissionPolicy.driverAccounts lists them; None: no policies are
    expected, or the cluster does not show them, which the check of these tells."""
    if not at.admission_policy:
        return None
    try:
        policy = await kube.get(ADMISSION_POLICIES, None, names.drivers_policy(at.namespace, at.deployment))
    except NotFoundError:
        return ()
    except ApiError as error:
        if not error.status:
            raise
        return None
    told = (policy["metadata"].get("annotations") or {}).get(names.ANNOTATION_DRIVER_ACCOUNTS, "")
    return {account for account in told.split(",") if account}


async def runtime_findings(
    kube: Kube,
    profiles: Mapping[str, RuntimeProfile],
    namespaces: Sequence[str],
    judged: Collection[str] | None = None,
) -> AsyncIterator[Finding]:
    """`judged`: the accounts whose drivers an admission policy judges; None: that is not known."""
    accounts: dict[str, list[str]] = {}
    for name, profile in sorted(profiles.items()):
        accounts.setdefault(profile.service_account or DEFAULT_ACCOUNT, []).append(name)
        if profile.image is None:
            yield fail("runtime", name, "names no image", f"set runtimes.{name}.image in the configuration")
        for finding in log_stores(name, profile):
            yield finding
    if not namespaces:
        yield ok("service account", "", "no namespace needs one yet")
    for namespace in namespaces:
        for account, used_by in accounts.items():
            yield await _account(kube, namespace, account, used_by)
            if judged is not None and not {f"{namespace}:{account}", f"*:{account}"} & {*judged}:
                yield _unjudged(namespace, account, used_by)


def _unjudged(namespace: str, account: str, used_by: list[str]) -> Finding:
    message = (
        f"drivers of runtime {', '.join(used_by)} may change the pods of others in namespace {namespace}: the chart's admission "
        "policy for drivers does not judge this account"
    )
    cure = f"add *:{account}, or {namespace}:{account}, to admissionPolicy.driverAccounts of the chart"
    return warn("driver account", f"{namespace}:{account}", message, cure)


async def _account(kube: Kube, namespace: str, account: str, used_by: list[str]) -> Finding:
    subject = f"{namespace}:{account}"
    whose = f"runtime {', '.join(used_by)}"
    try:
        await kube.get(SERVICE_ACCOUNTS, namespace, account)
    except NotFoundError:
        message = f"namespace {namespace} has no service account {account} for drivers of {whose} to run as"
        return fail("service account", subject, message, commands(namespace, account))
    except ApiError as error:
        if not error.status:
            raise
        return warn("service account", subject, f"the cluster does not say: {error}", "ask somebody who may")
    try:
        lacking = await _lacking(kube, namespace, account)
    except ApiError as error:
        if not error.status:
            raise
        message = f"it is there; what it is allowed is not known: {error}"
        return warn("service account", subject, message, "ask somebody who may create SubjectAccessReviews")
    if lacking is not None:
        message = f"drivers of {whose} need more rights: the account may not {lacking}"
        return fail("service account", subject, message, commands(namespace, account))
    return ok("service account", subject, f"it exists and has the rights that drivers of {whose} need")


async def _lacking(kube: Kube, namespace: str, account: str) -> AccessQuestion | None:
    """The first right that the account does not have."""
    for right in _DRIVER:
        for verb in right.verbs:
            ask = AccessQuestion(verb, right, namespace)
            if not await may_account(kube, ask, namespace, account):
                return ask
    return None


def log_stores(name: str, profile: RuntimeProfile) -> Iterator[Finding]:
    """What the settings of a profile say of commits. Only what differs from store to store is told: a table that is declared
    otherwise by its policy is as its policy says."""
    if log_store_of(_FILE, profile.spark_conf) is LogStore.LINK:
        yield ok("log store", f"{name}, file", "LinkLogStore, which images of this project's recipe contain")
    else:
        message = "jobs on one table of a shared folder run one at a time, because Delta's own store may lose commits"
        cure = f"runtimes.{name}.sparkConf: spark.delta.logStore.file.impl: dev.sluice.delta.LinkLogStore"
        yield warn("log store", f"{name}, file", message, cure)
    for scheme, table in _S3.items():
        yield _on_s3(name, profile, scheme, table)


def _on_s3(name: str, profile: RuntimeProfile, scheme: str, table: TableKey) -> Finding:
    where, setting = f"{name}, {scheme}", f"spark.delta.logStore.{scheme}.impl"
    store = log_store_of(table, profile.spark_conf)
    major, minor, *_ = profile.spark_version.split(".")
    old = (int(major), int(minor)) < _WRITES_CONDITIONALLY
    if store is LogStore.S3_CONDITIONAL and old:
        message = f"S3ConditionalLogStore needs Hadoop 3.4.2, which Spark {profile.spark_version} does not bring: jobs on S3 fail"
        return fail(
            "log store",
            where,
            message,
            f"remove {setting} from runtimes.{name}.sparkConf: jobs then run one at a time",
        )
    if store is LogStore.S3_CONDITIONAL:
        message = "S3ConditionalLogStore, which images of this project's recipe contain"
        return ok("log store", where, message)
    if store is LogStore.S3_DYNAMODB:
        message = "S3DynamoDBLogStore: the image must contain delta-storage-s3-dynamodb, which cannot be seen from here"
        return ok("log store", where, message)
    named = profile.spark_conf.get(setting) or profile.spark_conf.get("spark.delta.logStore.class")
    what = f"{named} is not known to keep" if named else "no setting keeps"
    message = f"jobs on one table of S3 run one at a time: {what} the commits of two drivers apart"
    cure = "use Spark 4.2" if old else f"runtimes.{name}.sparkConf: {setting}: {S3_CONDITIONAL_LOG_STORE}"
    return warn("log store", where, message, cure)
