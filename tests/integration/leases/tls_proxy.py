"""TLS before a Redis, whether or not its program was built with it: what comes is decrypted and handed on."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificates:
    """An authority of the test's own, and what it has signed for 127.0.0.1 and for a client."""

    authority: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def issued(folder: Path) -> Certificates:
    folder.mkdir(parents=True)
    names = folder / "names"
    names.write_text("subjectAltName=IP:127.0.0.1", encoding="utf-8")
    _openssl(folder, "req", "-x509", *_new_key("ca"), "-out", "ca.crt", "-subj", "/CN=test", "-days", "1")
    for name in ("server", "client"):
        _openssl(folder, "req", *_new_key(name), "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signing = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1", "-extfile", "names")
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signing)
    return Certificates(
        *(folder / name for name in ("ca.crt", "server.crt", "server.key", "client.crt", "client.key"))
    )


def _new_key(name: str) -> tuple[str, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key")


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@asynccontextmanager
async def tls_before(
    port: int, certificates: Certificates, *, wants_client: bool = False
) -> AsyncIterator[int]:
    """The port at which TLS is spoken. `wants_client`: only with a certificate of the same authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates.authority)
    context.load_cert_chain(certificates.server, certificates.server_key)
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, before = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as both:
            both.create_task(_hand_on(reader, before))
            both.create_task(_hand_on(behind, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while given := await reader.read(65536):
            writer.write(given)
            await writer.drain()
    except ConnectionError:
        return  # one side has gone: the other is told by the end of what it reads
    finally:
        writer.close()
