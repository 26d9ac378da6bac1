"""How a lease is granted and written down."""

from protocol.grants import scenarios as grants
from protocol.grants.invariants import NO_DOUBLE_GRANT, OUTCOME_IS_OWN, REBUILD_FINDS_ALL
from protocol.mutations.mutation import mutation
from protocol.search import EVERY_JOB_ENDS

GRANT = (
    mutation(
        grants.PAUSED_LEADER,
        "version_compared",
        NO_DOUBLE_GRANT,
        "a delayed grant lands beside a later one",
        "sends the grant",
        "the delayed grant",
    ),
    mutation(
        grants.PAUSED_LEADER,
        "epoch_compared",
        NO_DOUBLE_GRANT,
        "a former leader's grant lands in the new leader's table",
        "rebuilds Redis under epoch 2",
        "the delayed grant",
    ),
    mutation(
        grants.LAGGING_POLICY,
        "intent_before_create",
        REBUILD_FINDS_ALL,
        "a rebuild misses a dead leader's create that is still under way",
        "sends the create",
        "rebuilds Redis under epoch 2 with nothing",
    ),
    mutation(
        grants.TOMBSTONES,
        "intent_before_create",
        EVERY_JOB_ENDS,
        "a run whose end no status tells is granted again, and its application's name is taken for ever",
        "operator A: takes the finalizer of the application of job0",
        "operator B: is granted token 2.1 for job0",
    ),
    mutation(
        grants.USER_EDITS,
        "intent_precondition",
        NO_DOUBLE_GRANT,
        "a job edited after its grant runs on leases of what it was",
        "is granted",
        "edits the spec",
        "writes the intent",
    ),
    mutation(
        grants.PAUSED_LEADER,
        "hands_counted",
        NO_DOUBLE_GRANT,
        "the sweep frees a lease that its own leader is about to use",
        "is granted",
        "releases the lease",
        "writes the intent",
    ),
    mutation(
        grants.WATCH_LAGS,
        "own_writes_seen",
        NO_DOUBLE_GRANT,
        "the sweep frees a lease whose intent its leader's watch doesn't show yet",
        "writes the intent",
        "its watch lags; releases the lease",
    ),
    mutation(
        grants.NAME_TAKEN,
        "own_application_known",
        OUTCOME_IS_OWN,
        "another's application is taken for the attempt's own, and its end for the outcome",
        "creates an application with the name",
        "writes the outcome",
    ),
    mutation(
        grants.REFUSED,
        "unanswered_create_counts",
        NO_DOUBLE_GRANT,
        "a refused attempt is withdrawn, and an earlier create of it lands",
        "it is delayed",
        "refuses the application",
        "withdraws the intent",
        "the delayed create",
    ),
)
