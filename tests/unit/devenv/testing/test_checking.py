"""./dev check runs the tests nearest to what has changed, as many as fit, and tells of the others."""

import os
import subprocess
from pathlib import Path

import pytest

from devenv.errors import DevError
from devenv.project import IMPORT_ROOTS, ROOT
from devenv.testing import checking
from devenv.testing.imports import ImportGraph


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("kept.py", "changed.py", "deleted.py", "sp ace-ü\n.py"):
        (tmp_path / name).write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


UNTESTED = [
    "devtools/cluster/__main__.py",
    "devtools/demo/plain_application.py",
    "devtools/devenv/rehearsal/session.py",
]


@pytest.fixture(scope="module")
def graph() -> ImportGraph:
    """The project's own."""
    return ImportGraph()


def names(files: list[Path]) -> list[str]:
    return [file.name for file in files]


def test_commits_of_a_branch_edits_new_files_and_deleted_ones_are_changes(
    repository: Path,
) -> None:
    git(repository, "switch", "-qc", "branch")
    (repository / "changed.py").write_text("2")
    git(repository, "commit", "-qam", "second")
    (repository / "sp ace-ü\n.py").write_text("2")
    (repository / "new.py").touch()
    (repository / "deleted.py").unlink()
    assert names(checking.changed_files(root=repository)) == [
        "changed.py",
        "deleted.py",
        "new.py",
        "sp ace-ü\n.py",
    ]
    assert names(checking.changed_files("HEAD", repository)) == ["deleted.py", "new.py", "sp ace-ü\n.py"]


def test_on_main_the_last_commit_is_what_has_changed_and_at_first_nothing(repository: Path) -> None:
    assert checking.changed_files(root=repository) == []
    (repository / "changed.py").write_text("2")
    git(repository, "commit", "-qam", "second")
    assert names(checking.changed_files(root=repository)) == ["changed.py"]


def test_without_a_branch_or_a_main_the_commit_before_is_what_counts(repository: Path) -> None:
    (repository / "changed.py").write_text("2")
    git(repository, "commit", "-qam", "second")
    git(repository, "checkout", "-q", "--detach")
    git(repository, "branch", "-qD", "main")
    assert names(checking.changed_files(root=repository)) == ["changed.py"]


@pytest.mark.parametrize("since", ["no-such-branch", "--output=stolen", ""])
def test_a_commit_that_is_none_is_refused_by_name(repository: Path, since: str) -> None:
    with pytest.raises(DevError, match="knows no commit"):
        checking.changed_files(since or "\N{SNOWMAN}", repository)
    assert not (repository / "stolen").exists()


def test_a_folder_without_history_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DevError, match=r"run \./dev test"):
        checking.changed_files(root=tmp_path)


def test_a_history_that_is_cut_off_before_the_last_commit_is_no_lack_of_changes(repository: Path) -> None:
    (repository / "changed.py").write_text("2")
    git(repository, "commit", "-qam", "second")
    git(repository, "clone", "-q", "--depth=1", repository.as_uri(), "shallow")
    with pytest.raises(DevError, match="--unshallow"):
        checking.changed_files(root=repository / "shallow")


def test_changes_are_told_below_a_folder_of_a_larger_repository(repository: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    (inner / "kept.py").touch()
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    (repository / "changed.py").write_text("2")
    (inner / "kept.py").write_text("2")
    assert checking.changed_files("HEAD", inner) == [inner / "kept.py"]


def test_names_of_any_bytes_and_submodules_are_told(repository: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(repository) + b"/b\xfcro.py"))
    odd.touch()
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "other")
    (repository / "other" / "kept.py").write_text("2")
    changed = checking.changed_files("HEAD", repository)
    assert {odd, repository / "other"} < set(changed)
    assert not ImportGraph([repository]).distances(changed).keys() - {odd}


def test_while_a_merge_is_in_conflict_its_files_are_changes(repository: Path) -> None:
    git(repository, "switch", "-qc", "branch")
    (repository / "changed.py").write_text("2")
    git(repository, "commit", "-qam", "second")
    git(repository, "switch", "-q", "main")
    (repository / "changed.py").write_text("3")
    git(repository, "commit", "-qam", "third")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "branch")
    changed = checking.changed_files(root=repository)
    assert names(changed) == ["changed.py"]
    assert ImportGraph([repository]).distances(changed) == {repository / "changed.py": 0}


def test_changes_that_git_cannot_tell_stop_the_check(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"torn")
    with pytest.raises(DevError, match="git diff fails"):
        checking.changed_files("HEAD", repository)


