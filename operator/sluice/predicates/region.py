"""Compiles predicates into boxes, and compares them: two regions are disjoint exactly if no box of one meets a box of the other.

A box gives, for some columns, the values that its rows may have; a region is a union of boxes that holds **at least** all rows
that match. Boxes are few (see limits): where a predicate would need more, its region grows to one box around them, which can
only make regions meet that wouldn't. So `are_disjoint` may be believed, and a `False` only says "may overlap".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import xor

from sluice.predicates import computed_columns, limits
from sluice.predicates.atoms import as_stored
from sluice.predicates.columns import Column
from sluice.predicates.computed_columns import ComputedColumn
from sluice.predicates.functions import Value
from sluice.predicates.nnf import All, Any, In, Maybe, Positive, Question, positive
from sluice.predicates.small_domains import ComputationBudget, may_lie, share_no_values
from sluice.predicates.tree import Predicate
from sluice.predicates.values import ValueSet, are_disjoint, intersection, union

Box = Mapping[str, ValueSet]
"""Values by axis. A column that isn't named may have any value; no box names a column with an empty set of values."""

_EVERYWHERE: tuple[Box, ...] = ({},)


@dataclass(frozen=True, slots=True)
class Region:
    """The rows that may match: no box means no row, a box without sides means all rows."""

    boxes: tuple[Box, ...]
    columns: Mapping[str, Column]
    reasons: tuple[str, ...] = ()
    """Why the region is wider than the predicate; empty if it's exact."""
    computes: bool = field(init=False, compare=False, repr=False)
    """Whether it says something of computed columns."""

    def __post_init__(self) -> None:
        computes = any(type(column) is ComputedColumn for column in self.columns.values())
        object.__setattr__(self, "computes", computes)

    @property
    def is_empty(self) -> bool:
        return not self.boxes

    @property
    def is_everything(self) -> bool:
        return any(not box for box in self.boxes)

    @property
    def size(self) -> int:
        """How many sides and values its boxes have."""
        return _size(self.boxes)

    def on_partitions(self) -> Region:
        """The partitions in which the rows may lie: sides of other columns are left out."""
        boxes = [{a: s for a, s in box.items() if self.columns[a].is_partition} for box in self.boxes]
        return Region(tuple(_merged(boxes)), self.columns, self.reasons)

    def may_hold(self, values: Mapping[str, Value]) -> bool:
        """Whether a row with these coded values, by axis, may match. Of a partition, in which '' is NULL, it tells nothing."""
        return any(
            all(may_lie(self.columns[axis], side, values) for axis, side in box.items()) for box in self.boxes
        )


def disjoint(a: Region, b: Region) -> bool:
    """True only if no row can be in both."""
    trials = ComputationBudget() if a.computes or b.computes else None
    for box in a.boxes:
        for other in b.boxes:
            for axis, side in box.items():
                opposite = other.get(axis)
                if opposite is not None and are_disjoint(side, opposite):
                    break
            else:
                if trials is None or not share_no_values(box, other, {**a.columns, **b.columns}, trials):
                    return False
    return True


def overlap(a: Region, b: Region) -> Region:
    """A region of at least the rows that are in both."""
    budget = _Budget()
    boxes = _product(a.boxes, b.boxes, budget)
    reasons = dict.fromkeys((*a.reasons, *b.reasons, *budget.reasons))
    return Region(tuple(_merged(boxes)), {**a.columns, **b.columns}, tuple(reasons))


def merged(regions: Iterable[Region], most_boxes: int) -> Region:
    """A region of at least the rows that are in any of them; of exactly these if it has no more than so many boxes."""
    distinct = list({id(region): region for region in regions}.values())
    boxes: Sequence[Box] = _merged([box for region in distinct for box in region.boxes])
    if len(boxes) > most_boxes:
        boxes = _around(boxes)
    columns = {axis: column for region in distinct for axis, column in region.columns.items()}
    return Region(tuple(boxes), columns)


def compiled(predicate: Predicate, question: Question = Question.TRUE, *, stored: bool = True) -> Region:
    """The region of the rows that answer the question.

    With `stored`, values are as partitions keep them, where '' is NULL; to compare two predicates about the same
    rows, leave them as they are.
    """
    builder = _Builder(stored=stored)
    boxes = builder.boxes(positive(predicate, question))
    return Region(tuple(_merged(boxes)), builder.columns, tuple(builder.budget.reasons))


def covers(outer: Predicate, inner: Predicate) -> bool:
    """True only if every row that matches `inner` also matches `outer`."""
    outside = compiled(outer, Question.NOT_TRUE, stored=False)
    return disjoint(outside, compiled(inner, stored=False))


class _Budget:
    """Counts the work of one compilation; once the budget is used up, everything left is widened."""

    def __init__(self) -> None:
        self.left = limits.MAX_WORK
        self.reasons: dict[str, None] = {}

    def spend(self, amount: int) -> bool:
        self.left -= amount
        if self.left < 0:
            self.reasons["the condition is too large to be compared exactly"] = None
        return self.left >= 0


