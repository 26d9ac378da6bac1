"""SQL, and the tables that are named in it and beside it."""

from typing import Annotated

from pydantic import Field

from sluice.api.bounds import NOT_BLANK
from sluice.api.credentials import without_credentials
from sluice.api.validation import Checked, Validation, matching, never_matching

SQL_BYTES = 160 * 1024
ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
"""What every table's name or location must match: not empty, and without line breaks or other control characters."""

_SQL_SIZE = Validation(
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
        without_credentials(
            "holds credentials inside a path, which everybody who can read the job could read: remove them, and let "
            "the service account or the runtime profile provide them",
        ),
    ),
]

_LEFT_OVER = r"[{][{%]|[$][{(]"
_RENDERED = never_matching(
    _LEFT_OVER,
    "holds an unrendered template expression: render it before you apply the manifest, or use a parameter",
)

GivenPredicate = Annotated[str, Field(max_length=4096), Checked(NOT_BLANK, _RENDERED)]

TablePath = Annotated[
    str,
    Field(max_length=1024),
    Checked(
        NOT_BLANK,
        without_credentials(
            "holds credentials, which everybody who can read the job could read: remove them from the path, and let "
            "the service account or the runtime profile provide them",
        ),
        never_matching(
            _LEFT_OVER, "holds an unrendered template expression: render it before you apply the manifest"
        ),
        matching(
            r"^(/|[a-zA-Z][a-zA-Z0-9+.-]*:/)",
            "must be absolute, such as s3://bucket/table or file:/data/table: a relative path means a different folder "
            "on each machine",
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
            "must not contain line breaks or other control characters, nor begin or end with a space: remove them",
        ),
        never_matching(
            r"(^|/)[.][.]?(/|$)",
            "must not contain the segments . and ..: write where the path really leads",
        ),
    ),
]

_TABLE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_-]*([.][A-Za-z0-9_][A-Za-z0-9_-]*){0,2}$"

ReportedTableName = Annotated[str, Field(max_length=386, pattern=_TABLE_NAME)]
"""What somebody else wrote there would be a name that no job can use."""

TableName = Annotated[
    str,
    Field(max_length=386),
    Checked(
        matching(
            _TABLE_NAME,
            "must be a catalog name of one to three parts, such as lake.sales.orders; write a location under path",
        )
    ),
]

ColumnName = Annotated[str, Field(max_length=255), Checked(NOT_BLANK)]
