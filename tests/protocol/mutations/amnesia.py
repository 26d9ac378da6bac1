"""How a Redis that forgot is noticed."""

from protocol.grants import scenarios as grants
from protocol.grants.invariants import NO_DOUBLE_GRANT
from protocol.mutations.mutation import mutation

AMNESIA = (
    mutation(
        grants.REDIS_GOES_BACK_THREE,
        "grant_names_decision",
        NO_DOUBLE_GRANT,
        "an older decision's grant answers for a newer one and hides that Redis went back",
        "it is delayed",
        "goes back",
        "the delayed grant",
    ),
    mutation(
        grants.REDIS_GOES_BACK,
        "amnesia_noticed",
        NO_DOUBLE_GRANT,
        "a Redis that went back to before a grant is believed",
        "saves its state",
        "is granted",
        "goes back",
        "decides on table version 0",
    ),
    mutation(
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
    mutation(
        grants.REDIS_GOES_BACK_THREE,
        "version_marked",
        NO_DOUBLE_GRANT,
        "a late grant lifts a Redis that went back to the count that its leader expects",
        "goes back",
        "the delayed grant",
    ),
)
