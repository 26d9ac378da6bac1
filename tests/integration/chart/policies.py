"""The chart's admission policies in a real API server, and what it refuses by them."""

from collections.abc import Callable

from integration.objects import RefusedRequestError

RBAC = "/apis/rbac.authorization.k8s.io/v1"
_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = {
    "ValidatingAdmissionPolicy": f"{_REGISTRATION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{_REGISTRATION}/validatingadmissionpolicybindings",
}
"""Where the API server has them, by their kinds."""
FORBIDDEN, INVALID = 403, 422
"""Refused by roles, and by policies."""


def refusal(ask: Callable[[], object], *statuses: int) -> str:
    """The API server's words where it answers one of these statuses; empty: it does what is asked."""
    try:
        done = ask()
    except RefusedRequestError as error:
        if error.status not in statuses:
            raise
        return str(error)
    assert done is not None, "there is no such object"
    return ""
