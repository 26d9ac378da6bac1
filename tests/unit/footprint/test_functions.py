"""A function is Spark's own by the name that is written, and by the version that runs it."""

import pytest
from sqlglot import exp

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import TableFootprint, footprint_of
from sluice.footprint.sql.functions import a_users, is_builtin, name_of
from sluice.footprint.sql.known import VERSIONS, functions_of
from sluice.predicates import Table
from sluice.predicates.syntax import SPARK, statement_in, tokens_of
from sluice.tables import TableFacts, key_of_path

ARGUMENTS = (
    "",
    "a",
    "a, b",
    "a, b, c",
    "a, 'b'",
    "a AS INT",
    "INT, a",
    "a FROM b",
    "a IN b",
    "DAY FROM a",
    "'k' VALUE a",
    "1",
)


def append(expression: str, spark: str | None = None) -> TableFootprint:
    runtime = {} if spark is None else {"runtime": {"sparkVersion": spark}}
    sql = f"INSERT INTO delta.`/lake/t` SELECT {expression} FROM delta.`/s`"
    found, *_ = footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql, **runtime}), {}).tables
    return found


def parsed(call: str) -> exp.Expr | None:
    try:
        text = f"SELECT {call}"
        return statement_in(tokens_of(text), text)
    except Exception:  # noqa: BLE001 - what cannot be read is refused elsewhere
        return None


PARSERS = {*SPARK.parser_class.FUNCTIONS, *SPARK.parser_class.FUNCTION_PARSERS}


def test_no_name_that_the_parser_knows_and_spark_does_not_passes_for_sparks_own() -> None:
    foreign = sorted(name for name in PARSERS if not any(name.lower() in functions_of(v) for v in VERSIONS))
    assert len(foreign) > 300
    seen = set()
    for name in foreign:
        if name in ("SAFE_CAST", "TRY_CAST"):
            continue  # CAST's grammar, which no function of a user's has
        for arguments in ARGUMENTS:
            tree = parsed(f"{name}({arguments})")
            if tree is None:
                continue
            seen.add(name)
            assert any(a_users(node, None) is not None for node in tree.walk()), (name, arguments)
    assert len(seen) > 300


def test_all_of_sparks_functions_are_sparks_own() -> None:
    both = functions_of(VERSIONS[0]).keys() & functions_of(VERSIONS[-1]).keys()
    seen = set()
    for name in both:
        for arguments in ARGUMENTS:
            tree = parsed(f"{name}({arguments})") if name.isidentifier() else None
            for node in tree.find_all(exp.Func) if tree is not None else ():
                if name in ("java_method", "reflect"):
                    assert a_users(node, None) is not None
                else:
                    seen.add(name)
                    assert a_users(node, None) is None, (name, arguments)
    assert len(seen) > 380


@pytest.mark.parametrize(
    "expression",
    [
        "nvl(a, b)",
        "len(a)",
        "`upper`(a)",
        "count(*)",
        "max_by(a, b)",
        "try_cast(a AS INT)",
        "decode(a, 1, 2)",
        "filter(a, x -> x > 1)",
    ],
)
def test_appends_with_sparks_own_functions_are_blind(expression: str) -> None:
    assert append(expression).is_blind


@pytest.mark.parametrize(
    "expression",
    [
        "safe_divide(a, b)",
        "arg_max(a, b)",
        "normalize(a)",
        "apply(a)",
        "broadcast(a)",
        "glob(a, b)",
        "my_udf(a)",
        "`my udf`(a)",
        "db.upper(a)",
        "reflect('A', 'b')",
    ],
)
def test_appends_with_what_may_be_a_users_function_may_read_the_table(expression: str) -> None:
    found = append(expression)
    assert not found.is_blind
    assert found.reads.is_everything
    assert found.sources.any_table


def test_a_function_of_newer_sparks_may_be_a_users_in_an_older_one() -> None:
    assert not is_builtin("listagg", (3, 5))
    for name in ("listagg(a)", "string_agg(a)", "try_url_decode(a)"):
        assert append(name, "4.2.0").is_blind
        assert not append(name, "3.5.9").is_blind
        assert not append(name, "4.0.0").is_blind
        assert not append(name).is_blind
    assert not append("upper(a)", "3.4.0").is_blind


def test_a_known_version_tells_where_rows_with_its_functions_land() -> None:
    facts = {key_of_path("/lake/t"): TableFacts(columns=Table.of({"id": "string", "p": "int"}, ["p"]))}

    def writes(version: str) -> str:
        sql = "INSERT INTO delta.`/lake/t` SELECT try_url_decode(id), 7 FROM delta.`/s`"
        spec = DeltaWriteJobSpec.model_validate({"sql": sql, "runtime": {"sparkVersion": version}})
        return footprint_of(spec, {}, facts=facts).tables[0].writes_text

    assert writes("4.2.0") == "p = 7"
    assert writes("3.5.9") == "true"


def test_hints_are_no_functions() -> None:
    assert append("/*+ BROADCAST(s), REPARTITION(3) */ a").is_blind


def test_only_functions_that_read_no_table_stand_for_rows() -> None:
    def insert(source: str) -> TableFootprint:
        sql = f"INSERT INTO delta.`/lake/t` SELECT * FROM {source}"
        return footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql}), {}).tables[0]

    assert insert("range(3)").is_blind
    assert insert("explode(array(1))").is_blind
    for source in ("table_changes('t', 0)", "my_rows(1)", "safe_rows()"):
        assert not insert(source).is_blind
        assert insert(source).sources.any_table


def test_names_are_told_as_they_are_written() -> None:
    tree = parsed("nvl(a, `Len`(b))")
    assert tree is not None
    assert [name_of(node) for node in tree.find_all(exp.Func)] == ["nvl", "Len"]
