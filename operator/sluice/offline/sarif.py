"""A plan as SARIF 2.1.0, which puts what it found beside the lines of a pull request.

A pull request shows what is said of the lines that it changes. So each job's own lines have what the job waits for: one result for
all that one rule says of it on one table, however many others that are.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from sluice.api.base import Json
from sluice.api.manifests import ManifestError
from sluice.conflicts import Level, Verdict
from sluice.conflicts.rule_ids import SAYS
from sluice.offline.improvements import Edge
from sluice.offline.pairs import Understood
from sluice.offline.plan import Plan

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FOR_EVER, _ONE_CHECKPOINT, _UNUSABLE = "waits-for-ever", "one-checkpoint", "unusable"
_OWN_RULES = {
    _FOR_EVER: "A job waits behind a stream that runs for ever and makes no room for it.",
    _ONE_CHECKPOINT: "Of jobs with one checkpoint all but one are refused.",
    _UNUSABLE: "Something in a manifest, a policy or facts could not be used.",
}
_SEVERITIES = {Level.MAY: "warning", Level.WILL: "error", Level.UNSAFE: "error"}
_HAPPENS = {
    Level.MAY: "one of them may abort",
    Level.WILL: "one of them will abort",
    Level.UNSAFE: "data may be lost, and no exception says so",
}
_PLACE = re.compile(r"^(?P<file>.*?)(?:, line (?P<line>\d+))?(?:, column \d+)?(?:, item \d+)?$", re.DOTALL)
_OF_A_FIELD = re.compile(r" \(line (\d+)\)")
"""Within what is said of a manifest or of facts: where the field stands."""
_MOST_NAMED = 5
_MOST_RELATED = 10


def sarif_of(plan: Plan, root: Path) -> Json:
    """`root`: the folder that files are told from, which is the repository's."""
    files = _Files(root)
    results = [*_conflicts(plan, files), *_others(plan, files)]
    results += [
        _result(_UNUSABLE, "error", one.why, files.at(one), (one.place, one.why)) for one in _in_files(plan)
    ]
    results.sort(key=lambda result: result["level"] != "error")  # who shows only some shows the first
    rules = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    elsewhere = [one for one in plan.troubles if not _is_in_a_file(one)]
    notes = [*(("error", str(one)) for one in elsewhere), *(("note", str(one)) for one in plan.assumptions)]
    run = {
        "tool": {"driver": {"name": "sluice", "rules": [_rule(rule) for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [
            {
                "executionSuccessful": not plan.troubles,
                "toolExecutionNotifications": [
                    {"level": level, "message": {"text": text}} for level, text in notes
                ],
            }
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def root_of(folder: Path) -> Path:
    """The repository's folder, from which code scanning tells files; the folder itself where it is in no repository."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


class _Files:
    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def at(self, where: Understood | ManifestError) -> Json:
        place = where.place if isinstance(where, ManifestError) else where.job.place
        found = _PLACE.fullmatch(place)
        file, begins = (place, 1) if found is None else (found["file"], int(found["line"] or 1))
        return {"artifactLocation": self._artifact(file), "region": {"startLine": _own_line(where) or begins}}

    def _artifact(self, file: str) -> Json:
        path = Path(file).resolve()
        if path.is_relative_to(self._root):
            return {"uri": quote(path.relative_to(self._root).as_posix()), "uriBaseId": "%SRCROOT%"}
        return {"uri": path.as_uri()}


def _own_line(where: Understood | ManifestError) -> int | None:
    if isinstance(where, ManifestError):
        field = _OF_A_FIELD.search(where.why)
        return None if field is None else int(field[1])
    return where.job.line_of(("sql",))


def _conflicts(plan: Plan, files: _Files) -> Iterator[Json]:
    found: dict[tuple[int, str, str], list[tuple[int, Edge]]] = defaultdict(list)
    for edge in plan.edges:
        found[edge.first, edge.table, edge.rule].append((edge.second, edge))
        found[edge.second, edge.table, edge.rule].append((edge.first, edge))
    advice = {
        saving.change.job: saving.change for saving in reversed(plan.savings) if saving.change is not None
    }
    for (number, table, rule), met in sorted(found.items()):
        job = plan.jobs[number]
        others = [plan.jobs[other] for other, _ in met]
        worst = max((edge for _, edge in met), key=lambda edge: edge.level)
        text = (
            f"{job.name} cannot run together with {_listed([other.name for other in others])} on {table}: "
            f"{_happens(worst.worst)}: {worst.worst.reason}."
        )
        if job.name in advice:
            change = advice[job.name]
            lines = "; ".join(f"{line.place}: {line.after}" for line in change.lines)
            what = "the result stays the same" if change.keeps_result else "check first"
            text += f" What would help ({what}: {change.because}): {lines}"
        result = _result(rule, _SEVERITIES[worst.level], text, files.at(job), (job.name, table))
        result["relatedLocations"] = _related(others[:_MOST_RELATED], files)
        yield result


def _happens(verdict: Verdict) -> str:
    return _HAPPENS[verdict.level] + ("" if verdict.exception is None else f" ({verdict.exception})")


def _others(plan: Plan, files: _Files) -> Iterator[Json]:
    jobs = {job.name: job for job in plan.jobs}
    for one in plan.endless:
        result = _result(_FOR_EVER, "error", str(one), files.at(jobs[one.job]), (one.job, one.stream))
        yield {**result, "relatedLocations": _related([jobs[one.stream]], files)}
    for shared in plan.refused:
        for name in shared.jobs:
            result = _result(
                _ONE_CHECKPOINT, "error", str(shared), files.at(jobs[name]), (name, shared.checkpoint)
            )
            others = [jobs[other] for other in shared.jobs if other != name]
            yield {**result, "relatedLocations": _related(others[:_MOST_RELATED], files)}


def _in_files(plan: Plan) -> Iterable[ManifestError]:
    return (one for one in plan.troubles if _is_in_a_file(one))


def _is_in_a_file(trouble: ManifestError) -> bool:
    """Whether it is about a file's content: others are about a table, a folder, or what isn't there."""
    found = _PLACE.fullmatch(trouble.place)
    return found is not None and Path(found["file"]).is_file()


def _result(rule: str, level: str, text: str, location: Json, told_by: Collection[str]) -> Json:
    """`told_by`: by what it is the same finding in another run, whatever happens to the lines around it."""
    told = sha256("\0".join((rule, *told_by)).encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": f"{told[:32]}:1"},
    }


def _related(jobs: Iterable[Understood], files: _Files) -> list[Json]:
    return [
        {"id": number, "physicalLocation": files.at(job), "message": {"text": job.name}}
        for number, job in enumerate(jobs, start=1)
    ]


def _rule(rule: str) -> Json:
    says = SAYS[rule] if rule in SAYS else _OWN_RULES[rule]
    more = (
        "`sluice explain A.yaml B.yaml` says more of two jobs, and docs/conflict-rules.md where the rule comes from."
        if rule in SAYS
        else "`sluice plan` says the same for people, and docs/cli.md what it means."
    )
    return {
        "id": rule,
        "shortDescription": {"text": says},
        "fullDescription": {"text": says},
        "help": {"text": f"{says} {more}"},
        "defaultConfiguration": {"level": "warning" if rule in SAYS else "error"},
    }


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED + 1:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
