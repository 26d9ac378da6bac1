"""One table, one key, however it is spelled: two spellings of one location must never look like two tables.

Where Hadoop, which Spark's paths go through, keeps apart what looks alike, so do the keys: `%20` in a path is three
characters of a folder's name, not a blank. Where symbolic links lead is not known here, but the log that is read
through one tells its table's id.
"""

import re
from dataclasses import dataclass, field

_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "abfss", "wasbs": "abfss"}
_HOSTS_ARE_CASELESS = frozenset({"abfss", "hdfs", "viewfs", "webhdfs"})
_DEFAULT_PORT = {"hdfs": ":8020", "abfss": ":443"}


@dataclass(frozen=True, order=True)
class TableKey:
    """A location, or a catalog name that is not bound to one."""

    text: str
    is_name: bool = False
    bound: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Of a location: the names that lead to it. Of a name: the locations of which it may be any."""

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> "TableKey":
        """The key that `text` was written from."""
        return cls(text, is_name=re.match(r"^[a-z][a-z0-9+.-]*:/", text) is None)

    def may_equal(self, other: "TableKey") -> bool:
        """An unbound name may stand for any location that is not another name's. Two names are two tables, as in a
        catalog, unless one of them leaves to the session what the other says: its catalog, or its schema. A partition's
        folder stands for its table."""
        if self.is_name and other.is_name:
            return _ends_alike(self.text, other.text)
        if self.is_name:
            return self._may_lie_at(other)
        if other.is_name:
            return other._may_lie_at(self)
        return _is_within(self.text, other.text) or _is_within(other.text, self.text)

    def _may_lie_at(self, location: "TableKey") -> bool:
        if self.bound:
            return any(TableKey(text).may_equal(location) for text in self.bound)
        return not location.bound or any(_ends_alike(self.text, name) for name in location.bound)


def key_of_name(name: str) -> TableKey:
    """Catalog names are case-insensitive; the default catalog's own name changes nothing."""
    return TableKey(name.replace("`", "").lower().removeprefix("spark_catalog."), is_name=True)


def in_catalog(name: TableKey, catalog: str) -> TableKey:
    """Of a session that looks names up there which say no catalog themselves."""
    return name if name.text.count(".") > 1 else key_of_name(f"{catalog}.{name.text}")


def key_of_path(path: str) -> TableKey:
    scheme, rest = _split(path)
    if scheme == "file":
        return TableKey(f"file:{_normal(rest)}")
    authority, _, below = rest.partition("/")
    return TableKey(f"{scheme}://{_authority(scheme, authority)}{_normal('/' + below).rstrip('/')}")


def _split(path: str) -> tuple[str, str]:
    match = re.match(r"^([A-Za-z][A-Za-z0-9+.-]*):(.*)$", path, re.DOTALL)
    if match is None:
        return "file", path
    scheme = match.group(1).lower()
    scheme = _SAME_SCHEME.get(scheme, scheme)
    rest = match.group(2)
    if scheme == "file":
        return scheme, re.sub(r"^//[^/]*(?=/)", "", rest)
    return scheme, rest.lstrip("/")


def _authority(scheme: str, authority: str) -> str:
    """Host names are case-insensitive; the container before an Azure account's '@' and S3 buckets are not."""
    container, at, host = authority.rpartition("@")
    if scheme in _HOSTS_ARE_CASELESS:
        host = host.lower().removesuffix(_DEFAULT_PORT.get(scheme, ""))
    if scheme == "abfss":
        host = host.replace(".blob.", ".dfs.", 1)
    return f"{container}{at}{host}"


def _normal(path: str) -> str:
    """Doubled slashes and '.' steps gone, no slash at the end. '..' is resolved by the text, as Hadoop's Path does
    it; above the root is the root."""
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
    return "/" + "/".join(parts)


def _ends_alike(one: str, other: str) -> bool:
    mine, theirs = one.split("."), other.split(".")
    shared = min(len(mine), len(theirs))
    return mine[-shared:] == theirs[-shared:]


def _is_within(folder: str, table: str) -> bool:
    """Whether the folder is the table's own, or that of one of its partitions, by which Delta finds the table, too."""
    if folder == table:
        return True
    return folder.startswith(f"{table}/") and all("=" in part for part in folder[len(table) + 1 :].split("/"))
