"""What happens to the servers, to whole processes and by people's hands, beside faults of single requests."""

import signal
from contextlib import suppress
from enum import StrEnum

from integration.faults.engine import is_running
from integration.faults.installation import Installation
from integration.objects import NoSuchObjectError
from integration.waiting import eventually

TAKEN_OVER_WITHIN = 60.0


class Misfortune(StrEnum):
    LEADER_KILLED = "the leader is killed at any moment"
    LEADER_FROZEN = "the leader stands still until another one has taken over, and goes on then"
    API_SERVER_RESTARTS = "the API server is restarted"
    REDIS_FORGETS = "Redis loses everything"
    FINALIZERS_STRIPPED = "somebody strips a driver that runs, and its application, of their finalizers"

    @property
    def is_in_the_model(self) -> bool:
        """Whether the replay has a step for it."""
        return self is not Misfortune.FINALIZERS_STRIPPED

    @property
    def replaces_the_leader(self) -> bool:
        return self in (Misfortune.LEADER_KILLED, Misfortune.LEADER_FROZEN)


def befalls(misfortune: Misfortune, installation: Installation) -> None:
    match misfortune:
        case Misfortune.LEADER_KILLED:
            installation.replicas.kill_leader()
        case Misfortune.LEADER_FROZEN:
            _freeze(installation)
        case Misfortune.API_SERVER_RESTARTS:
            # In order: of one that is killed the audit log would not tell all that it has carried out.
            installation.stack.apiserver.restart()
        case Misfortune.REDIS_FORGETS:
            with installation.redis.client() as redis:
                redis.flushall()
        case Misfortune.FINALIZERS_STRIPPED:
            _strip(installation)


def _freeze(installation: Installation) -> None:
    replicas = installation.replicas
    frozen = replicas.leads()
    with suppress(ProcessLookupError):  # a fault may have killed it just now
        frozen.process.signal(signal.SIGSTOP)
    try:
        eventually(
            lambda: (leader := replicas.leader()) is not None and leader is not frozen,
            "another one leads",
            seconds=TAKEN_OVER_WITHIN,
        )
    finally:
        with suppress(ProcessLookupError):
            frozen.process.signal(signal.SIGCONT)


def _strip(installation: Installation) -> None:
    """Of the first driver that is found, if any runs."""
    objects = installation.cluster.objects
    off = {"metadata": {"finalizers": None}}
    for pod in installation.cluster.pods():
        if is_running(pod):
            name = pod["metadata"]["name"]
            with suppress(NoSuchObjectError):
                objects.patch("sparkapplication", name.removesuffix("-driver"), off)
                objects.patch("pod", name, off)
            return
