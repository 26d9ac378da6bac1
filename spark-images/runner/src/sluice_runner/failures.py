"""What went wrong, by class: a conflict anywhere in a chain of exceptions, or else the outermost one with its root cause.

Delta's conflicts decide whether a job is run again, but they do not always arrive as themselves: a stream or a thread
pool wraps them, and PySpark turns some into Python classes that no longer hold their Java exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sluice_runner import retriable
from sluice_runner.advice import advice_for
from sluice_runner.exception_chains import Link, chain_of
from sluice_runner.winners import Winner, partition_in, winner_in

_QUERY_ENDED = "StreamingQueryException"
_SHUT_DOWN = re.compile("SparkContext (was|has been) shut ?down")
_LOST_ITS_WORDS = re.compile(r"\[INTERNAL_ERROR\] Cannot find main error class '(DELTA_[A-Z0-9_]+)'")
"""Spark's own error where it tells one of Delta's anew, whose words it doesn't know."""
_OF_ANALYSIS = frozenset({"DELTA_MERGE_UNRESOLVED_EXPRESSION"})
"""What Delta finds before a statement begins."""
_SHUT_DOWN_BY_OTHERS = "Spark was shut down from outside"


class Terminated(BaseException):
    """The driver was told to end (SIGTERM). It is not an Exception, so that no handler of the work's failures can
    hold it up."""


@dataclass(frozen=True)
class Failure:
    name: str
    java_class: str | None
    error_class: str | None
    message: str
    winner: Winner | None = None
    sql_state: str | None = None
    partition: str | None = None
    """Where the two of a conflict met, in Delta's words."""
    retriable: bool | None = False
    """None: only who wrote the program can say."""

    @property
    def has_winner(self) -> bool:
        """Whether another commit is the reason, even if the message doesn't tell which."""
        return self.winner is not None or self.java_class in retriable.CONFLICTS

    def without(self, mask: Callable[[str], str]) -> Failure:
        return replace(self, message=mask(self.message))

    def about(self, names: Sequence[tuple[str, ...]]) -> Failure:
        """Names the tables that the statement may commit to, if the message names none of them."""
        tables = [name[-1] if name[0] == "delta" else ".".join(name) for name in names]
        if not tables or self.has_winner or any(table in self.message for table in tables):
            return self
        return replace(self, message=f"{self.message.rstrip()}\nThe statement names {', '.join(tables)}.")


def terminated(message: str) -> Failure:
    """The failure of a driver that was ended. It says nothing about the running statement, whose commit may have
    landed or may still land."""
    return Failure(Terminated.__name__, None, None, message)


def of_shut_down(failure: Failure) -> Failure:
    """What a failure means once Spark has been stopped by somebody else: what ran then fails at whatever is missing first,
    under any name. One that the table knows is what it says, also then."""
    if failure.java_class is not None and retriable.find(failure.java_class, failure.error_class) is not None:
        return failure
    if failure.name == Terminated.__name__:
        return failure
    return terminated(f"{_SHUT_DOWN_BY_OTHERS}: {failure.message}")


def classify(error: BaseException) -> Failure:
    return judge(list(chain_of(error)))


def classify_of_program(error: BaseException) -> Failure:
    """The same of what ends a user's own program: of exceptions that no table knows, Sluice can say nothing but of its own."""
    is_ours = type(error).__module__.partition(".")[0] == __package__
    return judge(list(chain_of(error)), unknown=False if is_ours else None)


def judge(chain: Sequence[Link], *, unknown: bool | None = False) -> Failure:
    """The failure that a chain of exceptions means: one that the table knows, anywhere in it, or else the outermost
    exception with its root cause. `unknown`: whether one that the table doesn't know is worth another attempt."""
    chain = _of_what_ended_the_query([_as_delta_found(link) for link in chain])
    for depth, link in enumerate(chain):
        known = retriable.find(link.class_name, link.error_class) if link.is_java else None
        if known is not None:
            return _of_known(known, chain[depth:])
    outermost = _for_people(chain[0])
    if any(_SHUT_DOWN.search(link.message) for link in chain):
        return terminated(f"{_SHUT_DOWN_BY_OTHERS}: {outermost.message}")
    coded = next((link for link in chain if link.error_class is not None), None)
    return Failure(
        _short(outermost.class_name),
        outermost.class_name if outermost.is_java else None,
        coded.error_class if coded is not None else None,
        _told(outermost.message, chain),
        sql_state=coded.sql_state if coded is not None else None,
        retriable=unknown,
    )


def _as_delta_found(link: Link) -> Link:
    lost = (
        _LOST_ITS_WORDS.match(link.message) if link.is_java and link.error_class == "INTERNAL_ERROR" else None
    )
    if lost is None:
        return link
    name = "org.apache.spark.sql.AnalysisException" if lost[1] in _OF_ANALYSIS else link.class_name
    message = f"[{lost[1]}] Delta refused the statement, and Spark lost what it said of it"
    return Link(name, message, lost[1], is_java=True)


def _of_what_ended_the_query(chain: Sequence[Link]) -> Sequence[Link]:
    """The chain without the word that a stream has ended, where an exception of Spark's or Delta's says of what: a function of
    Python's stays what the stream says of it."""
    for depth, link in enumerate(chain):
        if _short(link.class_name) != _QUERY_ENDED:
            return chain[depth:] if link.error_class is not None else chain
    return chain


def _of_known(known: retriable.Known, chain: Sequence[Link]) -> Failure:
    link = chain[0]
    if link.class_name not in retriable.CONFLICTS:
        return Failure(
            _short(link.class_name),
            link.class_name,
            link.error_class,
            _told(link.message, chain),
            winner_in(link.message),
            link.sql_state,
            retriable=known.retriable,
        )
    return Failure(
        _short(link.class_name),
        link.class_name,
        link.error_class,
        link.message,
        winner_in(link.message),
        link.sql_state,
        partition_in(link.message),
        known.retriable,
    )


def _told(message: str, chain: Sequence[Link]) -> str:
    """The message of a chain's outermost exception, with the root cause and what to do about it."""
    root = chain[-1]
    if root is not chain[0] and root.message.strip() not in message:
        message = f"{message}\ncaused by {_short(root.class_name)}: {root.message}"
    advice = advice_for(chain)
    return message if advice is None else f"{message.rstrip()}\n{advice}"


def _for_people(link: Link) -> Link:
    """Shortens a message: Spark's own subclass of AnalysisException only adds the plan, over many lines."""
    if _short(link.class_name) != "ExtendedAnalysisException":
        return link
    sentence, _, _plan = link.message.partition(";\n")
    return replace(link, class_name="org.apache.spark.sql.AnalysisException", message=sentence)


def _short(class_name: str) -> str:
    return re.split(r"[.$]", class_name.rstrip("$"))[-1]
