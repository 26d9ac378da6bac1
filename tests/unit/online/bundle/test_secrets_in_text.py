"""What is taken for a secret in a text that may be anything, and what must stay so that the text can be read."""

import time

import pytest

from sluice.online.bundle.secrets_in_text import is_called_secret, without_secrets


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=hunter2 x", "password=*** x"),
        ('{"db.password": "hun ter2", "a": 1}', '{"db.password": "***", "a": 1}'),
        (r'{"a":"{\"password\":\"hun\"}"}', r'{"a":"{\"password\":\"***\"}"}'),
        ("redis://:hunter2@host:6379/0", "redis://***@host:6379/0"),
        ("redis://:hun/ter2@host:6379/0", "redis://***@host:6379/0"),
        ("jdbc:postgresql://u:hunter2@db/x", "jdbc:postgresql://***@db/x"),
        ("s3a://AKIA:abc@bucket/k", "s3a://***@bucket/k"),
        ("https://x/y?sv=1&sig=abc%2Fdd&z=1", "https://x/y?sv=1&sig=***&z=1"),
        ("submit --db-password hunter2 -v", "submit --db-password *** -v"),
        ("OPTIONS (password 'hunter2', url 'x')", "OPTIONS (password '***', url 'x')"),
        ("OPTIONS (`password` 'hunter2')", "OPTIONS (`password` '***')"),
        ("https://ghp9token@github.com/x.git", "https://***@github.com/x.git"),
        ("Authorization: Bearer abcdefghijk", "Authorization: Bearer ***"),
        ("spark.hadoop.fs.s3a.secret.key=hunter2", "spark.hadoop.fs.s3a.secret.key=***"),
        ("fs.azure.account.key.acc.dfs.core.windows.net: abcd==", "fs.azure.account.key.acc.dfs.core.windows.net: ***"),
        ("AccountKey=abc==;Endpoint=x", "AccountKey=***;Endpoint=x"),
        ("got AKIAABCDEFGHIJKLMNOP there", "got *** there"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nafter", "***\nafter"),
        ("-----BEGIN PRIVATE KEY-----\nabc\nand it was cut", "***"),
        ("password: hunter2\nuser: bob", "password: ***\nuser: bob"),
        ("password=12345678", "password=***"),
        ("PGPASS=hunter2 db.pass: hunter2 keyStorePass=hunter2", "PGPASS=*** db.pass: *** keyStorePass=***"),
        ("--db-pass hunter2 --pw hunter2", "--db-pass *** --pw ***"),
        ("accountkey=abc== storageKey=abc== creds=abc", "accountkey=*** storageKey=*** creds=***"),
    ],
)  # fmt: skip
def test_a_secret_is_left_out_of_a_text(text: str, left: str) -> None:
    assert without_secrets(text) == left
    assert without_secrets(left) == left, "and nothing more a second time"


@pytest.mark.parametrize(
    "text",
    [
        "abfss://container@account.dfs.core.windows.net/orders",
        "spark://CoarseGrainedScheduler@10.0.0.1:7078",
        'granted token 17179869184 to etl/nightly, {"token": 17179869184}',
        "fs.s3a.aws.credentials.provider=org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "secretKeyRef: {name: lake, key: password}",
        "the password was wrong",
        "bypass=true compass=north passed=3 passthrough: yes swap=1 kpws=2 pass 2 of 3",
        "--conf spark.executor.memory=4g",
        "waits for etl/other, which runs on s3://lake/orders",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize("name", ["DB_PASSWORD", "spark.hadoop.fs.s3a.access.key", "apiToken", "sas_token"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_called_secret(name)


@pytest.mark.parametrize(
    "name", ["secretName", "credentials.provider", "SLUICE_REDIS_PASSWORD_FILE", "memory"]
)
def test_what_says_only_where_a_secret_is_is_none(name: str) -> None:
    assert not is_called_secret(name)


@pytest.mark.parametrize(
    "part",
    ["a", "password", "a.b-", "://a:", "-", "eyJ", "-----BEGIN PRIVATE KEY-----", "password='", "s3://", "--token", '\\"'],
)  # fmt: skip
def test_no_text_takes_the_square_of_its_length(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part))
        began = time.process_time()
        without_secrets(text)
        return time.process_time() - began

    short, long = seconds(20_000), seconds(200_000)
    assert long < 40 * short + 0.2, f"{short:.3f} s, and {long:.3f} s for ten times as much"
