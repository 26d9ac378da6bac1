"""What the local API server trusts: a token for its one administrator and a key for service account tokens.

Its serving certificate is self-signed, and its file is the kubeconfig's authority.
"""

import base64
import json
import secrets
import shutil
from pathlib import Path

from devenv.processes import run

# An elliptic curve private key (SEC 1) on P-256: version 1, 32 bytes of the secret number, the curve's name.
_KEY_HEAD = bytes.fromhex("30310201010420")
_KEY_TAIL = bytes.fromhex("a00a06082a8648ce3d030107")


def write_signing_key(file: Path) -> None:
    """A fresh private key; its first bit is left out, so the number is always below the curve's order."""
    number = (secrets.randbits(255) | 1).to_bytes(32, "big")
    body = base64.b64encode(_KEY_HEAD + number + _KEY_TAIL).decode("ascii")
    file.touch(mode=0o600)
    lines = "\n".join(body[start : start + 64] for start in range(0, len(body), 64))
    file.write_text(
        f"-----BEGIN EC PRIVATE KEY-----\n{lines}\n-----END EC PRIVATE KEY-----\n", encoding="ascii"
    )


def write_certificate(file: Path) -> None:
    """A serving certificate on an elliptic curve, where this machine has openssl; elsewhere the API server writes an RSA one.

    An RSA key costs the API server half a second at its start, and twice as much for each connection.
    """
    openssl = shutil.which("openssl")
    if openssl is None or file.exists():
        return
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")
    known_as = ",".join((*(f"DNS:{name}" for name in names), "IP:127.0.0.1", "IP:10.96.0.1"))
    file.parent.mkdir(parents=True, exist_ok=True)
    run(
        [
            *(openssl, "req", "-x509", "-subj", "/CN=127.0.0.1", "-days", "365", "-out", str(file)),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", str(file.with_suffix(".key"))),
            *("-addext", f"subjectAltName={known_as}"),
            *("-addext", "keyUsage=critical,digitalSignature,keyCertSign"),
        ],
        file.parent / "openssl.log",
        failure="openssl could not write the API server's certificate.",
    )


def write_token(file: Path) -> None:
    """A token file with one administrator."""
    file.touch(mode=0o600)
    file.write_text(f'{secrets.token_hex(24)},admin,admin,"system:masters"\n', encoding="ascii")


def token_in(file: Path) -> str:
    """The administrator's token."""
    return file.read_text(encoding="ascii").split(",")[0]


def write_kubeconfig(file: Path, server: str, authority: bytes, token: str) -> None:
    """JSON is YAML, and the standard library writes it."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "sluice",
        "clusters": [
            {
                "name": "sluice",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(authority).decode("ascii"),
                },
            }
        ],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [
            {"name": "sluice", "context": {"cluster": "sluice", "user": "admin", "namespace": "default"}}
        ],
    }
    file.touch(mode=0o600)
    file.write_text(json.dumps(content, indent=1), encoding="utf-8")
