"""What S3 lists below a prefix, by a request that is signed with the keys of the environment (AWS Signature Version 4).

delta-rs lists logs alone. Who gets keys in another way than by the environment is not told what else lies in a folder.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from urllib.parse import quote, urlsplit

from sluice.tables.s3_requests import OK, S3Request, S3SilentError, asked, own_endpoint

_MOST = 100
_LARGEST = 256 * 1024
"""Bytes of a list of so many."""
_NAMES = re.compile(rb"<(?:Key|Prefix)>([^<]+)</(?:Key|Prefix)>")
_NOTHING = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class _Keys:
    access: str
    secret: str
    token: str | None


def names_below(bucket: str, prefix: str, region: str) -> tuple[str, ...]:
    """The first names below the prefix, which ends in a slash, folders with theirs. Empty: there are none, or it can't be told."""
    keys = _keys()
    if keys is None:
        return ()
    query = {
        "delimiter": "/",
        "list-type": "2",
        "max-keys": str(_MOST),
        "prefix": prefix,
    }
    text = "&".join(f"{name}={quote(query[name], safe='-_.~')}" for name in sorted(query))
    endpoint = (own_endpoint() or f"https://s3.{region}.amazonaws.com").rstrip("/")
    url = f"{endpoint}/{quote(bucket)}"
    headers = _signed(url, text, keys, region, datetime.now(UTC))
    try:
        answer = asked(S3Request("GET", f"{url}?{text}", headers, _LARGEST))
    except S3SilentError:
        return ()  # that there is no log was told just before, and counts
    if answer.status != OK:
        return ()
    found = (unescape(name.decode("utf-8", "replace")) for name in _NAMES.findall(answer.begins))
    return tuple(name.removeprefix(prefix) for name in found if name.startswith(prefix) and name != prefix)


def _keys() -> _Keys | None:
    access, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    return _Keys(access, secret, os.environ.get("AWS_SESSION_TOKEN")) if access and secret else None


def _signed(url: str, query: str, keys: _Keys, region: str, at: datetime) -> Mapping[str, str]:
    """The headers with which the request is made."""
    place = urlsplit(url)
    moment, day = f"{at:%Y%m%dT%H%M%SZ}", f"{at:%Y%m%d}"
    headers = {"host": place.netloc, "x-amz-content-sha256": _NOTHING, "x-amz-date": moment}
    if keys.token:
        headers["x-amz-security-token"] = keys.token
    named = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = "\n".join(("GET", place.path, query, lines, named, _NOTHING))
    scope = f"{day}/{region}/s3/aws4_request"
    told = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, told.encode(), "sha256").hex()
    return headers | {
        "authorization": f"AWS4-HMAC-SHA256 Credential={keys.access}/{scope}, SignedHeaders={named}, Signature={signature}"
    }
