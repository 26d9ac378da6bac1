"""A job's parameters: each one must be used, and each one that is used must be given.

Their values take the places of their names before anything else reads the text, as typed literals: the oracle reads the very
statement that Spark runs. Spark itself binds parameters only where it expects an expression, and Delta's parser drops them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.parameters import Parameter
from sluice.footprint.errors import NotUnderstoodError, at
from sluice.footprint.sql.keywords import word
from sluice.footprint.sql.statement_splitter import Statement, split
from sluice.footprint.sql.typed_literals import bare, typed
from sluice.predicates import PredicateError, refuse_templates
from sluice.predicates.limits import MAX_FILLED_TEXT, MAX_USES
from sluice.predicates.syntax import condition_in, tokens_of

_KEPT_AS_TEXT = frozenset({"SET", "RESET"})
"""Statements of which Spark reads the rest as it is written."""
_BEFORE_A_BARE_VALUE = frozenset({"INTERVAL", "LIMIT", "OFFSET", "RETAIN"})
_VERSIONS = frozenset({"VERSION", "SYSTEM_VERSION"})
_GLUED = frozenset(" \t\r\n(),=<>")
"""What may stand beside a literal without becoming part of it."""


@dataclass(frozen=True)
class _Use:
    name: str
    number: int
    """The position of the colon among the statement's tokens."""


def statements_of(spec: DeltaWriteJobSpec) -> Mapping[str, tuple[Statement, ...]]:
    """Returns the statements of each of the job's texts by the text's place, with the parameters' values in them; refuses
    parameters that are missing or unused."""
    given = spec.parameters or {}
    written = {place: _statements(text, place) for place, text in _texts(spec)}
    used = {use.name for statements in written.values() for one in statements for use in _uses(one.tokens)}
    unused = sorted(given.keys() - used)
    found = {place: _filled(statements, given, place, unused) for place, statements in written.items()}
    if unused:
        raise NotUnderstoodError(
            f"spec.parameters: {', '.join(unused)} is not used: write :{unused[0]} where it belongs, or remove it"
        )
    return found


def condition_with(text: str, given: Mapping[str, Parameter], place: str, known: str) -> str:
    """The one condition in a text that no job has yet, with these values in place of the parameters that it uses; refuses all else.
    `known` says which parameters there are."""
    statements = _statements(text, place)
    for statement in statements:
        for use in _uses(statement.tokens):
            if use.name not in given:
                line = statement.tokens[use.number].line
                raise NotUnderstoodError(f"{place}, line {line}: there is no parameter :{use.name}: {known}")
    texts = {place: _filled(statements, given, place)}
    condition = text_of(texts, place)
    try:
        found = condition_in(condition)
    except PredicateError as error:
        raise at(place, error) from error
    if isinstance(found, str):
        raise NotUnderstoodError(f"{place}: {found}")
    return condition


def text_of(texts: Mapping[str, tuple[Statement, ...]], place: str) -> str:
    """The condition or query at this place, with the parameters' values in it."""
    if len(texts[place]) > 1:
        raise NotUnderstoodError(f"{place} holds a semicolon: write one condition, or one query")
    return texts[place][0].runs


def _statements(text: str, place: str) -> tuple[Statement, ...]:
    try:
        refuse_templates(text)
    except PredicateError as error:
        raise NotUnderstoodError(f"{place}: {error}") from error
    return split(text, place)


def _texts(spec: DeltaWriteJobSpec) -> Iterator[tuple[str, str]]:
    if spec.sql is not None:
        yield "spec.sql", spec.sql
    if spec.write is not None:
        if spec.write.source.sql is not None:
            yield "spec.write.source.sql", spec.write.source.sql
        if spec.write.replace_where is not None:
            yield "spec.write.replaceWhere", spec.write.replace_where
    if spec.stream is not None:
        for place, text in (("spec.stream.sql", spec.stream.sql), ("spec.stream.query", spec.stream.query)):
            if text is not None:
                yield place, text
    for number, text in enumerate(spec.writes or ()):
        yield promise_at(number), text


def promise_at(number: int) -> str:
    return f"spec.writes[{number}]"


def _filled(
    statements: Sequence[Statement], given: Mapping[str, Parameter], place: str, unused: Sequence[str] = ()
) -> tuple[Statement, ...]:
    _refuse_too_much(statements, given, place)
    return tuple(_with_values(one, given, place, unused) for one in statements)


def _refuse_too_much(statements: Sequence[Statement], given: Mapping[str, Parameter], place: str) -> None:
    uses = [use.name for statement in statements for use in _uses(statement.tokens)]
    if len(uses) > MAX_USES:
        raise NotUnderstoodError(
            f"{place} uses parameters {len(uses)} times, and may do so {MAX_USES} times: split the job, or let it read the values "
            "from a table"
        )
    longest = {name: max(len(typed(one)), len(bare(one))) for name, one in given.items()}
    size = sum(len(one.text) for one in statements) + sum(longest.get(name, 0) for name in uses)
    if uses and size > MAX_FILLED_TEXT:
        raise NotUnderstoodError(
            f"{place} has up to {size} characters with the values of its parameters, and takes at most {MAX_FILLED_TEXT}: split "
            "the job, or let it read the values from a table"
        )


