"""The Spark operators that can run a job's applications."""

from enum import StrEnum


class EngineKind(StrEnum):
    KUBEFLOW = "kubeflow"
    APACHE = "apache"
