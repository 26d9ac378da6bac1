"""What goes into an image decides its name, and the Containerfiles are what they are said to be."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from devenv import images, jars
from devenv.cache import Cache
from devenv.debian_image import make_slim
from devenv.images import (
    ENGINE,
    OPERATOR,
    RECIPES,
    REDIS,
    SPARK,
    SPARK35,
    Image,
    Recipe,
    contents,
    ensure_compressed_size,
    image_name,
    key,
    spark_image,
)
from devenv.locks import ENVIRONMENTS
from devenv.python_env import lock_of

FILES = ("Containerfile", "requirements.txt", "runner/run.py", "runner/src/sluice_runner/main.py")
SLIM = (REDIS, SPARK, OPERATOR)
ALL = (*RECIPES, SPARK35)
PAIRS = ((SPARK, "4.2", jars.SPARK42), (SPARK35, "3.5", jars.SPARK35))
STORES = ("aws", "azure", "gcs")


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return Recipe("a", tmp_path / "Containerfile", tmp_path, ("requirements.txt", "runner"))


def text(recipe: Recipe) -> str:
    return recipe.containerfile.read_text()


def copied_from_the_context(recipe: Recipe) -> set[str]:
    chosen = re.sub(r"\$\{(\w+)\}", lambda name: dict(recipe.chosen).get(name[1], name[0]), text(recipe))
    lines = re.findall(r"^COPY (?!--from)(.+)$", chosen, re.MULTILINE)
    return {source for line in lines for source in line.split()[:-1]}


@pytest.mark.parametrize("changed", FILES)
def test_a_change_in_any_file_is_another_image(recipe: Recipe, changed: str) -> None:
    before = key(recipe)
    (recipe.context / changed).write_text("changed")
    assert key(recipe) != before


def test_a_new_file_is_another_image(recipe: Recipe) -> None:
    before = key(recipe)
    (recipe.context / "runner" / "src" / "sluice_runner" / "more.py").touch()
    assert key(recipe) != before


def test_a_renamed_file_is_another_image(recipe: Recipe) -> None:
    before = key(recipe)
    (recipe.context / "runner" / "run.py").rename(recipe.context / "runner" / "go.py")
    assert key(recipe) != before


def test_what_python_leaves_behind_and_files_that_are_not_copied_change_nothing(recipe: Recipe) -> None:
    before = key(recipe)
    (recipe.context / "runner" / "__pycache__").mkdir()
    (recipe.context / "runner" / "__pycache__" / "run.pyc").touch()
    (recipe.context / "notes").touch()
    assert key(recipe) == before


def test_an_image_that_is_built_on_a_changed_one_is_another(recipe: Recipe, tmp_path: Path) -> None:
    upper = replace(recipe, name="upper", copied=(), built_on=(("BASE", recipe),))
    before = image_name(upper)
    (tmp_path / "runner" / "run.py").write_text("changed")
    assert image_name(upper) != before


def test_a_variant_is_an_image_of_its_own(recipe: Recipe) -> None:
    chosen = {key(replace(recipe, chosen=(("STORES", stores),))) for stores in ("aws", "gcs")}
    assert len({key(recipe), *chosen}) == 3


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.name)
def test_the_context_holds_what_the_containerfile_copies_and_nothing_else(recipe: Recipe) -> None:
    held = contents(recipe)
    sources = copied_from_the_context(recipe)
    for source in sources:
        assert any(f"{name}/".startswith(f"{source.rstrip('/')}/") for name in held), source
    unread = {name for name in held if not any(f"{name}/".startswith(f"{s.rstrip('/')}/") for s in sources)}
    assert unread <= {"runner/pyproject.toml"}


def test_whoever_builds_the_operators_image_by_hand_sends_the_same_files() -> None:
    lines = (OPERATOR.context / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in lines if line.startswith("!")} == set(OPERATOR.copied)
    assert "**/__pycache__" in lines
    assert "**/__pycache__" in (SPARK.context / ".dockerignore").read_text().splitlines()


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.name)
def test_every_build_argument_that_names_an_image_is_given(recipe: Recipe) -> None:
    named = set(re.findall(r"^FROM \$\{(\w+)\}", text(recipe), re.MULTILINE))
    assert named == {argument for argument, _ in recipe.built_on or (("BASE", SPARK),)}


@pytest.mark.parametrize("recipe", SLIM, ids=lambda recipe: recipe.name)
def test_whoever_builds_begins_with_slim_debian_and_ends_as_a_user_by_number(recipe: Recipe) -> None:
    assert "ARG BASE=debian:bookworm-slim\n" in text(recipe)
    user = re.findall(r"^USER (.+)$", text(recipe), re.MULTILINE)[-1]
    assert int(user.partition(":")[0]) > 0
    assert text(recipe).count("apt-get -q update") == text(recipe).count("apt-get -q -y")


def test_the_engine_runs_as_the_user_of_the_spark_image() -> None:
    assert "USER" not in text(ENGINE)


def test_the_runner_lies_beside_the_file_that_applications_name() -> None:
    assert {"runner/run.py", "runner/src/sluice_runner/main.py"} <= contents(SPARK).keys()
    assert "COPY runner/run.py /ours/opt/sluice/run.py\nCOPY runner/src/ /ours/opt/sluice/\n" in text(SPARK)


def test_programs_of_a_users_own_find_the_runners_package() -> None:
    """spark-submit puts what the environment has behind its own."""
    assert re.search(r"^ENV .*(?:\\\n.*)*\bPYTHONPATH=/opt/sluice\b", text(SPARK), re.MULTILINE)


def pinned(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)", file.read_text(), re.MULTILINE))


@pytest.mark.parametrize(("recipe", "version", "pair"), PAIRS)
def test_every_requirement_of_a_spark_image_is_pinned_by_hashes_in_the_version_of_the_tests(
    recipe: Recipe, version: str, pair: jars.SparkPair
) -> None:
    file = recipe.context / "versions" / version / "requirements.txt"
    held, lines = pinned(file), file.read_text().splitlines()
    tested = pinned(lock_of(pair.environment))
    assert held["pyspark"] == tested["pyspark"]
    assert held["delta-spark"] == tested["delta-spark"] == pair.delta.coordinates.rpartition(":")[2]
    assert held["pyspark"].startswith(f"{version}.")
    for place, line in enumerate(lines):
        if "==" in line:
            assert lines[place + 1].strip().startswith("--hash=sha256:"), line


def test_both_pairs_choose_by_one_argument_and_the_first_is_taken_without_it() -> None:
    assert [recipe.chosen for recipe, _, _ in PAIRS] == [(("SPARK", "4.2"),), (("SPARK", "3.5"),)]
    assert "\nARG SPARK=4.2\n" in text(SPARK)
    assert {path.name for path in jars.VERSIONS.iterdir()} == {"4.2", "3.5"}


def test_the_operators_image_holds_the_versions_that_the_tests_ran_with() -> None:
    pins = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    tested = set(pins.findall(lock_of("main").read_text()))
    held = set(pins.findall(lock_of("operator").read_text()))
    assert {"deltalake", "kopf", "kubernetes", "redis", "sqlglotc"} <= {name for name, _ in held}
    assert held <= tested
    assert list(ENVIRONMENTS).index("main") < list(ENVIRONMENTS).index("operator")


def test_the_image_and_the_tests_fetch_the_same_jars() -> None:
    assert jars.SPARK42.delta.coordinates == "io.delta:delta-spark_4.2_2.13:4.4.0"
    assert jars.SPARK35.delta.coordinates == "io.delta:delta-spark_2.12:3.3.3"
    assert jars.ECLIPSE_COMPILER.coordinates.startswith("org.eclipse.jdt:ecj:")
    assert jars.KAFKA.coordinates == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    of_parts = ("spark.sluice.store.$store", "spark.sluice.source.$source")
    for setting in ("spark.jars.packages", "spark.sluice.compiler", *of_parts):
        assert re.search(rf'coordinates "?{re.escape(setting)}"?\)', text(SPARK)), setting


@pytest.mark.parametrize("version", ["4.2", "3.5"])
def test_the_build_reads_the_coordinates_as_the_tests_read_them(version: str) -> None:
    (script,) = re.findall(r"coordinates\(\) \{ (.+); \}", text(SPARK))
    for name, value in jars.properties(jars.pins(version).read_text()).items():
        command = script.replace("/build/delta.conf", str(jars.pins(version))).replace("$1", name)
        read = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)
        assert read.stdout == f"{value}\n"


@pytest.mark.parametrize("version", ["4.2", "3.5"])
def test_every_version_knows_every_store_of_the_default(version: str) -> None:
    settings = jars.properties(jars.pins(version).read_text())
    known = {name.removeprefix("spark.sluice.store.") for name in settings if "sluice.store" in name}
    assert known == set(STORES)
    assert f'ARG STORES="{" ".join(STORES)}"\n' in text(SPARK)


def test_the_connector_is_of_the_version_of_spark() -> None:
    pinned = (SPARK.context / "versions" / "4.2" / "requirements.txt").read_text()
    assert f"pyspark=={jars.KAFKA.coordinates.rpartition(':')[2]} " in pinned
    assert 'ARG SOURCES=""\n' in text(SPARK)


@pytest.mark.parametrize("version", ["4.2", "3.5"])
def test_hadoops_drivers_are_of_the_version_of_sparks_hadoop(version: str) -> None:
    settings = jars.properties(jars.pins(version).read_text())
    fetched = ",".join(settings[f"spark.sluice.store.{store}"] for store in STORES)
    hadoop = {part.rpartition(":")[2] for part in fetched.split(",") if part.startswith("org.apache.hadoop:")}
    assert hadoop == {"3.5.0" if version == "4.2" else "3.3.4"}
    assert "org.apache.hadoop:hadoop-c*" in settings["spark.jars.excludes"]


def test_s3_is_another_spelling_of_s3a_in_the_image() -> None:
    site = ElementTree.parse(SPARK.context / "hadoop" / "core-site.xml")  # noqa: S314 - our own file
    said = {item.findtext("name"): item.findtext("value") for item in site.iter("property")}
    assert said == {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
    }
    assert "COPY hadoop/ /ours/opt/hadoop/conf/\n" in text(SPARK)
    assert "HADOOP_CONF_DIR=/opt/hadoop/conf" in text(SPARK)


@pytest.mark.parametrize("hadoop", [None, "/opt/hadoop/conf"])
def test_executors_read_the_settings_that_drivers_read(tmp_path: Path, hadoop: str | None) -> None:
    (tmp_path / "java").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "java").chmod(0o755)
    variables = (
        *("SPARK_DRIVER_URL", "SPARK_EXECUTOR_ID", "SPARK_EXECUTOR_CORES", "SPARK_APPLICATION_ID"),
        *("SPARK_EXECUTOR_POD_IP", "SPARK_RESOURCE_PROFILE_ID", "SPARK_EXECUTOR_POD_NAME"),
    )
    environment = {
        **dict.fromkeys(variables, "x"),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SPARK_HOME": "/opt/spark",
        "SPARK_EXECUTOR_MEMORY": "1g",
        "SPARK_JAVA_OPT_0": "-Da=b c",
        **({} if hadoop is None else {"HADOOP_CONF_DIR": hadoop}),
    }
    entrypoint = ["sh", str(SPARK.context / "entrypoint.sh"), "executor"]
    said = subprocess.run(entrypoint, env=environment, check=True, capture_output=True, text=True).stdout
    given = said.splitlines()
    assert given[0] == "-Da=b c"
    folders = "/opt/spark/conf" if hadoop is None else f"/opt/spark/conf:{hadoop}"
    assert given[given.index("-cp") + 1] == f"{folders}:/opt/spark/jars/*"


def test_stores_can_be_chosen_by_name() -> None:
    narrow = spark_image("spark-aws", "4.2", STORES="aws")
    assert narrow.chosen == (("SPARK", "4.2"), ("STORES", "aws"))
    assert contents(narrow).keys() == contents(SPARK).keys()


def test_properties_are_read_as_java_reads_them() -> None:
    assert jars.properties("# no\n\na.b   one two\nc \\\n  x,\\\n  y\n") == {"a.b": "one two", "c": "x,y"}


def test_the_images_used_last_are_kept_beside_the_new_one(tmp_path: Path) -> None:
    for age, name in enumerate(("a", "b", "c", "d", ".unfinished-e")):
        (tmp_path / name).mkdir()
        (tmp_path / name / images.ARCHIVE).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    images.forget_old(tmp_path)
    assert {folder.name for folder in tmp_path.iterdir()} == {"a", "b", ".unfinished-e"}


def test_the_compressed_size_of_an_image_is_counted_once(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    archive = tmp_path / "image.tar"
    archive.write_bytes(bytes(100_000))

    def count(archive: Path) -> int:
        counted.append(archive)
        return archive.stat().st_size

    monkeypatch.setattr(images, "ensure_image", lambda _, recipe: Image(recipe.name, archive))
    monkeypatch.setattr(images, "compressed", count)
    sizes = [ensure_compressed_size(Cache(tmp_path / "cache"), recipe) for _ in range(2)]
    (recipe.context / FILES[0]).write_text("changed")
    ensure_compressed_size(Cache(tmp_path / "cache"), recipe)
    assert (sizes, counted) == ([100_000, 100_000], [archive, archive])


def test_debian_is_made_slim_and_keeps_its_licenses(tmp_path: Path) -> None:
    gone = (
        "usr/share/man/man1/ls.1.gz",
        "usr/share/locale/de/x.mo",
        "usr/share/doc/ls/changelog",
        "var/cache/apt/archives/a.deb",
        "var/lib/apt/lists/b",
    )
    kept = ("usr/share/doc/ls/copyright", "usr/bin/ls", "var/lib/dpkg/status")
    for name in (*gone, *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "usr/share/man/man1/link").symlink_to("nowhere")
    make_slim(tmp_path)
    left = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if not file.is_dir()}
    assert left == {*kept, "etc/dpkg/dpkg.cfg.d/slim"}
