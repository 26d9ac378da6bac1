"""Drivers' JVMs get an archive of classes where Java makes one, for the class path that it was made with."""

import shlex
from pathlib import Path

import pytest

from devenv.cache import Cache
from devenv.class_archive import ARCHIVE, BRIEF_JVM, ensure_jvm_options
from devenv.errors import DevError
from devenv.java import Java

MAKES_AN_ARCHIVE = """#!/bin/sh
echo "$*" >> "$0.calls"
mkdir lake local
touch "$(echo "$*" | sed 's/.*-XX:ArchiveClassesAtExit=\\([^ ]*\\).*/\\1/')"
"""
HAS_NO_CLASSES_OF_ITS_OWN = "#!/bin/sh\n"
FAILS = "#!/bin/sh\necho no such table; exit 1\n"
JARS = (Path("/jars/delta.jar"), Path("/jars/logstore.jar"))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    return tmp_path / "env"


@pytest.fixture
def java(tmp_path: Path) -> Java:
    return Java(tmp_path / "jdk", 17)


def submits(environment: Path, script: str) -> Path:
    program = environment / "bin" / "spark-submit"
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    return program


def test_the_archive_is_made_once_and_stands_alone(cache: Cache, java: Java, environment: Path) -> None:
    program = submits(environment, MAKES_AN_ARCHIVE)
    options = ensure_jvm_options(cache, java, environment, JARS).split()
    again = ensure_jvm_options(cache, java, environment, JARS).split()
    calls = program.with_name("spark-submit.calls").read_text(encoding="utf-8").splitlines()
    assert options == again
    assert len(calls) == 1
    assert "--conf=spark.driver.extraClassPath=/jars/delta.jar:/jars/logstore.jar" in calls[0]
    (archive,) = (Path(option.partition("=")[2]) for option in options if "SharedArchiveFile" in option)
    assert [file.name for file in archive.parent.iterdir()] == [ARCHIVE]
    assert options[: len(BRIEF_JVM)] == list(BRIEF_JVM)


def test_spaces_in_the_folders_name_stay_within_one_option(
    tmp_path: Path, java: Java, environment: Path
) -> None:
    program = submits(environment, """#!/bin/sh
for word; do case $word in *extraJavaOptions*) printf '%s\\n' "${word#*Options=}";; esac; done > "$0.options"
mkdir lake local; touch classes.jsa
""")  # fmt: skip
    folder = tmp_path / "my own cache"
    used = shlex.split(ensure_jvm_options(Cache(folder), java, environment, JARS))
    made = shlex.split(program.with_name("spark-submit.options").read_text(encoding="utf-8"))
    (read,) = (option.partition("=")[2] for option in used if "SharedArchiveFile" in option)
    (written,) = (option.partition("=")[2] for option in made if "ArchiveClassesAtExit" in option)
    assert Path(read).is_relative_to(folder)
    assert Path(written).is_relative_to(folder)


def test_another_class_path_has_another_archive(cache: Cache, java: Java, environment: Path) -> None:
    submits(environment, MAKES_AN_ARCHIVE)
    options = {ensure_jvm_options(cache, java, environment, jars) for jars in (JARS, JARS[:1])}
    assert len(options) == 2


def test_a_java_that_makes_none_goes_without(cache: Cache, java: Java, environment: Path) -> None:
    submits(environment, HAS_NO_CLASSES_OF_ITS_OWN)
    assert ensure_jvm_options(cache, java, environment, JARS) == " ".join(BRIEF_JVM)


def test_a_session_that_fails_is_told_with_its_words(cache: Cache, java: Java, environment: Path) -> None:
    submits(environment, FAILS)
    with pytest.raises(DevError, match=r"(?s)could not write a Delta table.*no such table"):
        ensure_jvm_options(cache, java, environment, JARS)
