"""What S3 tells anybody about a bucket, without a signature: in which region it is, and that it is a store that answers at all.

delta-rs asks in the one region of the environment, and takes any well-formed XML for a list, in which it then finds nothing.
"""

import re
from urllib.parse import quote

from sluice.tables.s3_requests import OK, S3Answer, S3Request, S3SilentError, asked, own_endpoint

_AMAZONS = "https://s3.amazonaws.com"
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")


def region_of(bucket: str) -> str | None:
    """Returns the bucket's region; None if its store doesn't say."""
    try:
        region = _asked("HEAD", bucket).region
    except S3SilentError:
        return None  # the trouble that led here is told
    return region if _REGION.fullmatch(region) else None


def is_of_a_store(bucket: str) -> bool:
    """Whether what answers refuses to list the bucket, or lists it. Raises NoAnswerError."""
    answer = _asked("GET", bucket, "?list-type=2&max-keys=1")
    return answer.status != OK or b"<ListBucketResult" in answer.begins


def _asked(method: str, bucket: str, query: str = "") -> S3Answer:
    url = f"{(own_endpoint() or _AMAZONS).rstrip('/')}/{quote(bucket)}{query}"
    return asked(S3Request(method, url))
