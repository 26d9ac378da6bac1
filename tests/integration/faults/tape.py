"""Traces made by hand, as the servers would have written them: for what no operator should ever do."""

from dataclasses import dataclass, field, replace
from typing import Any

from integration.faults.attempts import observed
from integration.faults.audited import Landed
from integration.faults.checker import Evidence
from integration.faults.lease_history import lease_history
from integration.faults.monitor import Command
from integration.faults.replay import GIVEN_BACK
from integration.faults.workload import Planned
from sluice.api import names
from sluice.api.base import Json
from sluice.kube.resources import KUBEFLOW_APPLICATIONS
from sluice.leases import Epochs

OPERATOR = "the operator"
EPOCH = 7


@dataclass
class Tape:
    writes: list[Landed] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    planned: dict[str, Planned] = field(default_factory=dict)
    clock: float = 100.0
    attempts: dict[str, Json] = field(default_factory=dict)
    finalizers: dict[str, list[str]] = field(default_factory=dict)

    def evidence(self) -> Evidence:
        return Evidence(self.planned, observed(self.writes, OPERATOR), lease_history(self.commands, EPOCH))

    def changes_nothing(self, number: int) -> None:
        """A request that changes nothing is answered with its object as it was after the write of this number. All writes so far
        have their versions from here on."""
        self._number_versions()
        self.writes.append(replace(self.writes[number], received=self._tick(), answered=self._tick()))

    # Redis

    def grant(self, uid: str, counter: int, *, epoch: int = EPOCH) -> None:
        self._script(epoch, "HSET", "x:leases", f"{uid}/1", f"{epoch} {counter}\nrequest\n{{}}")

    def release(self, uid: str, *, epoch: int = EPOCH) -> None:
        self._script(epoch, "HDEL", "x:leases", f"{uid}/1")

    def learn(self, uid: str, counter: int) -> None:
        """How far it reaches is put to the lease."""
        self.release(uid)
        self._redis(True, "HSET", "x:leases", f"{uid}/1", f"{EPOCH} {counter}\nrequest\n{{}}\nreach")

    def rebuild(self, epoch: int, **tokens: str) -> None:
        self._redis(False, "EVALSHA", "sha", "9", *["key"] * 9, str(epoch))
        self._redis(True, "DEL", "x:counter", "x:versions", "x:leases")
        for uid, token in tokens.items():
            self._redis(True, "HSET", "x:leases", f"{uid}/1", f"{token}\nrequest\n{{}}")
        self._redis(True, "SET", "x:epoch", str(epoch))

    def forget(self) -> None:
        """Somebody empties Redis."""
        self._redis(False, "flushall")

    def _script(self, epoch: int, *words: str) -> None:
        self._redis(False, "EVALSHA", "sha", "9", *["key"] * 9, str(epoch))
        self._redis(True, *words)

    def _redis(self, is_of_script: bool, *words: str) -> None:
        self.commands.append(Command(self._tick(), is_of_script, words))

    # The API server

    def takes_the_lead(self, epoch: int) -> None:
        """Raises the epoch in the Lease object."""
        body = {"metadata": {"annotations": {names.ANNOTATION_EPOCH: str(epoch)}}}
        self._write("update", "leases", "", "sluice-leader", body)

    def raises_the_parameter(self, epoch: int) -> None:
        self._write("update", "configmaps", "", "sluice-epoch", {"data": {names.EPOCH_KEY: str(epoch)}})

    def job(self, uid: str, table: str = "t", *, is_deleted: bool = False) -> None:
        self.planned[uid] = Planned(uid, {"sql": "DELETE"}, table, is_deleted)
        self._write("create", names.JOB_PLURAL, "", uid, self._job(uid, {}), user="somebody")

    def intent(self, uid: str, counter: int, *, epoch: int = EPOCH) -> None:
        self.attempts[uid] = {"number": 1, "token": Epochs.token(EPOCH, counter), "application": uid}
        self._status(uid, "Starting", epoch)

    def outcome(self, uid: str, outcome: str = "Succeeded", *, epoch: int = EPOCH) -> None:
        self.attempts[uid] = self.attempts[uid] | {"outcome": outcome}
        self._status(uid, "Succeeded" if outcome == "Succeeded" else "Failed", epoch)

    def create(self, uid: str, *, epoch: int = EPOCH) -> None:
        self.finalizers[uid] = [names.FINALIZER_LEASE]
        self._write("create", KUBEFLOW_APPLICATIONS.plural, "", uid, self._object(uid, uid, epoch))

    def runs_while_it_is_deleted(self, uid: str) -> None:
        """Its deletion is asked for first and carried out last; its status is written in between. All writes have their versions
        from here on."""
        asked = self._tick()
        self._status(uid, "Running", EPOCH)
        self._number_versions()
        self.is_deleted(uid)
        of_the_job = next(at for at, write in enumerate(self.writes) if write.verb == "delete")
        self.writes[of_the_job] = replace(self.writes[of_the_job], received=asked)

    def says_that_it_was_given_back(self, uid: str) -> None:
        body = self._job(uid, {"phase": "Pending", "reason": GIVEN_BACK})
        self._write("patch", names.JOB_PLURAL, "status", uid, body, asked={"status": body["status"]})

    def is_deleted(self, uid: str) -> None:
        """A job, and by that its application."""
        self._write("delete", names.JOB_PLURAL, "", uid, {"kind": "Status", "details": {"uid": uid}})
        body = self._object(uid, uid, EPOCH)
        body["metadata"]["deletionTimestamp"] = "now"
        self._write("delete", KUBEFLOW_APPLICATIONS.plural, "", uid, body, user="somebody")

    def name_is_taken(self, uid: str) -> None:
        """By a placeholder."""
        body = self._object(f"{uid}-driver", uid, EPOCH)
        body["metadata"]["labels"] |= {names.LABEL_PLACEHOLDER: "true"}
        body["spec"] = {"schedulingGates": [{"name": names.SCHEDULING_GATE}]}
        self._write("create", "pods", "", f"{uid}-driver", body)

    def driver(self, uid: str, pod: str = "", *, is_said: bool = True) -> None:
        """The Spark operator creates it, and it runs."""
        name = pod or f"{uid}-driver"
        self.finalizers[name] = [names.FINALIZER_LEASE]
        self._write("create", "pods", "", name, self._object(name, uid, EPOCH), user="somebody")
        running = self._object(name, uid, EPOCH) | {"status": {"phase": "Running"}}
        self._write("patch", "pods", "status", name, running, user="somebody")
        state = "RUNNING" if is_said else "SUBMITTED"
        app = self._object(uid, uid, EPOCH) | {"status": {"applicationState": {"state": state}}}
        self._write("patch", KUBEFLOW_APPLICATIONS.plural, "status", uid, app, user="somebody")

    def ends(self, uid: str, exit_code: int = 0, pod: str = "") -> None:
        """The driver ends, and its application says so."""
        self.driver_ends(uid, exit_code, pod)
        state = "COMPLETED" if exit_code == 0 else "FAILED"
        app = self._object(uid, uid, EPOCH) | {"status": {"applicationState": {"state": state}}}
        self._write("patch", KUBEFLOW_APPLICATIONS.plural, "status", uid, app, user="somebody")

    def driver_ends(self, uid: str, exit_code: int = 0, pod: str = "") -> None:
        name = pod or f"{uid}-driver"
        container = {"state": {"terminated": {"exitCode": exit_code}}}
        status = {"phase": "Succeeded" if exit_code == 0 else "Failed", "containerStatuses": [container]}
        body = self._object(name, uid, EPOCH) | {"status": status}
        self._write("patch", "pods", "status", name, body, user="somebody")

    def is_stripped(self, uid: str) -> None:
        """A person strips its application of its finalizers, so that it goes with its deletion."""
        self.finalizers[uid] = []
        self._write(
            "patch", KUBEFLOW_APPLICATIONS.plural, "", uid, self._object(uid, uid, EPOCH), user="admin"
        )
        gone = {"kind": "Status", "status": "Success", "details": {"uid": f"of {uid}"}}
        self._write("delete", KUBEFLOW_APPLICATIONS.plural, "", uid, gone)

    def lets_go_application(self, uid: str, *, epoch: int = EPOCH) -> None:
        self._lets_go(KUBEFLOW_APPLICATIONS.plural, uid, uid, epoch)

    def lets_go_driver(self, uid: str, *, epoch: int = EPOCH) -> None:
        self._lets_go("pods", f"{uid}-driver", uid, epoch)

    def runs_to_its_end(self, uid: str, counter: int) -> None:
        self.grant(uid, counter)
        self.intent(uid, counter)
        self.create(uid)
        self.driver(uid)
        self.ends(uid)
        self.outcome(uid)
        self.lets_go_application(uid)
        self.lets_go_driver(uid)
        self.release(uid)

    def _lets_go(self, kind: str, name: str, uid: str, epoch: int) -> None:
        self.finalizers[name] = []
        self._write("patch", kind, "", name, self._object(name, uid, epoch))

    def _status(self, uid: str, phase: str, epoch: int) -> None:
        status = {"phase": phase, "writerEpoch": epoch, "attempts": [self.attempts[uid]]}
        body = self._job(uid, status)
        self._write("patch", names.JOB_PLURAL, "status", uid, body, asked={"status": status})

    def _number_versions(self) -> None:
        for version, write in enumerate(self.writes, 1):
            if write.body["kind"] != "Status":
                write.body["metadata"] = write.body["metadata"] | {"resourceVersion": str(version)}

    def _job(self, uid: str, status: Json) -> Json:
        return {"kind": names.JOB_KIND, "metadata": {"name": uid, "uid": uid}, "status": status}

    def _object(self, name: str, uid: str, epoch: int) -> Json:
        return {
            "kind": "an object",
            "spec": {},
            "metadata": {
                "name": name,
                "uid": f"of {name}",
                "labels": {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: "1"},
                "annotations": {
                    names.ANNOTATION_TOKEN: str(self.attempts.get(uid, {}).get("token", 0)),
                    names.ANNOTATION_WRITER_EPOCH: str(epoch),
                },
                "finalizers": list(self.finalizers.get(name, [])),
            },
        }

    def _write(
        self,
        verb: str,
        kind: str,
        sub: str,
        name: str,
        body: Json,
        *,
        user: str = OPERATOR,
        asked: Any = None,
    ) -> None:
        received = self._tick()
        self.writes.append(Landed(received, self._tick(), user, verb, kind, sub, "ns", name, asked, body))

    def _tick(self) -> float:
        self.clock += 0.01
        return self.clock
