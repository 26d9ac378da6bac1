"""What delta-rs passes on of a store's refusal becomes one cause and what to do; the texts are what it said of real servers."""

import pytest

from sluice.tables import key_of_path
from sluice.tables.store_errors import StoreTrouble, explained, trouble_of
from sluice.tables.table_access import bucket_of, why_unread


def said(status: str, answer: str, method: str = "GET", where: str = "http://127.0.0.1:10000/lake") -> str:
    """As delta-rs says it, with colours and arrows."""
    lines = (
        f"Error performing {method} {where} in 1.2ms - Server returned non-2xx status code",
        status,
        answer,
    )
    arrows = "".join(f"\n{' ' * depth}\x1b[31m↳\x1b[0m {line}" for depth, line in enumerate(lines, 10))
    return f"Kernel error -> Generic error{arrows}\n"


def xml(code: str, message: str = "words of the store") -> str:
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Error>\n  <Code>{code}</Code>\n  <Message>{message}</Message>\n</Error>'


SAID = {
    "aws no bucket": (said("404 Not Found", xml("NoSuchBucket")), StoreTrouble.NO_BUCKET),
    "aws expired": (said("400 Bad Request", xml("ExpiredToken")), StoreTrouble.CREDENTIALS_REFUSED),
    "aws signature": (said("403 Forbidden", xml("SignatureDoesNotMatch")), StoreTrouble.CREDENTIALS_REFUSED),
    "aws denied": (said("403 Forbidden", xml("AccessDenied")), StoreTrouble.ACCESS_DENIED),
    "aws denied without words": (said("403 Forbidden", ""), StoreTrouble.ACCESS_DENIED),
    "aws clock": (said("403 Forbidden", xml("RequestTimeTooSkewed")), StoreTrouble.CLOCK_SKEWED),
    "aws region": (said("400 Bad Request", xml("AuthorizationHeaderMalformed")), StoreTrouble.WRONG_REGION),
    "aws busy": (said("503 Service Unavailable", xml("SlowDown")), StoreTrouble.STORE_BUSY),
    "aws broken": (said("500 Internal Server Error", xml("InternalError")), StoreTrouble.STORE_FAILS),
    "aws no metadata service": (
        said("403 Forbidden", "", "PUT", "http://169.254.169.254/latest/api/token"),
        StoreTrouble.NO_CREDENTIALS,
    ),
    "aws role": (
        said("403 Forbidden", xml("AccessDenied", "Not authorized to perform sts"), "POST", "REDACTED"),
        StoreTrouble.IDENTITY_REFUSED,
    ),
    "azure no container": (said("404 Not Found", xml("ContainerNotFound")), StoreTrouble.NO_BUCKET),
    "azure key": (
        said("403 Forbidden", xml("AuthorizationFailure", "Server failed to authenticate the request.")),
        StoreTrouble.CREDENTIALS_REFUSED,
    ),
    "azure malformed key": (
        "Generic MicrosoftAzure error\n ↳ Invalid Access Key\n  ↳ Invalid symbol 32, offset 3.",
        StoreTrouble.CREDENTIALS_UNUSABLE,
    ),
    "azure role": (
        said("403 Forbidden", xml("AuthorizationPermissionMismatch")),
        StoreTrouble.ACCESS_DENIED,
    ),
    "azure token": (
        said("401 Unauthorized", xml("InvalidAuthenticationInfo")),
        StoreTrouble.CREDENTIALS_REFUSED,
    ),
    "azure identity": (
        said(
            "400 Bad Request",
            '{"error":"unauthorized_client","error_description":"AADSTS700016: ..."}',
            "POST",
        ),
        StoreTrouble.IDENTITY_REFUSED,
    ),
    "azure no metadata service": (
        said("403 Forbidden", "", "GET", "http://169.254.169.254/metadata/identity/oauth2/token?x=y"),
        StoreTrouble.NO_CREDENTIALS,
    ),
    "google no bucket": (
        said("404 Not Found", '{"error":{"code":404,"message":"The specified bucket does not exist."}}'),
        StoreTrouble.NO_BUCKET,
    ),
    "google denied": (
        said("403 Forbidden", '{"error":{"message":"x does not have storage.objects.list access"}}'),
        StoreTrouble.ACCESS_DENIED,
    ),
    "google federated": (
        "Generic GCS error\n ↳ Unable to decode service account file\n  ↳ unknown variant `external_account`",
        StoreTrouble.CREDENTIALS_UNUSABLE,
    ),
    "google no file": (
        "Generic GCS error\n ↳ Unable to open service account file from /x.json\n  ↳ No such file or directory",
        StoreTrouble.CREDENTIALS_UNUSABLE,
    ),
    "no host": (
        "Generic S3 error\n ↳ HTTP error\n  ↳ error sending request\n   ↳ client error (Connect)\n    ↳ dns error",
        StoreTrouble.STORE_SILENT,
    ),
}


@pytest.mark.parametrize(("text", "trouble"), SAID.values(), ids=SAID.keys())
def test_what_a_store_says_has_one_cause(text: str, trouble: StoreTrouble) -> None:
    error = OSError(text)
    assert trouble_of(error) is trouble
    assert (explained(error, "lake") or "").startswith(f"{trouble}: ")


@pytest.mark.parametrize(
    "text",
    ["Kernel error: No table metadata or protocol found in delta log.", "Invalid Checkpoint: 500 files"],
)
def test_what_a_log_holds_is_no_trouble_of_its_store(text: str) -> None:
    assert trouble_of(OSError(text)) is None


def test_a_reason_names_table_cause_cure_and_the_stores_own_words_in_one_line() -> None:
    table = key_of_path("s3://lake/orders")
    why = why_unread(table, OSError(said("404 Not Found", xml("NoSuchBucket"))))
    assert why == (
        "the log of s3://lake/orders cannot be read: NoBucket: there is no bucket or container lake in this store: correct the "
        "table's location, or the endpoint that is set (NoSuchBucket: words of the store)"
    )


def test_a_store_with_words_of_its_own_is_quoted() -> None:
    table = key_of_path("s3://lake/orders")
    why = why_unread(table, OSError(said("418 I'm a teapot", xml("TeaTime"))))
    assert "cannot be read: TeaTime: words of the store: " in why


def test_a_cause_stands_where_repeated_troubles_are_compared() -> None:
    """Two reads that fail alike are one trouble, whatever times and numbers of requests stores put into their messages."""
    table = key_of_path("s3://lake/orders")
    one, other = (
        why_unread(table, OSError(said("403 Forbidden", xml("AccessDenied", message))))
        for message in ("a", "b")
    )
    assert one != other
    assert one[:120] == other[:120]


@pytest.mark.parametrize(
    ("path", "bucket"),
    [
        ("s3://lake/orders", "lake"),
        ("abfss://lake@account.dfs.core.windows.net/orders", "lake"),
        ("gs://lake/a/b", "lake"),
    ],
)
def test_a_bucket_or_a_container_is_named(path: str, bucket: str) -> None:
    assert bucket_of(key_of_path(path)) == bucket
