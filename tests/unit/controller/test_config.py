"""Every mistake in the operator's configuration is named with its place, before anything starts."""

from pathlib import Path

import pytest

from sluice.controller.config import ConfigError, load
from sluice.lifecycle.durations import seconds

GOOD = "runtimes: {default: {sparkVersion: 4.2.0}}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must be a mapping of fields: deployment, "),
        ("[]", "must be a mapping of fields: deployment, "),
        ("a: [", "is not YAML"),
        ("runtimes: {}", "runtimes"),
        ("runtimes: {other: {sparkVersion: 4.2.0}}", "runtimes.default"),
        ("runtimes: {default: {}}", "runtimes.default.sparkVersion"),
        (GOOD + "redisURL: redis://x", "redisURL"),
        (GOOD + "deployment: Not A Name", "deployment"),
        (GOOD + "redisUrl: http://example", "redisUrl"),
        (GOOD + "apiQps: -1", "apiQps"),
        (GOOD + "apiQps: .inf", "apiQps"),
        (GOOD + "apiBurst: 0", "apiBurst"),
        (
            "runtimes: {default: {sparkVersion: 4.2.0, driver: {cores: many}}}",
            "runtimes.default.driver.cores",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load(file)
    assert says in str(error.value)
    assert str(file) in str(error.value)


def test_a_mistake_is_told_in_the_words_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text("httpAdress: off\nwatchNamespaces: team\n", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load(file)
    assert set(str(error.value).removeprefix(f"{file}: ").split("; ")) == {
        "httpAdress: there is no such field, but httpAddress",
        "watchNamespaces: must be a list",
        "runtimes: is required",
    }


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        load(tmp_path / "absent.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ConfigError, match=r"binary\.yaml"):
        load(tmp_path / "binary.yaml")


def test_the_environment_names_redis_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(GOOD, encoding="utf-8")
    assert load(file).redis_url.startswith("redis://127.0.0.1")
    monkeypatch.setenv("SLUICE_REDIS_URL", "rediss://elsewhere:6380/1")
    assert load(file).redis_url == "rediss://elsewhere:6380/1"
    monkeypatch.setenv("SLUICE_REDIS_URL", "elsewhere:6380")
    with pytest.raises(ConfigError, match="SLUICE_REDIS_URL"):
        load(file)


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2h", 7200), ("1m1m", 120), ("0s", 0)]
)
def test_durations_are_read_as_they_are_written(text: str, expected: int) -> None:
    assert seconds(text) == expected
