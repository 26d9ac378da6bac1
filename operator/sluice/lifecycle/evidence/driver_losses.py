"""The loss of a driver as it was told, and the word that the driver is dead, which counts for this loss alone.

The name of an application can be predicted, the moment of a loss cannot: what was said before the loss names another one.
"""

from collections.abc import Iterable
from datetime import datetime

from pydantic import ValidationError

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import DriverLoss
from sluice.api.strings import shortened
from sluice.engines import Observation

_LONGEST_WORD = 120
"""Characters of a word that counts for nothing: an editor may have written any number there."""


def loss_of(seen: Observation, at: datetime) -> DriverLoss:
    """Returns what is recorded of the loss that is seen. Of two losses of a driver `at` differs: it has microseconds."""
    return DriverLoss(at=at, pod_uid=seen.pod_uid, silent_since=seen.silent_since)


def is_seen_in(loss: DriverLoss, seen: Observation) -> bool:
    """Whether the loss is still the one that is seen. Its pod may be gone by now, or over; but a silence that began since, or
    another pod, tells that the driver was heard of in between, perhaps while no operator ran."""
    now = loss_of(seen, loss.at)
    return now.pod_uid in (None, loss.pod_uid) and now.silent_since in (None, loss.silent_since)


def word_for(loss: DriverLoss, application: str) -> str:
    """The value of the annotation that declares dead the driver of this application that was lost then."""
    return f"{application}@{loss.at.isoformat().replace('+00:00', 'Z')}"


def command_for(loss: DriverLoss, application: str, *, kind: str, namespace: str, name: str) -> str:
    """What a person types to declare the driver dead."""
    annotation = f"{names.ANNOTATION_DRIVER_DEAD}={word_for(loss, application)}"
    return f"kubectl annotate --overwrite {kind} -n {namespace} {name} {annotation}"


def command_on_pod(pod: Json) -> str:
    """What a person types before, where the driver's pod is still there. kubectl must not wait for it to go: our finalizer keeps it
    until the word is said."""
    metadata = pod["metadata"]
    return f"kubectl delete pod -n {metadata['namespace']} {metadata['name']} --force --wait=false && "


def void(words: Iterable[str]) -> str:
    """Says of words that name no loss that was told that they count for nothing."""
    return "".join(
        f"the annotation {names.ANNOTATION_DRIVER_DEAD}={_printable(word)} names no loss that was told, and frees nothing; "
        for word in dict.fromkeys(words)
    )


def _printable(word: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in shortened(word, _LONGEST_WORD))


def noted(loss: DriverLoss) -> str:
    """The loss as an annotation keeps it."""
    return loss.model_dump_json(by_alias=True, exclude_none=True)


def noted_on(body: Json) -> DriverLoss | None:
    """The loss that an operator noted on the object. What cannot be read is no loss that was told: it is told anew."""
    text = (body["metadata"].get("annotations") or {}).get(names.ANNOTATION_DRIVER_LOST)
    if not isinstance(text, str):
        return None
    try:
        return DriverLoss.model_validate_json(text, by_alias=True, by_name=False)
    except ValidationError:
        return None
