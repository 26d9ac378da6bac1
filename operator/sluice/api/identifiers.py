"""Names, keys and versions."""

from typing import Annotated

from pydantic import Field

from sluice.api.bounds import NOT_BLANK
from sluice.api.validation import Checked, matching, never_matching

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

HttpUrl = Annotated[
    str,
    Field(max_length=512),
    Checked(
        matching(
            r"^https?://[A-Za-z0-9.:-]+(/[A-Za-z0-9._~/-]*)?$",
            "must be a URL such as https://spark-history.example",
        )
    ),
]

SemanticVersion = Annotated[
    str,
    Field(max_length=32),
    Checked(matching(r"^[0-9]+[.][0-9]+([.][0-9]+)?$", "must be a version such as 4.4.0")),
]

DatabricksRuntime = Annotated[
    str,
    Field(max_length=32),
    Checked(
        matching(
            r"^[0-9]+[.][0-9]+([.][0-9]+)?$", "must be a version of the Databricks runtime, such as 15.4"
        )
    ),
]
