"""One URL says where Redis is and how to get in; what it does not say in a known way is refused, without a word of a password."""

from typing import Any

import pytest

from sluice.leases.endpoint import FOREIGN, UNREADABLE, Endpoint, EndpointError, Server, with_password

SENTINELS = (Server("one", 26379), Server("two", 26380))


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://redis", {"servers": (Server("redis", 6379),)}),
        ("redis://", {"servers": (Server("localhost", 6379),)}),
        ("redis://REDIS:6380/2", {"servers": (Server("redis", 6380),), "database": 2}),
        ("redis://[::1]:6380/", {"servers": (Server("[::1]", 6380),)}),
        ("redis://h?db=3", {"servers": (Server("h", 6379),), "database": 3}),
        (
            "redis://writer:p%40ss%2Fword@h",
            {"servers": (Server("h", 6379),), "user": "writer", "password": "p@ss/word"},
        ),
        ("redis://:a:b[c]@h", {"servers": (Server("h", 6379),), "password": "a:b[c]"}),
        ("redis://wr%C3%ADter@h", {"servers": (Server("h", 6379),), "user": "wríter"}),
        ("unix:///run/redis.sock?db=2", {"socket": "/run/redis.sock", "database": 2}),
        ("unix://:secret@/run/re%40dis.sock", {"socket": "/run/re@dis.sock", "password": "secret"}),
        (
            "redis://h?password_file=/etc/sluice-redis/password&socket_timeout=1.5",
            {
                "servers": (Server("h", 6379),),
                "password_file": "/etc/sluice-redis/password",
                "patience": {"socket_timeout": 1.5},
            },
        ),
        ("rediss://h", {"servers": (Server("h", 6379),), "tls": {}}),
        (
            "rediss://h?ssl_ca_certs=/ca.crt&ssl_check_hostname=0&ssl_cert_reqs=optional",
            {
                "servers": (Server("h", 6379),),
                "tls": {
                    "ssl_ca_certs": "/ca.crt",
                    "ssl_check_hostname": False,
                    "ssl_cert_reqs": "optional",
                },
            },
        ),
        (
            "rediss://h?ssl_certfile=/tls.crt&ssl_keyfile=/tls.key",
            {
                "servers": (Server("h", 6379),),
                "tls": {"ssl_certfile": "/tls.crt", "ssl_keyfile": "/tls.key"},
            },
        ),
        ("redis+sentinel://one,two:26380/lake", {"servers": SENTINELS, "master": "lake"}),
        ("redis+sentinel://one,two:26380/lake/4", {"servers": SENTINELS, "master": "lake", "database": 4}),
        (
            "rediss+sentinel://writer@[fd00::1],one/lake?sentinel_auth=1&password_file=/p",
            {
                "servers": (Server("[fd00::1]", 26379), Server("one", 26379)),
                "master": "lake",
                "user": "writer",
                "password_file": "/p",
                "sentinel_auth": True,
                "tls": {},
            },
        ),
    ],
)
def test_a_url_says_where_redis_is_and_how_to_get_in(url: str, says: dict[str, Any]) -> None:
    assert Endpoint.of(url) == Endpoint(**says)


@pytest.mark.parametrize(
    "url", ["", "redis", "redis:/h", "http://h", "h:6379", "sentinel://h/m", "REDIS ://h"]
)
def test_a_url_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(EndpointError) as error:
        Endpoint.of(url)
    assert str(error.value) == FOREIGN


