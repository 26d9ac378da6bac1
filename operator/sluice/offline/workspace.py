"""Everything that was given, read once: the jobs that are understood, what is known of their tables, and what is not usable."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sluice.api.manifests import Documents, ManifestError
from sluice.footprint import NotUnderstoodError
from sluice.offline.assumptions import Assumption
from sluice.offline.files import read_files
from sluice.offline.jobs import Job, Manifests, manifests_of
from sluice.offline.known_facts import KnownFacts, knowledge_of
from sluice.offline.pairs import Understood
from sluice.predicates import PredicateError

_NO_FACTS = (
    "holds no facts about a table: its columns are missing, such as schema: [{name: id, type: bigint}]"
)


@dataclass
class Workspace:
    jobs: list[Understood]
    knowledge: KnownFacts
    manifests: Manifests
    troubles: list[ManifestError] = field(default_factory=list)

    @property
    def assumptions(self) -> list[Assumption]:
        return self.knowledge.assumptions_about({key for job in self.jobs for key in job.footprint.keys})


def opened(
    manifests: Iterable[Path], tables: Iterable[Path] = (), table_paths: Iterable[str] = ()
) -> Workspace:
    """Opens what was given. `tables`: files of facts. `table_paths`: tables whose logs are read, as LOCATION or
    TABLE=LOCATION."""
    return workspace_of(read_files(manifests), read_files(tables), table_paths)


def workspace_of(documents: Documents, facts: Documents, table_paths: Iterable[str] = ()) -> Workspace:
    found = manifests_of(documents)
    knowledge, troubles = gathered(found, facts, found.jobs, table_paths)
    understood = []
    for job in found.jobs:
        try:
            understood.append(Understood(job, knowledge.footprint(job)))
        except NotUnderstoodError as error:
            troubles += [ManifestError(job.place, f"{job.name}: {problem}") for problem in error.problems]
        except PredicateError as error:
            troubles.append(ManifestError(job.place, f"{job.name}: {error}"))
    return Workspace(understood, knowledge, found, troubles)


def gathered(
    found: Manifests, facts: Documents, jobs: Iterable[Job], table_paths: Iterable[str] = ()
) -> tuple[KnownFacts, list[ManifestError]]:
    """Gathers what is known of the tables of these jobs, and says what can't be used of all that was given."""
    known = manifests_of(facts)
    troubles = [*found.troubles, *known.troubles]
    troubles += [ManifestError(job.place, "holds a job, not facts about a table") for job in known.jobs]
    used = {one.place for some in (known.jobs, known.facts, known.troubles) for one in some}
    used |= {place for _, place in known.policies}
    troubles += [ManifestError(one.place, _NO_FACTS) for one in facts.found if one.place not in used]
    policies = [*found.policies, *known.policies]
    knowledge = knowledge_of(policies, [*found.facts, *known.facts], jobs, table_paths)
    knowledge.refused = len(troubles) > len(found.troubles)
    return knowledge, [*troubles, *knowledge.troubles]
