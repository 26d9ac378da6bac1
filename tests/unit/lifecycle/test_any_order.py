"""Watches bring news late, twice or not at all, and a list repairs what they missed: whatever came of it, the end is the
same, and at no moment on the way is an attempt let go whose driver may still write."""

import asyncio
import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile, Stage
from sluice.kube.mirror import Mirror, version_of
from sluice.kube.paged_list import list_into
from sluice.leases import Epochs, Lease
from sluice.lifecycle.attempt import lease_evidence
from sluice.lifecycle.attempt.next_step import Cover, next_step
from sluice.lifecycle.attempt.withdrawal import Creates
from sluice.lifecycle.evidence.attempt_evidence import PROVED, evidence_of
from sluice.lifecycle.evidence.deletion import leaving
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.evidence.outcome import closed, must_ask_logs, phase_after
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body
from unit.lifecycle.objects import application, placeholder, pod

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
UID = "uid-a"
PROFILES = {"default": RuntimeProfile(spark_version="4.2.0")}
HASH = JobView(job_body("a"), PROFILES, NOW).spec_hash
KINDS = ("job", "application", "pod")


@dataclass(frozen=True)
class Event:
    kind: str
    body: Json
    is_end: bool = False


@dataclass
class Truth:
    """What the API server has, and what has happened to the drivers."""

    version: int = 10
    objects: dict[tuple[str, str], Json] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)
    """Attempts of which no driver can write any more."""
    events: list[Event] = field(default_factory=list)
    begun: int = 0

    def put(self, kind: str, body: Json) -> None:
        self.version += 1
        body = copy.deepcopy(body)
        body["metadata"] |= {"resourceVersion": str(self.version)}
        self.objects[kind, body["metadata"]["name"]] = body
        self.events.append(Event(kind, body, is_end=not is_selected(kind, body)))

    def change(self, kind: str, name: str, **metadata: Any) -> None:
        body = copy.deepcopy(self.objects[kind, name])
        body["metadata"] |= metadata
        self.put(kind, body)
        if "deletionTimestamp" in body["metadata"] and not body["metadata"].get("finalizers"):
            self.remove(kind, name)

    def remove(self, kind: str, name: str) -> None:
        self.version += 1
        body = copy.deepcopy(self.objects.pop((kind, name)))
        body["metadata"] |= {"resourceVersion": str(self.version)}
        self.events.append(Event(kind, body, is_end=True))

    def get(self, kind: str, name: str) -> Json | None:
        return self.objects.get((kind, name))

    def may_write(self, number: int) -> bool:
        """An application that has ended starts no driver by itself; whether one is still on its way, only the finalizer that
        somebody took off would have waited for."""
        if number in self.over:
            return False
        app, driver = self.get("application", f"a-{number}"), self.get("pod", f"a-{number}-driver")
        if driver is not None or app is None:
            return driver is not None
        state = (app.get("status") or {}).get("applicationState", {}).get("state")
        return bool(app["metadata"].get("finalizers")) or state in (None, "SUBMITTED")


def is_selected(kind: str, body: Json) -> bool:
    """Whether a watch selects the object: it says that an object without its label is gone."""
    return kind == "job" or names.LABEL_JOB_UID in body["metadata"]["labels"]


def lease(number: int) -> Lease:
    return Lease(UID, number, HASH, "etl/a", ("file:/lake/orders",))


def intent(number: int, **more: Any) -> Json:
    return {
        "number": number,
        "token": Epochs.token(3, number),
        "hash": HASH,
        "application": f"a-{number}",
        "grantedAt": "2026-11-19T10:00:00Z",
    } | more


def told(number: int, body: Json) -> Json:
    """Adds the record of this attempt to the object."""
    record = {
        names.ANNOTATION_LEASE: lease(number).to_json(),
        names.ANNOTATION_TOKEN: str(Epochs.token(3, number)),
    }
    body["metadata"] |= {"annotations": record, "uid": f"uid-of-{body['metadata']['name']}"}
    return body


def attempts_of(truth: Truth) -> list[Json]:
    job = truth.get("job", "a")
    return [] if job is None else list((job.get("status") or {}).get("attempts", []))


