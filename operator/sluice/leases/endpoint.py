"""Where Redis is and how to get in, as one URL says it.

What a URL may say is a closed list. A password may stand at any place of a URL that is wrong, so no sentence about one repeats
anything of it but the name of an option: before those there is no @ that a password could have ended with.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qsl, quote, unquote

_FORM = re.compile(
    r"[^:/?#]*://(?:(?P<login>[^@/?#]*)@)?(?P<place>[^@/?#]*)(?P<path>/[^@?#]*)?(?:\?(?P<query>[^@#]*))?"
)
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)?(?::(?P<port>[0-9]{1,5}))?", re.ASCII)

_DIRECT = ("redis", "rediss", "unix")
_BY_SENTINELS = ("redis+sentinel", "rediss+sentinel")
_BY_TLS = ("rediss", "rediss+sentinel")
_PORT = 6379
_SENTINEL_PORT = 26379
_LAST_PORT = 65535

BEGINNINGS = "redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://"
FOREIGN = f"must begin with {BEGINNINGS}"
UNREADABLE = (
    "cannot be read as redis://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS, unix://USER:PASSWORD@/PATH?OPTIONS or "
    "redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DATABASE?OPTIONS: percent-encode / ? # @ in the password (/ as %2F, "
    "# as %23), or leave the password out and set SLUICE_REDIS_PASSWORD or SLUICE_REDIS_PASSWORD_FILE; a port is a number up to "
    "65535, a database a number"
)


class EndpointError(ValueError):
    """What is wrong with a URL, as the end of a sentence that begins with where it comes from."""


@dataclass(frozen=True)
class Server:
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Endpoint:
    servers: tuple[Server, ...] = ()
    """The one Redis, or the Sentinels that know it; none: a socket of this machine."""
    socket: str | None = None
    master: str | None = None
    """The name that the Sentinels know it by; None: it is named itself."""
    database: int = 0
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: str | None = None
    """Where the password is read for each new connection."""
    sentinel_auth: bool = False
    """Whether the Sentinels ask for the same user and password."""
    tls: Mapping[str, str | bool] | None = None
    """What redis-py is told of TLS; None: nothing is encrypted."""
    patience: Mapping[str, float] = field(default_factory=dict)
    """How long to wait, where the URL says so."""

    @classmethod
    def of(cls, url: str) -> Self:
        """Raises EndpointError."""
        parts = _FORM.fullmatch(url)
        scheme, beginning, _ = url.partition("://")
        if not beginning or scheme not in (*_DIRECT, *_BY_SENTINELS):
            raise EndpointError(FOREIGN)
        if parts is None:
            raise EndpointError(UNREADABLE)
        options = _options(parts["query"] or "", scheme)
        user, password = _login(parts["login"])
        if password is not None and "password_file" in options:
            raise EndpointError("has a password and a password_file: leave one of them out")
        socket, master, database = None, None, ""
        if scheme == "unix":
            socket = _text(parts["path"] or "")
            if parts["place"] or not socket.strip("/"):
                raise EndpointError(UNREADABLE)
        elif scheme in _BY_SENTINELS:
            name, _, database = (parts["path"] or "").removeprefix("/").partition("/")
            master = _text(name)
            if not master or not parts["place"]:
                raise EndpointError(UNREADABLE)
        else:
            database = (parts["path"] or "").removeprefix("/")
        if database and "db" in options:
            raise EndpointError(
                "names its database twice, in its path and as the option db: leave one of them out"
            )
        return cls(
            servers=() if socket else _servers(parts["place"], of_sentinels=master is not None),
            socket=socket,
            master=master,
            database=_number(database or options.get("db") or "0"),
            user=user,
            password=password,
            password_file=_path(options, "password_file"),
            sentinel_auth=_flag(options, "sentinel_auth"),
            tls=_tls(options) if scheme in _BY_TLS else None,
            patience={name: _seconds(options, name) for name in _PATIENCE if name in options},
        )

    @property
    def address(self) -> str:
        """Says which database it is, however the URL spells it, and without credentials. Two names of one server are told by what
        that server holds."""
        if self.socket is not None:
            return f"{self.socket}/{self.database}"
        servers = ",".join(sorted(map(str, self.servers)))
        master = "" if self.master is None else f"{self.master}/"
        return f"{servers}/{master}{self.database}"

    @property
    def who(self) -> str:
        """As whom it is asked, in words."""
        return "the default user" if self.user is None else f"user {self.user}"

    @property
    def tls_files(self) -> Mapping[str, str]:
        """Paths of the files that TLS is given, by their options."""
        given = (self.tls or {}).items()
        return {name: value for name, value in given if name in _FILES and isinstance(value, str)}


def with_password(url: str, *, password: str, file: str) -> str:
    """Adds the file of a password, else the password, to a URL that has neither. Whoever names a user in the URL names the password
    of that user. A URL that cannot be read stays as it is."""
    parts = _FORM.fullmatch(url)
    query = parts["query"] or "" if parts is not None else ""
    if parts is None or ":" in (parts["login"] or "") or "password_file=" in query:
        return url
    if file:
        return f"{url.rstrip('?')}{'&' if query else '?'}password_file={quote(file)}"
    if not password:
        return url
    scheme, _, rest = url.partition("://")
    login = parts["login"] or ""
    place = rest if parts["login"] is None else rest.partition("@")[2]
    return f"{scheme}://{login}:{quote(password, safe='')}@{place}"


_FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
_PATIENCE = ("socket_timeout", "socket_connect_timeout")
_OPTIONS = {
    **dict.fromkeys(("db", "password_file", *_PATIENCE), (*_DIRECT, *_BY_SENTINELS)),
    **dict.fromkeys((*_FILES, "ssl_cert_reqs", "ssl_check_hostname"), _BY_TLS),
    "sentinel_auth": _BY_SENTINELS,
}
"""Which options there are, and for which schemes."""
_LONGEST = 60.0
_YES = ("1", "true", "yes")
_NO = ("0", "false", "no")
_DEMANDS = ("required", "optional", "none")


def _options(query: str, scheme: str) -> dict[str, str]:
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError as error:
        raise EndpointError(UNREADABLE) from error
    for name, value in given:
        if name not in _OPTIONS:
            raise EndpointError(
                f"has an option that is not known{_called(name)}: there are {', '.join(sorted(_OPTIONS))}"
            )
        if scheme not in _OPTIONS[name]:
            schemes = " and ".join(f"{one}://" for one in _OPTIONS[name])
            raise EndpointError(
                f"has the option {name}, which is for {schemes} alone: leave it out, or begin it so"
            )
        if not value:
            raise EndpointError(f"has the option {name} without a value")
    if len(dict(given)) < len(given):
        raise EndpointError("has one option twice: leave one of them out")
    return dict(given)


def _called(name: str) -> str:
    return f", {name}" if re.fullmatch(r"[a-z_]{1,40}", name) else ""


def _login(login: str | None) -> tuple[str | None, str | None]:
    user, colon, password = (login or "").partition(":")
    return _text(user) or None, _text(password) if colon else None


def _servers(place: str, *, of_sentinels: bool) -> tuple[Server, ...]:
    found = []
    for one in place.split(",") if of_sentinels else [place]:
        parts = _SERVER.fullmatch(one)
        if parts is None or (of_sentinels and parts["host"] is None):
            raise EndpointError(UNREADABLE)
        port = int(parts["port"] or (_SENTINEL_PORT if of_sentinels else _PORT))
        if not 0 < port <= _LAST_PORT:
            raise EndpointError(UNREADABLE)
        found.append(Server((parts["host"] or "localhost").lower(), port))
    if len({*found}) < len(found):
        raise EndpointError("names one Sentinel twice: leave one of them out")
    return tuple(found)


def _tls(options: Mapping[str, str]) -> dict[str, str | bool]:
    told: dict[str, str | bool] = {
        name: path for name in _FILES if (path := _path(options, name)) is not None
    }
    if "ssl_keyfile" in told and "ssl_certfile" not in told:
        raise EndpointError(
            "has the option ssl_keyfile without ssl_certfile: add the certificate that the key is of"
        )
    if "ssl_check_hostname" in options:
        told["ssl_check_hostname"] = _flag(options, "ssl_check_hostname")
    if "ssl_cert_reqs" in options:
        if options["ssl_cert_reqs"] not in _DEMANDS:
            raise EndpointError(f"has the option ssl_cert_reqs, which must be one of {', '.join(_DEMANDS)}")
        told["ssl_cert_reqs"] = options["ssl_cert_reqs"]
    return told


def _path(options: Mapping[str, str], name: str) -> str | None:
    path = options.get(name)
    if path is not None and not path.startswith("/"):
        raise EndpointError(f"has the option {name}, which must be a path that begins with a slash")
    return path


def _flag(options: Mapping[str, str], name: str) -> bool:
    given = options.get(name, "no").lower()
    if given not in (*_YES, *_NO):
        raise EndpointError(f"has the option {name}, which must be 1 or 0")
    return given in _YES


def _seconds(options: Mapping[str, str], name: str) -> float:
    try:
        seconds = float(options[name])
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST:
        raise EndpointError(
            f"has the option {name}, which must be a number of seconds above 0, up to {_LONGEST:.0f}"
        )
    return seconds


def _number(text: str) -> int:
    if re.fullmatch(r"[0-9]{1,5}", text, re.ASCII) is None:
        raise EndpointError(UNREADABLE)
    return int(text)


def _text(quoted: str) -> str:
    try:
        return unquote(quoted, errors="strict")
    except UnicodeDecodeError as error:
        raise EndpointError(UNREADABLE) from error
