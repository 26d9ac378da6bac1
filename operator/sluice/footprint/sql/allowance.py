"""Counts what reading one job may still cost, where its parts multiply: statements by views, rows by columns and conditions."""

from dataclasses import dataclass

from sluice.predicates.limits import MAX_CELLS, MAX_DECLARED, MAX_SEEN_THROUGH_VIEWS, MAX_VIEWS_UPON


@dataclass
class Allowance:
    """Asked before anything that it counts is done, in the order of the text: so the same text always gets the same answers."""

    cells: int = MAX_CELLS
    seen_through_views: int = MAX_SEEN_THROUGH_VIEWS
    views_upon: int = MAX_VIEWS_UPON
    declared: int = MAX_DECLARED

    def take_cells(self, count: int) -> bool:
        self.cells -= count
        return self.cells >= 0

    def take_seen_through_views(self, count: int) -> bool:
        self.seen_through_views -= count
        return self.seen_through_views >= 0

    def take_views_upon(self, count: int) -> bool:
        self.views_upon -= count
        return self.views_upon >= 0

    def take_declared(self, characters: int) -> bool:
        self.declared -= characters
        return self.declared >= 0