def _begin(truth: Truth) -> None:
    """An intent, if there is none that goes on and nothing of an earlier one is left."""
    job, before = truth.get("job", "a"), attempts_of(truth)
    number = truth.begun + 1
    if (
        job is None
        or any("outcome" not in one for one in before)
        or number > 2
        or truth.may_write(number - 1)
    ):
        return
    truth.begun = number
    footprint = {
        "table": "file:/lake/orders",
        "statement": 1,
        "operation": "UPDATE",
        "reads": "",
        "writes": "",
    }
    status = {
        "phase": "Starting",
        "queuedAt": "2026-11-19T09:00:00Z",
        "attempts": [*before, intent(number)],
        "footprint": [footprint],
    }
    truth.put("job", job | {"status": status})


def _create(truth: Truth) -> None:
    name = f"a-{truth.begun}"
    is_open = any("outcome" not in one for one in attempts_of(truth))
    was_there = any(event.body["metadata"]["name"] == name for event in truth.events)
    if is_open and not was_there and truth.begun not in truth.over:
        truth.put("application", told(truth.begun, application(name=name, lease=lease(truth.begun))))


def _state(truth: Truth, state: str) -> None:
    """The Spark operator errs at will."""
    app = truth.get("application", f"a-{truth.begun}")
    if app is not None:
        truth.put("application", app | {"status": {"applicationState": {"state": state}}})


def _submit(truth: Truth) -> None:
    number, name = truth.begun, f"a-{truth.begun}"
    if truth.get("application", name) is None or number in truth.over:
        return
    if truth.get("pod", f"{name}-driver") is None:
        body = told(number, pod(name=name, lease=lease(number)))
        truth.put("pod", body | {"spec": {}, "status": {"phase": "Pending"}})


def _run(truth: Truth) -> None:
    driver = _driver(truth)
    if driver is not None and "deletionTimestamp" not in driver["metadata"] and truth.begun not in truth.over:
        container = {
            "name": "spark-kubernetes-driver",
            "state": {"running": {"startedAt": "2026-11-19T10:01:00Z"}},
        }
        status = {"phase": "Running", "containerStatuses": [container]}
        truth.put("pod", driver | {"spec": {"nodeName": "n"}, "status": status})


def _terminate(truth: Truth) -> None:
    driver = _driver(truth)
    if driver is not None and driver["spec"].get("nodeName") and truth.begun not in truth.over:
        state = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-19T10:05:00Z"}}
        container = {"name": "spark-kubernetes-driver", "state": state}
        truth.over.add(truth.begun)
        truth.put("pod", driver | {"status": {"phase": "Succeeded", "containerStatuses": [container]}})


def _driver(truth: Truth) -> Json | None:
    driver = truth.get("pod", f"a-{truth.begun}-driver")
    return None if driver is None or names.LABEL_PLACEHOLDER in driver["metadata"]["labels"] else driver


def _delete_pod(truth: Truth) -> None:
    """The kubelet ends a driver before its pod goes; one without a node goes by itself."""
    driver = _driver(truth)
    if driver is not None and "deletionTimestamp" not in driver["metadata"]:
        if not driver["spec"].get("nodeName"):
            truth.over.add(truth.begun)
        elif truth.begun not in truth.over:
            _terminate(truth)
        truth.change("pod", f"a-{truth.begun}-driver", deletionTimestamp="2026-11-19T10:30:00Z")


def _delete_application(truth: Truth) -> None:
    if truth.get("application", f"a-{truth.begun}") is not None:
        truth.change("application", f"a-{truth.begun}", deletionTimestamp="2026-11-19T10:30:00Z")


def _strip_application(truth: Truth) -> None:
    if truth.get("application", f"a-{truth.begun}") is not None:
        truth.change("application", f"a-{truth.begun}", finalizers=[])


def _strip_pod(truth: Truth) -> None:
    if _driver(truth) is not None:
        truth.change("pod", f"a-{truth.begun}-driver", finalizers=[])


def _relabel(truth: Truth, kind: str, labels: Json) -> None:
    name = f"a-{truth.begun}" if kind == "application" else f"a-{truth.begun}-driver"
    if truth.get(kind, name) is not None and (kind == "application" or _driver(truth) is not None):
        truth.change(kind, name, labels=labels)


def _unlabel(truth: Truth, kind: str) -> None:
    _relabel(truth, kind, {})


