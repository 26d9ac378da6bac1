"""Two spellings of one location are one key; two locations are two."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.tables import TableKey, key_of_name, key_of_path

SEGMENT = st.text(string.ascii_letters + string.digits + " %+=-_é~", min_size=1, max_size=6).filter(
    lambda segment: segment.strip() == segment
)
PATH = st.lists(SEGMENT, min_size=1, max_size=4)
SLASHES = st.sampled_from(["/", "//", "/./", "///"])


@st.composite
def spellings(draw: st.DrawFn, prefixes: list[str], path: list[str]) -> str:
    text = draw(st.sampled_from(prefixes))
    for position, segment in enumerate(path):
        detour = f"{draw(SEGMENT)}/../" if draw(st.booleans()) else ""
        text += ("" if position == 0 else draw(SLASHES)) + detour + segment
    return text + draw(st.sampled_from(["", "/", "//", "/."]))


@given(st.data(), PATH)
def test_every_spelling_of_a_local_folder_is_one_key(data: st.DataObject, path: list[str]) -> None:
    prefixes = ["/", "//", "file:/", "file:///", "FILE:/", "file://localhost/", "file:////", "/../"]
    spelling = data.draw(spellings(prefixes, path))
    assert key_of_path(spelling) == TableKey("file:/" + "/".join(path))


@given(st.data(), PATH)
def test_every_spelling_of_an_s3_location_is_one_key(data: st.DataObject, path: list[str]) -> None:
    prefixes = ["s3://lake/", "s3a://lake/", "S3N://lake/", "s3a://lake//"]
    spelling = data.draw(spellings(prefixes, path))
    assert key_of_path(spelling) == TableKey("s3://lake/" + "/".join(path))


@given(st.data(), PATH)
def test_every_spelling_of_an_azure_location_is_one_key(data: st.DataObject, path: list[str]) -> None:
    prefixes = [
        f"{scheme}://box@{host}/"
        for scheme in ("abfss", "abfs", "wasb", "wasbs")
        for host in (
            "acme.dfs.core.windows.net",
            "ACME.blob.core.windows.net",
            "acme.dfs.core.windows.net:443",
        )
    ]
    spelling = data.draw(spellings(prefixes, path))
    assert key_of_path(spelling) == TableKey("abfss://box@acme.dfs.core.windows.net/" + "/".join(path))


@given(PATH, PATH)
def test_different_folders_are_different_keys(one: list[str], other: list[str]) -> None:
    for prefix in ("/", "s3://lake/", "hdfs://nn/"):
        same = key_of_path(prefix + "/".join(one)) == key_of_path(prefix + "/".join(other))
        assert same == (one == other)


@given(PATH)
def test_a_key_is_read_back_from_its_text_and_is_a_spelling_of_itself(path: list[str]) -> None:
    for prefix in (
        "/",
        "s3a://lake/",
        "gs://lake/",
        "abfss://c@h/",
        "hdfs://nn:9000/",
        "hdfs:/",
        "dbfs:/mnt/",
    ):
        key = key_of_path(prefix + "/".join(path))
        assert TableKey.parse(key.text) == key
        assert key_of_path(key.text) == key
    name = key_of_name("Lake.Sales.Orders")
    assert TableKey.parse(name.text) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/lake/a%20b", "/lake/a b"),
        ("s3://lake/a%2Fb", "s3://lake/a/b"),
        ("/lake/a+b", "/lake/a b"),
        ("s3://lake/T", "s3://lake/t"),
        ("s3://lake/t", "gs://other/t"),
        ("s3://a.b/t", "s3://a.c/t"),
        ("oss://lake/t", "oss://other/t"),
        ("s3://lake/t", "abfss://lake@h/t"),
        ("hdfs://nn:9000/t", "hdfs://nn/u"),
        ("abfss://a@h/t", "abfss://b@h/t"),
    ],
)
def test_what_hadoop_keeps_apart_stays_apart(one: str, other: str) -> None:
    assert not key_of_path(one).may_equal(key_of_path(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hdfs://NN/t", "hdfs://nn:8020/t"),
        ("file://localhost/t", "/t"),
        ("s3://lake", "s3a://lake/"),
        ("s3a://lake:9000/t", "s3://lake/t"),
    ],
)
def test_hosts_and_ports_are_spellings_too(one: str, other: str) -> None:
    assert key_of_path(one) == key_of_path(other)


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ("orders", "default.orders", True),
        ("orders", "spark_catalog.default.orders", True),
        ("`Sales`.`Orders`", "spark_catalog.sales.orders", True),
        ("sales.orders", "lake.sales.orders", True),
        ("sales.orders", "sales.returns", False),
        ("orders", "returns", False),
        ("lake.sales.orders", "lake.other.orders", False),
    ],
)
def test_names_may_be_one_table_unless_what_both_say_differs(one: str, other: str, may: bool) -> None:
    assert key_of_name(one).may_equal(key_of_name(other)) is may
    assert key_of_name(other).may_equal(key_of_name(one)) is may


ANYWHERE = ["viewfs://cluster/t", "viewfs:///t", "dbfs:/mnt/t", "/dbfs/mnt/t", "alluxio://host:19998/t"]
"""Where other stores may be mounted, under any path."""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hdfs:///lake/t", "hdfs://nn/lake/t"),
        ("hdfs:/lake/t", "hdfs://nn:9000/lake/t"),
        ("/lake/t", "hdfs://nn/lake/t"),
        ("/lake/t", "hdfs:///lake/t"),
        ("/t", "s3a://lake/t"),
        ("/t", "abfss://box@acme.dfs.core.windows.net/t"),
        ("abfss:///t", "abfss://box@acme.dfs.core.windows.net/t"),
        ("hdfs://nameservice/t", "hdfs://nn1:8020/t"),
        ("webhdfs://nn:9870/lake/t", "hdfs://nn/lake/t"),
        ("swebhdfs://nn:9871/lake/t", "webhdfs://nn:9870/lake/t"),
        ("hdfs:///lake/t/date=2026-11-19", "hdfs://nn/lake/t"),
        ("s3a://lake/t", "gs://lake/t"),
        ("s3://Lake/t", "s3://lake/t"),
        ("s3a://orders-abc123-s3alias/t", "s3://lake/t"),
        ("s3a://orders-abc123--ol-s3/t", "gs://lake/t"),
        ("s3a://lake/t", "oss://lake.oss-cn-hangzhou.aliyuncs.com/t"),
        ("oss://lake/t", "oss://lake.oss-cn-hangzhou.aliyuncs.com/t"),
        ("cos://lake.one/t", "cos://lake.two/t"),
        ("oci://lake@space/t", "s3://lake/t/date=2026-11-19"),
        ("dbfs:/mnt/t", "/dbfs/mnt/t"),
        ("dbfs:/Volumes/main/sales/t", "/Volumes/main/sales/t"),
        *((location, "s3://lake/x/t") for location in ANYWHERE),
        *((location, "hdfs://nn/x/t") for location in ANYWHERE),
    ],
)
def test_locations_may_be_one_where_a_configuration_decides_where_they_lie(one: str, other: str) -> None:
    assert key_of_path(one) != key_of_path(other)
    assert key_of_path(one).may_equal(key_of_path(other))
    assert key_of_path(other).may_equal(key_of_path(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hdfs:///lake/t", "hdfs://lake/t"),
        ("hdfs:///lake/t", "hdfs://nn/lake/u"),
        ("webhdfs://nn:9870/t", "hdfs://nn/u"),
        ("/lake/t", "hdfs://nn/lake/u"),
        ("/lake/t", "s3a://lake/t"),
        ("dbfs:/mnt/t", "dbfs:/mnt/u"),
        ("dbfs:/mnt/t", "/dbfs/mnt/u"),
        ("viewfs://cluster/t", "viewfs://cluster/u"),
    ],
)
def test_other_paths_of_one_file_system_are_other_tables(one: str, other: str) -> None:
    assert not key_of_path(one).may_equal(key_of_path(other))
    assert not key_of_path(other).may_equal(key_of_path(one))


@pytest.mark.parametrize(
    ("one", "other"), [("hdfs:/lake/t", "hdfs:///lake/t"), ("dbfs:/mnt/t", "dbfs:///mnt//t/")]
)
def test_a_missing_authority_is_spelled_in_two_ways(one: str, other: str) -> None:
    assert key_of_path(one) == key_of_path(other)


def test_an_unbound_name_may_stand_for_any_location() -> None:
    assert key_of_name("orders").may_equal(key_of_path("s3://lake/x"))
    assert key_of_path("s3://lake/x").may_equal(key_of_name("orders"))


@pytest.mark.parametrize(
    ("folder", "may"),
    [
        ("/lake/t/date=2026-11-19", True),
        ("/lake/t/date=2026-11-19/hour=1", True),
        ("/lake/t/nested", False),
        ("/lake/t2", False),
        ("/lake", False),
    ],
)
def test_a_partitions_folder_stands_for_its_table(folder: str, may: bool) -> None:
    table = key_of_path("/lake/t")
    assert key_of_path(folder).may_equal(table) is may
    assert table.may_equal(key_of_path(folder)) is may
