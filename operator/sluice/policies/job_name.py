"""What the jobs of policies are called: the same for whoever works it out, so that two leaders make one job."""

from hashlib import sha256

_LONGEST = 63


def job_name(policy: str, uid: str, kind: str, run: str) -> str:
    """The name of a policy's job for one run of one kind. `uid`: the policy's; one that is created again has jobs of its own."""
    tail = f"{kind}-{short(uid)}-{run}"
    head = policy.replace(".", "-")[: _LONGEST - len(tail) - 1].rstrip("-")
    return f"{head}-{tail}"


def label_of(policy: str) -> str:
    """As much of a policy's name as a label takes."""
    return policy[:_LONGEST].rstrip("-.")


def short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
