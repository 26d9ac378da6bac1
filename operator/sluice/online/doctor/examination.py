"""Examines an installation in one go, from where a person's kubectl works. Each check stands by itself: what one cannot ask is told
by that one, and the others go on."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace

from sluice.api import names
from sluice.api.engine_kind import EngineKind
from sluice.api.operator_status import read
from sluice.controller.process.configuration import ConfigError, understood
from sluice.engines import engine_for
from sluice.installations import quarantined_tables
from sluice.kube.client import UNAUTHORIZED, ApiError, Kube, NotFoundError
from sluice.kube.definitions import look_at_definitions
from sluice.kube.resources import APPLICATIONS, CONFIG_MAPS, DEPLOYMENTS, LEASES
from sluice.kube.rights import asks, may_account, rights_of
from sluice.kube.version import too_old, version_of
from sluice.online.access.connection import Installation, cluster, unusable
from sluice.online.access.errors import OnlineError
from sluice.online.access.leader import leader_in
from sluice.online.doctor.condition_checks import condition_findings, last_findings
from sluice.online.doctor.fencing_check import fencing_findings
from sluice.online.doctor.findings import Examination, Finding, fail, ok, warn
from sluice.online.doctor.redis_check import redis_findings
from sluice.online.doctor.register_check import register_findings
from sluice.online.doctor.runtime_checks import job_namespaces, judged_accounts, runtime_findings
from sluice.online.doctor.spark_operator import unserved
from sluice.online.doctor.stalled_policies import policy_findings
from sluice.online.doctor.table_checks import table_findings

CONFIG_KEY = "sluice.yaml"
_LIFT = "mend its log; it is read again after ten minutes (docs/operations.md), or at once by"


@dataclass(frozen=True)
class ExaminationOptions:
    """What the person says beside the installation's name."""

    redis_url: str | None = None
    service_account: str | None = None
    deployment: str | None = None


Check = Callable[[Kube, Installation, ExaminationOptions], AsyncIterator[Finding]]


async def examined(at: Installation, asked: ExaminationOptions) -> Examination:
    found: list[Finding] = []
    refused: dict[str, ApiError] = {}
    async with cluster() as kube:
        if at.profiles is None:
            at, told = await _with_config(kube, at, asked)
            found += told
        for name, check in _CHECKS.items():
            try:
                found += [finding async for finding in check(kube, at, asked)]
            except ApiError as error:
                if _ends_it(error):
                    raise
                refused[name] = error
                found.append(warn(name, "", f"the cluster does not say: {error}", "ask somebody who may"))
    unseen = _unseen(at, refused) if refused.keys() >= _OF_THE_INSTALLATION else None
    if asked.redis_url and (why := unusable(asked.redis_url)):
        found.append(fail("redis", "--redis-url", f"it {why}", "correct --redis-url or SLUICE_REDIS_URL"))
    else:
        found += await redis_findings(at, asked.redis_url)
    return Examination(tuple(found), unseen)


def _ends_it(error: ApiError) -> bool:
    """Whether each other question would be answered alike: by nothing, or because it isn't known who asks."""
    return error.status in (0, UNAUTHORIZED)


def _unseen(at: Installation, refused: Mapping[str, ApiError]) -> str:
    return (
        f"how the installation {at.deployment} in {at.namespace} is could not be seen, neither its operator nor its rights nor its "
        f"claim: the cluster refuses what was asked ({refused['operator']}): have somebody look who may, or have your account "
        "given the rights that docs/cli.md lists"
    )


async def _with_config(
    kube: Kube, at: Installation, asked: ExaminationOptions
) -> tuple[Installation, list[Finding]]:
    """The installation as the ConfigMap of its chart describes it."""
    place = f"ConfigMap of namespace {at.namespace} labelled {names.LABEL_CHART}"
    try:
        maps = (await kube.list(CONFIG_MAPS, at.namespace, names.LABEL_CHART))["items"]
    except ApiError as error:
        if _ends_it(error):
            raise
        return at, [
            warn("configuration", "", f"the {place} cannot be read: {error}", "name the file by --config")
        ]
    texts = {
        one["metadata"]["name"]: text
        for one in maps
        if (text := (one.get("data") or {}).get(CONFIG_KEY)) is not None
    }
    if asked.deployment is None and len(texts) > 1:
        raise OnlineError(
            f"namespace {at.namespace} holds the configurations of several installations (ConfigMaps {', '.join(sorted(texts))}): "
            "name one by --deployment"
        )
    wrong = []
    for name, text in texts.items():
        where = f"{at.namespace}/{name}"
        try:
            config = understood(text, where)
        except ConfigError as error:
            wrong.append(fail("configuration", where, str(error), "correct it, and restart the operator"))
            continue
        if asked.deployment not in (None, config.deployment):
            continue
        known = replace(
            at,
            deployment=config.deployment,
            watch_namespaces=config.watch_namespaces,
            profiles=config.runtimes,
            engines=config.engines,
            admission_policy=config.admission_policy,
        )
        return known, [ok("configuration", where, "it is understood")]
    if wrong:
        return at, wrong
    message = f"there is no {place} with the key {CONFIG_KEY}: runtime profiles and watched namespaces are not known"
    return at, [
        warn("configuration", "", message, "name the operator's namespace by -n, or its file by --config")
    ]


