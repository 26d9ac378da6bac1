"""A certificate authority and the certificates of the cluster's parts, by openssl: good for a day, thrown away after it."""

from __future__ import annotations

import json
from pathlib import Path

from cluster.layout import API_ADDRESS, API_SERVER, NODE, SERVICE_NET, Layout
from cluster.services import API_NAME
from devenv.processes import run

_NAMES = ", ".join(
    [
        *(
            f"DNS:{name}"
            for name in (
                *("kubernetes", "kubernetes.default", "kubernetes.default.svc", API_NAME),
                *("localhost", NODE),
            )
        ),
        *(f"IP:{address}" for address in ("127.0.0.1", API_ADDRESS, f"{SERVICE_NET}.1")),
    ]
)
_SUBJECTS = {
    "apiserver": "/CN=kube-apiserver",
    "admin": "/O=system:masters/CN=admin",
    "kubelet": f"/O=system:nodes/CN=system:node:{NODE}",
}


def issue(layout: Layout) -> None:
    folder = layout.certificates
    folder.mkdir(parents=True)
    _openssl(
        layout, "req", "-x509", *_new_key("ca"), "-out", "ca.crt", "-subj", "/CN=sluice-e2e", "-days", "1"
    )
    _openssl(layout, "genrsa", "-out", "service-accounts.key", "2048")
    (folder / "names").write_text(f"subjectAltName={_NAMES}\n")
    for name, subject in _SUBJECTS.items():
        _openssl(layout, "req", *_new_key(name), "-out", f"{name}.csr", "-subj", subject)
        signing = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1", "-extfile", "names")
        _openssl(layout, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signing)
        (folder / f"{name}.conf").write_text(_kubeconfig(folder, name))


def _new_key(name: str) -> tuple[str, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key")


def _openssl(layout: Layout, *arguments: str) -> None:
    run(
        ["openssl", *arguments],
        layout.logs / "openssl",
        failure=f"openssl {arguments[0]} failed.",
        folder=layout.certificates,
    )


def _kubeconfig(folder: Path, user: str) -> str:
    """JSON is YAML, too."""
    cluster = {"server": API_SERVER, "certificate-authority": str(folder / "ca.crt")}
    identity = {"client-certificate": str(folder / f"{user}.crt"), "client-key": str(folder / f"{user}.key")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": user, "user": identity}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user, "namespace": "default"}}],
        "current-context": "e2e",
    }
    return json.dumps(config, indent=1)
