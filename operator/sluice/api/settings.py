"""Maps of settings, which name and hold no secrets."""

from typing import Annotated

from pydantic import Field

from sluice.api.credentials import holds_no_secret, names_no_secret
from sluice.api.validation import Checked, Validation


def short_keys(maximum: int, what: str) -> Validation:
    return Validation(
        f"self.all(key, size(key) > 0 && size(key) <= {maximum})",
        f"{what} must have 1 to {maximum} characters: shorten it, or give it a name",
        lambda entries: all(0 < len(key) <= maximum for key in entries),
    )


_Value = Annotated[str, Field(max_length=2048)]

_TO_OPTIONS_FROM = "put it into a Secret and name the Secret under optionsFrom"
_TO_PROFILE = "let the service account or the runtime profile provide it"

Options = Annotated[
    dict[str, _Value],
    Field(max_length=64),
    Checked(
        short_keys(256, "an option's name"),
        names_no_secret(_TO_OPTIONS_FROM),
        *holds_no_secret(_TO_OPTIONS_FROM),
    ),
]

SparkConf = Annotated[
    dict[str, _Value],
    Field(max_length=128),
    Checked(
        short_keys(256, "a setting's name"),
        Validation(
            "self.all(key, key.startsWith('spark.'))",
            "every setting's name must start with 'spark.', because Spark ignores others: write Hadoop's settings as "
            "'spark.hadoop....'",
            lambda conf: all(key.startswith("spark.") for key in conf),
        ),
        names_no_secret(_TO_PROFILE),
        *holds_no_secret(_TO_PROFILE),
    ),
]
