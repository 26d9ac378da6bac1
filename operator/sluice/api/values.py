"""The strings, maps and numbers that manifests are made of, each bounded and each refused with advice.

Bounds are part of the API: the API server estimates what a CEL rule can cost from them, and a whole manifest must
fit the 256 KiB of the annotation in which kubectl keeps it.

Patterns keep to what Python and the API server's RE2 read alike: classes are spelled out, because RE2's `\\s` and
`\\b` know ASCII only and Python's do not.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from sluice.api.rules import Checked, Rule, all_keys, matching, never_matching

SQL_BYTES = 160 * 1024
ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
"""As any table's name or location is: not empty, and without line breaks or other control characters."""

NOT_BLANK = matching(r"[^\t-\r ]", "must not be empty: leave the field out or fill it in")
NOT_EMPTY = Rule(
    "size(self) > 0",
    "must not be empty: leave the field out or fill it in",
    lambda items: len(items) > 0,
)
EACH_ONCE = Rule(
    "self.all(a, self.exists_one(b, a == b))",
    "must name each once: remove the repeated one",
    lambda items: len(set(items)) == len(items),
)

_CREDENTIALS_IN_URI = (
    r"(?i)(^|[^a-z0-9])(s3|s3a|s3n|gs|oss|cos)://[^/ '`\"]*@"
    r"|://[^/ :'`\"]+:[^/ @'`\"]+@"
    r"|://[^ '`\"]*[?&](sig|signature|token|awsaccesskeyid|x-amz-credential|x-amz-signature)=[a-z0-9%+/_=-]{8}"
)

_SQL_SIZE = Rule(
    f"bytes(self).size() <= {SQL_BYTES}",
    f"takes at most {SQL_BYTES // 1024} KiB as UTF-8 (kubectl keeps a copy of the manifest in an annotation): split the job",
    lambda value: len(value.encode()) <= SQL_BYTES,
)

Sql = Annotated[
    str,
    Field(max_length=SQL_BYTES),
    Checked(
        matching(r"[^\t-\r ;]", NOT_BLANK.message),
        _SQL_SIZE,
        never_matching(
            _CREDENTIALS_IN_URI,
            "holds credentials inside a path: take them out, whoever may read the job can read them; "
            "let the service account or the runtime profile bring them",
        ),
    ),
]

_LEFT_OVER = r"[{][{%]|[$][{(]"
_RENDERED = never_matching(
    _LEFT_OVER,
    "holds a template's left-over: render it before you apply the manifest, or use a parameter",
)

Predicate = Annotated[str, Field(max_length=4096), Checked(NOT_BLANK, _RENDERED)]

TablePath = Annotated[
    str,
    Field(max_length=1024),
    Checked(
        NOT_BLANK,
        never_matching(
            _CREDENTIALS_IN_URI,
            "holds credentials: take them out of the path, whoever may read the job can read them; "
            "let the service account or the runtime profile bring them",
        ),
        never_matching(_LEFT_OVER, "holds a template's left-over: render it before you apply the manifest"),
        matching(
            r"^(/|[a-zA-Z][a-zA-Z0-9+.-]*:/)",
            "must be absolute, such as s3://bucket/table or file:/data/table: a relative path means another folder on each machine",
        ),
        never_matching(
            r"^([a-zA-Z][a-zA-Z0-9+.-]*:)?/+$",
            "must name a folder below the root, such as s3://bucket/table",
        ),
        never_matching(
            r"(?i)^(s3|s3a|s3n|gs|oss|cos|abfs|abfss|wasb|wasbs):(///|/[^/])",
            "names no bucket or container: write it after two slashes, such as s3://bucket/table",
        ),
        never_matching(
            r"[\x00-\x1f\x7f]|^ | $",
            "must not hold line breaks or other control characters, nor begin or end with a blank: remove them",
        ),
        never_matching(
            r"(^|/)[.][.]?(/|$)",
            "must not hold the segments . and ..: write where the path really leads",
        ),
    ),
]

TableName = Annotated[
    str,
    Field(max_length=386),
    Checked(
        matching(
            r"^[A-Za-z0-9_][A-Za-z0-9_-]*([.][A-Za-z0-9_][A-Za-z0-9_-]*){0,2}$",
            "must be a catalog name of one to three parts, such as lake.sales.orders; write a location under path",
        )
    ),
]

_DURATION = matching(
    r"^([0-9]{1,7}[hms])+$",
    "must be a duration in hours, minutes and seconds, such as 90s, 10m or 1h30m",
)

Duration = Annotated[str, Field(max_length=32), Checked(_DURATION)]

_NO_TIME = r"^[0hms]+$"

Limit = Annotated[
    str,
    Field(max_length=32),
    Checked(
        _DURATION,
        never_matching(_NO_TIME, "must be longer than nothing: leave the field out for no limit"),
    ),
]

Retention = Annotated[
    str,
    Field(max_length=32),
    Checked(
        _DURATION,
        never_matching(
            _NO_TIME,
            "must be longer than nothing, or files go that running jobs read: leave the field out for a week",
        ),
    ),
]

