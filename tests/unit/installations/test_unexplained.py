"""What is said of leases that nothing explains."""

from functools import partial

from sluice.api import names
from sluice.installations.unexplained import in_words
from sluice.leases import Lease

REVOKE = partial(names.revoke_command, namespace="ops", deployment="sluice")


def test_each_is_told_with_its_command_its_job_and_its_tables() -> None:
    first = Lease("u", 1, "h", "etl/a", ("file:/a", "file:/b"))
    second = Lease("v", 2, "h", "etl/b", ("file:/c",))
    assert in_words([first], REVOKE) == (
        "No object explains 1 held lease (`sluice leases list`). If a job's namespace left watchNamespaces, add it again. "
        "Otherwise, once you know that its driver is dead, revoke the lease: "
        f"{REVOKE('u/1')} (job etl/a on file:/a, file:/b)"
    )
    assert in_words([first, second], REVOKE) == (
        "No object explains 2 held leases (`sluice leases list`). If a job's namespace left watchNamespaces, add it again. "
        "Otherwise, once you know that its driver is dead, revoke the lease: "
        f"{REVOKE('u/1')} (job etl/a on file:/a, file:/b); {REVOKE('v/2')} (job etl/b on file:/c)"
    )


def test_of_many_the_first_are_told_and_their_number() -> None:
    many = [Lease(f"0a6f1f7e-6a1c-4f0e-9d55-{n:012}", 1, "h", "etl/a", ("file:/a",)) for n in range(10_000)]
    said = in_words(many, REVOKE)
    assert said.startswith("No object explains 10000 held leases")
    assert len(said) < 1024
