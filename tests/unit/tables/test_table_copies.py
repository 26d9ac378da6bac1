"""Tables whose logs bear one id although they were given to different namespaces are found, whatever changes meanwhile."""

from sluice.tables import TableKey, key_of_name, key_of_path
from sluice.tables.owners import Owners, TableOwner
from sluice.tables.table_copies import TableCopies

SALES, OTHER, NOBODYS = map(
    key_of_path, ("s3://lake/sales/orders", "s3://lake/other/orders", "s3://tmp/orders")
)
OWNERS = Owners(
    (
        TableOwner(namespaces=("sales",), paths=("s3://lake/sales", "s3://old/sales")),
        TableOwner(namespaces=("other",), paths=("s3://lake/other",)),
    )
)


def told(*seen: tuple[TableKey, str | None], owners: Owners = OWNERS) -> str | None:
    copies = TableCopies(owners)
    for table, table_id in seen:
        copies.seen(table, table_id)
    return copies.told()


def test_a_copy_that_another_namespace_owns_is_named_with_both_owners() -> None:
    said = "s3://lake/other/orders (of other), s3://lake/sales/orders (of sales) have the table id 7d1f"
    assert told((SALES, "7d1f"), (OTHER, "7d1f")) == said
    assert told((OTHER, "7d1f"), (SALES, "7d1f")) == said


def test_a_copy_where_nobody_owns_tables_is_one_too() -> None:
    assert told((SALES, "7d1f"), (NOBODYS, "7d1f")) == (
        "s3://lake/sales/orders (of sales), s3://tmp/orders (of nobody) have the table id 7d1f"
    )


def test_what_has_an_id_of_its_own_or_the_same_owner_or_only_another_name_is_no_copy() -> None:
    assert told((SALES, "7d1f"), (OTHER, "1111")) is None
    assert told((SALES, "7d1f"), (key_of_path("s3://old/sales/orders"), "7d1f")) is None
    assert told((SALES, "7d1f"), (key_of_name("other.orders"), "7d1f")) is None
    assert told((SALES, None), (OTHER, None)) is None
    assert told((SALES, "7d1f"), (OTHER, "7d1f"), owners=Owners()) is None


def test_a_copy_that_is_gone_or_has_a_new_id_is_no_copy_any_more() -> None:
    assert told((SALES, "7d1f"), (OTHER, "7d1f"), (OTHER, None)) is None
    assert told((SALES, "7d1f"), (OTHER, "7d1f"), (SALES, "2222")) is None
    assert told((SALES, "7d1f"), (OTHER, "7d1f"), (SALES, "2222"), (OTHER, "2222")) is not None


def test_only_what_changes_is_news() -> None:
    copies = TableCopies(OWNERS)
    assert copies.is_news, "that all is well is told once"
    assert copies.told() is None
    news = []
    for table in (SALES, OTHER, OTHER):
        copies.seen(table, "7d1f")
        news.append(copies.is_news)
        copies.told()
    assert news == [False, True, False]


def test_of_many_copies_three_are_named() -> None:
    copies = TableCopies(OWNERS)
    for number in range(9):
        copies.seen(key_of_path(f"s3://lake/sales/{number}"), str(number))
        copies.seen(key_of_path(f"s3://lake/other/{number}"), str(number))
    said = copies.told()
    assert said is not None
    assert said.count("have the table id") == 3
    assert said.endswith("; and 6 more ids")
