"""The fields by which manifests of both kinds name tables and sources of data."""

from typing import Annotated

from pydantic import Field

from sluice.api.base import Model, exactly_one
from sluice.api.bounds import NOT_BLANK
from sluice.api.identifiers import ObjectName
from sluice.api.settings import Options
from sluice.api.sql import Sql, TableName, TablePath
from sluice.api.validation import Checked, Validation, matching, never_matching


class TableRef(Model):
    """A Delta table, by its location or by its name in the catalog."""

    path: (
        Annotated[
            TablePath,
            Checked(
                never_matching(
                    r"/_delta_log(/|$)",
                    "names a folder within a table: name the folder that holds _delta_log",
                ),
                never_matching(
                    r"[*]", "must name one table: replace * by a name, wildcards have no meaning here"
                ),
            ),
        ]
        | None
    ) = None
    """Location of the table, such as s3://lake/orders. Different spellings are one table: s3, s3a and s3n, doubled or
    trailing slashes. No credentials: everybody who can read the job could read them."""
    name: TableName | None = None
    """Name in the catalog, such as lake.sales.orders. A DeltaTablePolicy binds it to its path, so that both are one
    table, and so does, unless the job is an application, what a run reports of a catalog that others use as well. Until then it
    may be any path to which no policy binds another name: jobs that use the name and jobs that use a path wait for each other."""

    validations = (exactly_one(("path", "name"), "name the table by exactly one of path and name"),)


class SecretKeyRef(Model):
    """A key of a Secret in the job's namespace."""

    name: ObjectName
    """Name of the Secret."""
    key: Annotated[
        str,
        Field(max_length=253),
        Checked(matching(r"^[A-Za-z0-9._-]+$", "must be a Secret's key: letters, digits, '.', '_' and '-'")),
    ]
    """Key within the Secret."""


class OptionFrom(Model):
    """One option whose value comes from a Secret."""

    option: Annotated[str, Field(max_length=256), Checked(NOT_BLANK)]
    """Name of the reader's option, such as password."""
    secret_key_ref: SecretKeyRef
    """Where the value is."""


OptionsFrom = Annotated[
    tuple[OptionFrom, ...],
    Field(max_length=32),
    Checked(
        Validation(
            "self.all(a, self.exists_one(b, a.option == b.option))",
            "an option must be named once: remove the repeated one",
            lambda refs: len({ref.option for ref in refs}) == len(refs),
        )
    ),
]

Format = Annotated[str, Field(max_length=128), Checked(NOT_BLANK)]

_EACH_OPTION_ONCE = Validation(
    "!has(self.options) || !has(self.optionsFrom) || self.optionsFrom.all(ref, !(ref.option in self.options))",
    "an option must not be both under options and under optionsFrom: remove one",
    lambda source: not any(ref.option in (source.options or {}) for ref in source.options_from or ()),
)


class Source(Model):
    """Where the rows come from: a query, files or another system."""

    sql: Sql | None = None
    """A query in Spark SQL whose rows are written. Exactly one of sql and format."""
    format: Format | None = None
    """Format of the data source, such as parquet, json, csv, delta or jdbc."""
    path: TablePath | None = None
    """Location that the format reads from, such as s3://incoming/orders. Not for formats such as jdbc and kafka."""
    options: Options | None = None
    """Options of the format, such as header: "true". Everybody who can read the job can read them: put secrets under
    optionsFrom; names or values that look like secrets are refused."""
    options_from: OptionsFrom | None = None
    """Options whose values come from Secrets in the job's namespace, such as a password."""

    validations = (
        exactly_one(("sql", "format"), "a source needs exactly one of sql and format"),
        Validation(
            "!has(self.sql) || (!has(self.path) && !has(self.options) && !has(self.optionsFrom))",
            "path, options and optionsFrom belong to format, not to sql: remove them",
            lambda source: (
                source.sql is None
                or (source.path is None and source.options is None and source.options_from is None)
            ),
        ),
        _EACH_OPTION_ONCE,
    )


class StreamSource(Model):
    """What a stream reads: the rows appear as the view `source` (or `batch`, one micro-batch at a time)."""

    format: Format
    """Format of the stream's source, such as delta, kafka or parquet."""
    path: TablePath | None = None
    """Location that the format reads from, such as s3://lake/raw/orders. Not for formats such as kafka."""
    options: Options | None = None
    """Options of the format, such as maxFilesPerTrigger: "100". Everybody who can read the job can read them: put
    secrets under optionsFrom; names or values that look like secrets are refused."""
    options_from: OptionsFrom | None = None
    """Options whose values come from Secrets in the job's namespace, such as a password."""
    schema_: Annotated[
        Annotated[str, Field(max_length=32768), Checked(NOT_BLANK)] | None, Field(alias="schema")
    ] = None
    """Schema as DDL, for formats that ask for one, such as 'id BIGINT, date DATE'."""

    validations = (_EACH_OPTION_ONCE,)
