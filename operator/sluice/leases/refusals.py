"""What it means that Redis answers, but not to us."""

from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError

from sluice.leases.endpoint import Endpoint

REFUSALS = (AuthenticationError, AuthorizationError, NoPermissionError)


def refused(error: Exception, endpoint: Endpoint) -> str:
    """What Redis did, and to whom. `error` is one of REFUSALS."""
    said = str(error).rstrip(".")
    if isinstance(error, NoPermissionError):
        return f"does not let {endpoint.who} do what is needed ({said})"
    if endpoint.password_file is not None:
        return f"refuses {endpoint.who} with the password in {endpoint.password_file} ({said})"
    password = "with the password of its URL" if endpoint.password else "without a password"
    return f"refuses {endpoint.who} {password} ({said})"


def cure_of(error: Exception, endpoint: Endpoint, *, of_url: str) -> str:
    """What to do. `of_url`: where the URL and its password can be corrected."""
    if isinstance(error, NoPermissionError):
        return "allow it what docs/operations.md lists under Redis"
    if endpoint.password_file is not None:
        return "correct it there, where it is read again for each connection, or in Redis"
    return f"correct it {of_url}, or in Redis"
