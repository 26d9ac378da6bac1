"""`./dev run` works on the stack that the shell was told of, and never on somebody's real cluster."""

from pathlib import Path

import pytest

from devenv.cache import Cache
from devenv.local_stack import LocalStack


def test_the_stack_whose_kubeconfig_is_exported_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path)
    named = LocalStack(cache, "mine")
    monkeypatch.setenv("KUBECONFIG", str(named.kubeconfig))
    assert LocalStack.of_this_shell(cache).folder == named.folder


@pytest.mark.parametrize("exported", [None, "", "/home/me/.kube/config", "/home/me/run/mine/kubeconfig"])
def test_another_kubeconfig_or_none_leaves_the_checkouts_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: str | None
) -> None:
    cache = Cache(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if exported is not None:
        monkeypatch.setenv("KUBECONFIG", exported)
    assert LocalStack.of_this_shell(cache).folder == LocalStack(cache).folder
