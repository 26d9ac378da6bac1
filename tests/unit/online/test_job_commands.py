"""Commands against a cluster: what they need is theirs alone, and what they can't do is one sentence."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.kube import client
from sluice.online.access import connection
from sluice.online.access.connection import Installation, installation
from sluice.online.doctor.findings import FindingLevel
from sluice.online.doctor.redis_check import redis_findings

OPERATOR = Path(__file__).parents[3] / "operator"
NEEDS_A_CLUSTER = ("aiohttp", "kopf", "kubernetes", "redis", "sluice.controller", "sluice.online")

FOOTPRINT = f"""
import sys
from typer.testing import CliRunner
from sluice.cli.main import app
result = CliRunner().invoke(app, ["footprint", sys.argv[1]])
assert result.exit_code == 0, result.output
print([name for name in {NEEDS_A_CLUSTER} if name in sys.modules])
"""


def test_commands_without_a_cluster_import_none_of_what_needs_one(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJob\nmetadata: {name: a}\n"
        "spec: {sql: 'DELETE FROM delta.`s3://lake/a`'}\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-c", FOOTPRINT, str(job)],
        cwd=OPERATOR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_a_command_that_is_not_told_where_its_redis_is_says_how_to_tell_it() -> None:
    result = CliRunner().invoke(app, ["adopt"], env={"SLUICE_REDIS_URL": ""})
    assert result.exit_code == 2
    assert "--redis-url" in result.stderr
    assert "Traceback" not in result.output


def test_a_redis_that_is_not_there_is_named() -> None:
    result = CliRunner().invoke(app, ["adopt", "--redis-url", "redis://127.0.0.1:1/0"])
    assert result.exit_code == 4
    assert result.stderr.startswith("Redis at 127.0.0.1:1/0 could not be asked, or refuses: ")
    assert "see whether it runs" in result.stderr


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        yield f"{host}:{port}"


def test_a_redis_that_says_nothing_is_told_with_what_to_do(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    result = CliRunner().invoke(app, ["adopt", "--redis-url", f"redis://:secret@{silent}/0"])
    assert result.exit_code == 4
    assert result.stderr.startswith(f"Redis at {silent}/0 could not be asked, or refuses: ")
    assert "secret" not in result.stderr


@pytest.mark.parametrize("command", ["status", "doctor"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_cluster_that_does_not_answer_is_named_with_what_to_do(
    command: str, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    monkeypatch.setattr(client, "REQUEST_TIMEOUT", 0.2)
    address = f"http://{silent if is_there else '127.0.0.1:1'}"
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\n"
        f"clusters: [{{name: a, cluster: {{server: '{address}'}}}}]\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    result = CliRunner().invoke(app, [command])
    assert result.exit_code == 4
    assert result.stderr.startswith(
        f"the cluster at {address} could not be asked: see whether kubectl reaches it, and try again ("
    )
    assert result.stderr.count("\n") == 1
    assert "TimeoutError" not in result.stderr
    assert ("it took too long" in result.stderr) is is_there


@pytest.mark.parametrize("command", [["adopt"], ["leases", "list"]])
@pytest.mark.parametrize("url", ["redis://:sup3r/Half@h:6379/0", "redis://h:99999/0", "redis://[::1"])
def test_a_redis_url_that_cannot_be_read_is_told_without_a_word_of_it(command: list[str], url: str) -> None:
    result = CliRunner().invoke(app, [*command, "--redis-url", url])
    assert result.exit_code == 2
    assert "cannot be read as redis://" in " ".join(result.stderr.split())
    assert "Traceback" not in result.output
    assert "sup3r" not in result.output
    assert "Half" not in result.output


def test_a_config_with_mistakes_is_told_as_the_operator_tells_it(tmp_path: Path) -> None:
    config = tmp_path / "sluice.yaml"
    config.write_text("deployment: Big\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["leases", "list", "--config", str(config)])
    assert result.exit_code == 4
    assert f"{config}: deployment" in result.stderr


def test_in_an_operators_pod_its_own_file_names_the_installation(tmp_path: Path) -> None:
    own = tmp_path / "sluice.yaml"
    own.write_text(
        "deployment: alpha\nnamespace: team\nredisUrl: redis://own:6379/0\nruntimes: {default: {sparkVersion: 4.2.0}}\n",
        encoding="utf-8",
    )
    assert installation(None, own_config=tmp_path / "none") == Installation("default", "sluice")
    for given in ({}, {"namespace": "team"}, {"namespace": "team", "deployment": "alpha"}):
        found = installation(None, own_config=own, **given)
        assert (found.namespace, found.deployment) == ("team", "alpha")
        assert found.redis_url == "redis://own:6379/0"
        assert found.profiles is not None


@pytest.mark.parametrize("other", [{"namespace": "else"}, {"namespace": "team", "deployment": "beta"}])
def test_an_operators_own_file_says_nothing_of_another_installation(
    tmp_path: Path, other: dict[str, str]
) -> None:
    own = tmp_path / "sluice.yaml"
    own.write_text(
        "deployment: alpha\nnamespace: team\nruntimes: {default: {sparkVersion: 4.2.0}}\n", encoding="utf-8"
    )
    found = installation(None, own_config=own, **other)
    assert found == Installation(other["namespace"], other.get("deployment", "sluice"))


def test_what_cannot_be_taken_back_is_not_done_without_yes() -> None:
    result = CliRunner().invoke(app, ["leases", "revoke", "uid/1"])
    assert result.exit_code == 2
    assert "--yes" in result.stderr


async def test_a_redis_that_was_not_asked_is_not_called_well() -> None:
    [found] = await redis_findings(Installation("default", "sluice"), None)
    assert found.level is FindingLevel.WARN
    assert "--redis-url" in found.cure
