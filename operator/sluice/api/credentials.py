"""Finds what a job must not contain, because everybody who can read the job could read it: credentials in paths, and names
and values that look like secrets."""

from sluice.api.validation import Validation, all_keys, never_matching

CREDENTIALS_IN_URI = (
    r"(?i)(^|[^a-z0-9])(s3|s3a|s3n|gs|oss|cos)://[^/ '`\"]*@"
    r"|://[^/ :'`\"]+:[^/ @'`\"]+@"
    r"|://[^ '`\"]*[?&](sig|signature|token|awsaccesskeyid|x-amz-credential|x-amz-signature)=[a-z0-9%+/_=-]{8}"
)

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
        all_keys(never_matching(CREDENTIALS_IN_URI, message), of="values"),
        all_keys(never_matching(_ASSIGNS_SENSITIVE, message), of="values"),
    )
