"""Gives each location one spelling, and says which two may still be one because a configuration decides where they
lie.

Only for the file systems listed here is it known what a location means by itself. Others may lead anywhere, as
`viewfs:` and `dbfs:` do, in which other stores are mounted.
"""

import re
from functools import lru_cache

_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "abfss", "wasbs": "abfss"}
_HOSTS_ARE_CASELESS = frozenset({"abfss", "hdfs", "swebhdfs", "viewfs", "webhdfs"})
_DEFAULT_PORT = {"hdfs": ":8020", "abfss": ":443"}
_HDFS = frozenset({"hdfs", "webhdfs", "swebhdfs"})
"""Schemes that lead to the same clusters, by nameservice, by host, and by ports of different kinds."""
_BUCKETS = frozenset({"s3", "gs", "oss", "obs", "oci", "cos", "cosn"})
"""Stores that also speak S3's protocol: with an endpoint in the configuration, `s3:` may lead to the buckets of any
of them."""
_FIXED = _HDFS | _BUCKETS | {"file", "abfss", "adl"}
_ALIASES = ("-s3alias", "--ol-s3")
"""How aliases of S3's access points end."""
_ANYWHERE = "anywhere"
_ON_DATABRICKS = re.compile(r"file:(?:/dbfs(?P<below>/.*)|(?P<volume>/Volumes/.*))", re.DOTALL)


def location_of(path: str) -> str:
    """The location in its one spelling. Without a scheme it is taken for a local folder, although `fs.defaultFS` may
    say otherwise."""
    scheme, rest = _split(path)
    if scheme == "file":
        return f"file:{_normal(rest)}"
    authority, below = "", rest
    if rest.startswith("//"):
        authority, _, below = rest[2:].partition("/")
    return f"{scheme}://{_authority(scheme, authority)}{_normal('/' + below).rstrip('/')}"


def scheme_of(path: str) -> str | None:
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", path)
    return None if found is None else found[1].lower()


def may_be_one(one: str, other: str) -> bool:
    """Whether two locations, as `location_of` spells them, may be one. The folder of a partition stands for its table."""
    if one == other:
        return True
    (mine, path), (theirs, their_path) = _place(one), _place(other)
    same_path = _is_within(path, their_path) or _is_within(their_path, path)
    if mine == theirs:
        return same_path
    (scheme, host), (their_scheme, their_host) = mine, theirs
    schemes = {scheme, their_scheme}
    if not schemes <= _FIXED:
        return True
    by_default = scheme == their_scheme and "" in (host, their_host)
    one_bucket = schemes <= _BUCKETS and (
        _bucket(*mine) == _bucket(*theirs) or _is_alias(*mine) or _is_alias(*theirs)
    )
    return same_path and (by_default or one_bucket or schemes <= _HDFS or "file" in schemes)


def _bucket(scheme: str, authority: str) -> str:
    """The bucket's name, in small letters, as Hadoop finds a bucket again. Some stores add its endpoint, service or
    namespace to it; names of buckets in S3 and Google's store have dots."""
    return authority.lower() if scheme in ("s3", "gs") else re.split("[.@]", authority.lower(), maxsplit=1)[0]


def _is_alias(scheme: str, authority: str) -> bool:
    """Whether it is the alias of an access point, which leads to a bucket of another name."""
    return scheme == "s3" and authority.lower().endswith(_ALIASES)


def may_lie_in(folder: str, location: str) -> bool:
    """Whether the location may be the folder or something below it."""
    return any(may_be_one(folder, parent) for parent in folders_of(location))


def folders_of(location: str) -> list[str]:
    """The location and the folders above it."""
    parents = [location]
    for _ in range(_place(location)[1].count("/") - 1):
        parents.append(parents[-1].rpartition("/")[0])
    return parents


def seen_from(location: str) -> tuple[frozenset[str], frozenset[str]]:
    """Where it looks for others, and where it is found: of two that `may_be_one`, one looks where the other is found."""
    (scheme, host), path = _place(location)
    if scheme not in _FIXED:
        return frozenset({_ANYWHERE}), frozenset({_ANYWHERE})
    table = _without_partitions(path)
    store = (
        "hdfs"
        if scheme in _HDFS
        else f"bucket {_bucket(scheme, host)}"
        if scheme in _BUCKETS
        else f"{scheme} {host}"
    )
    there, somewhere = f"at {store} {table}", f"path {table}"
    asks = {there, somewhere} if scheme == "file" or not host or _is_alias(scheme, host) else {there}
    return frozenset(asks), frozenset({there, somewhere, _ANYWHERE})


@lru_cache(maxsize=1 << 16)
def _place(location: str) -> tuple[tuple[str, str], str]:
    """The file system, by scheme and authority, and the path in it."""
    mounted = _ON_DATABRICKS.fullmatch(location)
    if mounted is not None:
        return ("dbfs", ""), mounted["below"] or mounted["volume"]
    scheme, _, rest = location.partition(":")
    if scheme == "file":
        return (scheme, ""), rest
    authority, slash, below = rest[2:].partition("/")
    return (scheme, authority), slash + below


def _split(path: str) -> tuple[str, str]:
    match = re.match(r"^([A-Za-z][A-Za-z0-9+.-]*):(.*)$", path, re.DOTALL)
    if match is None:
        return "file", path
    scheme = match.group(1).lower()
    scheme = _SAME_SCHEME.get(scheme, scheme)
    rest = match.group(2)
    return scheme, re.sub(r"^//[^/]*(?=/)", "", rest) if scheme == "file" else rest


def _authority(scheme: str, authority: str) -> str:
    """The authority in one spelling: host names are case-insensitive; the container before an Azure account's '@' and
    S3 buckets are not."""
    container, at, host = authority.rpartition("@")
    if scheme in _HOSTS_ARE_CASELESS:
        host = host.lower().removesuffix(_DEFAULT_PORT.get(scheme, ""))
    if scheme == "abfss":
        host = host.replace(".blob.", ".dfs.", 1)
    if scheme == "s3":  # s3a takes the host alone
        return re.sub(r":\d+$", "", host)
    return f"{container}{at}{host}"


def _normal(path: str) -> str:
    """The path without doubled slashes, '.' steps and a final slash. '..' is resolved by the text, as in Hadoop's
    Path; above the root is the root."""
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
    return "/" + "/".join(parts)


def _is_within(folder: str, table: str) -> bool:
    """Whether the folder is the table's own or one of its partitions', through which Delta also finds the table."""
    if folder == table:
        return True
    return folder.startswith(f"{table}/") and all("=" in part for part in folder[len(table) + 1 :].split("/"))


def _without_partitions(path: str) -> str:
    """The path without partitions: the same for all folders of one table."""
    while path:
        above, slash, last = path.rpartition("/")
        if not slash or "=" not in last:
            break
        path = above
    return path
