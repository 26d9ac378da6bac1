"""SparkApplications and driver pods of attempts: they are created, observed, and let go once their end is proved."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace

from sluice.api import names
from sluice.api.base import Json
from sluice.api.finalizers import has_finalizer, removal_of
from sluice.api.job_status import Attempt
from sluice.api.tables import OptionFrom
from sluice.controller.applications.creates import CreateLog
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.epoch_policy import EpochPolicy
from sluice.controller.process import clock
from sluice.controller.process.retry_pauses import RetryPauses
from sluice.controller.process.uptime import uptime
from sluice.engines import AttemptRun, engine_for, is_placeholder, placeholder
from sluice.engines.attempt import application_name, driver_pod_name
from sluice.engines.compute_queue import passed_on
from sluice.engines.placeholder import asking_for, least_named_in
from sluice.engines.plan import (
    APPLICATION_VARIABLE,
    option_variable,
    plan_arguments,
    plan_for,
    plan_variable,
)
from sluice.engines.stamp import stamping
from sluice.kube.client import ApiError, ConflictError, KindMissingError, Kube, NotFoundError
from sluice.kube.mirror import Mirror, uid_of, version_of
from sluice.kube.paged_list import is_undefined
from sluice.kube.resources import APPLICATIONS, JOBS, PODS, Resource, applications_like
from sluice.leases import Lease
from sluice.lifecycle.evidence.attempt_evidence import (
    Evidence,
    UnreadableRecordError,
    evidence_of,
    is_marked,
    labels_of,
    record_of,
)
from sluice.lifecycle.evidence.deletion import pod_proves_alone
from sluice.lifecycle.evidence.driver_losses import noted, word_for
from sluice.lifecycle.evidence.outcome import may_have_committed
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.spec.commit_ids import planned

TESTS_FAILED = 422
"""The code for a failed JSON patch: the object is not as it was seen."""
CONFLICT = 409

FIRST_PAUSE = 2.0
LONGEST_PAUSE = 60.0
"""Seconds between two questions whether a namespace is being deleted: what is lost may be so for days."""

WANTS_AMOUNTS = ("failed quota", "exceeded quota", "No limit is specified", "No request is specified")
"""What the API server says of a pod that a quota of its namespace refuses, or a LimitRange with a bound for each pod."""

NO_ACCOUNT = "error looking up service account"
"""What the API server says of a pod whose account is not there."""

PLACEHOLDER_SECONDS = 3600.0
"""Seconds since a leader first saw it: longer than any submission takes that was under way when the driver's name was taken."""


class ForeignApplicationError(Exception):
    """The attempt's name is taken by an application that is not ours."""


class RefusedCreateError(Exception):
    """The API server definitely refused the attempt's application."""


