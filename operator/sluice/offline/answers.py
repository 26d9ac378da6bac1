"""Writes whatever is answered without a cluster as JSON: pipelines rely on the names of fields."""

from collections.abc import Iterable

from sluice.api.base import Json
from sluice.api.manifests import ManifestError
from sluice.conflicts import Pair, Verdict
from sluice.conflicts.advice import Advice
from sluice.footprint import TableFootprint
from sluice.offline.advice import Change
from sluice.offline.checkpoint_conflicts import CheckpointConflict, who_share_one
from sluice.offline.history.replay import Collision, CommitFate, HistoryReport
from sluice.offline.improvements import Improvement
from sluice.offline.pairs import Explanation, Understood, without_cluster
from sluice.offline.plan import Plan
from sluice.offline.stream_starvation import Starvation, who_makes_room, who_waits_for_ever


def verdict_json(verdict: Verdict) -> Json:
    return {
        "verdict": str(verdict.level),
        "exception": verdict.exception,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "overlap": verdict.overlap,
    }


def pair_json(pair: Pair, advice: Iterable[Advice]) -> Json:
    return {
        "together": pair.together,
        "order": pair.order.value,
        "firstLoses": verdict_json(pair.first_loses),
        "secondLoses": verdict_json(pair.second_loses),
        "hints": [one.said("first", "second") for one in advice],
    }


def explanation_json(explanation: Explanation, troubles: Iterable[ManifestError] = ()) -> Json:
    directions = [
        {"table": table, **verdict_json(verdict), "readers": verdict.readers}
        for _, _, verdict, table in explanation.directions
    ]
    return {
        "first": explanation.first.name,
        "second": explanation.second.name,
        "together": explanation.pair.together,
        "order": explanation.order.value,
        "firstLoses": directions[0],
        "secondLoses": directions[1],
        "advice": [
            {
                **change_json(remedy.change),
                "order": remedy.order.value,
                "also": [one.said(explanation.first.name, explanation.second.name) for one in remedy.also],
            }
            for remedy in explanation.remedies
        ],
        "hints": list(explanation.hints),
        "waitForEver": [_waits_json(one) for one in who_waits_for_ever(explanation)],
        "makesRoom": [
            {"stream": one.stream, "job": one.job, "onceAged": one.once_aged}
            for one in who_makes_room(explanation)
        ],
        "oneCheckpoint": [
            _one_checkpoint(one) for one in who_share_one((explanation.first, explanation.second))
        ],
        "widened": {job.name: list(job.widened) for job in (explanation.first, explanation.second)},
        "assumptions": [str(one) for one in explanation.assumptions],
        "troubles": troubles_json(troubles),
    }


def plan_json(plan: Plan) -> Json:
    names = [job.name for job in plan.jobs]
    told: dict[int, Json] = {}  # verdicts that many pairs share: each is written out once

    def written(verdict: Verdict) -> Json:
        if id(verdict) not in told:
            told[id(verdict)] = verdict_json(verdict)
        return told[id(verdict)]

    return {
        "jobs": [
            {
                "name": job.name,
                "place": job.job.place,
                "tables": [str(key) for key in job.footprint.keys],
            }
            for job in plan.jobs
        ],
        "pairs": plan.pairs,
        "conflicts": [
            {
                "first": names[edge.first],
                "second": names[edge.second],
                "verdict": str(edge.level),
                "order": edge.pair.order.value,
                "table": edge.table,
                "firstLoses": written(edge.pair.first_loses),
                "secondLoses": written(edge.pair.second_loses),
            }
            for edge in plan.edges
        ],
        "runTogether": {
            "jobs": [names[number] for number in plan.widest.members],
            "atMost": plan.widest.at_most,
            "exact": plan.widest.exact,
        },
        "advice": [saving_json(saving) for saving in plan.savings],
        "untried": plan.untried,
        "waitForEver": [_waits_json(one) for one in plan.endless],
        "oneCheckpoint": [_one_checkpoint(one) for one in plan.refused],
        "warnings": list(plan.warnings),
        "assumptions": [str(one) for one in plan.assumptions],
        "troubles": troubles_json(plan.troubles),
    }


def _waits_json(one: Starvation) -> Json:
    return {"job": one.job, "stream": one.stream, "advice": one.advice}


def _one_checkpoint(one: CheckpointConflict) -> Json:
    return {"checkpoint": one.checkpoint, "jobs": list(one.jobs)}


def saving_json(saving: Improvement) -> Json:
    change = None if saving.change is None else change_json(saving.change)
    return {
        "pairs": saving.pairs,
        "alone": saving.alone,
        "jobs": list(saving.jobs),
        "change": change,
        "hint": None if change else saving.hint,
    }


def change_json(change: Change) -> Json:
    return {
        "job": change.job,
        "lines": [{"place": line.place, "before": line.before, "after": line.after} for line in change.lines],
        "keepsResult": change.keeps_result,
        "because": change.because,
    }


def troubles_json(troubles: Iterable[ManifestError]) -> list[Json]:
    return [{"place": trouble.place, "why": trouble.why} for trouble in troubles]


def footprint_json(job: Understood) -> Json:
    return {
        "job": job.name,
        "tables": [_table(table) for table in job.footprint.tables],
        "streamsFrom": [
            {"table": key.text, "follows": job.footprint.follows.value} for key in job.footprint.streams_from
        ],
        "joins": [key.text for key in job.footprint.looks_into],
        "checkpoints": sorted(job.checkpoints),
        "warnings": list(job.warnings),
    }


def _table(table: TableFootprint) -> Json:
    return {
        "table": table.table.text,
        "statement": table.statement,
        "operation": table.operation.value,
        "autoCompaction": table.hook,
        "reads": table.reads_text,
        "writes": table.writes_text,
        "deletes": table.deletes_text,
        "blind": table.is_blind,
        "metadata": table.metadata.value,
        "widened": list(table.widened),
        "advice": [without_cluster(one) for one in (table.reads_advice, table.writes_advice) if one],
    }


def history_json(history: HistoryReport) -> Json:
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
                "named": writer.is_named,
            }
            for writer in history.writers
        ],
        "collisions": [_collision(one) for one in history.collisions],
        "freedBy": {
            fate.name.lower(): history.total(fate) for fate in CommitFate if fate is not CommitFate.APART
        },
        "unreadable": list(log.unreadable),
    }


def _collision(one: Collision) -> Json:
    return {
        "writers": list(one.writers),
        "met": one.met,
        "overlapped": {fate.name.lower(): n for fate, n in sorted(one.side_by_side.items())},
        "closeTogether": {fate.name.lower(): n for fate, n in sorted(one.close_together.items())},
        "example": list(one.example) if one.example else None,
        "hours": {str(hour): count for hour, count in sorted(one.hours.items())},
        "atStakeSeconds": one.at_stake / 1000,
        "unmeasured": one.unmeasured,
    }
