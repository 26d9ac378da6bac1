"""What people write on the operator's Lease object is read as what it is, or refused."""

import pytest

from sluice.installations.revocation import RevocationAnswer, RevocationRequest


def test_what_is_written_is_what_is_read() -> None:
    request, answer = RevocationRequest("id", "uid/1"), RevocationAnswer("id", True, "freed")
    assert RevocationRequest.from_json(request.to_json()) == request
    assert RevocationAnswer.from_json(answer.to_json()) == answer


@pytest.mark.parametrize("text", ["", "uid/1", "{}", '{"id": 1, "holder": "u/1"}', "[]", "[" * 100_000])
def test_anything_else_is_no_request(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own, or ours
        RevocationRequest.from_json(text)
