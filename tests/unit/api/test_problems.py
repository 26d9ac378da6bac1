import math
from datetime import date

import pytest
from pydantic import ValidationError

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.problems import problems_of

DELETE = {"sql": "DELETE FROM t"}
TOLD: list[tuple[object, str]] = [
    (DELETE | {"paramaters": {}}, "spec.paramaters: there is no such field; did you mean parameters?"),
    (DELETE | {"zzz": 1}, "spec.zzz: there is no such field"),
    (
        {
            "stream": {
                "trigger": {"once": True},
                "source": {"format": "rate"},
                "table": {"name": "t"},
                "checkpoint": "s3://a/b",
            }
        },
        "spec.stream.trigger.once: there is no such field, only availableNow, processingTime",
    ),
    (DELETE | {"retry": {"what": 1}}, "spec.retry.what: there is no such field, only limit, backoff, on"),
    (
        DELETE | {"admission": {"timout": "1h"}},
        "spec.admission.timout: there is no such field; did you mean timeout?",
    ),
    (
        DELETE | {"parameters": {"day": {"dat": "2026-10-01"}}},
        "spec.parameters.day.dat: there is no such field; did you mean date?",
    ),
    (
        {"write": {"table": "a.b", "source": {"sql": "SELECT 1"}}},
        "spec.write.table: must be a mapping of fields: path, name (given: text)",
    ),
    (
        {"write": {"table": {"name": "a.b"}, "source": {"sql": "SELECT 1"}, "mode": "overwrite"}},
        "spec.write.mode: must be 'Append', 'Overwrite' or 'OverwritePartitions', not 'overwrite'",
    ),
    ({"write": {"source": {"sql": "SELECT 1"}}}, "spec.write.table: is required"),
    (DELETE | {"priority": "high"}, "spec.priority: must be a whole number, not 'high'"),
    (DELETE | {"priority": 1.5}, "spec.priority: must be a whole number, not 1.5"),
    (DELETE | {"priority": 1001}, "spec.priority: must be at most 1000, not 1001"),
    (DELETE | {"admission": {"suspend": "yes"}}, "spec.admission.suspend: must be true or false, not 'yes'"),
    (DELETE | {"runKey": 7}, "spec.runKey: must be text, not a number: put it in quotes"),
    (DELETE | {"runKey": date(2026, 11, 19)}, "spec.runKey: must be text, not a date: put it in quotes"),
    (DELETE | {"runKey": ["a"]}, "spec.runKey: must be text, not a list"),
    (DELETE | {"runKey": "a" * 200}, "spec.runKey: takes at most 128 characters, not 200"),
    (
        DELETE | {"runKey": "\ud800"},
        "spec.runKey: must be text in Unicode, but holds half of a character: write it anew",
    ),
    (DELETE | {"writes": "true"}, "spec.writes: must be a list, not text"),
    (DELETE | {"writes": ["true"] * 9}, "spec.writes: takes at most 8 entries, not 9"),
    (DELETE | {"parameters": ["day"]}, "spec.parameters: must be a mapping of fields, not a list"),
    (
        DELETE | {"parameters": {"x": {"double": math.inf}}},
        "spec.parameters.x.double: must be a finite number, not .inf",
    ),
    (DELETE | {7: 1}, "spec[7]: a field's name must be text, not 7: put it in quotes"),
    (
        [],
        "spec: must be a mapping of fields: sql, write, stream, application, parameters, footprint, writes, runKey, priority, "
        "admission, retry, runtimeRef, runtime, activeDeadlineSeconds, ttlSecondsAfterFinished (given: a list)",
    ),
]


@pytest.mark.parametrize(("spec", "told"), TOLD)
def test_a_wrong_field_is_told_with_what_was_meant_or_expected(spec: object, told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        DeltaWriteJobSpec.model_validate(spec)
    assert problems_of(caught.value, of=DeltaWriteJobSpec) == told
