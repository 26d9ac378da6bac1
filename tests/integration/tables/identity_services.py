"""What clouds run beside their stores to give pods credentials: Amazon's STS, which takes a service account's token for a role,
and EKS' agent of pod identities. Amazon's programs for them can't be had; these answer as their documentation says, and keep what
they were asked."""

import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs

from devenv.s3_server import Account

_STS = "https://sts.amazonaws.com/doc/2011-06-15/"


class IdentityServices:
    def __init__(self, account: Account) -> None:
        self.account = account
        self.lives = timedelta(hours=1)
        self.takes: str | None = None
        """The token that is believed; None: any."""
        self.tokens: list[str] = []
        """Tokens that were shown."""
        self.roles: list[str] = []
        services = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                asked = {
                    name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()
                }
                if asked.get("Action") != "AssumeRoleWithWebIdentity":
                    self._answer(400, "text/xml", _refusal("InvalidAction", "not known"))
                    return
                services.roles.append(asked["RoleArn"])
                if services.believes(asked["WebIdentityToken"]):
                    self._answer(200, "text/xml", services.for_role())
                else:
                    self._answer(403, "text/xml", _refusal("AccessDenied", "Not authorized to perform this"))

            def do_GET(self) -> None:
                if services.believes(self.headers.get("Authorization", "")):
                    self._answer(200, "application/json", json.dumps(services.for_pod()))
                else:
                    self._answer(403, "text/plain", "the token is not one of this pod's")

            def _answer(self, status: int, kind: str, text: str) -> None:
                content = text.encode()
                self.send_response_only(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """What was asked is kept."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def believes(self, token: str) -> bool:
        self.tokens.append(token)
        return self.takes in (None, token)

    def for_pod(self) -> dict[str, str]:
        return {
            "AccessKeyId": self.account.access_key,
            "SecretAccessKey": self.account.secret_key,
            "Token": "",
            "Expiration": (datetime.now(UTC) + self.lives).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def for_role(self) -> str:
        given = self.for_pod()
        given["SessionToken"] = given.pop("Token")
        parts = "".join(f"<{name}>{value}</{name}>" for name, value in given.items())
        result = f"<AssumeRoleWithWebIdentityResult><Credentials>{parts}</Credentials></AssumeRoleWithWebIdentityResult>"
        return (
            f'<AssumeRoleWithWebIdentityResponse xmlns="{_STS}">{result}</AssumeRoleWithWebIdentityResponse>'
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def _refusal(code: str, message: str) -> str:
    error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    return f'<ErrorResponse xmlns="{_STS}">{error}</ErrorResponse>'
