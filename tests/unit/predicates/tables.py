"""The table that these tests speak of."""

from sluice.predicates import Region, Session, Table, compiled, parse, to_sql

EVENTS = Table.of(
    {
        "id": "bigint",
        "date": "date",
        "region": "string",
        "flag": "boolean",
        "k": "int",
        "small": "tinyint",
        "price": "decimal(10,2)",
        "wide": "decimal(38,0)",
        "ratio": "double",
        "single": "float",
        "at": "timestamp",
        "local": "timestamp_ntz",
        "code": "char(3)",
        "name": "varchar(20)",
        "label": "string collate UTF8_LCASE",
        "raw": "binary",
        "address": "struct<city:string>",
    },
    partition_columns=["date", "region"],
)
UTC = Session("UTC", ansi=True)


def region(condition: str, session: Session = UTC) -> Region:
    return compiled(
        parse(
            condition,
            EVENTS,
            session=session,
            names=["main.events", "t"],
            others=["s"],
        )
    )


def shown(condition: str, session: Session = UTC) -> str:
    return to_sql(region(condition, session))
