"""How a Redis that forgot is noticed."""

from protocol.grants import scenarios as grants
from protocol.grants.invariants import REDIS_AS_LEFT
from protocol.mutations.mutation import mutation

AMNESIA = (
    mutation(
        grants.REDIS_GOES_BACK_THREE,
        "grant_names_decision",
        REDIS_AS_LEFT,
        "an older decision's grant answers for a newer one and hides that Redis went back",
        "it is delayed",
        "goes back",
        "the delayed grant",
    ),
    mutation(
        grants.REDIS_GOES_BACK,
        "amnesia_noticed",
        REDIS_AS_LEFT,
        "a leader believes a Redis that went back, and it tells of leases that are no more",
        "saves its state",
        "releases the lease",
        "goes back",
        "version moved",
    ),
    mutation(
        grants.REDIS_GOES_BACK,
        "decision_void_after_change",
        REDIS_AS_LEFT,
        "a decision fits a Redis that went back to the version it was made on",
        "decides",
        "decides",
        "is granted",
        "goes back",
        "is granted",
    ),
    mutation(
        grants.REDIS_GOES_BACK_THREE,
        "version_marked",
        REDIS_AS_LEFT,
        "a late grant lifts a Redis that went back to the count that its leader expects",
        "goes back",
        "the delayed grant",
    ),
)
