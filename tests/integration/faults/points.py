"""Which kind of request it is: by what it does, as far as its own bytes tell."""

import json
from collections.abc import Sequence
from hashlib import sha1
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sluice.api import names
from sluice.kube.resources import plural_in
from sluice.leases import scripts

_SCRIPTS = {
    sha1(text.encode(), usedforsecurity=False).hexdigest(): name.lower()
    for name, text in vars(scripts).items()
    if name.isupper() and not name.startswith("_")
}


def api_point(method: str, target: str, body: bytes) -> str:
    parts = urlsplit(target)
    query = parse_qs(parts.query)
    rest = parts.path.strip("/").split("/")
    plural = plural_in(parts.path)
    if not plural:
        return f"{method.lower()} what is served"
    after = rest[rest.index(plural) + 1 :]
    verb = _verb(method, query, is_one=bool(after))
    kind = "/".join([plural, *after[1:2]])
    if "dryRun" in query:
        return f"try {verb} {kind}"
    detail = _detail(kind, json.loads(body)) if body and method != "DELETE" else ""
    return f"{verb} {kind}{detail}"


def _verb(method: str, query: dict[str, list[str]], *, is_one: bool) -> str:
    if method == "GET":
        return "watch" if "watch" in query else "get" if is_one else "list"
    return {"POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}[method]


def _detail(kind: str, body: Any) -> str:
    if kind == "deltawritejobs/status":
        return f" to {(body.get('status') or {}).get('phase')}"
    if isinstance(body, list):
        removes = any(one["op"] == "remove" for one in body)
        return " without its finalizer" if removes else " by tests"
    if kind == "pods" and names.LABEL_PLACEHOLDER in (body.get("metadata") or {}).get("labels", {}):
        return ", a placeholder"
    return ""


def redis_point(words: Sequence[bytes]) -> str:
    command = words[0].decode().lower()
    if command != "evalsha":
        return f"redis {command}"
    script = _SCRIPTS.get(words[1].decode(), "a script")
    if script != "change":
        return f"redis {script}"
    kinds = {change[0] for change in json.loads(words[-1])}
    return f"redis {' and '.join(sorted(kind.lower() for kind in kinds))}"
