"""Of each name the newest lead is told, whatever its spelling, and first those by which others were judged otherwise."""

from sluice_runner.reported_names import Leads


def test_the_newest_word_on_a_name_counts() -> None:
    leads = Leads()
    leads.tell(("spark_catalog", "Sales", "Orders"), "file:/a")
    leads.tell(("spark_catalog", "sales", "orders"), "file:/b")
    assert leads.found == [("spark_catalog.sales.orders", "file:/b")]
    assert leads.has(("SPARK_CATALOG", "sales", "orders"))


def test_what_others_were_judged_by_otherwise_comes_first() -> None:
    leads = Leads()
    for table in ("a", "b", "c"):
        leads.tell(("prod", "sales", table), f"s3://lake/{table}")
    leads.tell_first(("prod", "sales", "B"), "s3://lake/elsewhere")
    assert leads.found == [
        ("prod.sales.b", "s3://lake/elsewhere"),
        ("prod.sales.a", "s3://lake/a"),
        ("prod.sales.c", "s3://lake/c"),
    ]


def test_of_a_table_that_is_gone_nothing_is_told() -> None:
    leads = Leads()
    leads.tell(("prod", "sales", "orders"), "s3://lake/orders")
    leads.forget(("prod", "sales", "Orders"))
    assert leads.found == []
