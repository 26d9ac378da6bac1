"""Names that the API server refuses are told offline, too, with their line."""

from pathlib import Path

import pytest

from unit.cli.folders import complaints, sluice

SPECS = {
    "DeltaWriteJob": "{sql: 'DELETE FROM delta.`s3://lake/a`'}",
    "DeltaTablePolicy": "{table: {path: 's3://lake/a'}}",
}


@pytest.mark.parametrize("kind", sorted(SPECS))
@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ("{}", "metadata.name (line 3): is required, unless there is a generateName"),
        ("{name: Load_Orders}", "metadata.name (line 3): 'Load_Orders' is no name that Kubernetes takes"),
        ("{name: -a}", "is no name"),
        ("{name: a..b}", "is no name"),
        ("{name: 7}", "metadata.name (line 3): must be text, not a number: put it in quotes"),
        (f"{{name: {'a' * 254}}}", "takes at most"),
        ("{generateName: Load-}", "metadata.generateName (line 3): "),
        ("{name: a.b-2}", None),
        ("{name: 2026-11-19}", None),
        ("{generateName: load-}", None),
    ],
)
def test_a_name_that_the_api_server_refuses_is_told_with_its_line(
    tmp_path: Path, kind: str, metadata: str, why: str | None
) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(
        f"apiVersion: sluice.dev/v1alpha1\nkind: {kind}\nmetadata: {metadata}\nspec: {SPECS[kind]}\n"
    )
    told = sluice("plan", file)
    assert told.exit_code == (0 if why is None else 3)
    assert complaints(told).startswith(f"! {file}: " if why else "")
    assert (why or "") in complaints(told)
    assert told.stdout.startswith("1 job on 1 table" if kind == "DeltaWriteJob" else "0 jobs")


def test_a_job_needs_a_name_that_a_label_can_hold(tmp_path: Path) -> None:
    for kind, code in (("DeltaWriteJob", 3), ("DeltaTablePolicy", 0)):
        file = tmp_path / f"{kind}.yaml"
        file.write_text(
            f"apiVersion: sluice.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {'a' * 64}}}\nspec: {SPECS[kind]}\n"
        )
        assert sluice("plan", file).exit_code == code
