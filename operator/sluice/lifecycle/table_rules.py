"""What the policies of a job's tables say of it: whether it may queue at all, and how long it waits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sluice.api.durations import seconds
from sluice.api.job import Admission
from sluice.api.policy import UnknownFootprint
from sluice.api.reasons import Reason
from sluice.footprint import JobFootprint
from sluice.tables import Declaration, Declarations, TableKey

_MOST_QUOTED = 3


@dataclass(frozen=True)
class Refused:
    """Why a job is not run. What it waits for doesn't change that, so it doesn't queue."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Patience:
    """The longest wait in the queue."""

    timeout: str
    """As the manifest writes it."""
    policy: str | None = None
    """The policy that says so; None: the job itself does."""

    @property
    def seconds(self) -> int:
        return seconds(self.timeout)

    def __str__(self) -> str:
        by = "" if self.policy is None else f" (admission.defaultTimeout of DeltaTablePolicy {self.policy})"
        return f"{self.timeout}{by}"


def wrong_namespace(namespace: str, tables: Iterable[TableKey], declarations: Declarations) -> Refused | None:
    for table, said in _rules(tables, declarations):
        if not said.declared.admission.allows(namespace):
            return Refused(
                Reason.NAMESPACE_NOT_ALLOWED,
                f"not run, because jobs of the namespace {namespace} may not write {table}: DeltaTablePolicy {said.policy} does "
                f"not list it in allowedNamespaces. Create the job in a namespace that is listed there, or have {namespace} "
                "added and create it again",
            )
    return None


def not_understood(
    footprint: JobFootprint, tables: Iterable[TableKey], declarations: Declarations
) -> Refused | None:
    """Refuses a job that does something to a table which can't be told from its spec, where the table's policy wants that. That a
    log can't be read, or a condition tells no partitions, is not among it."""
    for table, said in _rules(tables, declarations):
        if said.declared.admission.unknown_footprint is not UnknownFootprint.REJECT:
            continue
        found = (one for one in footprint.tables if one.table == table)
        reasons = list(dict.fromkeys(why for one in found for why in one.not_understood))
        if reasons:
            more = f" (and {len(reasons) - _MOST_QUOTED} more)" if len(reasons) > _MOST_QUOTED else ""
            return Refused(
                Reason.FOOTPRINT_UNKNOWN,
                f"not run, because it is not understood what it does to {table}: {'; '.join(reasons[:_MOST_QUOTED])}{more}. "
                f"DeltaTablePolicy {said.policy} refuses such jobs (admission.unknownFootprint: Reject). Write it so that this can "
                "be told, or declare it in spec.footprint, and create the job again",
            )
    return None


def patience(admission: Admission, tables: Iterable[TableKey], declarations: Declarations) -> Patience | None:
    """The job's own, or the shortest among its tables; None: it waits as long as it takes."""
    if admission.timeout is not None:
        return Patience(admission.timeout)
    found = [
        Patience(timeout, said.policy)
        for _, said in _rules(tables, declarations)
        if (timeout := said.declared.admission.default_timeout) is not None
    ]
    return min(found, key=lambda one: one.seconds, default=None)


def _rules(tables: Iterable[TableKey], declarations: Declarations) -> Iterator[tuple[TableKey, Declaration]]:
    for table in tables:
        for said in declarations.all_of(table):
            yield table, said
