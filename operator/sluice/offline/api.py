"""`import sluice`: the oracle for programs, without Kubernetes and Redis. What `sluice -o json` says, as objects.

import sluice

explanation = sluice.explain("a.yaml", "b.yaml", tables=["orders.facts.yaml"])
explanation.pair.together         # may they run side by side?
sluice.plan("jobs/").widest       # of a folder: the most that can run at once

oracle = sluice.Oracle({"path": "s3://lake/orders", "schema": [...], "partitionColumns": ["date"]})
job = oracle.job("DELETE FROM delta.`s3://lake/orders` WHERE date = DATE '2026-11-19'")
oracle.pair(job, other).order
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.manifests import Document
from sluice.api.problems import problems_of
from sluice.footprint import NotUnderstoodError
from sluice.offline.history import HistoryReport, read_log, replayed
from sluice.offline.jobs import Job
from sluice.offline.known_facts import knowledge_of
from sluice.offline.pairs import Explanation, Understood, explained
from sluice.offline.plan import Plan, planned
from sluice.offline.workspace import opened
from sluice.predicates import PredicateError

Name = str | PathLike[str]


def explain(*manifests: Name, tables: Iterable[Name] = (), table_paths: Iterable[str] = ()) -> Explanation:
    """Explains the two jobs in these files. Raises ValueError, saying why, if there aren't two that can be understood."""
    found = opened(map(Path, manifests), map(Path, tables), table_paths)
    if len(found.jobs) != 2:
        why = "; ".join(map(str, found.troubles)) or "explain compares two"
        raise ValueError(f"understood {len(found.jobs)} jobs: {why}")
    return explained(found.jobs[0], found.jobs[1], found.knowledge)


def plan(*folders: Name, tables: Iterable[Name] = (), table_paths: Iterable[str] = ()) -> Plan:
    """Plans all jobs in these folders. What can't be used is in the plan's troubles; nothing is raised for it."""
    return planned(opened(map(Path, folders), map(Path, tables), table_paths))


def history(table: Name, within_seconds: float = 600) -> HistoryReport:
    """Replays a table's own log, or a copy of it. Raises LookupError if there is none."""
    return replayed(read_log(Path(table)), within_seconds)


class Oracle:
    """Knows some tables, and judges jobs by what it knows. Jobs are compiled once and can be compared often."""

    def __init__(self, *facts: Mapping[str, Any], table_paths: Iterable[str] = ()) -> None:
        """`facts`: as under `table` in `sluice explain --batch`, with the table's path or name. Raises ValueError for facts
        that can't be used."""
        documents = [Document(f"facts[{n}]", dict(one)) for n, one in enumerate(facts)]
        self._knowledge = knowledge_of([], documents, [], table_paths)
        if self._knowledge.troubles:
            raise ValueError("; ".join(map(str, self._knowledge.troubles)))

    def job(self, work: str | Mapping[str, Any], name: str = "job") -> Understood:
        """Compiles a job. `work`: SQL, or the spec of a DeltaWriteJob. Raises ValueError with the place of what is not
        understood."""
        given = {"sql": work} if isinstance(work, str) else dict(work)
        try:
            job = Job(name, name, DeltaWriteJobSpec.model_validate(given))
            return Understood(job, self._knowledge.footprint(job))
        except ValidationError as error:
            raise ValueError(f"{name}: {problems_of(error, of=DeltaWriteJobSpec)}") from error
        except NotUnderstoodError as error:
            raise ValueError(f"{name}: {'; '.join(error.problems)}") from error
        except PredicateError as error:
            raise ValueError(f"{name}: {error}") from error

    def pair(self, first: Understood, second: Understood) -> Explanation:
        """Compares both directions, and gives the changes that would help. Use `pair_of` of sluice.conflicts where only speed
        counts."""
        return explained(first, second, self._knowledge)
