"""What the policies of a job's tables say of it: whether it may queue at all, how long it waits, beside whom it runs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from json import dumps

from sluice.api.durations import seconds
from sluice.api.job import Admission, Retry, Risk
from sluice.api.policy import UnknownFootprint
from sluice.api.reasons import Reason
from sluice.api.strings import first_of
from sluice.footprint import JobFootprint
from sluice.predicates.limits import MAX_RECORD
from sluice.tables import Declaration, Declarations, TableKey

_MOST_QUOTED = 3


@dataclass(frozen=True)
class RefusedByPolicy:
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


def too_many_places(footprint: JobFootprint) -> RefusedByPolicy | None:
    """Refuses a job whose lease the API server would not take: its record is an annotation of the application and of the driver's
    pod, all of which may have 256 KiB."""
    reads = () if footprint.reads.any_table else footprint.reads.tables
    size = len(dumps([*footprint.written_at, *(key.text for key in reads)]))
    if size <= MAX_RECORD:
        return None
    several = first_of(key.text for key in footprint.keys if key.is_name and len(key.bound | key.claimed) > 1)
    what_to_do = "split it into several jobs"
    if several:
        what_to_do = f"leave one path for {several}: DeltaTablePolicies bind it, or runs led it, to many"
    return RefusedByPolicy(
        Reason.NOT_UNDERSTOOD,
        f"not run, because the names of the tables that it may touch take {size:,} bytes in the record of its lease, which takes "
        f"{MAX_RECORD:,}: {what_to_do}, and create the job again",
    )


def wrong_namespace(
    namespace: str, tables: Iterable[TableKey], declarations: Declarations
) -> RefusedByPolicy | None:
    for table, said in _rules(tables, declarations):
        if not said.declared.admission.allows(namespace):
            return RefusedByPolicy(
                Reason.NAMESPACE_NOT_ALLOWED,
                f"not run, because jobs of the namespace {namespace} may not write {table}: DeltaTablePolicy {said.policy} does "
                f"not list it in allowedNamespaces. Create the job in a namespace that is listed there, or have {namespace} "
                "added and create it again",
            )
    return None


def not_understood(
    footprint: JobFootprint, tables: Iterable[TableKey], declarations: Declarations
) -> RefusedByPolicy | None:
    """Refuses a job that does something to a table which can't be told from its spec, where the table's policy wants that. That a
    log can't be read, or a condition tells no partitions, is not among it."""
    for table, said in _rules(tables, declarations):
        if said.declared.admission.unknown_footprint is not UnknownFootprint.REJECT:
            continue
        found = (one for one in footprint.tables if one.table == table)
        reasons = list(dict.fromkeys(why for one in found for why in one.not_understood))
        if reasons:
            more = f" (and {len(reasons) - _MOST_QUOTED} more)" if len(reasons) > _MOST_QUOTED else ""
            return RefusedByPolicy(
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


def risk_not_allowed(
    admission: Admission, tables: Iterable[TableKey], declarations: Declarations
) -> RefusedByPolicy | None:
    if admission.risk is not Risk.OPTIMISTIC:
        return None
    for table in tables:
        if not _takes_risks(table, declarations):
            return RefusedByPolicy(
                Reason.RISK_NOT_ALLOWED,
                f"not run, because admission.risk: Optimistic needs a DeltaTablePolicy for {table} that says so, too. Set it "
                "there, or remove it here, and create the job again",
            )
    return None


def accepted(
    admission: Admission, tables: Iterable[TableKey], declarations: Declarations
) -> frozenset[TableKey]:
    """The tables on which the job runs beside others that may abort it, or that it may abort."""
    if admission.risk is Risk.STRICT or not declarations.by_table:
        return frozenset()
    return frozenset(table for table in tables if _takes_risks(table, declarations))


def ages_after(tables: Iterable[TableKey], declarations: Declarations, otherwise: timedelta) -> timedelta:
    """How long the job waits until it has aged: the shortest time among its tables."""
    found = [said.declared.admission.age_after for _, said in _rules(tables, declarations)]
    return min((timedelta(seconds=seconds(given)) for given in found if given is not None), default=otherwise)


def retries_said(tables: Iterable[TableKey], declarations: Declarations) -> Iterator[Retry]:
    """What the policies of these tables say of retries, where they do."""
    for _, said in _rules(tables, declarations):
        if said.declared.retry is not None:
            yield said.declared.retry


def writers_at_a_time(declarations: Declarations) -> dict[TableKey, int]:
    """How many jobs may write a table at a time, where its policy says so."""
    said = ((table, one.declared.admission.max_writers) for table, one in declarations.by_table.items())
    return {table: most for table, most in said if most is not None}


def _takes_risks(table: TableKey, declarations: Declarations) -> bool:
    if table.is_name and len(table.bound) > 1:
        return False  # it leads to several tables, and not all of their policies count
    found = [said.declared.admission.risk for said in declarations.all_of(table)]
    return bool(found) and all(risk is Risk.OPTIMISTIC for risk in found)


def _rules(tables: Iterable[TableKey], declarations: Declarations) -> Iterator[tuple[TableKey, Declaration]]:
    for table in tables:
        for said in declarations.all_of(table):
            yield table, said
