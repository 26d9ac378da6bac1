"""Delta, as the protocol uses it: every commit is a compare-and-set on the log, and SetTransaction is checked twice:
when a statement begins (an old version is skipped, which looks like success) and when it commits."""

from protocol.runs.invariants import judged
from protocol.runs.state import Commit, Driver, Job, State, Table, Version, keyed, with_table


def skips(table: Table, app: str, generation: int, statement: int) -> bool:
    """The statement's version isn't above the highest of its appId."""
    now = table.version(app)
    return now is not None and now >= (generation, statement)


def matches_nothing(table: Table, what: str) -> bool:
    return what == "delete" and not table.matching and not table.inserted


def commit(s: State, d: Driver, job: Job, number: int, what: str) -> State:
    """Adds a commit to the log: a fence, a statement's effect or a closing append."""
    at = d.table
    table = s.tables[at]
    version = Version(d.generation, number)
    entry = Commit(job.run_key, job.spec, d.owner, version)
    if what == "fence":
        entry = entry._replace(replaced=d.seen, looked=d.looked)
    table = table._replace(log=(*table.log, entry), highest=keyed(table.highest, d.app, version))
    if what == "fence":
        table = table._replace(fences=keyed(table.fences, job.run_key, d.owner))
    elif what == "insert":
        rows = dict(table.inserted).get(job.run_key, 0) | 1 << number
        table = table._replace(inserted=keyed(table.inserted, job.run_key, rows), changes=table.changes + 1)
    elif what == "create":
        table = table._replace(
            exists=True, matching=0, inserted=((job.run_key, 1 << number),), changes=table.changes + 1
        )
    elif what == "delete":
        table = table._replace(matching=0, inserted=(), changes=table.changes + 1)
    after = with_table(s, at, table)
    if what in ("insert", "delete", "create"):
        which = {(job.run_key, job.spec, number)}
        after = after._replace(settled=after.settled | which, effects=after.effects | which)
        after = after._replace(broken=judged(s, d, job, number, what))
    return after


def cleaned_up(table: Table, keeps: int, set_transactions_kept: bool) -> Table:
    """The log's retention has passed for all but the last commits: a checkpoint keeps the highest versions, and no
    stamps."""
    gone = len(table.log) - keeps
    highest = table.highest if set_transactions_kept else ()
    return table._replace(log=table.log[gone:], removed=table.removed + gone, highest=highest)
