"""Asks S3 in which region a bucket is. Its answer to anybody names the region, also where it refuses everything else; delta-rs
asks in the one region of the environment."""

import os
import re
from http.client import HTTPException
from urllib.parse import quote
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

_AMAZONS = "https://s3.amazonaws.com"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_SECONDS = 4.0


def region_of(bucket: str) -> str | None:
    """Returns the bucket's region; None if its store doesn't say."""
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), _AMAZONS)
    request = Request(f"{endpoint.rstrip('/')}/{quote(bucket)}", method="HEAD")  # noqa: S310 - the stores' own endpoint
    # Without handlers of redirects and errors: whatever the status of the answer is, it names the region.
    opener = OpenerDirector()
    for handler in (ProxyHandler(), HTTPHandler(), HTTPSHandler()):
        opener.add_handler(handler)
    try:
        with opener.open(request, timeout=_SECONDS) as answer:
            region = answer.headers.get("x-amz-bucket-region", "")
    except (OSError, ValueError, HTTPException):
        return None  # the trouble that led here is told
    return region if _REGION.fullmatch(region) else None
