"""Answers as plain values, for JSON: field names are part of what pipelines rely on."""

from collections.abc import Iterable
from typing import Any

from sluice.offline.advice import Change
from sluice.offline.batch import verdict_json
from sluice.offline.manifests import Trouble
from sluice.offline.pairs import Explanation
from sluice.offline.plan import Plan, Saving

Json = dict[str, Any]


def explanation_json(explanation: Explanation) -> Json:
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
            {**change_json(remedy.change), "order": remedy.order.value} for remedy in explanation.remedies
        ],
        "hints": list(explanation.hints),
        "widened": {job.name: list(job.widened) for job in (explanation.first, explanation.second)},
        "assumptions": list(explanation.assumptions),
    }


def plan_json(plan: Plan) -> Json:
    names = [job.name for job in plan.jobs]
    return {
        "jobs": [
            {"name": job.name, "place": job.job.place, "tables": [str(key) for key in job.footprint.keys]}
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
                "firstLoses": verdict_json(edge.pair.first_loses),
                "secondLoses": verdict_json(edge.pair.second_loses),
            }
            for edge in plan.edges
        ],
        "runTogether": {
            "jobs": [names[number] for number in plan.widest.members],
            "atMost": plan.widest.at_most,
            "exact": plan.widest.exact,
        },
        "advice": [saving_json(saving) for saving in plan.savings],
        "assumptions": list(plan.assumptions),
        "troubles": troubles_json(plan.troubles),
    }


def saving_json(saving: Saving) -> Json:
    change = None if saving.change is None else change_json(saving.change)
    return {
        "pairs": saving.pairs,
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


def troubles_json(troubles: Iterable[Trouble]) -> list[Json]:
    return [{"place": trouble.place, "why": trouble.why} for trouble in troubles]
