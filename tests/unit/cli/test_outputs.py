"""Whatever text comes from outside, a terminal is shown it and not told what to do."""

import ast
import io
import json
import re
import unicodedata
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from sluice.cli import cluster, outputs
from sluice.cli.main import app
from sluice.online.access.errors import OnlineError
from unit.cli.folders import FACTS, ORDERS, job, policy, sluice, write

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mRED\x1b[0m\r\x7f\x9b31m\u202egnihton\u2066\u200e\u2028\ud800"
ESCAPED = r"\x1b]0;owned\x07\x1b[2J\x1b[31mRED\x1b[0m\r\x7f\x9b31m\u202egnihton\u2066\u200e\u2028\ud800"
CLI = Path(outputs.__file__).parent

TEXTS = st.text() | st.text(st.sampled_from("\x1b[;mJ0\x07\r\x9b\u202e\u200f\n\t ab"))


def commands(text: str) -> str:
    """What of the text a terminal might obey."""
    unseen = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join(one for one in text if unicodedata.category(one) in unseen and one != "\n")


def printed(*shown: str | Text | Table) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        for one in shown:
            outputs.console().print(one)
    return out.getvalue()


def test_what_a_terminal_might_obey_is_shown() -> None:
    assert outputs.shown(f"ünï {HOSTILE} 表 ok\n\tnext") == f"ünï {ESCAPED} 表 ok\n\tnext"
    assert printed(HOSTILE).replace("\n", "") == ESCAPED


@given(TEXTS)
def test_no_way_of_printing_lets_any_of_it_through(text: str) -> None:
    table = Table(text, "other", title=text, box=None)
    table.add_row(text, Text(text, style="bold"))
    assert commands(printed(text, Text.assemble((text, "red"), ": ", text), table)) == ""


def test_what_is_escaped_keeps_its_style_and_is_cut_off_nowhere() -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        console = outputs.console()
    with console.capture() as captured:
        console.print(Text.assemble(("\x1b" * 40, "bold"), " leads"))
    assert "".join(captured.get().split()) == r"\x1b" * 40 + "leads"
    escaped = outputs._shown_text(Text.assemble("a\x1b", ("b\x1bc", "bold"), "d"))
    assert [(escaped.plain[span.start : span.end], span.style) for span in escaped.spans] == [
        (r"b\x1bc", "bold")
    ]


@pytest.mark.parametrize("error", [False, True])
def test_what_is_said_in_one_line_is_escaped_too(
    error: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs.say(HOSTILE, error=error)
    captured = capsys.readouterr()
    assert (captured.err if error else captured.out) == f"{ESCAPED}\n"


def test_what_ends_a_command_against_a_cluster_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), cluster.cluster_is_needed():
        raise OnlineError(HOSTILE)
    assert capsys.readouterr().err == f"{ESCAPED}\n"


@pytest.mark.parametrize(
    "command", [("footprint", "-o", "json"), ("plan", "-o", "json"), ("explain", "--batch")]
)
def test_json_holds_nothing_that_a_terminal_obeys(command: tuple[str, ...], tmp_path: Path) -> None:
    sql = f"DELETE FROM delta.`s3://lake/a` WHERE p = '{HOSTILE[:-1]}'"
    write(tmp_path, a=job("a", sql), b=job("b\x9b2J\u202e", sql), facts=json.dumps(FACTS))
    line = json.dumps({"id": HOSTILE, "table": {}, "first": {"sql": sql}, "second": {"sql": "\ud800"}})
    given = [] if "--batch" in command else [str(tmp_path)]
    result = CliRunner().invoke(app, [*command, *given], input=line)
    assert commands(result.stdout) == ""
    assert r"\u202e" in result.stdout
    json.loads(result.stdout)


def test_json_says_what_it_was_given_and_leaves_letters_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = "ünï 表 नमस्ते سلام \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469"
    outputs.print_json({names: HOSTILE})
    told = capsys.readouterr().out
    assert names in told
    assert commands(told.replace("\u200c", "").replace("\u200d", "")) == ""
    assert json.loads(told) == {names: HOSTILE}


def test_no_command_writes_by_another_way() -> None:
    others = {
        (file.name, word)
        for file in CLI.glob("*.py")
        for word in ("typer.echo", "typer.secho", "Console(", "print(f", "stderr.write", "json.dump")
        if word in file.read_text(encoding="utf-8").replace("out.print(f", "")
    }
    assert others == {("outputs.py", "typer.echo"), ("outputs.py", "Console(")}


OPERATOR_SAYS = (
    "admission",
    "api",
    "conflicts",
    "controller",
    "engines",
    "footprint",
    "lifecycle",
    "predicates",
    "tables",
)


@pytest.mark.parametrize("package", OPERATOR_SAYS)
def test_what_the_operator_may_say_names_no_option_of_the_command_line(package: str) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    offline = (commands[name] for name in ("explain", "plan", "footprint"))
    options = {one for command in offline for option in command.params for one in option.opts}
    assert {"--table", "--table-path", "--history"} <= options
    options.remove("--config")  # the operator has one, too
    for file in (CLI.parent / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not options.intersection(re.findall(r"--[a-z-]+", node.value)), (file, node.lineno)


def test_what_an_insert_does_to_an_identity_column_is_said_in_plain_words(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=job("a", f"INSERT INTO {ORDERS} (amount, date) VALUES (1, DATE '2026-11-19')"),
        facts=json.dumps(FACTS | {"identityColumns": ["id"]}),
    )
    told = " ".join(sluice("footprint", tmp_path).stdout.split())
    assert "changes perhaps the table's metadata, which hold how far an identity column has counted" in told


@pytest.mark.parametrize("command", ["footprint", "plan"])
def test_where_there_is_no_job_it_is_told_and_is_no_success(command: str, tmp_path: Path) -> None:
    (tmp_path / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n")
    result = sluice(command, tmp_path)
    assert result.exit_code == 3
    assert f"{tmp_path}: there is no DeltaWriteJob here" in result.stderr


def test_policies_alone_have_no_footprint_and_a_plan_without_conflicts(tmp_path: Path) -> None:
    write(tmp_path, policy=policy("p", table={"path": "s3://lake/orders"}))
    assert sluice("footprint", tmp_path).exit_code == 3
    assert sluice("plan", tmp_path).exit_code == 0


@pytest.mark.parametrize("command", ["footprint", "plan", "explain"])
def test_a_manifest_cannot_tell_a_terminal_what_to_do(command: str, tmp_path: Path) -> None:
    job = tmp_path / "jobs.yaml"
    name = r'"\e]0;owned\a\x9b2J\u202e"'
    job.write_text(
        "---\n".join(
            f"apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJob\nmetadata: {{name: {name}}}\n"
            f'spec: {{sql: "DELETE FROM delta.`s3://lake/a` WHERE p = {at}\\e[2J\\u202e"}}\n'
            for at in "12"
        ),
        encoding="utf-8",
    )
    result = CliRunner().invoke(app, [command, str(job)], color=True)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert commands(result.stdout + result.stderr) == ""
    assert r"\u202e" in result.output


AS_WIDE_AS = {"in a pipe": (None, 120), "as COLUMNS says": ("72", 72)}


@pytest.mark.parametrize("where", AS_WIDE_AS)
@pytest.mark.parametrize("command", ["footprint", "plan"])
def test_lines_are_as_wide_as_they_may_be_and_no_wider(
    command: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, width = AS_WIDE_AS[where]
    monkeypatch.delenv("COLUMNS", raising=False)
    names = sorted(f"'customer number {number}'" for number in range(7))
    named = " OR ".join(f"name = {name}" for name in names)
    write(
        tmp_path,
        a=job(
            "a",
            f"DELETE FROM delta.`s3://lake/orders` WHERE {named}",
        ),
        b=job("b", "DELETE FROM nothing WHERE ("),
        facts='{path: "s3://lake/orders", schema: [{name: name, type: string}], partitionColumns: [name]}',
    )
    monkeypatch.chdir(tmp_path)  # a word is not cut, and the path of the folder may be longer than a line
    result = CliRunner().invoke(app, [command, "."], env={"COLUMNS": columns})
    told = result.stderr.splitlines()
    assert {line[:2] for line in told} == {"! ", "  "}, "what goes on stands below what it goes on from"
    for line in [*told, *result.stdout.splitlines()]:
        assert len(line) <= width
    assert max(map(len, told)) > width - 20
    if command == "footprint":
        read = result.stdout.partition("reads")[2].partition("writes")[0]
        assert " ".join(read.split()) == f"name IN ({', '.join(names)})"


def test_a_word_that_is_longer_than_a_line_stays_whole(tmp_path: Path) -> None:
    path = f"s3://lake/{'folder/' * 30}orders"
    write(tmp_path, a=job("a", f"DELETE FROM delta.`{path}`"))
    assert path in sluice("footprint", tmp_path).stdout
    broken = tmp_path / f"{'long' * 40}.yaml"
    broken.write_text("kind: DeltaWriteJob\nspec: [", encoding="utf-8")
    assert sluice("plan", broken).stderr.startswith(f"! {broken},\n  line 3, column 1: is not YAML")


def test_words_are_counted_as_they_are_shown() -> None:
    out = io.StringIO()
    console = Console(file=out, width=60)
    outputs.print_hanging(console, "! ", "\x1b[0m " * 30)
    told = out.getvalue().splitlines()
    assert len(told) > 1
    assert max(map(len, told)) <= 60
