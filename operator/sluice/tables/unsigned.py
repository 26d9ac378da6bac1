"""What S3 tells anybody about a bucket, without a signature: in which region it is, and that it is a store that answers at all.

delta-rs asks in the one region of the environment, and takes any well-formed XML for a list, in which it then finds nothing.
"""

import os
import re
import time
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import quote
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

_AMAZONS = "https://s3.amazonaws.com"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_SECONDS = 4.0
_TRIES = 3
_ENOUGH = 1000
_OK = 200


class NoAnswerError(Exception):
    """Nothing answers."""


def own_endpoint() -> str | None:
    """The endpoint that the environment names; None: Amazon's."""
    return next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), None)


def empty_endpoint() -> str | None:
    """The name of a variable that names no endpoint, and is set all the same."""
    return next((name for name in _ENDPOINTS if os.environ.get(name) == ""), None)


def region_of(bucket: str) -> str | None:
    """Returns the bucket's region; None if its store doesn't say."""
    try:
        region = _asked("HEAD", bucket).region
    except NoAnswerError:
        return None  # the trouble that led here is told
    return region if _REGION.fullmatch(region) else None


def is_of_a_store(bucket: str) -> bool:
    """Whether what answers refuses to list the bucket, or lists it. Raises NoAnswerError."""
    answer = _asked("GET", bucket, "?list-type=2&max-keys=1")
    return answer.status != _OK or b"<ListBucketResult" in answer.begins


@dataclass(frozen=True)
class _Answer:
    status: int
    region: str
    begins: bytes


def _asked(method: str, bucket: str, query: str = "") -> _Answer:
    url = f"{(own_endpoint() or _AMAZONS).rstrip('/')}/{quote(bucket)}{query}"
    # Without handlers of redirects and errors: an answer counts whatever its status is.
    opener = OpenerDirector()
    for handler in (ProxyHandler(), HTTPHandler(), HTTPSHandler()):
        opener.add_handler(handler)
    end = time.monotonic() + _SECONDS
    for attempt in range(_TRIES):
        try:
            request = Request(url, method=method)  # noqa: S310 - the endpoint is that of the stores
            with opener.open(request, timeout=_SECONDS) as answer:
                region = answer.headers.get("x-amz-bucket-region", "")
                return _Answer(answer.status, region, answer.read(_ENOUGH))
        except (OSError, ValueError, HTTPException) as error:
            if attempt + 1 == _TRIES or time.monotonic() > end:
                raise NoAnswerError(str(error)) from error
    raise AssertionError("the last try returns or raises")
