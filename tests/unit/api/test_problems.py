import pytest
from pydantic import ValidationError

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.problems import problems_of

DELETE = {"sql": "DELETE FROM t"}
TOLD = [
    (DELETE | {"paramaters": {}}, "spec.paramaters: there is no such field; did you mean parameters?"),
    (DELETE | {"zzz": 1}, "spec.zzz: there is no such field"),
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
        "spec.write.table: must be a mapping of fields: path, name",
    ),
    (
        {"write": {"table": {"name": "a.b"}, "source": {"sql": "SELECT 1"}, "mode": "overwrite"}},
        "spec.write.mode: must be 'Append', 'Overwrite' or 'OverwritePartitions', not 'overwrite'",
    ),
    ({"write": {"source": {"sql": "SELECT 1"}}}, "spec.write.table: is required"),
]


@pytest.mark.parametrize(("spec", "told"), TOLD)
def test_a_wrong_field_is_told_with_the_one_that_was_meant(spec: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        DeltaWriteJobSpec.model_validate(spec)
    assert problems_of(caught.value, of=DeltaWriteJobSpec) == told