@pytest.mark.parametrize(
    "url",
    [
        "redis://:sup3r/Half@h:6379/0",
        "redis://:1234/Half@h:6379/0",
        "redis://:1234#Half@h:6379/0",
        "redis://:1234?Half@h:6379/0",
        "redis://:sup3r@Half@h:6379/0",
        "redis://:%ff@h:6379/0",
        "redis://h:99999/0",
        "redis://h:0/0",
        "redis://h:Half/0",
        "redis://a h:1/0",
        "redis://[::1",
        "redis://h:6379/Half",
        "redis://h:6379/0/1",
        "redis://h:6379/999999",
        "redis://h:6379/0#Half",
        "redis://h:6379/0?Half",
        "redis://h:6379?db=Half",
        "redis://one,two/0",
        "unix://h/run/redis.sock",
        "unix://",
        "unix:///",
        "unix://:sup3r/Half@/run/redis.sock",
        "redis+sentinel://one:26379",
        "redis+sentinel://one:26379/",
        "redis+sentinel:///lake",
        "redis+sentinel://one,/lake",
        "redis+sentinel://one,:26380/lake",
        "redis+sentinel://one/lake/Half",
        "redis+sentinel://one/lake/1/2",
    ],
)
def test_what_cannot_be_read_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(EndpointError) as error:
        Endpoint.of(url)
    assert str(error.value) == UNREADABLE


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            "redis://h?retry_on_timeout=S3cret",
            "has an option that is not known, retry_on_timeout: there are db, ",
        ),
        ("redis://h?password=S3cret", "has an option that is not known, password: there are db, "),
        ("redis://h?S3cret=1", "has an option that is not known: there are db, "),
        (
            "redis://h?ssl_ca_certs=/S3cret",
            "has the option ssl_ca_certs, which is for rediss:// and rediss+sentinel:// alone",
        ),
        (
            "rediss://h?sentinel_auth=1",
            "has the option sentinel_auth, which is for redis+sentinel:// and rediss+sentinel:// alone",
        ),
        ("redis://h?db=", "has the option db without a value"),
        ("redis://h?db=1&db=2", "has one option twice"),
        ("redis://h/1?db=2", "names its database twice"),
        ("redis+sentinel://h/lake/1?db=2", "names its database twice"),
        ("redis+sentinel://h,H:26379/lake", "names one Sentinel twice"),
        ("redis://:S3cret@h?password_file=/p", "has a password and a password_file"),
        (
            "redis://h?password_file=S3cret",
            "has the option password_file, which must be a path that begins with a slash",
        ),
        (
            "rediss://h?ssl_ca_certs=S3cret",
            "has the option ssl_ca_certs, which must be a path that begins with a slash",
        ),
        ("rediss://h?ssl_keyfile=/S3cret", "has the option ssl_keyfile without ssl_certfile"),
        (
            "rediss://h?ssl_cert_reqs=S3cret",
            "has the option ssl_cert_reqs, which must be one of required, optional, none",
        ),
        ("rediss://h?ssl_check_hostname=S3cret", "has the option ssl_check_hostname, which must be 1 or 0"),
        (
            "redis+sentinel://h/lake?sentinel_auth=S3cret",
            "has the option sentinel_auth, which must be 1 or 0",
        ),
        *(
            (
                f"redis://h?socket_timeout={given}",
                "has the option socket_timeout, which must be a number of seconds",
            )
            for given in ("S3cret", "0", "-1", "nan", "inf", "61")
        ),
    ],
)
def test_an_option_that_is_not_known_or_cannot_be_is_named_without_its_value(url: str, says: str) -> None:
    with pytest.raises(EndpointError) as error:
        Endpoint.of(url)
    assert str(error.value).startswith(says)
    assert "S3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://user:secret@Redis:6380/2", "redis:6380/2"),
        ("rediss://redis", "redis:6379/0"),
        ("redis://redis/", "redis:6379/0"),
        ("redis://redis?db=3&password_file=/secret", "redis:6379/3"),
        ("redis://[::1]/1", "[::1]:6379/1"),
        ("unix:///run/redis.sock?db=1", "/run/redis.sock/1"),
        ("unix://:secret@/run/redis.sock", "/run/redis.sock/0"),
        ("redis+sentinel://user:secret@two:26380,ONE/lake", "one:26379,two:26380/lake/0"),
        ("rediss+sentinel://one:26379,two:26380/lake/0?sentinel_auth=1", "one:26379,two:26380/lake/0"),
    ],
)
def test_a_redis_is_named_alike_however_it_is_spelt_and_without_credentials(url: str, address: str) -> None:
    assert Endpoint.of(url).address == address


def test_an_endpoint_that_is_printed_shows_no_password() -> None:
    assert "S3cret" not in repr(Endpoint.of("redis://writer:S3cret@h"))


@pytest.mark.parametrize(
    ("url", "file", "with_it"),
    [
        ("redis://h:6379/0", "", "redis://:p%40ss%2Fword@h:6379/0"),
        ("redis://writer@h/1?db=", "", "redis://writer:p%40ss%2Fword@h/1?db="),
        ("redis://writer:@h", "", "redis://writer:@h"),
        ("redis://writer:known@h", "/p", "redis://writer:known@h"),
        ("redis://h?password_file=/known", "/p", "redis://h?password_file=/known"),
        ("redis://h?password_file=/known", "", "redis://h?password_file=/known"),
        ("redis://writer@h", "/p a", "redis://writer@h?password_file=/p%20a"),
        ("redis://h?", "/p", "redis://h?password_file=/p"),
        ("rediss://h?ssl_check_hostname=0", "/p", "rediss://h?ssl_check_hostname=0&password_file=/p"),
        ("unix:///run/redis.sock?db=2", "", "unix://:p%40ss%2Fword@/run/redis.sock?db=2"),
        ("redis+sentinel://a,b/lake", "", "redis+sentinel://:p%40ss%2Fword@a,b/lake"),
        ("redis+sentinel://u@a,b/lake", "/p", "redis+sentinel://u@a,b/lake?password_file=/p"),
        ("redis://:sup3r/Half@h", "/p", "redis://:sup3r/Half@h"),
    ],
)
def test_a_password_is_added_where_there_is_none(url: str, file: str, with_it: str) -> None:
    assert with_password(url, password="p@ss/word", file=file) == with_it


def test_nothing_is_added_where_there_is_nothing_to_add() -> None:
    assert with_password("redis://h", password="", file="") == "redis://h"