def _with_values(
    statement: Statement, given: Mapping[str, Parameter], place: str, unused: Sequence[str]
) -> Statement:
    """Returns the statement that runs. Its tokens keep their places in the text as it was written."""
    uses = tuple(_uses(statement.tokens))
    if not uses:
        return statement
    values = _Values(given, statement.tokens)
    tokens: list[Token] = []
    texts: list[str] = []
    written, ends = statement.text, 0
    first = statement.tokens[0].start
    position = 0
    for use in uses:
        colon, name = statement.tokens[use.number : use.number + 2]
        if use.name not in given:
            instead = f", or write the name of one that is not used: {', '.join(unused)}" if unused else ""
            raise NotUnderstoodError(
                f"{place}, line {name.line}: spec.parameters has no parameter {use.name}: add it{instead}"
            )
        if word(statement.tokens[0]) in _KEPT_AS_TEXT:
            raise NotUnderstoodError(
                f"{place}, line {name.line}: {word(statement.tokens[0])} takes no parameters, because Spark reads what follows "
                f"as it is written: write the value instead of :{use.name}"
            )
        value, value_tokens = values.of(use)
        tokens += statement.tokens[position : use.number]
        tokens += [_placed(token, colon, name) for token in value_tokens]
        position = use.number + 2
        texts.append(_apart(written[ends : colon.start - first], value))
        ends = name.end + 1 - first
    tokens += statement.tokens[position:]
    rest = written[ends:]
    texts.append(f" {rest}" if rest and rest[0] not in _GLUED else rest)
    text = "".join(texts)
    if [(token.token_type, token.text) for token in tokens_of(text)] != [
        (token.token_type, token.text) for token in tokens
    ]:
        raise NotUnderstoodError(
            f"{place}, line {statement.line}: the values of its parameters do not stand apart from what is around them: put "
            "spaces around each :name"
        )
    return replace(statement, tokens=tuple(tokens), with_values=text)


def _apart(before: str, value: str) -> str:
    return f"{before} {value}" if before and before[-1] not in _GLUED else f"{before}{value}"


def _placed(token: Token, colon: Token, name: Token) -> Token:
    return Token(token.token_type, token.text, colon.line, colon.col, colon.start, name.end)


class _Values:
    """The values of parameters as a statement spells them. What is asked about a use is answered once for all uses."""

    def __init__(self, given: Mapping[str, Parameter], tokens: Sequence[Token]) -> None:
        self._given = given
        self._tokens = tokens
        self._known: dict[str, list[Token]] = {}

    def of(self, use: _Use) -> tuple[str, list[Token]]:
        value = self._spelled(use)
        if value not in self._known:
            self._known[value] = tokens_of(value)
        return value, self._known[value]

    def _spelled(self, use: _Use) -> str:
        parameter = self._given[use.name]
        before = [word(token) for token in self._tokens[max(0, use.number - 3) : use.number]]
        if before[-1:] and before[-1] in _BEFORE_A_BARE_VALUE:
            return bare(parameter)
        if before[1:] == ["AS", "OF"] and (before[0] in _VERSIONS or self._takes_text_for_a_time):
            return bare(parameter)
        return typed(parameter, in_partition=use.number in self._in_partition)

    @cached_property
    def _takes_text_for_a_time(self) -> bool:
        """Delta's own statements take a time only as a text; a query takes any expression."""
        return word(self._tokens[0]) == "RESTORE" or any(word(token) == "CLONE" for token in self._tokens)

    @cached_property
    def _in_partition(self) -> frozenset[int]:
        """Positions directly within PARTITION (...), where a number may have a sign, but no parentheses."""
        found: set[int] = set()
        is_partition: list[bool] = []
        for number, token in enumerate(self._tokens):
            if token.token_type is TokenType.L_PAREN:
                is_partition.append(number > 0 and word(self._tokens[number - 1]) == "PARTITION")
            elif token.token_type is TokenType.R_PAREN:
                del is_partition[-1:]
            elif is_partition and is_partition[-1]:
                found.add(number)
        return frozenset(found)


def _uses(tokens: tuple[Token, ...]) -> Iterator[_Use]:
    """Yields each `:name`, but neither a variant's `a:b` nor a slice."""
    for number, (colon, name) in enumerate(pairwise(tokens)):
        if colon.token_type is not TokenType.COLON or name.start != colon.end + 1:
            continue
        before = tokens[number - 1] if number else None
        if before is not None and before.end + 1 == colon.start and _ends_a_value(before):
            continue
        if name.text.isidentifier() and name.token_type is not TokenType.STRING:
            yield _Use(name.text, number)


def _ends_a_value(token: Token) -> bool:
    closing = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.IDENTIFIER, TokenType.VAR)
    return token.token_type in closing
