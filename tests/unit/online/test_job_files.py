"""Which jobs `sluice run` takes from files."""

from pathlib import Path

import pytest

from sluice.online.access.errors import CalledWronglyError
from sluice.online.jobs.job_files import JobManifest, works_in

JOB = "apiVersion: sluice.dev/v1alpha1\nkind: DeltaWriteJob\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.yaml"


def works(file: Path, text: str, namespace: str | None = None) -> list[JobManifest]:
    file.write_text(text, encoding="utf-8")
    return works_in([file], namespace, "usual")


def test_a_job_goes_to_its_own_namespace_or_the_given_or_the_usual_one(file: Path) -> None:
    text = f"{JOB}metadata: {{name: a}}\n---\n{JOB}metadata: {{name: b, namespace: own}}"
    assert [str(work.job) for work in works(file, text)] == ["usual/a", "own/b"]
    assert [str(work.job) for work in works(file, text, "own")] == ["own/a", "own/b"]
    with pytest.raises(CalledWronglyError, match="b is for namespace own, and --namespace says other"):
        works(file, text, "other")


def test_a_date_stays_text_as_kubectl_reads_it(file: Path) -> None:
    [work] = works(file, f"{JOB}metadata: {{name: a}}\nspec: {{parameters: {{day: {{date: 2026-11-19}}}}}}")
    assert work.manifest["spec"]["parameters"]["day"]["date"] == "2026-11-19"


def test_a_generated_name_is_made_here_so_that_a_job_can_be_sent_twice(file: Path) -> None:
    [work] = works(file, f"{JOB}metadata: {{generateName: {'n' * 70}-}}")
    other = work.renamed()
    assert work.manifest["metadata"] == {"name": work.job.name, "namespace": "usual"}
    assert work.job.name.startswith("n" * 55)
    assert len(work.job.name) == 63
    assert work.job != other.job


def test_lists_are_taken_apart(file: Path) -> None:
    items = "".join(
        f"- {{apiVersion: sluice.dev/v1alpha1, kind: DeltaWriteJob, metadata: {{name: {name}}}}}\n"
        for name in "ab"
    )
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    assert [work.job.name for work in works(file, text)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no job"),
        ("a: [", "not YAML"),
        (
            "kind: Pod\napiVersion: v1",
            "holds Pod of v1, and only DeltaWriteJob of sluice.dev/v1alpha1 can be run",
        ),
        (f"{JOB}metadata: {{}}", "a job has no name"),
        (f"{JOB}metadata: {{name: 7}}", "name, generateName and namespace are text"),
        (f"{JOB}metadata: {{name: a}}\n---\n{JOB}metadata: {{name: a}}", "usual/a is given twice"),
    ],
)
def test_what_cannot_be_run_is_named_with_its_file(text: str, why: str, file: Path) -> None:
    with pytest.raises(CalledWronglyError) as failed:
        works(file, text)
    assert str(failed.value).startswith(str(file))
    assert why in str(failed.value)


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(CalledWronglyError, match="there is no such file or folder"):
        works_in([file], None, "usual")
