"""What a stream's checkpoint tells before anything is read: whose it is, and whether it lies where it lasts.

Spark keeps in it how far a query has come, and takes any query that comes with it for that one. So we keep a file of our own
beside Spark's, with the tables, the source and its own place: a stream of others would leave out rows that it has never read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from sluice_runner import tables
from sluice_runner.catalogs import Name
from sluice_runner.exception_chains import chain_of
from sluice_runner.java_classes import PATH, java_class
from sluice_runner.locations import is_same
from sluice_runner.plan import Job, Stream
from sluice_runner.tables import Table, UnreachableStorageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "sluice.json"
_VERSION = 1
_LOG = "_delta_log"
_NOT_HIDDEN = ("_delta_index", "_change_data")
"""Folders of Delta's own, into which VACUUM looks although their names begin with _."""
_MOST_BYTES = 1024 * 1024
_REFUSALS = frozenset(
    {"java.nio.file.AccessDeniedException", "org.apache.hadoop.security.AccessControlException"}
)


class CheckpointOfAnotherStreamError(Exception):
    """The checkpoint tells how far another stream has come."""


class CheckpointInATableError(Exception):
    """The checkpoint lies among the files of a table, which VACUUM deletes."""


@dataclass(frozen=True)
class Place:
    """A table that the stream writes."""

    location: str
    id: str | None = None

    def is_same(self, other: Place) -> bool:
        return is_same(self.location, other.location) or (self.id is not None and self.id == other.id)


@dataclass(frozen=True)
class Owner:
    """Whose a checkpoint is."""

    job: str
    targets: tuple[Place, ...]
    format: str
    path: str | None
    checkpoint: str | None = None
    """Where the checkpoint lies that says so. None: it was written by a runner that didn't say."""

    def text(self) -> str:
        targets = [{"location": one.location, "id": one.id} for one in self.targets]
        source = {"format": self.format, "path": self.path}
        told = {"version": _VERSION, "job": self.job, "targets": targets, "source": source}
        return json.dumps(told | ({} if self.checkpoint is None else {"checkpoint": self.checkpoint}))

    def is_elsewhere(self, other: Owner) -> bool:
        return None not in (self.checkpoint, other.checkpoint) and not is_same(
            self.checkpoint or "", other.checkpoint or ""
        )

    def why_not(self, other: Owner) -> str | None:
        """What tells the two apart. A stream may come to write one table more, or one less."""
        if self.format.lower() != other.format.lower():
            return f"reads {self.format}, and this one {other.format}"
        if (self.path is None) != (other.path is None) or not is_same(self.path or "", other.path or ""):
            return f"reads {self.path}, and this one {other.path}"
        if not self.targets or not other.targets:
            return None
        if any(one.is_same(another) for one in self.targets for another in other.targets):
            return None
        return f"writes {_listed(self.targets)}, and this one {_listed(other.targets)}"


def _listed(places: Sequence[Place]) -> str:
    return " and ".join(one.location for one in places)


def owner_of(job: Job, stream: Stream, targets: Sequence[Place]) -> Owner:
    return Owner(
        f"{job.namespace}/{job.name}", tuple(targets), stream.source.format or "", stream.source.path
    )


def places_of(
    names: Iterable[Name], find: Callable[[Name], Sequence[Table]], qualified: Callable[[str], str]
) -> Iterator[Place]:
    """Where the tables of these names lie. One that isn't there yet is known by its path; by a name it is anywhere."""
    for name in dict.fromkeys(names):
        found = find(name)
        yield from (Place(table.location, table.id()) for table in found)
        if not found and tables.is_path(name):
            yield Place(_qualified(name[1], qualified))


def _qualified(path: str, qualified: Callable[[str], str]) -> str:
    try:
        return qualified(path)
    except Py4JJavaError as error:
        # What Hadoop says of this seldom has the path in it.
        raise UnreachableStorageError(
            f"it could not be looked up whether {path} is a Delta table. Nothing was run"
        ) from error


def parsed(text: str) -> Owner:
    """Raises ValueError for anything that `Owner.text` doesn't write."""
    try:
        found = json.loads(text)
        if found["version"] != _VERSION:
            raise ValueError(f"its version is {found['version']}")
        source: Mapping[str, Any] = found["source"]
        targets = tuple(Place(str(one["location"]), _text(one["id"])) for one in found["targets"])
        checkpoint = _text(found.get("checkpoint"))
        return Owner(str(found["job"]), targets, str(source["format"]), _text(source["path"]), checkpoint)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"it is none that Sluice wrote ({error})") from error


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


