"""The differences between the Spark operators that an application may be made for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sluice.api.engine_kind import EngineKind
from sluice.engines.attempt import AttemptRun
from sluice.engines.profile import RuntimeProfile


@dataclass(frozen=True)
class ApplicationState:
    """What an application's own state tells."""

    has_ended: bool
    """Whether its operator starts no driver for it any more."""
    driver_was_seen: bool
    """Whether its operator has seen the driver."""
    words: str
    """Its error, or else its state."""
    is_suspended: bool = False
    """Whether somebody holds it back, so that it starts no driver now; once it is resumed it starts one, whatever it had before."""


class Engine(Protocol):
    @property
    def kind(self) -> EngineKind: ...

    @property
    def api(self) -> str:
        """The path of its API, such as /apis/spark.example/v1."""

    @property
    def plural(self) -> str:
        """What its applications are called there."""

    @property
    def named(self) -> str:
        """What kubectl calls one: several Spark operators have applications of the same short name."""

    @property
    def operators_labels(self) -> str:
        """A selector of the Deployment that its operator's chart makes."""

    @property
    def cure(self) -> str:
        """What to do where the API server does not serve its API."""

    def profile_of(self, template: Mapping[str, Any], delta_version: str | None) -> RuntimeProfile:
        """What a user's own application runs on, of whose template no problem is known."""

    def manifest(self, run: AttemptRun) -> dict[str, Any]:
        """The body of the create request. It carries the lease and our finalizer from its first moment, so that
        whatever happens to the operator after this request, the lease can be found again."""

    def progress(self, application: dict[str, Any]) -> ApplicationState: ...

    def kept(self, status: dict[str, Any]) -> dict[str, Any]:
        """What is read of an application's status: thousands of them stay in memory."""