class Applications:
    def __init__(self, kube: Kube, world: ClusterCache, epochs: EpochPolicy) -> None:
        self._kube = kube
        self._world = world
        self._epochs = epochs
        self._asking: RetryPauses[str] = RetryPauses(time.monotonic, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        """Namespaces that were asked whether they are being deleted."""
        self.creates = CreateLog(time.monotonic, lambda: epochs.in_force)
        self._placeholders: dict[str, float] = {}
        """When this leader first saw each placeholder, by its uid: the API server's clock tells when it was made, and this
        machine's may be ahead of that."""

    async def create(self, job: JobView, attempt: Attempt, lease: Lease, writer_epoch: int) -> None:
        place = job.namespace, attempt.application
        body = engine_for(attempt.engine).manifest(attempt_run(job, attempt, lease, writer_epoch))
        kind = APPLICATIONS[attempt.engine]
        self.creates.sends(*place)
        before = False
        try:
            created = await self._kube.create(kind, job.namespace, body)
        except ConflictError:
            before, created = True, await self._kube.get(kind, *place)
            token = (created["metadata"].get("annotations") or {}).get(names.ANNOTATION_TOKEN)
            if token != str(attempt.token):
                self.creates.answered(*place)
                raise ForeignApplicationError(
                    f"SparkApplication {attempt.application} exists and does not belong to this attempt "
                    f"(its token is {token}, not {attempt.token}): delete it"
                ) from None
        except ApiError as error:
            if not error.is_definite:
                raise
            self.creates.answered(*place, refusal=str(error), namespace_ends=error.says_namespace_ends)
            raise RefusedCreateError(str(error)) from error
        self.creates.made(*place, before=before)
        await self._with_its_label(self._world.applications.like(created), created)

    async def find(self, namespace: str, name: str, uid: str) -> bool:
        """Whether the API server has the application of the job with this uid, not let go; a watch may not have shown it yet."""
        return any(
            is_marked(body) and labels_of(body).get(names.LABEL_JOB_UID) in (uid, None)
            for body in await self._applications_called(namespace, name)
        )

    async def is_left(self, lease: Lease) -> bool:
        """Whether the API server has anything that must keep the lease. Watches may not have shown it yet, or no longer show
        it because somebody took its label off; and a driver may outlive its application."""
        namespace, name = place_of(lease)
        applications = await self._applications_called(namespace, name)
        pod = await self._have(self._world.pods, namespace, driver_pod_name(name))
        found = evidence_of(lease.uid, None, applications, filter(None, [pod]))
        return found.holds(lease.attempt) or any(doubt.holds for doubt in found.doubts)

    async def _applications_called(self, namespace: str, name: str) -> list[Json]:
        """Of every kind: whose they are, only their records tell."""
        found = [await self._have(known, namespace, name) for known in self._world.applications.mirrors]
        return [body for body in found if body is not None]

    async def _have(self, known: Mirror, namespace: str, name: str) -> Json | None:
        try:
            body = await self._kube.get(known.resource, namespace, name)
        except NotFoundError:
            return None
        except KindMissingError:
            if known.may_be_undefined and await is_undefined(known.resource, self._kube):
                return None
            raise
        return await self._with_its_label(known, body)

    async def find_driver(self, namespace: str, name: str) -> bool:
        """Whether the API server has more of the driver's pod than was known: no watch has shown it yet, or it bore another
        label."""
        before = self._world.pods.get(namespace, driver_pod_name(name))
        now = await self._have(self._world.pods, namespace, driver_pod_name(name))
        return now is not None and not _is_same(now, before)

    async def have_changed(self, namespace: str, name: str) -> bool:
        """Whether the application or its driver's pod is another by now than any watch has shown, which is judged anew then."""
        has_changed = False
        for known in self._world.applications.mirrors:
            before, now = known.get(namespace, name), await self._have(known, namespace, name)
            if now is None and before is not None:
                known.gone(uid_of(before))
            has_changed |= not _is_same(now, before)
        return has_changed or await self.find_driver(namespace, name)

    async def occupy_driver_name(self, namespace: str, name: str, uid: str, number: int) -> None:
        """Proves that no driver of this attempt of the job with this uid can start any more, or finds the one that did."""
        labels = {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: str(number)}
        try:
            pod = await self._create_placeholder(self._placeholder(namespace, name, labels))
        except ConflictError:
            pod = await self._kube.get(PODS, namespace, driver_pod_name(name))
        except ApiError as error:
            is_gone = isinstance(error, NotFoundError)  # what a create does not find is the namespace
            if not error.says_namespace_ends and not is_gone:
                raise
            if not await self.find_driver(namespace, name):
                self._world.namespace_ends(namespace)
            return
        await self._with_its_label(self._world.pods, pod)

    async def _create_placeholder(self, pod: Json) -> Json:
        """With amounts only where it is refused without them, and with no more than the refusals ask for."""
        namespace = pod["metadata"]["namespace"]
        try:
            return await self._kube.create(PODS, namespace, pod)
        except ApiError as error:
            if not any(word in str(error) for word in WANTS_AMOUNTS):
                raise
            least = least_named_in(str(error))
        try:
            return await self._kube.create(PODS, namespace, asking_for(pod, least))
        except ApiError as error:
            more = least | least_named_in(str(error))
            if more == least:
                raise
        return await self._kube.create(PODS, namespace, asking_for(pod, more))

    async def find_namespace_ending(self, namespace: str) -> bool:
        """Whether the namespace is being deleted, as the API server says of a pod that is not created."""
        if not self._asking.is_due(namespace):
            return False
        self._asking.tries(namespace)
        try:
            await self._kube.create(PODS, namespace, self._placeholder(namespace, "tried", {}), only_try=True)
        except ApiError as error:
            if not error.says_namespace_ends:
                return False  # whatever else it refuses: the objects stay where they are
            self._asking.forget(namespace)
            self._world.namespace_ends(namespace)
            return True
        return False

    async def has_account(self, namespace: str, account: str) -> bool:
        """Whether pods can be created as this service account, as the API server says of one that is not created."""
        body = self._placeholder(namespace, f"{account}-tried", {})
        body["spec"]["serviceAccountName"] = account
        try:
            await self._kube.create(PODS, namespace, body, only_try=True)
        except ApiError as error:
            return NO_ACCOUNT not in str(error)
        return True

    def _placeholder(self, namespace: str, name: str, labels: dict[str, str]) -> Json:
        body = placeholder(namespace, name, labels)
        return body | {"metadata": body["metadata"] | {"annotations": self._epochs.annotations}}

    async def let_go(self, one: Evidence) -> None:
        """Lets the attempt go: its end is proved, and stays so as long as anything of it is left."""
        marked = [*self._pod_of(one), *self._application_of(one)]
        if pod_proves_alone(one):
            marked.reverse()
        for known, body in marked:
            if not await self._drop_finalizer(known, body, names.FINALIZER_LEASE):
                return

    def _pod_of(self, one: Evidence) -> list[tuple[Mirror, Json]]:
        return [] if one.pod is None else [(self._world.pods, one.pod)]

    def _application_of(self, one: Evidence) -> list[tuple[Mirror, Json]]:
        body = one.application
        return [] if body is None else [(self._world.applications.like(body), body)]

    async def note_return(self, application: Json) -> None:
        """Notes that the application came back with an earlier state of the API server: it may have run."""
        said = {names.ANNOTATION_CAME_BACK: "true"}
        await self._annotate(self._world.applications.like(application), application, said)

    async def look_at(self, application: Json) -> None:
        """Sees the application as it is now, before any watch shows it."""
        known, metadata = self._world.applications.like(application), application["metadata"]
        known.seen(await self._kube.get(known.resource, metadata["namespace"], metadata["name"]))

    async def note_loss(self, one: Evidence) -> None:
        """Notes on what is left of the attempt that its driver is lost, and when that was told."""
        said = {names.ANNOTATION_DRIVER_LOST: noted(one.lost_at(clock.now()))}
        await self._note(said, self._application_of(one) or self._pod_of(one))

    async def note_death(self, one: Evidence) -> None:
        """Notes a person's word that the driver is dead on what is left of the attempt, with the loss of which it tells."""
        loss = one.lost_at(clock.now())
        said = {
            names.ANNOTATION_DRIVER_LOST: noted(loss),
            names.ANNOTATION_DRIVER_DEAD: word_for(loss, one.application_name),
        }
        await self._note(said, [*self._application_of(one), *self._pod_of(one)])

    async def _note(self, said: dict[str, str], where: list[tuple[Mirror, Json]]) -> None:
        for known, body in where:
            try:
                await self._annotate(known, body, said)
            except NotFoundError:
                known.gone(uid_of(body))

    async def ask_to_stop(self, pod: Json, attempt: Attempt, why: str) -> None:
        """Writes onto the pod of a stream's driver that it is to stop at a batch boundary. One that is gone has ended."""
        since = attempt.pause.since if attempt.pause is not None else clock.now()
        said = {names.ANNOTATION_STOP: json.dumps({"since": since.isoformat(), "why": why})}
        try:
            await self._annotate(self._world.pods, pod, said)
        except NotFoundError:
            self._world.pods.gone(uid_of(pod))

    async def _annotate(self, known: Mirror, body: Json, said: dict[str, str]) -> None:
        metadata = body["metadata"]
        patch = {"metadata": {"uid": metadata["uid"], "annotations": said | self._epochs.annotations}}
        known.seen(await self._kube.patch(known.resource, metadata["namespace"], metadata["name"], patch))

    async def delete(self, namespace: str, name: str, *, as_seen: bool = False) -> None:
        """`as_seen`: only if nobody has changed it since it was seen, as its operator does once its driver runs."""
        known = self._world.applications.get(namespace, name)
        if known is not None:
            this = _this_one(known)
            if as_seen:
                this["preconditions"]["resourceVersion"] = known["metadata"]["resourceVersion"]
            await self._kube.delete(applications_like(known), namespace, name, this)

    async def delete_job(self, job: JobView) -> None:
        """Deletes the job as it was seen, and no other."""
        seen = {"uid": job.uid, "resourceVersion": job.resource_version}
        await self._kube.delete(JOBS, job.namespace, job.name, {"preconditions": seen})

    async def delete_pod(self, pod: Json) -> None:
        """Deletes this pod, and not another one that bears its name by now."""
        await self._kube.delete(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"], _this_one(pod))

    async def free_driver_name(self, pod: Json) -> None:
        """Lets the pod of a driver that has ended go, before anything else of its attempt: its name must be taken."""
        await self._remove(pod, names.FINALIZER_LEASE)

    async def _remove(self, pod: Json, finalizer: str) -> None:
        """Takes this finalizer off, and deletes the pod unless it is being deleted."""
        is_off = await self._drop_finalizer(self._world.pods, pod, finalizer)
        if is_off and "deletionTimestamp" not in pod["metadata"]:
            try:
                await self.delete_pod(pod)
            except NotFoundError:
                self._world.pods.gone(uid_of(pod))

    def seconds_of_placeholders(self, uid: str) -> float | None:
        """Seconds until a placeholder of the job is to be looked at; None: it has none."""
        placed = [pod for pod in self._world.pods.of(uid) if is_placeholder(pod)]
        left = [PLACEHOLDER_SECONDS - self._seconds_seen(pod) for pod in placed]
        going = (pod["metadata"] for pod in placed if "deletionTimestamp" in pod["metadata"])
        left += [self._asking.seconds_left(metadata["namespace"]) for metadata in going]
        return max(1.0, min(left)) if left else None

    def _seconds_seen(self, pod: Json) -> float:
        now = uptime()
        return now - self._placeholders.setdefault(uid_of(pod), now)

    def forget_gone(self) -> None:
        there = self._world.pods
        self._placeholders = {uid: at for uid, at in self._placeholders.items() if uid in there}

    async def remove_old_placeholders(self, uid: str) -> None:
        """Removes those whose hour is over. A deleted one stays as long, unless its namespace is deleted, too."""
        for pod in self._world.pods.of(uid):
            if is_placeholder(pod) and (
                self._seconds_seen(pod) > PLACEHOLDER_SECONDS or await self._goes_with(pod)
            ):
                await self._remove(pod, names.FINALIZER_PLACEHOLDER)

    async def _goes_with(self, pod: Json) -> bool:
        """Whether the pod is deleted with its namespace, in which no driver can start any more."""
        namespace = pod["metadata"]["namespace"]
        if "deletionTimestamp" not in pod["metadata"]:
            return False
        return self._world.is_ending(namespace) or await self.find_namespace_ending(namespace)

    async def put_label_back(self, body: Json) -> None:
        """Puts the label back where an object of one job bears the label of another."""
        if uid_of(body) in self._world.pods:
            await self._with_its_label(self._world.pods, body)
        else:
            await self._with_its_label(self._world.applications.like(body), body)

    async def _with_its_label(self, known: Mirror, body: Json) -> Json:
        """Finds objects that lost our label. Watches and lists show only what bears it. Where somebody removed or replaced it,
        the record in the object says whose it is, and the label is put back."""
        metadata = body["metadata"]
        label = labels_of(body).get(names.LABEL_JOB_UID)
        try:
            uid = record_of(body).lease.uid if is_marked(body) else label
        except UnreadableRecordError:
            uid = label  # told where it is asked what the object holds
        if uid != label:
            labels = {names.LABEL_JOB_UID: uid}
            patch = {
                "metadata": {
                    "uid": metadata["uid"],
                    "labels": labels,
                    "annotations": self._epochs.annotations,
                }
            }
            body = await self._kube.patch(known.resource, metadata["namespace"], metadata["name"], patch)
        known.seen(body)
        return known.keep(body)

    async def _drop_finalizer(self, known: Mirror, body: Json, finalizer: str) -> bool:
        """Removes this finalizer of ours alone, at its present place in the list. Another controller may have put its own before
        it, or removed one; then it is not off yet."""
        metadata = body["metadata"]
        if not has_finalizer(body, finalizer):
            return True
        try:
            known.seen(await self._without_finalizer(known.resource, body, finalizer))
        except NotFoundError:
            known.gone(uid_of(body))
        except ApiError as error:
            if error.status not in (TESTS_FAILED, CONFLICT) or self._epochs.refused(error):
                raise
            known.seen(await self._kube.get(known.resource, metadata["namespace"], metadata["name"]))
            return False
        return True

    async def _without_finalizer(self, resource: Resource, body: Json, finalizer: str) -> Json:
        metadata = body["metadata"]
        place = metadata["namespace"], metadata["name"]
        # With its label the policy judges it, also where somebody has just taken that off.
        epoch, label = self._epochs.annotations, labels_of(body)
        label = {names.LABEL_JOB_UID: label[names.LABEL_JOB_UID]} if names.LABEL_JOB_UID in label else {}
        if not metadata.get("annotations"):  # there may be others', which a JSON patch would have to know of
            left = [name for name in metadata["finalizers"] if name != finalizer]
            seen = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            return await self._kube.patch(
                resource,
                *place,
                {"metadata": seen | {"finalizers": left, "annotations": epoch, "labels": label}},
            )
        return await self._kube.patch_by_tests(
            resource,
            *place,
            [
                {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
                *removal_of(finalizer, body),
                *_added("annotations", epoch),
                *_added("labels", label),
            ],
        )


def place_of(lease: Lease) -> tuple[str, str]:
    """Where its application is, and what it is called."""
    namespace, _, name = lease.job.partition("/")
    return namespace, application_name(name, lease.uid, lease.attempt)


def _added(field: str, texts: Mapping[str, str]) -> list[Json]:
    """The operations of a JSON patch that put them there."""
    pointers = {name.replace("~", "~0").replace("/", "~1"): text for name, text in texts.items()}
    return [
        {"op": "add", "path": f"/metadata/{field}/{name}", "value": text} for name, text in pointers.items()
    ]


def _this_one(body: Json) -> Json:
    return {"preconditions": {"uid": uid_of(body)}}


def _is_same(now: Json | None, before: Json | None) -> bool:
    """Whether it is as it was, by its version: what a list shows of a pod has no kind."""
    if now is None or before is None:
        return now is before
    return (uid_of(now), version_of(now)) == (uid_of(before), version_of(before))


def attempt_run(job: JobView, attempt: Attempt, lease: Lease, writer_epoch: int) -> AttemptRun:
    tokens = (one.token for one in (*job.status.attempts, attempt) if may_have_committed(one))
    plan = plan_for(
        job.identity,
        job.spec,
        job.profile,
        run_key=job.run_key,
        spec_hash=job.work_hash,
        attempt=attempt.number,
        token=attempt.token,
        touched=job.footprint.tables,
        names=job.judged_names.as_granted({*lease.tables, *(lease.reads or ())}),
        run=planned(lease.run, job.status.run, tokens),
        days=job.days,
    )
    run = AttemptRun(
        namespace=job.namespace,
        job=job.name,
        job_uid=job.uid,
        number=attempt.number,
        token=attempt.token,
        writer_epoch=writer_epoch,
        lease=lease.to_json(),
        profile=job.profile,
        arguments=tuple(plan_arguments(plan)),
        environment=(
            {"name": APPLICATION_VARIABLE, "value": attempt.application},
            *(_secret(index, ref) for index, ref in enumerate(_secret_options(job))),
        ),
        labels=passed_on(job.body["metadata"].get("labels")),
        annotations=passed_on(job.annotations),
    )
    own = job.spec.application
    if own is None:
        return run
    return replace(
        run,
        arguments=(),
        environment=(*run.environment, plan_variable(plan)),
        template=own.template,
        settings=stamping(plan),
    )


def _secret_options(job: JobView) -> tuple[OptionFrom, ...]:
    work = job.spec.write or job.spec.stream
    return (work.source.options_from or ()) if work is not None else ()


def _secret(index: int, ref: OptionFrom) -> Json:
    secret = {"name": ref.secret_key_ref.name, "key": ref.secret_key_ref.key}
    return {"name": option_variable(index), "valueFrom": {"secretKeyRef": secret}}
