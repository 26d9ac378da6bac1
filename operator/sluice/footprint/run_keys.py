"""Run keys: what makes one run of several jobs, and where such a run could not be kept from taking effect twice."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.statement_splitter import Statement
from sluice.predicates.limits import MAX_STATEMENTS_OF_A_RUN
from sluice.tables import TableFacts, TableKey

_FORGETS = "delta.settransactionretentionduration"


def run_of(
    spec: DeltaWriteJobSpec,
    namespace: str,
    texts: Iterable[tuple[Statement, ...]],
    facts: Mapping[TableKey, TableFacts],
) -> str | None:
    """The run to which the job belongs, if it may have other jobs; refuses what could not be kept from taking effect twice."""
    texts = tuple(texts)
    if spec.retry is not None and spec.retry.limit and spec.application is None:
        why = unrepeatable(texts) or forgetful(facts)
        if why is not None:
            raise NotUnderstoodError(f"spec.retry: {why}, or remove retry")
    if spec.run_key is None:
        return None
    if any(len(statements) > MAX_STATEMENTS_OF_A_RUN for statements in texts):
        raise NotUnderstoodError(
            f"spec.runKey: a run has at most {MAX_STATEMENTS_OF_A_RUN} statements: write them as several jobs, each with a run key"
        )
    if (why := forgetful(facts)) is not None:
        raise NotUnderstoodError(f"spec.runKey: {why}, or remove runKey")
    return run_named(spec, namespace)


def forgetful(facts: Mapping[TableKey, TableFacts]) -> str | None:
    """Which table wouldn't tell for good what was done, and what to do."""
    for key, _ in _forgetful(facts):
        return (
            f"{key} forgets after a while which runs it has had (delta.setTransactionRetentionDuration), so that this one "
            "could take effect twice: unset that property of the table"
        )
    return None


def forgotten_batches(facts: Mapping[TableKey, TableFacts]) -> str | None:
    """Which table of a stream wouldn't tell after a long stop what its last batch had done, and what to do."""
    for key, duration in _forgetful(facts):
        return (
            f"{key} forgets after {duration} which batches it has had (delta.setTransactionRetentionDuration): one that is broken "
            "off and runs again later than that writes its rows twice; unset that property of the table"
        )
    return None


def _forgetful(facts: Mapping[TableKey, TableFacts]) -> Iterator[tuple[TableKey, str]]:
    """Yields the tables that forget who has written them, with after how long."""
    for key, known in facts.items():
        yield from ((key, value) for name, value in known.properties.items() if name.lower() == _FORGETS)


def unrepeatable(texts: Iterable[tuple[Statement, ...]]) -> str | None:
    """What of the job's text no other attempt could leave out if it is done, nor do again, and what to do; None if nothing is known
    of that kind. The driver, which knows what Spark makes of a statement, refuses whatever else is."""
    for statements in texts:
        if len(statements) > MAX_STATEMENTS_OF_A_RUN:
            return f"a job that may be retried has at most {MAX_STATEMENTS_OF_A_RUN} statements: write them as several jobs"
        for statement in statements:
            why = _unrepeatable(tuple(token.text.upper() for token in statement.tokens))
            if why is not None:
                return f"statement {statement.number}, line {statement.line}: {why}"
    return None


def _unrepeatable(words: tuple[str, ...]) -> str | None:
    match words[:2]:
        case ("CACHE", *_):
            return "another attempt would fill this cache with what the tables hold by then: use a temporary view"
        case ("DECLARE", *_) | ("SET", "VAR" | "VARIABLE"):
            return (
                "another attempt would give this variable what the tables hold by then: use spec.parameters"
            )
        case ("FROM", *_) if words.count("INSERT") > 1:
            return "several INSERTs that share a FROM can't be told apart in a log: write each as a statement of its own"
        case ("ALTER", "TABLE") if ("DROP", "FEATURE") in pairwise(words):
            return "DROP FEATURE commits several times, so that a log can't tell whether it is done: put it into a job of its own"
        case _:
            return None


def run_named(spec: DeltaWriteJobSpec, namespace: str) -> str | None:
    """The run as the job names it, whatever its tables are."""
    return None if spec.run_key is None else f"{namespace}/{spec.run_key}"