class _Builder:
    def __init__(self, *, stored: bool) -> None:
        self.budget = _Budget()
        self.columns: dict[str, Column] = {}
        self._stored = stored
        self._known: dict[int, tuple[Box, ...]] = {}

    def boxes(self, node: Positive) -> tuple[Box, ...]:
        """The boxes of the node, which may be a part of several others."""
        if id(node) not in self._known:
            self._known[id(node)] = self._boxes(node)
        return self._known[id(node)]

    def _boxes(self, node: Positive) -> tuple[Box, ...]:
        if not self.budget.spend(1):
            return _EVERYWHERE
        match node:
            case In(column, values):
                return self._side(column, values)
            case Maybe(reason):
                self.budget.reasons[reason] = None
                return _EVERYWHERE
            case Any(parts):
                return self._any([box for part in parts for box in self.boxes(part)])
            case All(parts):
                return self._all([self.boxes(part) for part in parts])

    def _side(self, column: Column, values: ValueSet) -> tuple[Box, ...]:
        if isinstance(column, ComputedColumn):
            if self._stored:
                axis, values = computed_columns.as_stored(column, values)
                column = replace(column, axis=axis)
            if not values.is_empty:
                self.budget.reasons[f"{column.name} is computed only where the partitions are known"] = None
        elif self._stored:
            values = as_stored(column, values)
        values = column.type.bounded(values)
        if values.is_empty:
            return ()
        if values.is_full:
            return _EVERYWHERE
        self.columns[column.axis] = column
        return ({column.axis: values},)

    def _any(self, boxes: Sequence[Box]) -> tuple[Box, ...]:
        if not self.budget.spend(_size(boxes)):
            return _EVERYWHERE
        merged = _merged(boxes)
        if len(merged) <= limits.MAX_BOXES:
            return tuple(merged)
        self.budget.reasons[f"the condition has more than {limits.MAX_BOXES} alternatives"] = None
        return _around(merged)

    def _all(self, regions: Sequence[tuple[Box, ...]]) -> tuple[Box, ...]:
        """Intersects single boxes first, in one sweep per column, and then the unions one after the other."""
        single = [region[0] for region in regions if len(region) == 1]
        if not all(regions):
            return ()
        if not self.budget.spend(_size(single)):
            return _EVERYWHERE
        common = _intersected(single)
        if common is None:
            return ()
        result: tuple[Box, ...] = (common,)
        for region in sorted((r for r in regions if len(r) > 1), key=len):
            if not result:
                return ()
            result = self._any(_product(result, region, self.budget))
        return result


def _size(boxes: Iterable[Box]) -> int:
    return sum(1 + len(side.cuts) for box in boxes for side in box.values())


def _intersected(boxes: Sequence[Box]) -> Box | None:
    """The box of all that lies in each of the boxes; None if nothing does."""
    sides: dict[str, list[ValueSet]] = {}
    for box in boxes:
        for axis, side in box.items():
            sides.setdefault(axis, []).append(side)
    common = {axis: intersection(all_of_them) for axis, all_of_them in sides.items()}
    return None if any(side.is_empty for side in common.values()) else common


def _product(a: Sequence[Box], b: Sequence[Box], budget: _Budget) -> list[Box]:
    """The boxes common to the two unions; once the budget is used up, the first union stands for them."""
    boxes: list[Box] = []
    for box in a:
        for other in b:
            if not budget.spend(_size((box, other))):
                return list(a)
            common = _intersected((box, other))
            if common is not None:
                boxes.append(common)
    return boxes


def _merged(boxes: Sequence[Box]) -> list[Box]:
    """The same union in fewer boxes: boxes that differ in only one column are merged until none do."""
    if len(boxes) < 2:
        return list(boxes)
    if any(not box for box in boxes):
        return [{}]
    current = dict(enumerate({box_identity(box): box for box in boxes}.values()))
    hashes = {at: _hash_of(box) for at, box in current.items()}
    holders: dict[str, list[int]] = {}
    for at, box in current.items():
        for axis in box:
            holders.setdefault(axis, []).append(at)
    for axis in sorted(holders):
        held = [at for at in holders[axis] if at in current]
        for first, *others in _alike_beside(axis, {at: current[at] for at in held}, hashes):
            if not others:
                continue
            joined = _joined(axis, [current[first], *map(current.pop, others)])
            if not joined:
                return [{}]
            current[first], hashes[first] = joined, _hash_of(joined)
    found: dict[frozenset[tuple[str, ValueSet]], Box] = {}
    for box in current.values():
        found.setdefault(box_identity(box), box)
    return list(found.values())


def _alike_beside(axis: str, boxes: Mapping[int, Box], hashes: Mapping[int, int]) -> Iterable[list[int]]:
    """Groups boxes that are the same but for this axis. Hashes are compared first: comparing all sides of each box for each of
    its axes would take as long as the square of their number."""
    groups: dict[int, list[list[int]]] = {}
    for at, box in boxes.items():
        alike = groups.setdefault(hashes[at] ^ hash((axis, box[axis])), [])
        group = next((one for one in alike if _differ_only_in(axis, boxes[one[0]], box)), None)
        if group is None:
            alike.append([at])
        else:
            group.append(at)
    return (group for alike in groups.values() for group in alike)


def _hash_of(box: Box) -> int:
    """A hash from which that of each side can be taken out again."""
    return reduce(xor, map(hash, box.items()), 0)


def _differ_only_in(axis: str, one: Box, other: Box) -> bool:
    return len(one) == len(other) and all(other.get(a) == side for a, side in one.items() if a != axis)


def box_identity(box: Box) -> frozenset[tuple[str, ValueSet]]:
    return frozenset(box.items())


def _joined(axis: str, group: Sequence[Box]) -> Box:
    side = union([box[axis] for box in group])
    rest = {a: s for a, s in group[0].items() if a != axis}
    return rest if side.is_full else {**rest, axis: side}


def _around(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """One box around them all: only columns that every box names stay bounded."""
    shared = set(boxes[0]).intersection(*boxes)
    hull = {axis: union([box[axis] for box in boxes]) for axis in sorted(shared)}
    return ({axis: side for axis, side in hull.items() if not side.is_full},)