Interval = Annotated[
    str,
    Field(max_length=64),
    Checked(
        matching(
            r"(?i)^[0-9]{1,7} (millisecond|second|minute|hour|day)s?$",
            "must be an interval such as '30 seconds' or '5 minutes'",
        )
    ),
]

RunKey = Annotated[
    str,
    Field(max_length=128),
    Checked(
        matching(
            r"^[A-Za-z0-9]([A-Za-z0-9._:=@/+-]*[A-Za-z0-9])?$",
            "must start and end with a letter or digit and hold only letters, digits and . _ : = @ / + -",
        )
    ),
]

TxnAppId = Annotated[
    str,
    Field(max_length=256),
    Checked(
        NOT_BLANK,
        never_matching(
            "^sluice/",
            "must not begin with sluice/: those ids are Sluice's own; leave it out, or choose another",
        ),
    ),
]

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


def _names_no_secret(advice: str) -> Rule:
    return all_keys(
        never_matching(_SENSITIVE, f"names a secret: whoever may read the job can read it; {advice}"),
        unless=_ONLY_SAYS_WHERE,
    )


def _holds_no_secret(advice: str) -> tuple[Rule, ...]:
    message = f"holds credentials in a value: whoever may read the job can read them; {advice}"
    return (
        all_keys(never_matching(_CREDENTIALS_IN_URI, message), of="values"),
        all_keys(never_matching(_ASSIGNS_SENSITIVE, message), of="values"),
    )


def _short_keys(maximum: int, what: str) -> Rule:
    return Rule(
        f"self.all(key, size(key) > 0 && size(key) <= {maximum})",
        f"{what} takes 1 to {maximum} characters: shorten it, or give it a name",
        lambda entries: all(0 < len(key) <= maximum for key in entries),
    )


_Value = Annotated[str, Field(max_length=2048)]

_TO_OPTIONS_FROM = "put it into a Secret and name that under optionsFrom"
_TO_PROFILE = "let the service account or the runtime profile bring it"

Options = Annotated[
    dict[str, _Value],
    Field(max_length=64),
    Checked(
        _short_keys(256, "an option's name"),
        _names_no_secret(_TO_OPTIONS_FROM),
        *_holds_no_secret(_TO_OPTIONS_FROM),
    ),
]

SparkConf = Annotated[
    dict[str, _Value],
    Field(max_length=128),
    Checked(
        _short_keys(256, "a setting's name"),
        Rule(
            "self.all(key, key.startsWith('spark.'))",
            "every setting's name must start with 'spark.': Spark ignores others; "
            "Hadoop's go under 'spark.hadoop.'",
            lambda conf: all(key.startswith("spark.") for key in conf),
        ),
        _names_no_secret(_TO_PROFILE),
        *_holds_no_secret(_TO_PROFILE),
    ),
]

Properties = Annotated[
    dict[str, Annotated[str, Field(max_length=1024)]],
    Field(max_length=64),
    Checked(_short_keys(256, "a property's name")),
]

ObjectName = Annotated[
    str,
    Field(max_length=253),
    Checked(
        matching(
            r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
            "must be a Kubernetes name: lower-case letters, digits, '-' and '.', with a letter or digit at both ends",
        )
    ),
]

NamespaceName = Annotated[
    str,
    Field(max_length=63),
    Checked(
        matching(
            r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
            "must be a namespace: lower-case letters, digits and '-', with a letter or digit at both ends",
        )
    ),
]

SemanticVersion = Annotated[
    str,
    Field(max_length=32),
    Checked(matching(r"^[0-9]+[.][0-9]+([.][0-9]+)?$", "must be a version such as 4.4.0")),
]

Quantity = Annotated[
    str,
    Field(max_length=32),
    Checked(
        matching(
            r"^[1-9][0-9]*[mgt]$",
            "must be an amount of memory as Spark writes it, such as 512m or 4g (not 4Gi)",
        )
    ),
]

Int32 = Annotated[int, Strict(), Field(json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Strict(), Field(json_schema_extra={"format": "int64"})]


def _within_64_bits(value: int) -> int:
    """The API server knows this from the format; as a bound of the schema it cannot hold 2^63-1."""
    if not -(2**63) <= value < 2**63:
        raise PydanticCustomError("rule", "must be a whole number of at most 64 bits")
    return value


WITHIN_64_BITS = AfterValidator(_within_64_bits)


def cut_to(maximum: int) -> BeforeValidator:
    """For what Sluice says itself: too long, it is cut, because a status that can't be written helps nobody."""

    def cut(said: Any) -> Any:
        if isinstance(said, str) and len(said) > maximum:
            return said[: maximum - 1] + "…"
        if isinstance(said, tuple | list) and len(said) > maximum:
            return said[:maximum]
        return said

    return BeforeValidator(cut)


ShortText = Annotated[str, Field(max_length=256), cut_to(256)]
Text = Annotated[str, Field(max_length=2048), cut_to(2048)]
Column = Annotated[str, Field(max_length=255), Checked(NOT_BLANK)]


def bounded_int(minimum: int, maximum: int) -> Any:
    return Field(ge=minimum, le=maximum)


class Risk(StrEnum):
    STRICT = "Strict"
    OPTIMISTIC = "Optimistic"
