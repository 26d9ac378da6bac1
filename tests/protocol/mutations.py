"""The design with one step taken out at a time: each must break what the step is there for, and for that reason.

`telling` are steps that the counter-example must hold, in this order: without them it would be an accident.
"""

from dataclasses import dataclass, replace

from protocol.design import Design
from protocol.grants import scenarios as grants
from protocol.grants.invariants import NO_DOUBLE_GRANT, REBUILD_FINDS_ALL
from protocol.grants.scenarios import Grants
from protocol.runs import scenarios as runs
from protocol.runs.invariants import FENCED_NEVER_COMMITS, NOTHING_LOST, NOTHING_TWICE
from protocol.runs.scenarios import Runs
from protocol.search import EVERY_JOB_ENDS


def without(design: Design, *steps: str) -> Design:
    return replace(design, **dict.fromkeys(steps, False))


@dataclass(frozen=True)
class Mutation:
    taken_out: tuple[str, ...]
    scenario: Grants | Runs
    breaks: str
    so: str  # without the step ...
    telling: tuple[str, ...]

    @property
    def model(self) -> Grants | Runs:
        return replace(self.scenario, design=without(self.scenario.design, *self.taken_out))


def _of(scenario: Grants | Runs, step: str, breaks: str, so: str, *telling: str) -> Mutation:
    return Mutation(tuple(step.split()), scenario, breaks, so, telling)


GRANT = (
    _of(
        grants.PAUSED_LEADER,
        "version_compared",
        NO_DOUBLE_GRANT,
        "a delayed grant lands beside a later one",
        "sends the grant",
        "the delayed grant",
    ),
    _of(
        grants.PAUSED_LEADER,
        "epoch_compared",
        NO_DOUBLE_GRANT,
        "a former leader's grant lands in the new leader's table",
        "rebuilds Redis under epoch 2",
        "the delayed grant",
    ),
    _of(
        grants.LAGGING_POLICY,
        "intent_before_create",
        REBUILD_FINDS_ALL,
        "a rebuild misses a dead leader's create that is still under way",
        "sends the create",
        "rebuilds Redis under epoch 2 with nothing",
    ),
    _of(
        grants.TOMBSTONES,
        "intent_before_create",
        NO_DOUBLE_GRANT,
        "a run whose end no status tells is granted again, and created although its job was deleted",
        "operator A: takes the finalizers of job0",
        "operator B: is granted token 2.1 for job0",
        "deletes job0",
        "operator B: creates the application of job0",
    ),
    _of(
        grants.USER_EDITS,
        "intent_precondition",
        NO_DOUBLE_GRANT,
        "a job edited after its grant runs on leases of what it was",
        "is granted",
        "edits the spec",
        "writes the intent",
    ),
    _of(
        grants.PAUSED_LEADER,
        "hands_counted",
        NO_DOUBLE_GRANT,
        "the sweep frees a lease that its own leader is about to use",
        "is granted",
        "releases the lease",
        "writes the intent",
    ),
    _of(
        grants.WATCH_LAGS,
        "own_writes_seen",
        NO_DOUBLE_GRANT,
        "the sweep frees a lease whose intent its leader's watch doesn't show yet",
        "writes the intent",
        "its watch lags; releases the lease",
    ),
)

