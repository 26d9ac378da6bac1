"""What there is of the operator that runs a job: how it is, how it is configured, what it logged, which leases it holds; and the
versions of everything around it."""

from collections.abc import Iterable
from dataclasses import replace
from importlib import metadata as packages

import yaml

from sluice.api import names
from sluice.api.base import Json
from sluice.api.operator_status import read
from sluice.controller.process.configuration import ConfigError, OperatorConfig, understood
from sluice.engines import ENGINES
from sluice.installations.claims import Claim
from sluice.installations.register import Register
from sluice.kube.client import ApiError
from sluice.kube.definitions import look_at_definitions
from sluice.kube.resources import CONFIG_MAPS, DEPLOYMENTS, LEASES, PODS
from sluice.kube.version import version_of
from sluice.online import answers
from sluice.online.access.connection import Installation
from sluice.online.access.errors import OnlineError
from sluice.online.access.job_names import JobName
from sluice.online.access.job_objects import object_in, objects_in, status_in
from sluice.online.bundle.collection import Collection
from sluice.online.bundle.job_parts import JobParts
from sluice.online.bundle.logs import end_of_log, lines_about
from sluice.online.doctor import examination
from sluice.online.leases.lease_list import listed

_OPERATOR_PODS = f"{names.LABEL_CHART},app.kubernetes.io/component=operator"


def version_of_this() -> str:
    try:
        return packages.version(names.DISTRIBUTION)
    except packages.PackageNotFoundError:
        return "a checkout that is not installed"


async def installation_of(collecting: Collection, job: JobName) -> Installation | None:
    """The installation that claims the job's namespace; None where that can't be told."""
    found: Installation | None = None
    async with collecting.part("who runs the job"):
        try:
            claims = await Register(collecting.kube).claims()
        except ApiError as error:
            raise OnlineError(f"{error}; name the operator's namespace by --operator-namespace") from error
        found = _claiming(job.namespace, claims.values())
        if found is None:
            raise OnlineError(f"no installation claims namespace {job.namespace}: does an operator watch it?")
    return found


def _claiming(namespace: str, claims: Iterable[str]) -> Installation | None:
    found: list[Claim] = []
    for text in claims:
        try:
            claim = Claim.from_json(text)
        except (ValueError, RecursionError):
            continue  # `sluice doctor` tells of claims that nobody can read
        if claim.covers(namespace):
            found.append(claim)
    found.sort(key=lambda claim: (not claim.namespaces, str(claim.identity)))
    if not found:
        return None
    one = found[0]
    return Installation(one.identity.namespace, one.identity.deployment, watch_namespaces=one.namespaces)


async def collect_operator(collecting: Collection, found: JobParts, at: Installation) -> None:
    at = await _collect_configuration(collecting, at)
    await _collect_lease(collecting, at)
    await _collect_leases(collecting, found, at)
    await _collect_doctor(collecting, at)
    await _collect_pods(collecting, found, at)


async def collect_versions(collecting: Collection, at: Installation | None) -> None:
    told: Json = {"sluice": version_of_this()}
    async with collecting.part("the version of Kubernetes"):
        told["kubernetes"] = await version_of(collecting.kube)
    async with collecting.part("how the definitions in the cluster differ from this version's"):
        told["definitions"] = [
            {"kind": one.kind, "is": str(one) if one.is_older or one.unknown else "as in this version"}
            for one in await look_at_definitions(collecting.kube)
        ]
    if at is not None:
        async with collecting.part("the operator's Deployment"):
            told["operator"] = _images(await collecting.kube.get(DEPLOYMENTS, at.namespace, at.deployment))
    async with collecting.part("the Spark operator's Deployments"):
        told["sparkOperators"] = [
            _images(one)
            for engine in ENGINES.values()
            for one in await collecting.some(DEPLOYMENTS, None, engine.operators_labels)
        ]
    collecting.bundle.add("versions.json", "versions", told)


def _images(deployment: Json) -> Json:
    containers = objects_in(deployment["spec"]["template"]["spec"].get("containers"))
    return {
        "deployment": f"{deployment['metadata']['namespace']}/{deployment['metadata']['name']}",
        "images": {str(one.get("name")): one.get("image") for one in containers},
        "args": {str(one.get("name")): {"args": one.get("args") or []} for one in containers},
    }


