"""Opens tables where they lie: how long a store is asked, in which region, and what its refusals mean."""

import os
import threading
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from sluice.tables.address import LogUnreadableError, cannot_be_read, in_short, must_be_around
from sluice.tables.catalog_managed_tables import as_managed
from sluice.tables.identity import TableKey
from sluice.tables.s3_list import names_below
from sluice.tables.s3_region import is_of_a_store, region_of
from sluice.tables.s3_requests import S3SilentError, empty_endpoint, own_endpoint
from sluice.tables.store_errors import StoreTrouble, explained, own_words, trouble_of

READ_ERRORS = (DeltaError, OSError, ValueError)
"""What delta-rs raises."""

_STORES = ("s3:", "gs:", "abfss:")
BOUNDS = {
    # Callers wait 10 s for facts. A store that comes back within that is worth waiting for, and longer retries only hold a thread.
    "retry_timeout": "8s",
    "connect_timeout": "4s",
    # For one whole answer: a table's checkpoint may be large.
    "timeout": "30s",
}

_DEFAULT_REGION = "us-east-1"
"""In which delta-rs asks, too, where nobody says another one."""
_MOST_NAMES = 1000

_regions: dict[str, str] = {}
"""Of buckets that turned out to be in another region than AWS_REGION says."""
_known_stores: set[tuple[str, str]] = set()
"""Endpoints and buckets at which a store was seen to answer."""
_lock = threading.Lock()


def has_log(key: TableKey, address: str) -> bool:
    """False only for a local table: of others their store must be asked."""
    if not key.text.startswith("file:"):
        return True
    try:
        Path(address, "_delta_log").stat()
    except FileNotFoundError:
        must_be_around(key, address)
        return False
    return True


def holds_other_things(key: TableKey, address: str) -> str | None:
    """The name of something that lies where a table would, which has no log: then it is no Delta table, unless somebody writes its
    first version just now. None: nothing does, a log is begun, or it can't be told. What begins with _ or . belongs to writers."""
    names = [name.rstrip("/") for name in _names_in(key, address)]
    if "_delta_log" in names:
        return None
    return min((name for name in names if not name.startswith(("_", "."))), default=None)


def _names_in(key: TableKey, address: str) -> Iterable[str]:
    if key.text.startswith("file:"):
        try:
            with os.scandir(address) as entries:
                return [entry.name for entry in islice(entries, _MOST_NAMES)]
        except FileNotFoundError:
            return ()
    if not key.text.startswith("s3:"):
        return ()
    bucket, prefix = bucket_of(key), key.text.partition("://")[2].partition("/")[2]
    with _lock:
        region = _regions.get(bucket) or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return names_below(bucket, f"{prefix}/" if prefix else "", region or _DEFAULT_REGION)


def open_table(table: TableKey, address: str) -> DeltaTable:
    """Opens it. Raises TableNotFoundError only if its store says that there is no log, else LogUnreadableError or one of
    READ_ERRORS."""
    if not table.text.startswith(_STORES):
        return DeltaTable(address)
    try:
        return _opened(table, address)
    except TableNotFoundError:
        if table.text.startswith("s3:"):
            _must_be_a_store(table)
        raise


def _opened(table: TableKey, address: str) -> DeltaTable:
    empty = empty_endpoint() if table.text.startswith("s3:") else None
    if empty is not None:  # at which delta-rs panics
        raise LogUnreadableError(
            f"{StoreTrouble.NO_STORE}: {empty} is set, and empty: remove it, or name the endpoint"
        )
    bucket = bucket_of(table)
    with _lock:
        region = _regions.get(bucket)
    options = BOUNDS | ({"AWS_REGION": region} if region else {})
    try:
        return DeltaTable(address, storage_options=options)
    except OSError as error:
        if not table.text.startswith("s3:") or trouble_of(error) is not StoreTrouble.WRONG_REGION:
            raise
        found = region_of(bucket)
        if found is None or found == region:
            raise
    with _lock:
        _regions[bucket] = found
    return DeltaTable(address, storage_options=BOUNDS | {"AWS_REGION": found})


def _must_be_a_store(table: TableKey) -> None:
    """Requires that a list without a log came from a store: any web page may look like one."""
    endpoint, bucket = own_endpoint(), bucket_of(table)
    if endpoint is None or (endpoint, bucket) in _known_stores:
        return
    try:
        is_one = is_of_a_store(bucket)
    except S3SilentError as error:
        raise LogUnreadableError(
            f"{StoreTrouble.STORE_SILENT}: {endpoint} no longer answers: {error}"
        ) from error
    if not is_one:
        raise LogUnreadableError(
            f"{StoreTrouble.NO_STORE}: what answers at {endpoint} is no object store: correct the endpoint (AWS_ENDPOINT_URL)"
        )
    with _lock:
        _known_stores.add((endpoint, bucket))


def why_unread(table: TableKey, trouble: Exception) -> str:
    """Says why its log could not be read, and what to do if a store is the reason."""
    error = as_managed(trouble)
    if isinstance(error, LogUnreadableError):
        why = str(error)
        return why if table.text in why else cannot_be_read(table, why)
    of_store = explained(error, bucket_of(table)) if table.text.startswith(_STORES) else None
    return cannot_be_read(
        table, of_store or ": ".join(filter(None, (own_words(str(error)), in_short(error))))
    )


def bucket_of(table: TableKey) -> str:
    """The bucket, or the container."""
    authority = table.text.partition("://")[2].partition("/")[0]
    return authority.partition("@")[0]
