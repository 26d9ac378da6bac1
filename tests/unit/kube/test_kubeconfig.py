"""A cluster that isn't found is one sentence with the file's name, whatever the file holds, and none of its secrets."""

import os
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.kube.kubeconfig import NoClusterKnownError, connection_by, usual_namespace

SECRET = "c2VjcmV0"

GOOD = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "here",
    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
    "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "me", "user": {"token": SECRET}}],
}


def changed(**parts: object) -> str:
    return yaml.safe_dump(GOOD | {name.replace("_", "-"): part for name, part in parts.items()})


def with_cluster(**more: object) -> str:
    cluster = {"server": "https://127.0.0.1:1"} | {
        name.replace("_", "-"): value for name, value in more.items()
    }
    return changed(clusters=[{"name": "here", "cluster": cluster}])


BROKEN = {
    "empty": "",
    "only a comment": "# nothing\n",
    "a text": "kubeconfig",
    "a list": "[]",
    "not YAML": f"a: [\nusers: {{token: {SECRET}\n",
    "a tab": f"users:\n\t- {SECRET}\n",
    "a control character": f"\x01{SECRET}",
    "nested": "[" * 20_000,
    "no contexts": changed(contexts=None),
    "contexts as a text": changed(contexts="here"),
    "contexts as a number": changed(contexts=1),
    "a context without a name": changed(contexts=[{"context": {}}]),
    "a context that is a text": changed(contexts=[{"name": "here", "context": "here"}]),
    "a context that is a number": changed(contexts=[{"name": "here", "context": 1}]),
    "another context": changed(current_context="elsewhere"),
    "users as a mapping": changed(users={"token": SECRET}),
    "a user without a user": changed(users=[{"name": "me", "token": SECRET}]),
    "a user that is a text": changed(users=[{"name": "me", "user": SECRET}]),
    "a user that is a number": changed(users=[{"name": "me", "user": 1}]),
    "a cluster without a cluster": changed(clusters=[{"name": "here", "server": "http://127.0.0.1:1"}]),
    "a server that is a number": changed(clusters=[{"name": "here", "cluster": {"server": 1}}]),
    "an authority that is no base64": with_cluster(certificate_authority_data="?"),
    "an authority that is no certificate": with_cluster(certificate_authority_data=SECRET),
    "an authority that is a number": with_cluster(certificate_authority_data=1),
    "an authority that is not there": with_cluster(certificate_authority="/nowhere/ca.crt"),
    "a proxy that is none": with_cluster(proxy_url="http://[::1"),
    "a token of two lines": changed(users=[{"name": "me", "user": {"token": f"{SECRET}\n{SECRET}"}}]),
    "a token that is a list": changed(users=[{"name": "me", "user": {"token": [SECRET]}}]),
    "a token file that is not there": changed(
        users=[{"name": "me", "user": {"tokenFile": "/nowhere/token"}}]
    ),
    "a certificate that is none": changed(
        clusters=[{"name": "here", "cluster": {"server": "https://127.0.0.1:1"}}],
        users=[{"name": "me", "user": {"client-certificate-data": SECRET, "client-key-data": SECRET}}],
    ),
    "a provider without its configuration": changed(
        users=[{"name": "me", "user": {"auth-provider": {"name": "oidc"}}}]
    ),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_kubeconfig_that_is_broken_is_one_sentence_with_its_name(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(content, encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(file))
    result = CliRunner().invoke(app, ["status"])
    assert result.exit_code == 4, result.output
    assert isinstance(result.exception, SystemExit), "a traceback"
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith(f"{file} leads to no cluster: ")
    assert "KUBECONFIG" in result.stderr
    assert SECRET not in result.output


def test_what_is_no_text_or_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "binary"
    file.write_bytes(b"\xff\xfe\x00\xd8")
    for path in (file, tmp_path):
        monkeypatch.setenv("KUBECONFIG", str(path))
        result = CliRunner().invoke(app, ["status"])
        assert result.exit_code == 4
        assert result.stderr.startswith(f"{path} leads to no cluster: ")


async def test_the_line_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("users:\n- name: a\n  b: c: d\n", encoding="utf-8")
    with pytest.raises(
        NoClusterKnownError, match="line 3: it is not YAML: mapping values are not allowed here"
    ):
        await connection_by(str(file))


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing.yaml"
    monkeypatch.setenv("KUBECONFIG", str(missing))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 4
    assert result.stderr.startswith(f"KUBECONFIG names {missing}, and there is no such file: ")


@pytest.mark.parametrize("variable", [None, ""])
def test_where_there_is_none_it_is_said_where_one_was_looked_for(
    variable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    if variable is None:
        monkeypatch.delenv("KUBECONFIG", raising=False)
    else:
        monkeypatch.setenv("KUBECONFIG", variable)
    result = CliRunner().invoke(app, ["status"])
    assert result.exit_code == 4
    assert "KUBECONFIG is not set, there is no ~/.kube/config, and this is no pod" in result.stderr
    assert "set KUBECONFIG to a kubeconfig" in result.stderr


async def test_of_several_files_those_that_are_there_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, rest = tmp_path / "users", tmp_path / "rest"
    users.write_text(yaml.safe_dump({"users": GOOD["users"]}), encoding="utf-8")
    rest.write_text(changed(users=[]), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, (users, tmp_path / "missing", rest))))
    connection = await connection_by()
    assert connection.address == "http://127.0.0.1:1"
    await connection.close()


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"cluster": "here", "user": "me", "namespace": "team"}, "team"),
        ({"cluster": "here", "user": "me"}, "default"),
        ({"cluster": "here", "user": "me", "namespace": 7}, "default"),
    ],
)
def test_the_usual_namespace_is_that_of_the_current_context(
    context: dict[str, object], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config"
    others = {"name": "there", "context": {"cluster": "here", "user": "me", "namespace": "other"}}
    file.write_text(changed(contexts=[others, {"name": "here", "context": context}]), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert usual_namespace() == expected


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_kubeconfig_is_left_to_whoever_connects_by_it(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config"
    file.write_text(content, encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert usual_namespace()
