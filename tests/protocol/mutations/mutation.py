"""What a mutation is: the design with steps taken out, and what must break without them.

`telling` are steps that the counter-example must hold, in this order: without them it would be an accident.
"""

from dataclasses import dataclass, replace

from protocol.design import Design
from protocol.grants.scenarios import Grants
from protocol.pauses.scenarios import Pauses
from protocol.runs.scenarios import Runs


def without(design: Design, *steps: str) -> Design:
    return replace(design, **dict.fromkeys(steps, False))


@dataclass(frozen=True)
class Mutation:
    taken_out: tuple[str, ...]
    scenario: Grants | Runs | Pauses
    breaks: str
    so: str  # without the step ...
    telling: tuple[str, ...]

    @property
    def model(self) -> Grants | Runs | Pauses:
        return replace(self.scenario, design=without(self.scenario.design, *self.taken_out))


def mutation(scenario: Grants | Runs | Pauses, step: str, breaks: str, so: str, *telling: str) -> Mutation:
    return Mutation(tuple(step.split()), scenario, breaks, so, telling)
