"""Names of labels, annotations, finalizers and gates by which Sluice, Spark and the Spark operator tell pods apart: whoever set
them otherwise would have one pod taken for another."""

import re

from sluice.api import names

KEYS = (
    rf"^([^/]*\.)?{re.escape(names.GROUP)}/|^sparkoperator\.k8s\.io/"
    r"|^spark-(app-name|app-selector|exec-id|exec-inactive|exec-resourceprofile-id|role|version)$"
)
"""A pattern that Python and a JSON schema read alike."""

_KEYS = re.compile(KEYS)
_CHART_KEY, _, _CHART_VALUE = names.LABEL_CHART.partition("=")
_ALL_OF_THE_CHART = re.compile(rf"^\s*{re.escape(_CHART_VALUE)}\s*$")


def is_reserved(key: str, value: str = "") -> bool:
    """Whether a pod of a job may not have it. By the chart's label its Services and policies find their pods: a driver that had
    it could be taken for Redis."""
    is_of_the_chart = key == _CHART_KEY and _ALL_OF_THE_CHART.match(value) is not None
    return is_of_the_chart or _KEYS.search(key) is not None
