"""How the cluster is found: by a kubeconfig, as kubectl finds it, or by the pod that this process runs in.

The official client reads the files, and fails in whatever way Python does on one that holds something else. Of what a file
holds nothing is repeated: it may be a password.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import yaml
from kubernetes.aio import client, config

from sluice.kube.connection import Connection

VARIABLE = "KUBECONFIG"
_USUAL = Path("~/.kube/config")
_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT = "default"
_HOW = f"set {VARIABLE} to a kubeconfig, or run this in a pod of the cluster"


_NOT_KUBECTLS = (ValueError, LookupError, TypeError, AttributeError)
"""What the official client fails with where a value is not what kubectl writes there."""


class NoClusterKnownError(Exception):
    """Says which file leads to no cluster, or that there is none, and what to do."""


async def connection_by(kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """Raises NoClusterKnownError."""
    settings = client.Configuration()
    files = [kubeconfig] if kubeconfig is not None else _files()
    if not files:
        _as_pod(settings)
        return Connection(settings)
    try:
        await config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=os.pathsep.join(files), context=context, client_configuration=settings
        )
        _tidy_token(settings)
        return Connection(settings)
    except config.ConfigException as error:
        why = str(error).partition("/{")[0].removeprefix("Invalid kube-config file. ").rstrip(". ")
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        why = f"{line}it is not YAML: {error.problem}"
    except OSError as error:
        why = _words(error)
    except UnicodeDecodeError:
        why = "it is not text in UTF-8"
    except (yaml.YAMLError, RecursionError, *_NOT_KUBECTLS):
        why = "it is empty, or a value in it is not what kubectl writes there"
    raise NoClusterKnownError(
        f"{' and '.join(files)} {'leads' if len(files) == 1 else 'lead'} to no cluster: {why}: correct it, or name another "
        f"kubeconfig by {VARIABLE}"
    ) from None


def usual_namespace() -> str:
    """The namespace that kubectl would take where none is named: the current context's, or that of this pod."""
    files = _files()
    if not files:
        try:
            return _OWN_NAMESPACE.read_text(encoding="utf-8").strip() or _DEFAULT
        except OSError:
            return _DEFAULT  # as kubectl does where its pod doesn't say
    try:
        _, current = config.list_kube_config_contexts(os.pathsep.join(files))  # type: ignore[no-untyped-call]
        named = current["context"].get("namespace")
    except (config.ConfigException, yaml.YAMLError, OSError, RecursionError, *_NOT_KUBECTLS):
        return _DEFAULT  # whoever connects by such a file is told what is wrong with it
    return named if isinstance(named, str) and named else _DEFAULT


def _files() -> Sequence[str]:
    """The files that kubectl would read; empty: there are none."""
    named = [name for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    if not named:
        usual = _USUAL.expanduser()
        return [str(usual)] if usual.exists() else []
    there = [name for name in named if Path(name).expanduser().exists()]
    if not there:
        raise NoClusterKnownError(
            f"{VARIABLE} names {' and '.join(named)}, and there is no such file: name a kubeconfig that is there, or unset "
            f"{VARIABLE}, so that {_USUAL} is read"
        )
    return there


def _as_pod(settings: client.Configuration) -> None:
    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise NoClusterKnownError(
            f"no cluster is known: {VARIABLE} is not set, there is no {_USUAL}, and this is no pod of a cluster: {_HOW}"
        )
    try:
        config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
    except (config.ConfigException, OSError) as error:
        raise NoClusterKnownError(
            f"the cluster of this pod is not known: {str(error).rstrip('.')}: is automountServiceAccountToken false? {_HOW}"
        ) from error


def _tidy_token(settings: client.Configuration) -> None:
    """A token is sent in a header, which takes one line; files of tokens end with a newline."""
    token = str(settings.api_key.get("BearerToken", "")).strip()
    if not (token.isascii() and token.isprintable()) or " " in token.partition(" ")[2]:
        raise config.ConfigException("the token of its user is none")
    if token:
        settings.api_key["BearerToken"] = token


def _words(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or type(error).__name__}"
