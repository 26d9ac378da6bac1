"""A secret is left out of a text however the text writes it; what is no secret stays."""

from __future__ import annotations

import html
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner.secrets_in_text import Mask, secret_by_name

SECRET = "p4ss\"wörd\\/&%+=#x'9 z"


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(SECRET))[3:-3],
        urllib.parse.quote(SECRET, safe=""),
        urllib.parse.quote(SECRET, safe="").lower().replace("w%c3%b6rd", "w%C3%B6rd"),
        urllib.parse.quote_plus(SECRET),
        urllib.parse.quote(urllib.parse.quote(SECRET, safe=""), safe=""),
        html.escape(SECRET),
        SECRET.replace("'", "''"),
        repr(SECRET)[1:-1],
        SECRET.replace("ö", "?"),
        SECRET.replace("ö", "\ufffd"),
    ],
)
def test_a_secret_is_found_however_it_is_written(written: str) -> None:
    assert Mask([SECRET])(f"connect to x;password={written};ssl failed") == (
        "connect to x;password=***;ssl failed"
    )


@pytest.mark.parametrize("end", ["", "\n", "...", "…", " ..."])
@pytest.mark.parametrize("length", range(4, 32))
def test_a_secret_that_is_cut_is_found_where_a_text_ends(length: int, end: str) -> None:
    secret = "hunter2-is-no-password-for-4711-x"
    assert Mask([secret])(f"refused: {secret[:length]}{end}").startswith("refused: ***")
    assert secret[:4] not in Mask([secret])(f"refused: {secret[:length]}{end}")


@pytest.mark.parametrize("at", range(24))
def test_a_piece_of_a_secret_is_found_anywhere(at: int) -> None:
    secret = "hunter2-is-no-password-for-4711-x"
    piece = secret[at : at + 9]
    assert piece not in Mask([secret])(f"got {piece} instead")


def test_each_line_of_a_key_is_found() -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", *(f"{n:04d}" * 16 + "Qx" for n in range(40)), "-----END"]
    mask = Mask(["\n".join(lines) + "\n"])
    for line in lines[1:-1]:
        assert line[:16] not in mask(f"read {line}")
        assert line[:16] not in mask(f"read {line[:40]}")
    assert mask("nothing of it") == "nothing of it"


def test_the_password_of_an_address_is_found_alone() -> None:
    mask = Mask(["jdbc:x://me:hunter22@db/shop?sslkey=k3y-4711&user=me"])
    assert mask("refused hunter22") == "refused ***"
    assert mask("no such key: k3y-4711!") == "no such key: ***!"


def test_what_is_no_secret_stays() -> None:
    mask = Mask([";", "", "abc"])
    assert mask.pattern is None
    assert mask("a;b abc") == "a;b abc"
    assert Mask(["hunter2-4711"])("a hunter came to town 2") == "a hunter came to town 2"


def test_variables_that_are_called_secret_are_secrets() -> None:
    environment = {
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/token",
        "DB_PASSWORD": "short",
        "HOME": "/root/anything",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.example.Provider",
    }
    assert list(secret_by_name(environment)) == ["wJalrXUtnFEMI"]


@given(st.text(min_size=4, max_size=80), st.text(max_size=40), st.text(max_size=40))
def test_no_text_tells_a_secret(secret: str, before: str, after: str) -> None:
    mask = Mask([secret])
    if secret.strip() and len(secret.strip()) >= 4:
        assert secret.strip() not in mask(f"{before}{secret}{after}").replace("***", "")
        assert mask(json.dumps(secret)) != json.dumps(secret)
        assert mask(urllib.parse.quote(secret, safe="")) != urllib.parse.quote(secret, safe="")
