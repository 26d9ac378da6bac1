"""How far a holder reaches is read back as it was written, or isn't known."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.leases import Reach

NUMBERS = st.frozensets(st.integers(0, 2**48 - 1), max_size=5)
REACH = Reach(
    {"file:/lake/a": "7d1f"},
    {"file:/r": "1d"},
    frozenset({"file:/r"}),
    frozenset({7, 1 << 40}),
    frozenset({9}),
    edition=1,
    names="n",
    lasts=True,
)


@given(
    st.dictionaries(st.text(), st.text(), max_size=3),
    st.frozensets(st.text()),
    NUMBERS,
    NUMBERS,
    st.booleans(),
)
def test_it_is_read_back_as_it_was_written(
    ids: dict[str, str], told_by: frozenset[str], asks: frozenset[int], stands: frozenset[int], lasts: bool
) -> None:
    reach = Reach(ids, ids, told_by, asks, stands, 1, "names", lasts)
    assert Reach.from_json(reach.to_json()) == reach
    assert "\n" not in reach.to_json()


def test_what_somebody_else_wrote_is_not_known() -> None:
    text = REACH.to_json()
    assert Reach.from_json(text) == REACH
    for ours, other in (
        ('"edition":1', '"edition":"1"'),
        ('"edition":1,', ""),
        ('"lasts":true', '"lasts":1'),
        ('"lasts":true', '"lasts":true,"more":1'),
        ('"7d1f"', "7"),
        ('"names":"n"', '"names":7'),
        ('["file:/r"]', "[7]"),
        ('["file:/r"]', '"file:/r"'),
        ('{"file:/lake/a":"7d1f"}', "[]"),
        ('"stands":"', '"stands":"AA=='),
        ('"stands":"', '"stands":"?'),
        ("{", "["),
    ):
        assert ours in text
        assert Reach.from_json(text.replace(ours, other)) is None
    for told in ("", "null", "[]", "7", '"x"', "[" * 100_000):
        assert Reach.from_json(told) is None
