"""Counts what reading one job may still cost, where its parts multiply: statements by views, rows by columns and conditions."""

from dataclasses import dataclass, field

from sluice.predicates.limits import MAX_CELLS, MAX_DECLARED, MAX_SEEN_THROUGH_VIEWS, MAX_VIEWS_UPON


@dataclass
class Countdown:
    left: int

    def take(self, count: int) -> bool:
        """Returns whether there was enough for all takes so far."""
        self.left -= count
        return self.left >= 0


@dataclass
class Allowance:
    """Asked before the work that it counts, in the order of the text: so the same text always gets the same answers."""

    cells: Countdown = field(default_factory=lambda: Countdown(MAX_CELLS))
    seen_through_views: Countdown = field(default_factory=lambda: Countdown(MAX_SEEN_THROUGH_VIEWS))
    views_upon: Countdown = field(default_factory=lambda: Countdown(MAX_VIEWS_UPON))
    declared: Countdown = field(default_factory=lambda: Countdown(MAX_DECLARED))
    """Characters."""
