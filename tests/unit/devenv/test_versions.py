"""What the system has is judged by its version, not by its presence."""

import pytest

from devenv import golang, java


@pytest.mark.parametrize(
    ("text", "enough"),
    [
        ("go version go1.26.8 linux/amd64", True),
        ("go version go1.27 linux/arm64", True),
        ("go version go1.19.8 linux/amd64", False),
        ("bash: go: command not found", False),
    ],
)
def test_go_is_taken_from_1_26_on(text: str, enough: bool) -> None:
    assert (golang.version_in(text) >= golang.NEEDED) is enough


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_292"', 1),
        ("", None),
    ],
)
def test_javas_major_version_is_read(text: str, version: int | None) -> None:
    assert java.version_in(text) == version