TAKEOVER = (
    _of(
        grants.PAUSED_LEADER,
        "floor_raised",
        REBUILD_FINDS_ALL,
        "a former leader goes on granting after the new one listed",
        "lists intents",
        "writes the intent",
        "rebuilds Redis under epoch 2 with nothing",
    ),
    _of(
        grants.PAUSED_LEADER,
        "probed",
        REBUILD_FINDS_ALL,
        "a raised parameter isn't in force when the new leader lists",
        "raises the policy's parameter",
        "lists intents",
        "writes the intent",
        "rebuilds Redis under epoch 2 with nothing",
    ),
    _of(
        grants.TWO_TAKEOVERS,
        "policy_on_status",
        NO_DOUBLE_GRANT,
        "a former leader's intent appears after the listing, and a third leader believes it",
        "lists intents",
        "operator A: writes the intent",
        "rebuilds Redis under epoch 2 with nothing",
        "is granted",
        "rebuilds Redis under epoch 3 with job0/uid0/attempt1, job1/uid1/attempt1",
    ),
    _of(
        grants.PAUSED_LEADER,
        "policy_on_status uncovered_taken_back",
        NO_DOUBLE_GRANT,
        "a former leader's intent appears after the listing, and the new leader rolls it forward",
        "lists intents",
        "operator A: writes the intent",
        "rebuilds Redis under epoch 2 with nothing",
        "rolls it forward",
    ),
    _of(
        grants.USER_EDITS_AWAY,
        "policy_on_creates",
        NO_DOUBLE_GRANT,
        "a former leader creates what the new one withdrew",
        "withdraws the intent",
        "operator A: creates the application",
    ),
    _of(
        grants.CREATE_TWICE,
        "policy_on_creates",
        NO_DOUBLE_GRANT,
        "a create that was delayed lands once its application's name is free",
        "it is delayed",
        "new epoch before a name is freed",
        "the delayed create",
    ),
    _of(
        grants.NAME_FREED,
        "policy_on_finalizers",
        NO_DOUBLE_GRANT,
        "a former leader frees a name for a late create that only the new leader knows of",
        "operator B: sends the create",
        "operator A: takes the finalizers",
        "the delayed create",
    ),
    _of(
        grants.LEASE_OBJECT_DELETED,
        "epoch_from_everywhere",
        REBUILD_FINDS_ALL,
        "an epoch is used twice once the Lease object is deleted",
        "deletes the Lease object",
        "raises the policy's parameter to 1",
    ),
    _of(
        grants.LAGGING_POLICY,
        "roll_forward",
        NO_DOUBLE_GRANT,
        "a create that is still under way lands after its intent was withdrawn",
        "withdraws the intent",
        "the delayed create",
    ),
    _of(
        grants.USER_EDITS,
        "withdraw_if_edited",
        NO_DOUBLE_GRANT,
        "a spec edited after the intent is rolled forward on the old spec's lease",
        "writes the intent of job",
        "edits the spec",
        "rolls it forward",
    ),
    _of(
        grants.PAUSED_LEADER,
        "intents_mended",
        EVERY_JOB_ENDS,
        "an intent whose leader died holds its lease for ever",
        "writes the intent",
        "takes the Lease over",
    ),
    _of(
        grants.TOMBSTONES,
        "policy_on_finalizers tombstones_listed_last",
        REBUILD_FINDS_ALL,
        "a record moves from application to tombstone behind the lister's back",
        "lists tombstones",
        "leaves a tombstone",
        "takes the finalizers",
        "lists applications",
    ),
)

AMNESIA = (
    _of(
        grants.REDIS_GOES_BACK_THREE,
        "grant_names_decision",
        NO_DOUBLE_GRANT,
        "an older decision's grant answers for a newer one and hides that Redis went back",
        "it is delayed",
        "goes back",
        "the delayed grant",
    ),
    _of(
        grants.REDIS_GOES_BACK,
        "amnesia_noticed",
        NO_DOUBLE_GRANT,
        "a Redis that went back to before a grant is believed",
        "saves its state",
        "is granted",
        "goes back",
        "decides on table version 0",
    ),
    _of(
        grants.REDIS_GOES_BACK,
        "decision_void_after_change",
        NO_DOUBLE_GRANT,
        "a decision fits a Redis that went back to the version it was made on",
        "decides",
        "decides",
        "is granted",
        "goes back",
        "is granted",
    ),
    _of(
        grants.REDIS_GOES_BACK_THREE,
        "version_marked",
        NO_DOUBLE_GRANT,
        "a late grant lifts a Redis that went back to the count that its leader expects",
        "goes back",
        "the delayed grant",
    ),
)

