"""The gate stands in front of whichever LogStore would have served a table."""

from sluice_runner.promise import gated

GATED = "dev.sluice.delta.GatedLogStore"


def test_what_is_configured_for_a_scheme_is_behind_the_gate() -> None:
    settings = gated({"spark.delta.logStore.file.impl": "org.example.Mine", "spark.app.name": "x"})
    assert settings["spark.delta.logStore.file.impl"] == GATED
    assert settings["spark.hadoop.sluice.gate.file"] == "org.example.Mine"
    assert settings["spark.hadoop.sluice.gate.s3a"] == "io.delta.storage.S3SingleDriverLogStore"
    assert "spark.app.name" not in settings


def test_a_scheme_that_delta_has_no_store_of_its_own_for_is_gated_where_it_is_configured() -> None:
    settings = gated({"spark.delta.logStore.lakefs.impl": "org.example.Mine"})
    assert settings["spark.delta.logStore.lakefs.impl"] == GATED
    assert settings["spark.hadoop.sluice.gate.lakefs"] == "org.example.Mine"


def test_one_store_for_all_schemes_stays_one() -> None:
    """Delta refuses a store of all schemes beside one of a single scheme."""
    settings = gated({"spark.delta.logStore.class": "org.example.Mine"})
    assert settings == {
        "spark.delta.logStore.class": GATED,
        "spark.hadoop.sluice.gate.any": "org.example.Mine",
    }