def _label(truth: Truth, kind: str) -> None:
    _relabel(truth, kind, {names.LABEL_JOB_UID: UID, names.LABEL_ATTEMPT: str(truth.begun)})


def _occupy(truth: Truth) -> None:
    name = f"a-{truth.begun}"
    if truth.begun and truth.get("pod", f"{name}-driver") is None:
        truth.over.add(truth.begun)
        body = placeholder(name)
        body["metadata"]["uid"] = f"{name}-taken"
        truth.put("pod", body)


def _close(truth: Truth) -> None:
    """What the operator writes once it is proved."""
    job = truth.get("job", "a")
    if job is None:
        return
    seen = in_order(truth)
    before = seen.jobs[UID].open_attempt
    if before is None or seen.evidence(UID).of(before).seen.stage not in PROVED:
        return
    over = [one | {"outcome": "Succeeded"} if "outcome" not in one else one for one in attempts_of(truth)]
    truth.put("job", job | {"status": job["status"] | {"phase": "Succeeded", "attempts": over}})


def _let_go(truth: Truth) -> None:
    if truth.begun in truth.over and all("outcome" in one for one in attempts_of(truth)):
        _strip_pod(truth)
        _strip_application(truth)


def _delete_job(truth: Truth) -> None:
    if truth.get("job", "a") is not None:
        truth.remove("job", "a")


ACTIONS = {
    "begin": _begin,
    "create": _create,
    "submitted": lambda truth: _state(truth, "SUBMITTED"),
    "is running": lambda truth: _state(truth, "RUNNING"),
    "failed": lambda truth: _state(truth, "FAILED"),
    "completed": lambda truth: _state(truth, "COMPLETED"),
    "submit": _submit,
    "run": _run,
    "terminate": _terminate,
    "delete pod": _delete_pod,
    "delete application": _delete_application,
    "strip application": _strip_application,
    "strip pod": _strip_pod,
    "unlabel application": lambda truth: _unlabel(truth, "application"),
    "unlabel pod": lambda truth: _unlabel(truth, "pod"),
    "label application": lambda truth: _label(truth, "application"),
    "label pod": lambda truth: _label(truth, "pod"),
    "occupy": _occupy,
    "close": _close,
    "let go": _let_go,
    "delete job": _delete_job,
}


def play(actions: list[str]) -> tuple[Truth, list[Truth]]:
    """And the truth after each event."""
    truth, then = Truth(), []
    truth.put("job", job_body("a") | {"status": {"queuedAt": "2026-11-19T09:00:00Z"}})
    then = [copy.deepcopy(truth)]
    for action in actions:
        ACTIONS[action](truth)
        then += [copy.deepcopy(truth)] * (len(truth.events) - len(then))
    return truth, then


def deliver(seen: ClusterCache, event: Event) -> None:
    mirror = mirror_of(seen, event.kind)
    if event.is_end:
        mirror.gone(event.body["metadata"]["uid"], version_of(event.body))
    else:
        mirror.seen(event.body)


def mirror_of(seen: ClusterCache, kind: str) -> Mirror:
    return {mirror.resource.plural: mirror for mirror in seen.mirrors}[
        {"job": "deltawritejobs", "application": "sparkapplications", "pod": "pods"}[kind]
    ]


def in_order(truth: Truth) -> ClusterCache:
    seen = ClusterCache(PROFILES)
    for event in truth.events:
        deliver(seen, event)
    return seen


def listed(seen: ClusterCache, truth: Truth) -> ClusterCache:
    class Api:
        async def pages(self, resource: Any, *_: Any) -> AsyncIterator[Json]:
            kind = next(kind for kind in KINDS if mirror_of(seen, kind).resource is resource)
            items = [
                body for (of, _), body in truth.objects.items() if of == kind and is_selected(kind, body)
            ]
            yield {"metadata": {"resourceVersion": str(truth.version)}, "items": items}

    async def everything() -> None:
        api: Any = Api()
        for kind in KINDS:
            await list_into(mirror_of(seen, kind), api, None)

    asyncio.run(everything())
    return seen