async def _kubernetes(kube: Kube, _at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    version = await version_of(kube)
    why = too_old(version)
    if why is None:
        number = f"{version.get('major')}.{version.get('minor')}"
        yield ok("kubernetes", "", f"version {number} ({version.get('gitVersion')})")
    else:
        yield fail("kubernetes", "", why, "upgrade the cluster")


async def _definitions(kube: Kube, _at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    for one in await look_at_definitions(kube):
        if one.is_older:
            yield fail("definitions", one.kind, one.what, one.cure)
        elif one.unknown:
            yield warn(
                "definitions", one.kind, one.what, "nothing is broken; upgrade the operator when convenient"
            )
        else:
            yield ok("definitions", one.kind, f"{names.API_VERSION} has every field of this version")


async def _spark_operator(kube: Kube, at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    for engine in at.engines if at.profiles is not None else (EngineKind.KUBEFLOW,):
        resource = APPLICATIONS[engine]
        kind = f"{resource.plural} of {resource.api_version}"
        if not await kube.is_discovered(resource):
            yield fail("spark operator", "", f"the API server serves no {kind}", engine_for(engine).cure)
            continue
        yield ok(
            "spark operator",
            "",
            f"the API server serves {kind}; whether an operator runs them is not checked",
        )
        if engine is EngineKind.KUBEFLOW:
            async for finding in unserved(kube, at):
                yield finding


async def _operator(kube: Kube, at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    name = names.leader_lease(at.deployment)
    where = f"Lease {at.namespace}/{name}"
    look = f"kubectl get pods -n {at.namespace}; its log says why it does not lead"
    try:
        lease = await kube.get(LEASES, at.namespace, name)
    except NotFoundError:
        cure = f"name the operator by -n and --deployment, or {look}"
        yield fail("operator", where, "it is not there: no operator of that name has led yet", cure)
        return
    leader = leader_in(lease)
    if leader.name is None:
        yield fail("operator", where, "nobody leads: no job is admitted", look)
    elif not leader.leads:
        since = "it is not known since when" if leader.silent is None else f"for {leader.silent:.0f} s"
        yield fail("operator", where, f"{leader.name} has not renewed it {since}", look)
    else:
        yield ok(
            "operator", where, f"{leader.name} leads, and renewed it {max(leader.silent or 0, 0):.0f} s ago"
        )
    annotations = lease["metadata"].get("annotations") or {}
    conditions = read(str(annotations.get(names.ANNOTATION_CONDITIONS, "")))
    judged = condition_findings if leader.leads else last_findings
    for finding in judged(at, conditions):
        yield finding
    for one in quarantined_tables.read(annotations.get(names.ANNOTATION_QUARANTINE)):
        message = f"its log has ended two readers by {one.since:%H:%M:%S}Z: the last one {one.why}"
        yield warn(
            "quarantine",
            one.table,
            message,
            f"{_LIFT}: kubectl annotate lease -n {at.namespace} {name} {names.ANNOTATION_QUARANTINE}-",
        )


async def _rights(kube: Kube, at: Installation, asked: ExaminationOptions) -> AsyncIterator[Finding]:
    account = asked.service_account or await _account_of_deployment(kube, at)
    if account is None:
        message = (
            f"there is no Deployment {at.namespace}/{at.deployment}, so the operator's account is not known"
        )
        cure = (
            "name it by --service-account; the condition RightsGranted tells what the operator found itself"
        )
        yield warn("rights", "", message, cure)
        return
    who = f"{at.namespace}:{account}"
    lacking = False
    for ask in asks(rights_of(at.deployment, at.engines), at.namespace, at.watch_namespaces):
        if await may_account(kube, ask, at.namespace, account):
            continue
        lacking = True
        told = fail if ask.right.is_needed else warn
        yield told(
            "rights",
            who,
            f"may not {ask}, which is needed {ask.right.purpose}",
            "add it to the operator's role",
        )
    if not lacking:
        yield ok("rights", who, "may do all that the operator needs")


async def _account_of_deployment(kube: Kube, at: Installation) -> str | None:
    try:
        found = await kube.get(DEPLOYMENTS, at.namespace, at.deployment)
    except NotFoundError:
        return None
    return found["spec"]["template"]["spec"].get("serviceAccountName") or "default"


async def _installations(kube: Kube, at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    async for finding in register_findings(kube, at):
        yield finding


async def _fencing(kube: Kube, at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    async for finding in fencing_findings(kube, at):
        yield finding


async def _runtimes(kube: Kube, at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    if at.profiles is None:
        yield warn(
            "runtimes", "", "the runtime profiles are not known", "name the operator's file by --config"
        )
        return
    namespaces, judged = await job_namespaces(kube, at), await judged_accounts(kube, at)
    async for finding in runtime_findings(kube, at.profiles, namespaces, judged):
        yield finding


async def _tables(kube: Kube, at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    if at.profiles is None:
        return  # which namespaces it watches isn't known either, as the check of runtimes tells
    async for finding in table_findings(kube, at):
        yield finding


async def _policies(kube: Kube, at: Installation, _asked: ExaminationOptions) -> AsyncIterator[Finding]:
    if at.profiles is None:
        return  # likewise
    async for finding in policy_findings(kube, at):
        yield finding


_OF_THE_INSTALLATION = frozenset({"operator", "rights", "installations"})
"""The checks that look at the installation itself: what the others look at, the cluster has without it."""
_CHECKS: dict[str, Check] = {
    "kubernetes": _kubernetes,
    "definitions": _definitions,
    "spark operator": _spark_operator,
    "operator": _operator,
    "rights": _rights,
    "installations": _installations,
    "admission policy": _fencing,
    "runtimes": _runtimes,
    "tables": _tables,
    "policies": _policies,
}
