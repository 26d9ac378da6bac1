"""Single requests to S3, as few as there are that delta-rs does not make."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

OK = 200
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_SECONDS = 4.0
_TRIES = 3


class S3SilentError(Exception):
    """Nothing answers."""


def own_endpoint() -> str | None:
    """The endpoint that the environment names; None: Amazon's."""
    return next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), None)


def empty_endpoint() -> str | None:
    """The name of a variable that names no endpoint, and is set all the same."""
    return next((name for name in _ENDPOINTS if os.environ.get(name) == ""), None)


@dataclass(frozen=True)
class S3Answer:
    status: int
    region: str
    begins: bytes


@dataclass(frozen=True)
class S3Request:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    most: int = 1000
    """Bytes of the answer that are read."""


def asked(question: S3Request) -> S3Answer:
    """Raises NoAnswerError."""
    # Without handlers of redirects and errors: an answer counts whatever its status is.
    opener = OpenerDirector()
    for handler in (ProxyHandler(), HTTPHandler(), HTTPSHandler()):
        opener.add_handler(handler)
    end = time.monotonic() + _SECONDS
    for attempt in range(_TRIES):
        try:
            request = Request(question.url, method=question.method, headers=dict(question.headers))  # noqa: S310 - the endpoint is that of the stores
            with opener.open(request, timeout=_SECONDS) as answer:
                region = answer.headers.get("x-amz-bucket-region", "")
                return S3Answer(answer.status, region, answer.read(question.most))
        except (OSError, ValueError, HTTPException) as error:
            if attempt + 1 == _TRIES or time.monotonic() > end:
                raise S3SilentError(str(error)) from error
    raise AssertionError("the last try returns or raises")