END = (
    _of(
        grants.SPARK_OPERATOR_LIES,
        "death_proved",
        NO_DOUBLE_GRANT,
        "'driver pod not found' frees the lease of a driver that runs",
        "driver pod not found",
        "releases the lease",
    ),
    _of(
        grants.NODE_LOST,
        "phase_is_no_proof",
        NO_DOUBLE_GRANT,
        "PodGC's word on a lost node frees the lease of a driver that runs",
        "PodGC marks",
        "releases the lease",
    ),
    _of(
        grants.SPARK_OPERATOR_LIES,
        "name_occupied",
        NO_DOUBLE_GRANT,
        "a driver is created after its lease was released",
        "begins to submit",
        "deletes the application",
        "releases the lease",
        "is created",
    ),
    _of(
        grants.SPARK_OPERATOR_LIES,
        "placeholder_kept",
        NO_DOUBLE_GRANT,
        "a driver is created once the placeholder made room",
        "begins to submit",
        "releases the lease",
        "removes the placeholder",
        "is created",
    ),
    _of(
        grants.SPARK_OPERATOR_LIES,
        "driverless_ended",
        EVERY_JOB_ENDS,
        "an application that failed before it had a driver holds its lease for ever",
        "FAILED without a driver",
    ),
    _of(
        grants.CREATE_TWICE,
        "epoch_step_after_unsure_create",
        NO_DOUBLE_GRANT,
        "a create without an answer lands a second time when its run is long over",
        "it is delayed",
        "takes the finalizers",
        "the delayed create",
    ),
    _of(
        grants.NODE_LOST_UNFENCEABLE,
        "hold_if_not_fenceable",
        NO_DOUBLE_GRANT,
        "two attempts of a job that can't be fenced write at once",
        "PodGC marks",
        "attempt2 is created",
    ),
    _of(
        grants.NODE_LOST,
        "fence",
        REBUILD_FINDS_ALL,
        "a retry's success is taken for the fence of a driver that still writes",
        "PodGC marks",
        "attempt2: commits",
        "takes the finalizers of job0/uid0/attempt1",
    ),
    _of(
        grants.NODE_LOST_RETRY_DIES,
        "success_tells_of_fence",
        NO_DOUBLE_GRANT,
        "a retry that died before its fence is taken for one that has fenced",
        "PodGC marks",
        "attempt2: dies",
        "takes the finalizers of job0/uid0/attempt1",
        "releases the lease of job0/uid0/attempt1",
    ),
    _of(
        grants.TOMBSTONES,
        "finalizers",
        REBUILD_FINDS_ALL,
        "a deleted job's application is gone while its driver is yet to come",
        "deletes job0",
        "is gone",
        "rebuilds",
    ),
    _of(
        grants.TOMBSTONES,
        "tombstone_first",
        NO_DOUBLE_GRANT,
        "a deleted job's lease goes with its objects while its driver runs on a lost node",
        "PodGC marks",
        "takes the finalizers",
        "releases the lease",
    ),
)

