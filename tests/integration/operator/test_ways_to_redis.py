"""The operator behind Sentinels, with a password that changes, and with a Redis that it cannot use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from integration.leases.redis_process import RedisProcess, running_redis
from integration.leases.sentinels import Watched, watched_redis
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append, rewrite
from integration.waiting import eventually


@pytest.fixture
def watched(redis_program: Path, tmp_path: Path) -> Iterator[Watched]:
    with watched_redis(redis_program, tmp_path / "watched") as made:
        yield made


def test_a_master_that_dies_is_followed_and_grants_nothing_twice(
    cluster: Played, operators: StartOperator, watched: Watched
) -> None:
    former, heir = watched.servers
    operator = operators(redisUrl=watched.url)
    operator.says("the lease table was rebuilt with 0 leases")
    holder = cluster.apply("holder", rewrite("/lake/followed"))
    driver = cluster.start("holder")
    cluster.reaches("holder", "Running")
    former.service.kill()
    waiter = cluster.apply("waiter", rewrite("/lake/followed"))
    free = cluster.apply("free", rewrite("/lake/elsewhere"))
    operator.says("the lease table was rebuilt with 1 leases")
    eventually(lambda: cluster.applications_of(free), "what conflicts with nobody goes on")
    cluster.reaches("waiter", "Waiting")
    assert cluster.applications_of(waiter) == []
    assert watched.master() is heir
    with watched.client(heir) as asked:
        assert set(asked.hkeys("sluice:{sluice}:leases")) == {f"{holder}/1", f"{free}/1"}
    driver.succeeds("file:/lake/followed")
    cluster.reaches("holder", "Succeeded")
    cluster.start("waiter").succeeds("file:/lake/followed", 2)
    cluster.reaches("waiter", "Succeeded")
    assert all("exception" not in entry for entry in operator.entries())


def test_a_password_that_changes_in_its_file_counts_without_a_restart(
    cluster: Played, operators: StartOperator, redis: RedisProcess, tmp_path: Path
) -> None:
    def change(former: str | None, password: str) -> None:
        with Redis(port=redis.port, password=former) as asked:
            asked.config_set("requirepass", password)
            asked.client_kill_filter(skipme=True)

    file = tmp_path / "password"
    file.write_text("first", encoding="utf-8")
    change(None, "first")
    operator = operators(environment={"SLUICE_REDIS_PASSWORD_FILE": str(file)})
    operator.says("the lease table was rebuilt")
    change("first", "second")
    told = cluster.operator_tells("LeaseTableUsable", "False")
    assert told["reason"] == "RedisRefusesLogin"
    assert f"refuses the default user with the password in {file} (" in told["message"]
    assert "read again for each connection" in told["message"]
    file.write_text("second", encoding="utf-8")
    cluster.operator_tells("LeaseTableUsable", "True")
    cluster.apply("after", append("/lake/after"))
    cluster.start("after").succeeds("file:/lake/after")
    cluster.reaches("after", "Succeeded")
    assert not any(word in operator.told() for word in ("first", "second"))


def test_a_replica_is_not_used_before_it_is_the_master(
    cluster: Played, operators: StartOperator, redis: RedisProcess, redis_program: Path, tmp_path: Path
) -> None:
    with running_redis(redis_program, tmp_path / "replica", replicaof=f"127.0.0.1 {redis.port}") as replica:
        operators(redisUrl=replica.url).says("leading as")
        told = cluster.operator_tells("LeaseTableUsable", "False")
        assert (
            f"Redis at 127.0.0.1:{replica.port}/0 cannot keep leases: it is a replica of" in told["message"]
        )
        with replica.client() as asked:
            asked.execute_command("REPLICAOF", "NO", "ONE")
        cluster.operator_tells("LeaseTableUsable", "True")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://127.0.0.1:1/0?retry_on_timeout=1", "has an option that is not known, retry_on_timeout"),
        ("redis+sentinel://127.0.0.1", "cannot be read as redis://"),
        (
            "rediss://127.0.0.1:1?ssl_ca_certs=/nowhere/ca.crt",
            "redisUrl has the option ssl_ca_certs, and /nowhere/ca.crt",
        ),
    ],
)
def test_a_url_that_cannot_work_ends_the_operator_with_one_sentence(
    cluster: Played, operators: StartOperator, url: str, says: str
) -> None:
    operator = operators(redisUrl=url)
    assert operator.ends() == 2
    [last] = operator.entries()
    assert says in last["message"]
