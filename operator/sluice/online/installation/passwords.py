"""Makes the password of an installation's Redis, once: what is there is kept."""

import base64
import secrets

from sluice.api import names
from sluice.kube.client import ConflictError, Kube, NotFoundError
from sluice.kube.resources import SECRETS
from sluice.online.access.connection import cluster
from sluice.online.access.errors import OnlineError

BYTES = 24
MARK = f"{names.GROUP}/made-for"
"""The label of Secrets that were made here; others are somebody's own, and stay."""
FOR_REDIS = "redis"


class PasswordMissingError(OnlineError):
    """The Secret is there without the password: to ask again at once gives the same answer."""


async def make_password(namespace: str, secret: str, key: str) -> bool:
    """Whether it was made. Raises NoPasswordError if the Secret is there without that key."""
    password = base64.b64encode(secrets.token_hex(BYTES).encode()).decode()
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret, "namespace": namespace, "labels": {MARK: FOR_REDIS}},
        "type": "Opaque",
        "data": {key: password},
    }
    async with cluster() as kube:
        try:
            await kube.create(SECRETS, namespace, body)
        except ConflictError:
            there = (await kube.get(SECRETS, namespace, secret)).get("data") or {}
            if there.get(key):
                return False
            raise PasswordMissingError(
                f"Secret {namespace}/{secret} is there and has no password under the key {key} of redis.key (its keys: "
                f"{', '.join(sorted(there)) or 'none'}): set redis.key to the key that has it, or put a password under {key}"
            ) from None
    return True


async def remove_password(kube: Kube, namespace: str, secret: str) -> None:
    """Deletes the Secret if it was made here."""
    try:
        metadata = (await kube.get(SECRETS, namespace, secret))["metadata"]
        if (metadata.get("labels") or {}).get(MARK) == FOR_REDIS:
            await kube.delete(SECRETS, namespace, secret)
    except NotFoundError:
        return  # none was made
