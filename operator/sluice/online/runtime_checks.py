"""What runtime profiles need in the namespaces of jobs: the account of the drivers, its rights, a log store that is safe."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from sluice.engines import RuntimeProfile
from sluice.engines.account import DRIVER_RESOURCES, DRIVER_VERBS, commands
from sluice.kube.client import ApiError, Kube, NotFoundError
from sluice.kube.resources import JOBS, SERVICE_ACCOUNTS, Resource
from sluice.kube.rights import Ask, Right, Where, may_account
from sluice.online.connection import Installation
from sluice.online.findings import Finding, fail, ok, warn
from sluice.tables.identity import key_of_path
from sluice.tables.log_store import S3_CONDITIONAL_LOG_STORE, LogStore, log_store_of

DEFAULT_ACCOUNT = "default"
"""As which drivers run whose profile names no account."""

_FILE, _S3 = key_of_path("file:/any/table"), key_of_path("s3://any/table")
_DRIVER = tuple(
    Right(DRIVER_VERBS, Resource("/api/v1", plural), Where.JOBS, "to make executors")
    for plural in DRIVER_RESOURCES
)


async def job_namespaces(kube: Kube, at: Installation) -> list[str]:
    """The watched namespaces; where all are watched, those that have jobs."""
    if at.watch_namespaces:
        return sorted(set(at.watch_namespaces))
    pages = [page async for page in kube.pages(JOBS, None)]
    return sorted({job["metadata"]["namespace"] for page in pages for job in page["items"]})


async def runtime_findings(
    kube: Kube, profiles: Mapping[str, RuntimeProfile], namespaces: Sequence[str]
) -> AsyncIterator[Finding]:
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


async def _lacking(kube: Kube, namespace: str, account: str) -> Ask | None:
    """The first right that the account does not have."""
    for right in _DRIVER:
        for verb in right.verbs:
            ask = Ask(verb, right, namespace)
            if not await may_account(kube, ask, namespace, account):
                return ask
    return None


def log_stores(name: str, profile: RuntimeProfile) -> Iterator[Finding]:
    """What the settings of a profile say of commits. Only what differs from store to store is told: a table that is declared
    otherwise by its policy is as its policy says."""
    if log_store_of(_FILE, profile.spark_conf) is LogStore.LINK:
        yield ok("log store", f"{name}, file:", "LinkLogStore, which images of this project's recipe contain")
    else:
        message = "jobs on one table of a shared folder run one at a time, because Delta's own store may lose commits"
        cure = f"runtimes.{name}.sparkConf: spark.delta.logStore.file.impl: dev.sluice.delta.LinkLogStore"
        yield warn("log store", f"{name}, file:", message, cure)
    store = log_store_of(_S3, profile.spark_conf)
    if store is LogStore.S3_CONDITIONAL:
        message = "S3ConditionalLogStore: images of this project's recipe contain it, and need Hadoop 3.4.2, as Spark 4.2 brings it"
        yield ok("log store", f"{name}, s3:", message)
    elif store is LogStore.S3_DYNAMODB:
        message = "S3DynamoDBLogStore: the image must contain delta-storage-s3-dynamodb, which cannot be seen from here"
        yield ok("log store", f"{name}, s3:", message)
    else:
        message = (
            "jobs on one table of S3 run one at a time: no setting keeps the commits of two drivers apart"
        )
        cure = (
            f"runtimes.{name}.sparkConf: spark.delta.logStore.s3.impl and spark.delta.logStore.s3a.impl: "
            f"{S3_CONDITIONAL_LOG_STORE}"
        )
        yield warn("log store", f"{name}, s3:", message, cure)