async def _collect_configuration(collecting: Collection, at: Installation) -> Installation:
    """Returns the installation as it is configured, as far as that can be read."""
    known = at
    async with collecting.part("the operator's configuration"):
        for one in await collecting.some(CONFIG_MAPS, at.namespace, names.LABEL_CHART):
            text = object_in(one.get("data")).get(examination.CONFIG_KEY)
            where = f"{at.namespace}/{one['metadata']['name']}"
            config = None if text is None else _configuration(text, where)
            if config is not None and config.deployment == at.deployment:
                known = replace(
                    at,
                    watch_namespaces=config.watch_namespaces,
                    profiles=config.runtimes,
                    engines=config.engines,
                )
                content = yaml.safe_load(str(text))
                collecting.bundle.add("operator/configuration.json", f"ConfigMap {where}", content)
                break
        else:
            raise OnlineError(f"namespace {at.namespace} has no ConfigMap of the chart for {at.deployment}")
    return known


def _configuration(text: str, where: str) -> OperatorConfig:
    try:
        return understood(text, where)
    except ConfigError as error:
        raise OnlineError(str(error)) from error


async def _collect_lease(collecting: Collection, at: Installation) -> None:
    async with collecting.part("who leads, and the operator's conditions"):
        lease = await collecting.kube.get(LEASES, at.namespace, names.leader_lease(at.deployment))
        annotations = object_in(lease["metadata"].get("annotations"))
        conditions = read(str(annotations.get(names.ANNOTATION_CONDITIONS, "")))
        content = {
            "lease": lease,
            "conditions": [one.model_dump(mode="json", by_alias=True) for one in conditions],
        }
        collecting.bundle.add("operator/leader.json", "the operator's Lease and conditions", content)


async def _collect_leases(collecting: Collection, found: JobParts, at: Installation) -> None:
    async with collecting.part("leases on its tables"):
        answer = answers.leases_json(at, await listed(at))
        own = {
            table["table"] for lease in answer["leases"] if _is_of(lease, found) for table in lease["tables"]
        }
        tables = own.union(found.tables)
        leases = [
            lease
            for lease in answer["leases"]
            if _is_of(lease, found) or tables.intersection(one["table"] for one in lease["tables"])
        ]
        content = answer | {"leases": leases}
        what = "what `sluice leases list` says of the job and its tables; Redis was not asked"
        collecting.bundle.add("leases.json", what, content)


def _is_of(lease: Json, found: JobParts) -> bool:
    uid, _, _ = str(lease["holder"]).partition("/")
    return uid == found.uid if found.uid is not None else lease["job"] == str(found.job)


async def _collect_doctor(collecting: Collection, at: Installation) -> None:
    async with collecting.part("what `sluice doctor` finds"):
        found = await examination.examined(at, examination.ExaminationOptions(deployment=at.deployment))
        collecting.bundle.add(
            "operator/doctor.json", "what `sluice doctor` finds", answers.doctor_json(found)
        )


async def _collect_pods(collecting: Collection, found: JobParts, at: Installation) -> None:
    pods: list[Json] = []
    async with collecting.part("the operator's pods"):
        pods = await collecting.some(PODS, at.namespace, _OPERATOR_PODS)
        for pod in pods:
            name = pod["metadata"]["name"]
            collecting.bundle.add(f"operator/pods/{name}.json", f"the operator's pod {name}", pod)
        if not pods:
            raise OnlineError(f"there is none in namespace {at.namespace} with the labels {_OPERATOR_PODS}")
    for pod in pods:
        for status in objects_in(status_in(pod).get("containerStatuses")):
            await _collect_log(collecting, found, pod, str(status.get("name")))
            if status.get("restartCount"):
                await _collect_log(collecting, found, pod, str(status.get("name")), previous=True)


async def _collect_log(
    collecting: Collection, found: JobParts, pod: Json, container: str, *, previous: bool = False
) -> None:
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    before = ".before-its-restart" if previous else ""
    what = f"the log of {name}/{container}{' before its restart' if previous else ''}"
    async with collecting.part(what):
        log = await end_of_log(collecting.kube, namespace, name, container, previous=previous)
        about = lines_about(log.text, found.words)
        file = f"operator/logs/{name}.{container}{before}"
        collecting.bundle.add(
            f"{file}.about-the-job.log", f"{what}: lines that name the job", about, log.note
        )
        collecting.bundle.add(f"{file}.log", what, log.text, log.note)
