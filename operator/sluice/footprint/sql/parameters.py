"""A job's parameters: each one must be used, and each one that is used must be given."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.parameters import Parameter
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.statement import Statement, split
from sluice.predicates import BoundValue, PredicateError, refuse_templates


def bound(parameters: Mapping[str, Parameter] | None) -> dict[str, BoundValue]:
    found = {}
    for name, given in (parameters or {}).items():
        for kind, value in given.model_dump(by_alias=True, exclude_none=True).items():
            found[name] = BoundValue(kind, value)
    return found


def statements_of(spec: DeltaWriteJobSpec) -> Mapping[str, tuple[Statement, ...]]:
    """Returns the statements of each of the job's texts by the text's place; refuses parameters that are missing or
    unused."""
    given = set(spec.parameters or {})
    used: set[str] = set()
    found = {}
    for place, text in _texts(spec):
        try:
            refuse_templates(text)
        except PredicateError as error:
            raise NotUnderstoodError(f"{place}: {error}") from error
        found[place] = split(text, place)
        for statement in found[place]:
            for name, line in _used(statement.tokens):
                if name not in given:
                    raise NotUnderstoodError(
                        f"{place}, line {line}: spec.parameters has no parameter {name}: add it"
                    )
                used.add(name)
    unused = sorted(given - used)
    if unused:
        raise NotUnderstoodError(
            f"spec.parameters: {', '.join(unused)} is not used: write :{unused[0]} where it belongs, or remove it"
        )
    return found


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
        yield f"spec.writes[{number}]", text


def _used(tokens: tuple[Token, ...]) -> Iterator[tuple[str, int]]:
    """Yields each `:name`, but neither a variant's `a:b` nor a slice."""
    for number, (colon, name) in enumerate(pairwise(tokens)):
        if colon.token_type is not TokenType.COLON or name.start != colon.end + 1:
            continue
        before = tokens[number - 1] if number else None
        if before is not None and before.end + 1 == colon.start and _ends_a_value(before):
            continue
        if name.text.isidentifier() and name.token_type is not TokenType.STRING:
            yield name.text, name.line


def _ends_a_value(token: Token) -> bool:
    closing = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.IDENTIFIER, TokenType.VAR)
    return token.token_type in closing
