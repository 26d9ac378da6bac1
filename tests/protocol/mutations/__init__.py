"""The design with one step taken out at a time: each must break what the step is there for, and for that reason."""

from protocol.grants import scenarios as grants
from protocol.mutations.amnesia import AMNESIA
from protocol.mutations.api_server import API_SERVER
from protocol.mutations.end import END
from protocol.mutations.grant import GRANT
from protocol.mutations.mutation import Mutation, without
from protocol.mutations.pause import PAUSE
from protocol.mutations.run import FENCE_AND_RETRY
from protocol.mutations.several import SEVERAL
from protocol.mutations.takeover import TAKEOVER

__all__ = ["ALL", "REDUNDANT", "Mutation", "without"]

ALL = GRANT + TAKEOVER + AMNESIA + API_SERVER + SEVERAL + END + FENCE_AND_RETRY + PAUSE

# Steps that nothing needs for safety or liveness: what is said for them otherwise stands in docs/protocol.md.
REDUNDANT = (
    (
        "grant_idempotent",
        grants.PAUSED_LEADER,
        "a repeated grant is told 'version moved', and the sweep cleans up",
    ),
    ("release_by_token", grants.GIVEN_BACK_LATE, "the version's mark betrays a release that lands late"),
    ("uncovered_taken_back", grants.PAUSED_LEADER, "the policy lets no such intent appear"),
    (
        "redis_epoch_counts",
        grants.API_GOES_BACK,
        "Redis refuses an epoch that isn't above its own, and the next try's is higher",
    ),
    ("rebuild_raises_epoch", grants.LEASE_OBJECT_DELETED, "no epoch comes back that anybody knows of"),
    (
        "intents_listed_first",
        grants.TOMBSTONES,
        "the policy lets no former leader create what was listed as intent",
    ),
    ("tombstones_listed_last", grants.TOMBSTONES, "the policy stops a former leader from moving records"),
)