FENCE_AND_RETRY = (
    _of(
        runs.ZOMBIE,
        "fence",
        NOTHING_LOST,
        "a zombie commits after its retry read the log",
        "attempt2: reads the log",
        "attempt1: statement 2 commits",
        "attempt2: statement 1 commits",
    ),
    _of(
        runs.ZOMBIE_TWO_TABLES,
        "fence_before_log",
        NOTHING_TWICE,
        "a zombie commits between its retry's reading and fence",
        "attempt2: reads the log",
        "attempt1: statement 1 commits",
        "attempt2: fences",
        "attempt2: statement 1 commits",
    ),
    _of(
        runs.ZOMBIE_TWO_TABLES,
        "fence_every_table",
        NOTHING_TWICE,
        "a zombie commits on the table that wasn't fenced",
        "attempt2: fences table 0",
        "attempt1: statement 2 commits on table 1",
        "attempt2: statement 2 commits on table 1",
    ),
    _of(
        runs.RECREATED,
        "versions_from_token",
        FENCED_NEVER_COMMITS,
        "a driver that starts late reads its fence, outbids it and runs on",
        "attempt2: fences",
        "attempt1: begins with generation 3",
        "attempt1: statement 1 commits",
    ),
    _of(
        runs.ZOMBIE,
        "later_statement_counts",
        NOTHING_LOST,
        "a DELETE that had matched nothing deletes what the INSERT after it wrote",
        "attempt1: statement 1 matches nothing",
        "attempt1: statement 2 commits",
        "attempt2: statement 1 commits",
    ),
    _of(
        runs.ZOMBIE_TWO_TABLES,
        "skip_noticed",
        NOTHING_LOST,
        "a fenced zombie takes a skip for success, and its next statement stands for both",
        "Delta skips it",
        "attempt1: statement 2 commits on table 1",
        "done [1, 2]",
    ),
    _of(
        runs.REUSED,
        "spec_hash_in_stamp",
        NOTHING_LOST,
        "another spec under the same run key is reported as done",
        "re-creates the job with spec 1",
        "done [1, 2]",
        "reports success",
    ),
    _of(
        runs.CLEANED_UP,
        "closing_append",
        NOTHING_TWICE,
        "a last statement that had matched nothing takes effect when the run is re-created",
        "statement 2 matches nothing",
        "reports success",
        "statement 2 commits",
    ),
    _of(
        runs.CLEANED_UP_REUSED,
        "closing_carries_hash",
        NOTHING_LOST,
        "after the clean-up another spec finds the run closed and is reported as done",
        "cleaned up",
        "done [1, 2]",
        "reports success",
    ),
    _of(
        runs.CLEANED_UP_ZOMBIE,
        "lost_history_refused",
        NOTHING_TWICE,
        "a statement whose stamp was cleaned up runs again",
        "attempt1: statement 1 commits",
        "cleaned up",
        "done nothing",
    ),
    _of(
        runs.CLEANED_UP_ZOMBIE,
        "fence_tells_replaced",
        NOTHING_TWICE,
        "a fence hides that what it replaced has lost its stamp",
        "attempt1: statement 1 commits",
        "attempt2: looks at table 0",
        "attempt2: fences table 0",
        "cleaned up but for 1",
        "done nothing",
    ),
    _of(
        runs.CLEANED_UP_ZOMBIE,
        "fence_tells_look",
        NOTHING_TWICE,
        "a statement that slipped in between a fence's look and the fence is cleaned up, and the fence is not",
        "attempt2: looks at table 0",
        "attempt1: statement 1 commits",
        "attempt2: fences table 0",
        "cleaned up but for 1",
        "done nothing",
    ),
    _of(
        runs.CLEANED_UP_ZOMBIE,
        "set_transactions_kept",
        FENCED_NEVER_COMMITS,
        "a fence is forgotten before its zombie is dead",
        "attempt2: fences",
        "cleaned up",
        "attempt1: statement 1 commits",
    ),
    _of(
        runs.CREATES,
        "missing_table_unfenceable",
        NOTHING_TWICE,
        "a table that doesn't exist yet is created twice",
        "it doesn't exist",
        "attempt1: statement 1 commits",
        "attempt2: statement 1 commits",
    ),
    _of(
        runs.RECREATED,
        "successor_waits",
        NOTHING_TWICE,
        "a re-created job runs beside its predecessor's driver",
        "re-creates the job",
        "uid0/attempt1: statement 1 commits",
        "uid1/attempt1: statement 1 commits",
    ),
    _of(
        runs.BACKUP,
        "tokens_survive_backup",
        FENCED_NEVER_COMMITS,
        "after a restore from backup a zombie and its retry share a token",
        "restored from an old backup",
        "attempt2: fences",
        "attempt1: statement 1 commits",
    ),
    _of(
        runs.SLOT,
        "retry_keeps_slot",
        FENCED_NEVER_COMMITS,
        "a retry on another slot doesn't fence its zombie",
        "attempt2: fences",
        "attempt1: statement 1 commits",
    ),
)

ALL = GRANT + TAKEOVER + AMNESIA + END + FENCE_AND_RETRY

# Steps that nothing needs for safety or liveness: what is said for them otherwise stands in docs/protocol.md.
REDUNDANT = (
    (
        "grant_idempotent",
        grants.PAUSED_LEADER,
        "a repeated grant is told 'version moved', and the sweep cleans up",
    ),
    ("release_by_token", grants.GIVEN_BACK_LATE, "the version's mark betrays a release that lands late"),
    ("uncovered_taken_back", grants.PAUSED_LEADER, "the policy lets no such intent appear"),
    ("tombstones_listed_last", grants.TOMBSTONES, "the policy stops a former leader from moving records"),
)
