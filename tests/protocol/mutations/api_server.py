"""How an API server that went back is noticed, and what becomes of leases then."""

from protocol.grants import scenarios as grants
from protocol.grants.invariants import NO_DOUBLE_GRANT, REBUILD_FINDS_ALL
from protocol.mutations.mutation import mutation
from protocol.search import EVERY_JOB_ENDS

API_SERVER = (
    mutation(
        grants.API_GOES_BACK,
        "api_going_back_noticed",
        NO_DOUBLE_GRANT,
        "the lease of a driver of which a restored API server knows nothing is swept",
        "is backed up",
        "goes back to its backup",
        "releases the lease",
    ),
    mutation(
        grants.API_GOES_BACK,
        "unexplained_held",
        REBUILD_FINDS_ALL,
        "a rebuild leaves out a driver of which a restored API server knows nothing",
        "goes back to its backup",
        "rebuilds Redis under epoch 2",
    ),
    mutation(
        grants.API_GOES_BACK_TAKEOVER,
        "unexplained_remembered",
        REBUILD_FINDS_ALL,
        "a later leader forgets a lease that only Redis knew of",
        "goes back to its backup",
        "rebuilds Redis under epoch 2",
        "rebuilds Redis under epoch 3",
    ),
    mutation(
        grants.API_GOES_BACK,
        "uncovered_ended",
        EVERY_JOB_ENDS,
        "an application that came back and holds no lease may not run, and isn't ended",
        "goes back to its backup",
    ),
)
