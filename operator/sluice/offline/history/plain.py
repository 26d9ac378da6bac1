"""A replayed log as plain values, for JSON."""

from typing import Any

from sluice.offline.history.replay import Collision, Fate, History

Json = dict[str, Any]


def history_json(history: History) -> Json:
    log = history.log
    return {
        "table": log.location,
        "commits": len(log.commits),
        "versions": [log.commits[0].version, log.commits[-1].version],
        "missing": log.missing,
        "checkpoints": log.checkpoints,
        "partitionColumns": list(log.partition_columns),
        "overlapping": history.overlapping,
        "overlaps": history.overlaps,
        "widest": history.widest,
        "withinSeconds": history.within_seconds,
        "writers": [
            {
                "name": writer.name,
                "commits": writer.commits,
                "partitions": writer.partitions,
                "withoutPin": writer.without_pin,
            }
            for writer in history.writers
        ],
        "collisions": [_collision(one) for one in history.collisions],
        "freedBy": {fate.name.lower(): history.total(fate) for fate in Fate if fate is not Fate.APART},
        "unreadable": list(log.unreadable),
    }


def _collision(one: Collision) -> Json:
    return {
        "writers": list(one.writers),
        "met": one.met,
        "overlapped": {fate.name.lower(): n for fate, n in sorted(one.side_by_side.items())},
        "closeTogether": {fate.name.lower(): n for fate, n in sorted(one.close_together.items())},
        "example": list(one.example) if one.example else None,
    }
