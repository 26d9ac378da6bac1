"""Sets of partitions, as footprints hold them: unions, and sets with the bound on a column removed."""

from collections.abc import Iterable

from sluice.predicates import Region
from sluice.predicates.limits import MAX_REGIONS

EVERYTHING = Region(({},), {})
NOTHING = Region((), {})


def united(regions: Iterable[Region]) -> Region:
    parts = [region for region in regions if not region.is_empty]
    if len(parts) == 1:
        return parts[0]
    boxes = tuple({frozenset(box.items()): box for region in parts for box in region.boxes}.values())
    reasons = tuple(dict.fromkeys(reason for region in parts for reason in region.reasons))
    if any(not box for box in boxes) or len(boxes) > MAX_REGIONS:
        return Region(({},), {}, reasons)
    columns = {axis: column for region in parts for axis, column in region.columns.items()}
    return Region(boxes, columns, reasons)


def because(region: Region, why: str) -> Region:
    """Returns the region with the reason why it isn't smaller."""
    return Region(region.boxes, region.columns, (*region.reasons, why))


def without(region: Region, names: Iterable[str]) -> Region:
    """Returns the region without its bounds on these columns."""
    freed = {name.lower() for name in names}
    boxes = tuple(
        {
            axis: side
            for axis, side in box.items()
            if freed.isdisjoint(name.lower() for name in region.columns[axis].names)
        }
        for box in region.boxes
    )
    return Region(boxes, region.columns, region.reasons)
