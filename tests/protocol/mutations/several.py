"""How one leader has several requests under way."""

from protocol.grants import scenarios as grants
from protocol.grants.invariants import NO_DOUBLE_GRANT, TRUSTED, WRITERS_ARE_HELD
from protocol.mutations.mutation import mutation

SEVERAL = (
    mutation(
        grants.SEVERAL,
        "redis_in_order",
        TRUSTED,
        "two grants under way at once overtake each other, and their leader takes it for amnesia",
        "job0 may go",
        "job1 may go",
        "version moved",
    ),
    mutation(
        grants.SEVERAL_UNANSWERED,
        "granted_counts",
        NO_DOUBLE_GRANT,
        "a decision is made beside a grant whose intent isn't written yet",
        "is answered to the grant for job0",
        "job1 may go",
        "the grant for job1 lands",
    ),
    mutation(
        grants.SEVERAL_DELETED,
        "one_worker_a_job",
        WRITERS_ARE_HELD,
        "one worker's refusal ends what another one's create still needs",
        "sends the intent for job0",
        "sends the intent for job0",
        "sends the create for job0",
        "deletes job0",
        "the create for job0 lands",
        "the release of the lease of job0/uid0/attempt1 lands",
    ),
    mutation(
        grants.SEVERAL_REDIS_LOST,
        "rebuild_waits",
        WRITERS_ARE_HELD,
        "a worker that outlives a rebuild carries out a grant that the rebuild didn't find",
        "is answered to the grant for job0",
        "loses everything",
        "rebuilds Redis under epoch 2 with nothing",
        "sends the intent for job0",
        "the create for job0 lands",
    ),
    mutation(
        grants.SEVERAL_NO_POLICY,
        "rebuild_waits",
        WRITERS_ARE_HELD,
        "an intent under way lands behind the rebuild's lists, which no policy refuses",
        "sends the intent for job0",
        "loses everything",
        "rebuilds Redis under epoch 2 with nothing",
        "the intent for job0 lands",
        "the create for job0 lands",
    ),
    mutation(
        grants.SEVERAL_API_BACK,
        "release_looks_again",
        WRITERS_ARE_HELD,
        "a release that waited through a rebuild frees the lease of what an API server that went back shows again",
        "decides to release the lease",
        "goes back to its backup",
        "rebuilds Redis under epoch 2 with job0/uid0/attempt1",
        "sends the release of the lease",
    ),
)
