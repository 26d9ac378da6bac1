"""Finds the part of a condition that speaks of partition columns alone, as the writer's engine does: that is what it *reads*.

A row predicate implies more about partitions than Delta takes from it. The question where rows may lie takes
everything that is implied (`Region.on_partitions`). The question which partitions a transaction has read must not be
cleverer than the engine, or writes that abort each other would be called disjoint: so these functions split only
where the engine splits, by the shape of the text.

Measured: DELETE, UPDATE and replaceWhere take the weakest partition-only predicate from the whole condition
(`from_whole`); a MERGE's ON and scans keep the conjuncts that use partition columns only (`from_conjuncts`), as do
MERGE's clause conditions. `simplified` says whether Spark's optimizer saw the condition first, which moves NOT down
over AND and OR and pulls out conjuncts that all alternatives share: true for DELETE, UPDATE, MERGE ON and scans,
false for replaceWhere and the conditions of MERGE clauses.
"""

from __future__ import annotations

from sluice.predicates.tree import (
    ALWAYS,
    And,
    Anything,
    Atom,
    Not,
    Or,
    Predicate,
    conjunction,
    disjunction,
    leaves,
)


def from_whole(predicate: Predicate, *, simplified: bool) -> Predicate:
    """The weakest partition-only predicate that the whole condition implies part by part.

    `(date = A AND k = 1) OR (date = B AND k = 2)` gives `date = A OR date = B`.
    """
    taken = _extracted(_without_negated_groups(predicate) if simplified else predicate)
    return ALWAYS if taken is None else taken


def from_conjuncts(predicate: Predicate, *, simplified: bool) -> Predicate:
    """The conjuncts that use partition columns alone.

    `(date = A AND k = 1) OR (date = B AND k = 2)` gives nothing: it's one conjunct, and it uses k.
    """
    conjuncts = _conjuncts(predicate)
    if simplified:
        moved = _conjuncts(_without_negated_groups(predicate))
        conjuncts = tuple(
            part for conjunct in moved for part in _conjuncts(_with_shared_parts_first(conjunct))
        )
        conjuncts = _without_drawn_together(conjuncts)
    return conjunction(conjunct for conjunct in conjuncts if _speaks_of_partitions_alone(conjunct))


def _conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    return predicate.parts if isinstance(predicate, And) else (predicate,)


def _speaks_of_partitions_alone(predicate: Predicate) -> bool:
    """Whether it uses partition columns alone. Parts that aren't understood may use anything; engines widen them as
    well."""
    return all(
        not isinstance(leaf, Anything) and (not isinstance(leaf, Atom) or leaf.column.is_partition)
        for leaf in leaves(predicate)
    )


def _without_drawn_together(conjuncts: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    """`(a OR b) AND (a OR k)` becomes `a OR (b AND k)`, which is one conjunct and uses k: `a OR b` no longer counts. On some day a
    part that depends on the day may be such an `a`."""
    by_day = any(
        isinstance(leaf, Atom) and leaf.spelling.by_day for part in conjuncts for leaf in leaves(part)
    )
    mixed = {
        _meaning(part)
        for conjunct in conjuncts
        if isinstance(conjunct, Or) and not _speaks_of_partitions_alone(conjunct)
        for part in conjunct.parts
    }
    return tuple(
        conjunct
        for conjunct in conjuncts
        if not isinstance(conjunct, Or)
        or (
            mixed.isdisjoint(map(_meaning, conjunct.parts))
            and not (mixed and (by_day or any(map(_is_computed, leaves(conjunct)))))
        )
    )


def _is_computed(leaf: Predicate) -> bool:
    """Whether it's a condition on a function, which the optimizer may simplify to one that looks like another part."""
    return isinstance(leaf, Atom) and leaf.spelling.of is not None


def _meaning(predicate: Predicate) -> object:
    """What a part means, because the optimizer may give parts the same spelling that had different ones."""
    if isinstance(predicate, Atom):
        return predicate.column.axis, predicate.true, predicate.false
    return predicate


def _extracted(predicate: Predicate) -> Predicate | None:
    match predicate:
        case And(parts):
            taken = [part for part in map(_extracted, parts) if part is not None]
            return conjunction(taken) if taken else None
        case Or(parts):
            alternatives = [_extracted(part) for part in parts]
            found = [part for part in alternatives if part is not None]
            return disjunction(found) if len(found) == len(alternatives) else None
        case _:
            return predicate if _speaks_of_partitions_alone(predicate) else None


def _without_negated_groups(predicate: Predicate) -> Predicate:
    """Moves NOT below AND and OR, and no further."""
    match predicate:
        case And(parts):
            return conjunction(map(_without_negated_groups, parts))
        case Or(parts):
            return disjunction(map(_without_negated_groups, parts))
        case Not(And(parts)):
            return disjunction(_without_negated_groups(Not(part)) for part in parts)
        case Not(Or(parts)):
            return conjunction(_without_negated_groups(Not(part)) for part in parts)
        case Not(Not(part)):
            return _without_negated_groups(part)
        case _:
            return predicate


def _with_shared_parts_first(predicate: Predicate) -> Predicate:
    """Turns `(a AND b) OR (a AND c)` into `a AND (b OR c)`; parts are shared by spelling, as the optimizer finds them."""
    if not isinstance(predicate, Or):
        return predicate
    alternatives = [_conjuncts(part) for part in predicate.parts]
    elsewhere = [frozenset(alternative) for alternative in alternatives[1:]]
    shared = [
        part
        for part in dict.fromkeys(alternatives[0])
        if all(part in other for other in elsewhere)
        and not any(isinstance(leaf, Anything) for leaf in leaves(part))
    ]
    if not shared:
        return predicate
    in_all = frozenset(shared)
    rest = [conjunction(part for part in alternative if part not in in_all) for alternative in alternatives]
    return conjunction([*shared, *([] if ALWAYS in rest else [disjunction(rest)])])
