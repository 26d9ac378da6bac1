"""Fields that a job has and this version does not honour: a closed list, so that none is passed over unseen.

What refuses jobs, the command line, the CRDs and the docs all say it from here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_snake

from sluice.api.base import Model
from sluice.api.job import DeltaWriteJobSpec


def _nothing_else(_: Any) -> bool:
    return False


@dataclass(frozen=True)
class NotYet:
    path: str
    """The field below spec, as manifests spell it."""
    why: str
    """What happens instead, and what to do."""
    unless: str = ""
    """A value that asks for what happens anyway, in words; the default always does."""
    happens_anyway: Callable[[Any], bool] = _nothing_else

    def is_asked_for(self, spec: Model) -> bool:
        *outer, last = (to_snake(name) for name in self.path.split("."))
        owner: Any = spec
        for name in outer:
            owner = getattr(owner, name)
            if owner is None:
                return False
        given = getattr(owner, last)
        default = type(owner).model_fields[last].get_default(call_default_factory=True)
        return given != default and not self.happens_anyway(given)


_OTHER_WORK = "this version of Sluice runs no streams"

JOBS_REFUSED_FOR = (NotYet("stream", _OTHER_WORK),)
"""What a job can say and no run would honour."""


def why_a_job_is_refused(spec: DeltaWriteJobSpec) -> Iterator[str]:
    """Yields a sentence for each field that it must not set yet."""
    for one in JOBS_REFUSED_FOR:
        if one.is_asked_for(spec):
            yield f"spec.{one.path}: not supported yet: {one.why}"
