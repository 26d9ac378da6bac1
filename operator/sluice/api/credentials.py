"""Finds what a job must not contain, because everybody who can read the job could read it: credentials in paths, and names
and values that look like secrets."""

import re
from dataclasses import replace

from sluice.api.validation import PatternValidation, Validation, all_keys, never_matching, searching

_BEFORE_AN_AT = (
    r"(^|[^a-z0-9])(s3|s3a|s3n|gs|oss|cos)://[^/ '`\"]*@"
    r"|://[^/ :'`\"]+:[^/ @'`\"]+@"
)
_SIGNED = r"[?&](sig|signature|token|awsaccesskeyid|x-amz-credential|x-amz-signature)=[a-z0-9%+/_=-]{8}"
_IN_URI = rf"(?i){_BEFORE_AN_AT}|://[^ '`\"]*{_SIGNED}"
_END_OF_URI = re.compile(r"[ '`\"]")
_has_name_and_password = searching(f"(?i){_BEFORE_AN_AT}")
_is_signed = searching(f"(?i){_SIGNED}")


def without_credentials(message: str) -> PatternValidation:
    """Requires that no URI in the string holds credentials."""
    return replace(never_matching(_IN_URI, message), holds=lambda text: not _holds_credentials(text))


def _holds_credentials(text: str) -> bool:
    """The same as the pattern, which Python would search for anew from each :// of a URI that has many."""
    if _has_name_and_password(text):
        return True
    found = (one.partition("://") for one in _END_OF_URI.split(text))
    return any(scheme_end and _is_signed(rest) for _, scheme_end, rest in found)


_SENSITIVE = (
    r"(?i)(password|passwd|secret|credential|access[._-]?key|account[._-]?key|private[._-]?key|api[._-]?key"
    r"|(access|api|auth|bearer|fixed|refresh|sas|session)[._-]?token|jaas[._-]?config|(^|[._-])(token|pass|pwd)$)"
)
_ONLY_SAYS_WHERE = (
    r"(?i)(credentials?[._-]?provider|key[._-]?provider|token[._-]?(provider|file|endpoint)|secretkeyref[.]"
    r"|[.]secrets[.]|[.]credentials[.][a-z0-9_-]+[.]enabled$)"
)

_ASSIGNS_SENSITIVE = (
    r"(?i)((password|passwd|pwd|accountkey|sharedaccesskey) *= *[\"']?[^ ;&\"'$]|[?&]sig=[a-z0-9%+/_=-]{8})"
)


def names_no_secret(advice: str) -> Validation:
    return all_keys(
        never_matching(
            _SENSITIVE, f"names a secret, which everybody who can read the job could read: {advice}"
        ),
        unless=_ONLY_SAYS_WHERE,
    )


def holds_no_secret(advice: str) -> tuple[Validation, ...]:
    message = f"holds credentials in a value, which everybody who can read the job could read: {advice}"
    return (
        all_keys(without_credentials(message), of="values"),
        all_keys(never_matching(_ASSIGNS_SENSITIVE, message), of="values"),
    )
