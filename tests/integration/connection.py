"""The library's connection to an API server, for tests that ask it as clients do."""

from pathlib import Path

from kubernetes import client, config


def connected(kubeconfig: Path) -> client.ApiClient:
    connection: client.ApiClient = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]  # the library gives it no types
    return connection
