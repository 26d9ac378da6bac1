"""Which jobs have one checkpoint, so that the operator refuses all of them but the one that has it, until that has ended."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sluice.api.reasons import Reason
from sluice.offline.pairs import Understood

_MOST_NAMED = 5


@dataclass(frozen=True)
class CheckpointConflict:
    checkpoint: str
    jobs: tuple[str, ...]

    def __str__(self) -> str:
        *names, last = self.jobs
        if len(self.jobs) > _MOST_NAMED:
            names, last = list(self.jobs[:_MOST_NAMED]), f"{len(self.jobs) - _MOST_NAMED} more"
        refused = "the other is" if len(self.jobs) == 2 else "the others are"
        return (
            f"{', '.join(names)} and {last} have one checkpoint, {self.checkpoint}: as long as one of them has not ended, "
            f"{refused} refused ({Reason.CHECKPOINT_IN_USE})"
        )


def who_share_one(jobs: Iterable[Understood]) -> Iterator[CheckpointConflict]:
    names: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        for checkpoint in sorted(job.checkpoints):
            names[checkpoint].append(job.name)
    return (
        CheckpointConflict(checkpoint, tuple(found)) for checkpoint, found in names.items() if len(found) > 1
    )
