"""Finds what looks like a secret in a text that may be anything: a log, a message, a statement, a file.

Every part of an expression that may be long is bounded: a log of megabytes without a space must not take an hour.
"""

import re
from collections.abc import Callable

STARS = "***"

_NAME = r"[A-Za-z0-9_.\-]"
_CALLED = (
    r"(?:password|passwd|passphrase|passcode|pwd|secret|credential|signature|jaas[._-]?config|creds?(?![a-z])"
    r"|(?<![a-z])pw(?![a-z])|(?<!by)(?<!com)(?<!tres)(?<!sur)pass(?![a-z])"
    r"|(?:access|account|api|auth|client|encryption|master|pass|private|shared|signing|storage)[._-]?key|token)"
)
"""All of it whatever its case: a letter is [a-z]."""
_SAYS_ONLY_WHERE = re.compile(
    r"(?i)(provider|endpoint|file|path|dir|url|class|type|enabled|name|ref|count|size|seconds|expiry|expiration|version)s?$"
)
_ONE_WORD = r"[^\s\"',;&)\]}<>]+"
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.|'')*'"
_ESCAPED_QUOTED = r"\\\"(?:(?!\\\").)*\\\""

_ASSIGNED = re.compile(
    rf"(?i)(?P<name>{_CALLED}{_NAME}{{0,128}})"
    r"(?P<between>\\?[\"'`]?[ \t]*(?:=>|[=:]|[ \t](?=\\?[\"']))[ \t]*(?:(?:bearer|basic)[ \t]+)?)"
    rf"(?P<value>{_ESCAPED_QUOTED}|{_QUOTED}|{_ONE_WORD})"
)
_OPTION = re.compile(
    rf"(?i)(?<![^\s\"'\[,])(?P<name>--?{_NAME}{{0,64}}?{_CALLED}{_NAME}{{0,64}})(?P<between>[ \t]+)(?P<value>[^\s-]\S*)"
)
_NUMBER = re.compile(r"\\?[\"']?\d{1,20}\\?[\"']?")

_WHOLE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
        STARS,
    ),
    # The user and the password before the host of an address; a container of an object store stands there, too, without a colon.
    (re.compile(r"(?<=://)[^\s/:@'\"`]{0,256}:[^\s'\"`]{1,512}@"), f"{STARS}@"),
    # A token stands there alone, too.
    (re.compile(r"(?i)((?<=http://)|(?<=https://))[^\s/:@'\"`]{1,512}@"), f"{STARS}@"),
    (
        re.compile(r"(?i)((?<=s3://)|(?<=s3[an]://)|(?<=gs://)|(?<=oss://)|(?<=cos://))[^\s/'\"`@]{0,512}@"),
        f"{STARS}@",
    ),
    (
        re.compile(
            r"(?i)(?<=[?&])(sig|signature|token|key|code|awsaccesskeyid|x-(?:amz|goog)-(?:credential|signature|security-token))="
            r"[^\s&'\"`]+"
        ),
        rf"\1={STARS}",
    ),
    (re.compile(r"(?i)\b(bearer|basic)[ \t]+[A-Za-z0-9+/_.~\-]{8,8192}=*"), rf"\1 {STARS}"),
    (re.compile(r"\beyJ[A-Za-z0-9_\-]{8,2048}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?"), STARS),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), STARS),
    (
        re.compile(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9\-]{10,}|ya29\.[A-Za-z0-9_\-]{10,})"
        ),
        STARS,
    ),
)


def without_secrets(text: str) -> str:
    for pattern, instead in _WHOLE:
        text = pattern.sub(instead, text)
    text = _OPTION.sub(_masked, text)
    return _ASSIGNED.sub(_masked, text)


def is_called_secret(name: str) -> bool:
    """Whether what is called so is taken for a secret; what only says where one is, or of which kind, is none."""
    return _CALLED_ANYWHERE.search(name) is not None and _SAYS_ONLY_WHERE.search(name) is None


_CALLED_ANYWHERE = re.compile(rf"(?i){_CALLED}")


def _masked(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if _SAYS_ONLY_WHERE.search(name) or value.strip("\\\"'") == STARS:
        return found[0]
    if name.lower().endswith("token") and _NUMBER.fullmatch(value):
        return found[0]  # a lease's, which Sluice itself calls so
    quote = next((one for one in ('\\"', '"', "'") if value.startswith(one)), "")
    return f"{name}{found['between']}{quote}{STARS}{quote}"


Mask = Callable[[str], str]
