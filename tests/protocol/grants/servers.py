"""Redis and the API server: what they do with a request when it lands, atomically, and what they answer."""

from protocol.design import Design
from protocol.grants.state import (
    Job,
    Key,
    Lease,
    Redis,
    Request,
    Run,
    State,
    Token,
    Version,
    Write,
    with_job,
    with_run,
)


def land(s: State, r: Request, design: Design) -> tuple[State, str | Token]:
    return {"grant": grant, "intent": intent, "create": create, "release": release}[r.kind](s, r, design)


def bumped(version: Version, mark: str, design: Design) -> Version:
    return Version(version.number + 1, mark if design.version_marked else "")


def left_by_grant(lease_token: Token, key: Key, design: Design) -> Version:
    """The version that a grant left, which its answer tells, also when it is asked for again."""
    return bumped(Version(lease_token.number - 1), f"grant {key}", design)


def grant(s: State, r: Request, design: Design) -> tuple[State, str | Token]:
    """The grant script. It looks at keys only: whether two specs conflict was decided on a snapshot."""
    redis = s.redis
    if design.epoch_compared and redis.epoch != r.epoch:
        return s, "other epoch"
    key = Key(r.job, r.seen.uid, r.seen.attempt + 1)
    if design.grant_idempotent:
        for lease in redis.leases:
            if lease.key == key:
                same = lease.spec == r.seen.spec and (
                    lease.on == r.version or not design.grant_names_decision
                )
                return s, lease.token if same else "other content"
    if design.version_compared and redis.version != r.version:
        return s, "version moved"
    token = Token(r.epoch, redis.version.number + 1)
    leases = redis.leases | {Lease(key, token, r.seen.spec, r.version)}
    return s._replace(redis=redis._replace(version=left_by_grant(token, key, design), leases=leases)), token


def release(s: State, r: Request, design: Design) -> tuple[State, str]:
    redis = s.redis
    if design.epoch_compared and redis.epoch != r.epoch:
        return s, "other epoch"
    key = Key(r.job, r.seen.uid, r.seen.attempt + 1)
    match = {
        lease
        for lease in redis.leases
        if (lease.token == r.token if design.release_by_token else lease.key == key)
    }
    if not match:
        return s, "ok"
    return s._replace(redis=without(redis, match, design)), "ok"


def without(redis: Redis, leases: set[Lease], design: Design) -> Redis:
    mark = "release " + ", ".join(sorted(str(lease.token) for lease in leases))
    unexplained = redis.unexplained - {lease.token for lease in leases}
    return Redis(redis.epoch, bumped(redis.version, mark, design), redis.leases - leases, unexplained)


def intended(r: Request) -> Job:
    return r.seen._replace(phase="granted", attempt=r.seen.attempt + 1, token=r.token, leased=r.seen.spec)


def intent(s: State, r: Request, design: Design) -> tuple[State, str]:
    """The status patch that writes the intent, under the resourceVersion that the decision saw."""
    if design.policy_on_status and r.epoch < s.enforced:
        return s, "refused by policy"
    now = s.jobs[r.job]
    if now is None:
        return s, "not found"
    if now == r.seen:
        return with_job(s, r.job, intended(r)), "ok"
    if now.token == r.token:
        return s, "ok"  # re-read after the conflict: our own patch has landed before
    if not design.intent_precondition and now.phase == "waiting":
        return with_job(s, r.job, intended(r)._replace(uid=now.uid, spec=now.spec)), "ok"
    return s, "conflict"


def create(s: State, r: Request, design: Design) -> tuple[State, str]:
    """The application under its deterministic name; `seen` is the job as intended."""
    if design.policy_on_creates and r.epoch < s.enforced:
        return s, "refused by policy"
    assert r.token is not None
    key = Key(r.job, r.seen.uid, r.seen.attempt)
    there = s.run(key)
    if there is None:
        return with_run(s, Run(key, r.token, r.seen.spec, held=design.finalizers)), "ok"
    if there.app == "gone":  # the name is free again: the object is born once more
        born = there._replace(app="new", deleting=False, held=design.finalizers, told=False, word="")
        if there.token != r.token:
            born = born._replace(token=r.token, spec=r.seen.spec, fenced=False, succeeded=False)
        return with_run(s, born), "ok"
    return s, "ok" if there.token == r.token or not design.own_application_known else "taken"


def write(s: State, r: Write, design: Design) -> tuple[State, str]:
    """A status under the resourceVersion that was seen; objects by uid and name, whatever else has changed of them."""
    if r.epoch < s.enforced and _judged(r, design):
        return s, "refused by policy"
    if r.kind == "status":
        return (with_job(s, r.job, r.then), "ok") if s.jobs[r.job] == r.seen else (s, "conflict")
    assert r.key is not None
    there = s.run(r.key)
    changes = dict(r.changes)
    named_by_uid = changes.keys() & {"held", "pod_held", "deleting"}
    if (
        there is None
        or (named_by_uid and there.birth != r.birth)
        or (there.app == "gone" and "deleting" in changes)
    ):
        return s, "not found"
    if changes.get("pod") == "gated" and there.pod != "none":
        return s, "conflict"
    return with_run(s, there._replace(**changes)), "ok"  # type: ignore[arg-type]


def _judged(r: Write, design: Design) -> bool:
    """Whether the admission policy judges this write; it lets deletions be."""
    if r.kind == "status":
        return design.policy_on_status
    changed = {what for what, _ in r.changes}
    if changed & {"held", "pod_held"}:
        return design.policy_on_finalizers
    return design.policy_on_creates and "deleting" not in changed