def verdict(seen: ClusterCache) -> Any:
    """Who holds, what comes next, and what is said of it."""
    of_job, job = seen.evidence(UID), seen.jobs.get(UID)
    everything = {UID: of_job}
    found: list[Any] = [
        sorted((grant.lease.holder, grant.token) for grant in lease_evidence.grants(seen.jobs, everything)),
        [(one.who, one.why, one.tables) for one in lease_evidence.frozen(seen.jobs, everything, ())],
        [of_job.holds(number) for number in (1, 2)],
    ]
    attempt = job.open_attempt if job is not None else None
    if job is not None and attempt is not None:
        one = of_job.of(attempt)
        found.append(next_step(job, one, Cover(lease(attempt.number)), Creates(), NOW))
        if one.seen.stage in PROVED:
            logs = LogFindings() if must_ask_logs(one.seen, is_application=False) else None
            found.append(phase_after(closed(attempt, one.seen, logs, NOW)))
    else:
        known = sorted(of_job.by_application.items())
        found += [(name, leaving(one, "etl")) for name, one in known if one.holds]
    return found


ways = st.lists(st.sampled_from(sorted(ACTIONS)), max_size=24).map(lambda more: ["begin", "create", *more])


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[Truth, list[Truth], list[int]]:
    """Which events come, in which order: some twice, some never."""
    truth, then = play(draw(ways))
    order = draw(st.lists(st.integers(0, len(truth.events) - 1), max_size=2 * len(truth.events)))
    return truth, then, order


@settings(max_examples=120)
@given(deliveries())
def test_whatever_came_in_whichever_order_after_a_list_all_is_as_if_it_had_come_in_turn(
    drawn: tuple[Truth, list[Truth], list[int]],
) -> None:
    truth, _, order = drawn
    seen = ClusterCache(PROFILES)
    for index in order:
        deliver(seen, truth.events[index])
    expected = verdict(in_order(truth))
    assert verdict(listed(seen, truth)) == expected
    assert verdict(listed(ClusterCache(PROFILES), truth)) == expected


@settings(max_examples=120)
@given(deliveries())
def test_an_attempt_whose_driver_may_write_is_held_at_every_moment(
    drawn: tuple[Truth, list[Truth], list[int]],
) -> None:
    """It is held from its intent on, which the leader itself writes. Once the job is gone the leader looks before it lets go."""
    truth, then, order = drawn
    seen, latest = ClusterCache(PROFILES), 1
    deliver(seen, truth.events[0])
    deliver(seen, truth.events[1])
    for index in order:
        latest = max(latest, index)
        deliver(seen, truth.events[index])
        now = then[latest]
        for number in range(1, now.begun + 1):
            if not now.may_write(number) or not _is_known(seen, number):
                continue
            if UID not in seen.jobs and _is_left(now, number):
                continue
            note(f"{truth.events[index].kind} {truth.events[index].body}")
            assert seen.evidence(UID).holds(number)


def _is_known(seen: ClusterCache, number: int) -> bool:
    """The leader's own writes count as seen from their answers on: the intent, if the job is still there."""
    job = seen.jobs.get(UID)
    return job is None or any(attempt.number == number for attempt in job.status.attempts)


def _is_left(now: Truth, number: int) -> bool:
    """Whether anything of the attempt is left, as `Applications.is_left` asks."""
    there = (now.get("application", f"a-{number}"), now.get("pod", f"a-{number}-driver"))
    application, driver = (filter(None, [body]) for body in there)
    return evidence_of(UID, None, application, driver).holds(number)


@settings(max_examples=80)
@given(deliveries())
def test_no_end_is_told_before_it_is_so(drawn: tuple[Truth, list[Truth], list[int]]) -> None:
    truth, then, order = drawn
    seen, latest = ClusterCache(PROFILES), 0
    for index in order:
        latest = max(latest, index)
        deliver(seen, truth.events[index])
        for one in seen.evidence(UID).by_application.values():
            if one.seen.stage in (Stage.ENDED, Stage.NEVER_STARTS):
                assert one.number in then[latest].over


def test_the_ways_reach_what_they_are_for() -> None:
    """An order of steps that the drawn ones are made of ends well, so that they can."""
    steps = [
        "begin",
        "create",
        "submitted",
        "submit",
        "run",
        "is running",
        "terminate",
        "completed",
        "close",
        "let go",
        "begin",
    ]
    truth, _ = play(steps)
    job = in_order(truth).jobs[UID]
    assert [one.outcome for one in job.status.attempts] == ["Succeeded", None]
    assert truth.over == {1}
    assert isinstance(job.open_attempt, Attempt)
