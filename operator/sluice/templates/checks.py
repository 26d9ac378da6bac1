"""Whether the template of a user's own application can be run at all, whoever asks: the operator, and what people ask before."""

from collections.abc import Callable, Mapping

from pydantic import ValidationError

from sluice.api.engine_kind import EngineKind
from sluice.api.job import Application
from sluice.api.problems import Place, each_problem
from sluice.templates.apache import ApacheTemplate
from sluice.templates.kubeflow import KubeflowTemplate
from sluice.templates.shared_rules import PLACE, OwnTemplate, why_too_large

_MODELS: Mapping[EngineKind, type[OwnTemplate]] = {
    EngineKind.KUBEFLOW: KubeflowTemplate,
    EngineKind.APACHE: ApacheTemplate,
}


def problems_in(
    application: Application, line_of: Callable[[Place], int | None] = lambda _: None
) -> list[str]:
    """What of it cannot be run: each with its place and what to do. `line_of` finds a field of the template in its file."""
    too_large = why_too_large(application.template)
    if too_large is not None:
        return [too_large]
    try:
        _read(application)
    except ValidationError as error:
        return each_problem(error, PLACE, line_of=line_of)
    return []


def settings_in(application: Application) -> dict[str, str]:
    """Spark's settings, by which its writes are judged, of an application without problems."""
    return _read(application).settings


def _read(application: Application) -> OwnTemplate:
    return _MODELS[application.engine].as_stored(application.template)
