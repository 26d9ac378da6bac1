"""The API server refuses each bad manifest, at its field, in words that say what to do."""

import json
import re

import pytest

from integration.api.manifest_tables import BadManifest, bad_manifests
from integration.api.server import Refusal, Server
from integration.conftest import Kubectl

CASES = bad_manifests()


def _refused_as_wanted(refusal: Refusal, case: BadManifest) -> bool:
    if case.message == "unknown field":
        return f'unknown field "{case.field}"' in refusal.message
    return any(
        re.sub(r"\[([^]\d][^]]*)\]", r".\1", field).replace("<nil>", "") == case.field
        and case.message in message
        for field, message in refusal.causes
    )


def test_every_bad_manifest_is_refused_with_its_message(server: Server) -> None:
    assert len(CASES) >= 40
    answers = [(case, server.try_to_create(case.manifest)) for case in CASES]
    taken = [case.name for case, answer in answers if not isinstance(answer, Refusal)]
    assert not taken
    otherwise = [
        f"{case.name}: wanted {case.field}: {case.message}\n  got {answer.message[:500]}"
        for case, answer in answers
        if isinstance(answer, Refusal) and not _refused_as_wanted(answer, case)
    ]
    assert not otherwise, "\n".join(otherwise)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "work: two kinds of work",
            'The DeltaWriteJob "bad" is invalid: spec: Invalid value: set exactly one of sql, write, stream and '
            "application: a job is one piece of work",
        ),
        (
            "running: an unknown field of admission",
            'strict decoding error: unknown field "spec.admission.timeOut"',
        ),
        (
            "write: a mode that nobody knows",
            'spec.write.mode: Unsupported value: "append": supported values: "Append", "Overwrite", "OverwritePartitions"',
        ),
        (
            "parameters: a date of no calendar",
            "spec.parameters[d].date: Invalid value: \"2026-02-29\": must be a calendar date such as '2026-11-19'",
        ),
        (
            "policy: partitioned and clustered",
            "spec: Invalid value: a table is partitioned or clustered, not both: remove partitionBy or clusterBy",
        ),
        (
            "wanted: the property delta.appendonly",
            "spec.properties: Invalid value: a name that begins with delta. must be one of Delta's properties as "
            "docs/properties.md spells them, for Delta refuses unknown ones: correct it, or name what is your own without delta.",
        ),
        (
            "wanted: delta.enableDeletionVectors of t",
            "spec.properties: Invalid value: delta.enableDeletionVectors must be true or false",
        ),
        (
            "wanted: the feature clustering",
            'spec.features[0]: Invalid value: "clustering": is not wanted by its name: say clusterBy',
        ),
        (
            "wanted: the feature sharding",
            'spec.features[0]: Invalid value: "sharding": is no feature that Sluice can turn on: write one of changeDataFeed,',
        ),
        (
            "wanted: delta.checkpointInterval of 0",
            "spec.properties: Invalid value: delta.checkpointInterval must be a whole number from 1 on",
        ),
        (
            "policy: a schedule of the 25th hour",
            'spec.maintenance.vacuum.schedule: Invalid value: "0 25 * * *": must be a cron schedule of minute, hour, day, month',
        ),
        (
            "policy: a time zone of no possible name",
            'spec.maintenance.optimize.timeZone: Invalid value: "Berlin time": must be a time zone by its name, such as UTC or',
        ),
        (
            "policy: a relative path",
            'spec.table.path: Invalid value: "orders": must be absolute, such as s3://bucket/table or file:/data/table',
        ),
    ],
)
@pytest.mark.parametrize("option", [[], ["--dry-run=server"]], ids=["applied", "tried"])
def test_a_person_at_kubectl_reads_what_to_do(
    name: str, words: str, option: list[str], kubectl: Kubectl, namespace: str
) -> None:
    (case,) = [case for case in CASES if case.name == name]
    applied = kubectl("apply", *option, "--namespace", namespace, "-f", "-", stdin=json.dumps(case.manifest))
    assert applied.returncode == 1
    assert words in applied.stderr
