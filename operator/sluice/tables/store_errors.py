"""What stores say when they don't let a log be read, as one word for each cause and a sentence that says what to do."""

import re
from dataclasses import dataclass
from enum import StrEnum

_LONGEST = 200
_CODE = re.compile(r"<Code>(\w+)</Code>")
_MESSAGE = re.compile(r"<Message>([^<]+)</Message>")
_JSON_MESSAGE = re.compile(r'"message":\s*"([^"]+)"')


class StoreTrouble(StrEnum):
    NO_CREDENTIALS = "NoCredentials"
    IDENTITY_REFUSED = "IdentityRefused"
    CREDENTIALS_UNUSABLE = "CredentialsUnusable"
    CREDENTIALS_REFUSED = "CredentialsRefused"
    ACCESS_DENIED = "AccessDenied"
    CLOCK_SKEWED = "ClockSkewed"
    NO_STORE = "NoStore"
    NO_BUCKET = "NoBucket"
    WRONG_REGION = "WrongRegion"
    PLAIN_HTTP = "PlainHttp"
    STORE_BUSY = "StoreBusy"
    STORE_SILENT = "StoreSilent"
    STORE_FAILS = "StoreFails"


@dataclass(frozen=True)
class _Cause:
    trouble: StoreTrouble
    says: re.Pattern[str]
    sentence: str
    """May name the `bucket`."""


def _cause(trouble: StoreTrouble, says: str, sentence: str) -> _Cause:
    return _Cause(trouble, re.compile(says), sentence)


_IDENTITY_REFUSED = (
    "the cloud does not take the pod's identity for one that may read it: compare the trust of the role (or of the managed "
    "identity, or the service account) with the namespace and name of the pod's service account"
)

_CAUSES = (
    _cause(
        StoreTrouble.NO_CREDENTIALS,
        r"IMDS|PUT http://169\.254\.169\.254|metadata\.google\.internal|GET http://169\.254\.169\.254|"
        r"no providers in chain|loading credentials[\s\S]*(not enabled|No such file)",
        "no credentials for this store are in the environment: give them from a Secret or by the pod's identity "
        "(docs/operations.md, What the operator must be able to read)",
    ),
    _cause(
        StoreTrouble.CREDENTIALS_UNUSABLE,
        r"service account file|Invalid Access Key|Invalid SAS|external_account",
        "the credentials that are set cannot be read: correct the key, or the file that a variable names; of Google's files "
        "those of a service account and of a user are read, and no federated ones (external_account)",
    ),
    _cause(
        StoreTrouble.PLAIN_HTTP,
        r"URL scheme is not allowed",
        "an endpoint is http://, which is not allowed: set AWS_ALLOW_HTTP=true (AZURE_ALLOW_HTTP or GOOGLE_ALLOW_HTTP for theirs), "
        "or use https://",
    ),
    _cause(
        StoreTrouble.IDENTITY_REFUSED,
        r"AssumeRole|WebIdentity|InvalidIdentityToken|AADSTS|invalid_grant|unauthorized_client|POST REDACTED[\s\S]* 4\d\d [A-Z]|"
        r"loading credentials[\s\S]*(AccessDenied|service error|unhandled)",
        _IDENTITY_REFUSED,
    ),
    _cause(
        StoreTrouble.CLOCK_SKEWED,
        r"RequestTimeTooSkewed|RequestExpired|Make sure your clock|not within the allowed time",
        "the clock here is too far from the store's: set the node's clock right (NTP)",
    ),
    _cause(
        StoreTrouble.WRONG_REGION,
        r"AuthorizationHeaderMalformed|PermanentRedirect|IllegalLocationConstraint|redirect without LOCATION",
        "bucket {bucket} is in another region, and the store does not say which: set AWS_REGION to the bucket's region",
    ),
    _cause(
        StoreTrouble.NO_BUCKET,
        r"NoSuchBucket|ContainerNotFound|FilesystemNotFound|bucket does not exist|ContainerBeingDeleted",
        "there is no bucket or container {bucket} in this store: correct the table's location, or the endpoint that is set",
    ),
    _cause(
        StoreTrouble.CREDENTIALS_REFUSED,
        r"InvalidAccessKeyId|provided access key|SignatureDoesNotMatch|ExpiredToken|InvalidToken|AuthenticationFailed|"
        r"InvalidAuthenticationInfo|401 Unauthorized|InvalidSecurity|failed to authenticate",
        "the store does not take the credentials that are set, which are wrong or have expired: correct them; a Secret that was "
        "changed reaches variables only when the pod is restarted",
    ),
    _cause(
        StoreTrouble.ACCESS_DENIED,
        r"403 Forbidden|AccessDenied|AuthorizationPermissionMismatch|lacked the necessary privileges",
        "the store does not let this identity read it: allow it to list and to get what is below the table's _delta_log "
        "(on S3: s3:ListBucket on the bucket, s3:GetObject on its objects)",
    ),
    _cause(
        StoreTrouble.STORE_BUSY,
        r"SlowDown|ServerBusy|503 Service Unavailable|429 Too Many Requests",
        "the store asks for fewer requests, also after retries: it is asked again; if it lasts, raise its limits",
    ),
    _cause(
        StoreTrouble.STORE_SILENT,
        r"operation timed out|tcp connect error|dns error|connection closed|error sending request|client error",
        "the store does not answer: see that it runs, that its endpoint is right, and that network policies and proxies let "
        "it be reached",
    ),
    _cause(
        StoreTrouble.STORE_FAILS,
        r"\b5\d\d [A-Z]",
        "the store fails on its own, also after retries: it is asked again; if it lasts, look at the store",
    ),
    _cause(StoreTrouble.IDENTITY_REFUSED, r"loading credentials", _IDENTITY_REFUSED),
)


def trouble_of(error: BaseException) -> StoreTrouble | None:
    """None if the trouble isn't one between here and a store."""
    cause = _cause_of(str(error))
    return None if cause is None else cause.trouble


def explained(error: BaseException, bucket: str) -> str | None:
    """The trouble's word, what to do, and what the store says itself; None if the trouble isn't one between here and a store."""
    text = str(error)
    cause = _cause_of(text)
    if cause is None:
        return None
    own = own_words(text)
    return f"{cause.trouble}: {cause.sentence.format(bucket=bucket)}{f' ({own})' if own else ''}"


def _cause_of(text: str) -> _Cause | None:
    return next((cause for cause in _CAUSES if cause.says.search(text)), None)


def own_words(text: str) -> str:
    """The code and the message in an answer, which stand at the end of what delta-rs says."""
    code, message = _CODE.search(text), _MESSAGE.search(text) or _JSON_MESSAGE.search(text)
    words = [found[1].strip() for found in (code, message) if found is not None]
    return ": ".join(words)[:_LONGEST]
