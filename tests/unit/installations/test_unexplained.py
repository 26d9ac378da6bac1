"""What is said of leases that nothing explains."""

from sluice.installations.unexplained import in_words
from sluice.leases import Lease


def test_each_is_told_with_its_command_its_job_and_its_tables() -> None:
    first = Lease("u", 1, "h", "etl/a", ("file:/a", "file:/b"))
    second = Lease("v", 2, "h", "etl/b", ("file:/c",))
    assert in_words([first]) == (
        "1 lease is held that no object explains (sluice leases list); where the namespace of its job is no longer "
        "in watchNamespaces, put it back; else, once no driver of it runs, say so with --yes, -n and the operator's "
        "namespace: "
        "sluice leases revoke u/1 (job etl/a on file:/a, file:/b)"
    )
    assert in_words([first, second]) == (
        "2 leases are held that no object explains (sluice leases list); where the namespace of its job is no longer "
        "in watchNamespaces, put it back; else, once no driver of one runs, say so with --yes, -n and the operator's "
        "namespace: "
        "sluice leases revoke u/1 (job etl/a on file:/a, file:/b); sluice leases revoke v/2 (job etl/b on file:/c)"
    )


def test_of_many_the_first_are_told_and_their_number() -> None:
    many = [Lease(f"u{number}", 1, "h", "etl/a", ("file:/a",)) for number in range(10_000)]
    said = in_words(many)
    assert said.startswith("10000 leases are held")
    assert len(said) < 1024