def test_without_git_it_is_said_what_to_do(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(DevError, match="needs git"):
        checking.changed_files(root=repository)


def test_what_python_cannot_read_imports_nothing_and_hinders_nobody(tmp_path: Path) -> None:
    core, user = tmp_path / "core.py", tmp_path / "user.py"
    core.touch()
    user.write_text("import core")
    (tmp_path / "torn.py").write_text("<<<<<<< HEAD\nimport core\n")
    (tmp_path / "binary.py").write_bytes(b"import core\0\xff")
    (tmp_path / ".#edited.py").symlink_to("nowhere")
    (tmp_path / "folder.py").mkdir()
    assert ImportGraph([tmp_path]).distances([core, tmp_path / "torn.py"]) == {
        core: 0,
        tmp_path / "torn.py": 0,
        user: 1,
    }


def test_imports_packages_programs_and_conftests_are_followed(tmp_path: Path) -> None:
    files = {
        "code/app/__init__.py": "",
        "code/app/core.py": "",
        "code/app/near.py": "from app import core",
        "code/app/far.py": "from . import near",
        "code/app/started.py": "",
        "code/app/other.py": "import app.missing",
        "code/user.py": "import subprocess\nsubprocess.run(['python', '-m', 'app.started'])",
    }
    for name, content in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    graph = ImportGraph([tmp_path / "code"])
    app = tmp_path / "code" / "app"
    assert graph.distances([app / "core.py"]) == {app / "core.py": 0, app / "near.py": 1, app / "far.py": 2}
    assert graph.distances([app / "started.py"]) == {app / "started.py": 0, tmp_path / "code" / "user.py": 1}
    assert graph.distances([app / "__init__.py"])[app / "other.py"] == 1
    assert not graph.knows(tmp_path / "README.md")


def test_a_test_rests_on_the_conftests_of_its_folders(graph: ImportGraph) -> None:
    distances = graph.distances([ROOT / "tests/integration/conftest.py"])
    assert distances[ROOT / "tests/integration/leases/test_store.py"] == 1
    assert ROOT / "tests/contract/predicates/test_no_row_is_ever_missed.py" not in distances


def chosen(choice: checking.Choice) -> dict[str, tuple[str, ...]]:
    return {section.name: section.commands[0] for section in choice.sections}


def test_a_change_of_the_runner_runs_its_tests_and_none_that_do_not_rest_on_it(graph: ImportGraph) -> None:
    choice = checking.choose([ROOT / "tests/integration/runner/test_driver.py"], {}, graph)
    commands = chosen(choice)
    assert commands.keys() == {"lint", "runner"}
    assert commands["runner"][:2] == ("pytest", "tests/integration/runner/test_driver.py")
    assert choice.left_out == ()


def test_tests_that_take_long_do_not_take_the_time_of_quick_ones(graph: ImportGraph) -> None:
    store = ROOT / "operator/sluice/leases/store.py"
    long = {
        file.relative_to(ROOT).as_posix(): 1_000.0 for file in ROOT.glob("tests/integration/**/test_*.py")
    }
    choice = checking.choose([store], long, graph)
    assert "unit" in chosen(choice)
    assert "integration" not in chosen(choice)
    assert ROOT / "tests/integration/leases/test_store.py" in choice.left_out


def test_of_the_nearest_the_quickest_come_first_and_what_does_not_fit_is_told(
    graph: ImportGraph,
) -> None:
    store = ROOT / "operator/sluice/leases/store.py"
    machine, races = (f"tests/integration/leases/test_{name}.py" for name in ("machine", "store"))
    choice = checking.choose([store], {machine: 1.0, races: checking.SLOW_SECONDS}, graph)
    assert machine in chosen(choice)["integration"]
    assert ROOT / races in choice.left_out
    choice = checking.choose([store], {machine: 1.0, races: checking.SLOW_SECONDS / 2}, graph)
    assert {machine, races} <= set(chosen(choice)["integration"])


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("README.md", "tests/unit/cli/test_readme.py"),
        ("docs/decisions/README.md", "tests/unit/docs/test_decisions.py"),
        ("crds/deltatablepolicies.yaml", "tests/unit/kube/test_definitions.py"),
        ("examples/explain/that-was-deleted.yaml", "tests/unit/cli/test_readme.py"),
    ],
)
def test_a_file_that_no_import_leads_to_is_told_and_those_tests_come_first_that_name_it_or_its_folder(
    graph: ImportGraph, changed: str, test: str
) -> None:
    choice = checking.choose([ROOT / changed], {}, graph)
    assert choice.unknown == (ROOT / changed,)
    assert test in chosen(choice)["unit"][1:20]
    assert choice.left_out


def test_every_file_of_the_project_leads_to_a_test_but_those_that_only_start_others(
    graph: ImportGraph,
) -> None:
    untested = [
        file.relative_to(ROOT).as_posix()
        for root in IMPORT_ROOTS
        for file in sorted(root.rglob("*.py"))
        if file.read_text(encoding="utf-8").strip()
        and not any(user.name.startswith("test_") for user in graph.distances([file]))
    ]
    assert untested == UNTESTED


def test_a_file_from_which_no_test_is_reached_is_told(graph: ImportGraph) -> None:
    lonely = ROOT / UNTESTED[0]
    assert checking.choose([lonely], {}, graph).unknown == (lonely,)
