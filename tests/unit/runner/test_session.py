"""Spark is configured as the application says; only what Delta can't do without is added."""

from sluice_runner.session import completed

DELTA = "io.delta.sql.DeltaSparkSessionExtension"
EXTENSIONS = "spark.sql.extensions"
CATALOG = "spark.sql.catalog.spark_catalog"


def test_an_application_that_sets_nothing_gets_delta() -> None:
    added = completed({})
    assert added[EXTENSIONS] == DELTA
    assert added[CATALOG] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def test_other_extensions_stay_beside_delta() -> None:
    assert completed({EXTENSIONS: "org.example.Mine"})[EXTENSIONS] == f"org.example.Mine,{DELTA}"


def test_what_the_application_set_stays_as_it_is() -> None:
    added = completed(
        {EXTENSIONS: f" {DELTA} ,org.example.Mine", CATALOG: "io.unitycatalog.spark.UCSingleCatalog"}
    )
    assert EXTENSIONS not in added
    assert CATALOG not in added
