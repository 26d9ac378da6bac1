"""Statements that write a table with several kinds of partition columns, and the partitions that they are taken to touch."""

from collections.abc import Mapping

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import TableFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

TARGET = "delta.`/lake/t`"
SOURCE = "delta.`/lake/s`"
FACTS = TableFacts(
    columns=Table.of(
        {
            "id": "int",
            "ts": "timestamp",
            "my-ts": "timestamp",
            "info": "struct<date: date>",
            "date": "date",
            "region": "string",
            "n": "int",
            "code": "varchar(2)",
            "day": "date",
        },
        ["date", "region", "n", "code", "day"],
    ),
    generated_columns={"day": "CAST(`my-ts` AS DATE)"},
    dialect=oss("4.4.0"),
    log_store=LogStore.SAFE,
)


def footprint(sql: str, conf: Mapping[str, str] | None = None, facts: TableFacts = FACTS) -> TableFootprint:
    spec = DeltaWriteJobSpec.model_validate({"sql": sql.format(t=TARGET, s=SOURCE)})
    return footprint_of(spec, conf or {}, facts={key_of_path("/lake/t"): facts}).tables[-1]


def lands(query: str, conf: Mapping[str, str] | None = None) -> str:
    """Where rows of a query land that are stored by name."""
    return footprint("INSERT INTO {t} BY NAME " + query, conf).writes_text