class Checkpoint:
    """The folder of a stream's checkpoint, by Hadoop's file systems, as Spark itself reaches it."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        self._path_of = java_class(spark, PATH)
        self._location = location
        self._path = self._path_of(location)
        self._conf: Any = spark._jsparkSession.sessionState().newHadoopConf()

    def refuse(self, stream_is: Owner) -> None:
        """Refuses a checkpoint that is another stream's, or that doesn't last."""
        try:
            files = self._path.getFileSystem(self._conf)
            self._refuse_in_a_table(files)
            self._refuse_another(files, self._here(files, stream_is))
        except Py4JJavaError as error:
            # What Hadoop says of this seldom has the path in it.
            raise UnreachableStorageError(
                f"the checkpoint {self._location} could not be looked into. Nothing was run"
            ) from error

    def claim(self, owner: Owner) -> None:
        """Has a checkpoint in which nothing is yet tell whose it is, before Spark writes there what is to be read. What it told
        before counts for nothing: nobody has read by it."""
        try:
            files = self._path.getFileSystem(self._conf)
            if not self._has_begun(files):
                self._write(files, self._here(files, owner))
        except Py4JJavaError as error:
            raise UnreachableStorageError(
                f"the checkpoint {self._location} could not be written to. Nothing was run"
            ) from error

    def keep(self, owner: Owner) -> None:
        """Writes whose the checkpoint is, unless it says so already, or says of which tables where the owner now knows of none."""
        files = self._path.getFileSystem(self._conf)
        owner = self._here(files, owner)
        if not files.exists(self._child(FILE)) or (owner.targets and self._read(files) != owner.text()):
            self._write(files, owner)

    def _write(self, files: Any, owner: Owner) -> None:
        ours = self._child(FILE)
        half = self._child(f".{FILE}.tmp")
        stream = files.create(half, True)
        try:
            stream.write(owner.text().encode())
        finally:
            stream.close()
        files.delete(ours, False)
        if not files.rename(half, ours):
            raise UnreachableStorageError(f"{ours.toString()} could not be written: rename failed")

    def _has_begun(self, files: Any) -> bool:
        return bool(files.exists(self._child("offsets")))

    def _here(self, files: Any, owner: Owner) -> Owner:
        return replace(owner, checkpoint=str(files.makeQualified(self._path).toString()))

    def _refuse_in_a_table(self, files: Any) -> None:
        below: list[str] = []
        folder = files.makeQualified(self._path)
        while folder is not None:
            name = str(folder.getName())
            if name == _LOG or (
                not any(_is_hidden(one) for one in below)
                and self._has_log(files, folder, is_above=bool(below))
            ):
                table = folder.getParent() if name == _LOG else folder
                raise CheckpointInATableError(
                    f"nothing was run, because the checkpoint {self._location} lies in the folder of the table {table.toString()}, "
                    "where VACUUM deletes what the table doesn't know: name another folder, or one below the table's whose name "
                    "begins with _, such as _checkpoints/orders"
                )
            below.append(name)
            folder = folder.getParent()

    def _has_log(self, files: Any, folder: Any, *, is_above: bool) -> bool:
        """A driver may have rights to its checkpoint alone, and to no folder above it: what it may not see is no table that it
        knows of."""
        try:
            return bool(files.exists(self._child(_LOG, folder)))
        except Py4JJavaError as error:
            if not is_above or not is_refusal(error):
                raise
            return False

    def _refuse_another(self, files: Any, stream_is: Owner) -> None:
        has_begun = self._has_begun(files)
        if not files.exists(self._child(FILE)):
            if has_begun:
                sys.stdout.write(
                    f"sluice: the checkpoint {self._location} does not tell whose it is (it has no {FILE}): the stream goes on "
                    "from it as if it were its own\n"
                )
            return
        if not has_begun:
            return  # nothing was read: it is nobody's yet
        cure = f"Name a new checkpoint, with which the stream begins anew; or, if this one is meant, delete {self._location}/{FILE}"
        try:
            known = parsed(self._read(files))
        except ValueError as error:
            raise CheckpointOfAnotherStreamError(
                f"nothing was run, because {self._location}/{FILE}, which tells whose the checkpoint is, can't be read: {error}. "
                + cure
            ) from error
        if known.is_elsewhere(stream_is):
            raise CheckpointOfAnotherStreamError(
                f"nothing was run, because the checkpoint {self._location} is a copy of {known.checkpoint} (job {known.job}): "
                "tables know the batches of both by one number, and would leave out those that the other has written. Name a new "
                "checkpoint, with which the stream begins anew; or, if it was moved and nobody goes on from where it was, delete "
                f"{self._location}/{FILE}"
            )
        why = known.why_not(stream_is)
        if why is not None:
            raise CheckpointOfAnotherStreamError(
                f"nothing was run, because the checkpoint {self._location} is of another stream (job {known.job}), which {why}. "
                + cure
            )

    def _read(self, files: Any) -> str:
        stream = files.open(self._child(FILE))
        try:
            return bytes(stream.readNBytes(_MOST_BYTES)).decode(errors="replace")
        finally:
            stream.close()

    def _child(self, name: str, folder: Any = None) -> Any:
        return self._path_of(self._path if folder is None else folder, name)


def is_refusal(error: Py4JJavaError) -> bool:
    """Whether the storage has refused the driver's account."""
    return any(link.class_name in _REFUSALS for link in chain_of(error))


def _is_hidden(name: str) -> bool:
    """Whether VACUUM passes the folder by. One that is called like a partition may be one."""
    return name.startswith(("_", ".")) and not name.startswith(_NOT_HIDDEN) and "=" not in name
