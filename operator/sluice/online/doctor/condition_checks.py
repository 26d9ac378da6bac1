"""What the operator's conditions say of it, each with a command that shows the cause or removes it."""

import re
from collections.abc import Iterable, Iterator, Mapping

from sluice.api import names
from sluice.api.conditions import ConditionStatus
from sluice.api.operator_status import OperatorCondition, OperatorConditionType
from sluice.kube.definitions import PUBLISHED
from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Finding, fail, ok, warn

_PLACE = re.compile(r"\{\w+\}")
_Type = OperatorConditionType
_CURES: Mapping[OperatorConditionType, str] = {
    _Type.API_SERVER_REACHABLE: "let the operator write its Lease: kubectl get lease -n {namespace} {lease} -o yaml",
    _Type.INSTALLATION_CLAIMED: (
        f"let it write its claim: kubectl get configmap -n {names.CLAIMS_NAMESPACE} {names.CLAIMS} -o yaml"
    ),
    _Type.LEASE_TABLE_USABLE: (
        "mend Redis; from where it can be reached, this looks at it: sluice doctor {installation} --redis-url URL"
    ),
    _Type.LISTS_COMPLETE: "see why lists fail: kubectl logs -n {namespace} deployment/{deployment}",
    _Type.HOLDERS_READABLE: (
        "put back what was changed in that object, or, once its driver has ended, remove its finalizer "
        f"{names.FINALIZER_LEASE}: sluice leases list {{installation}}"
    ),
    _Type.LEASES_EXPLAINED: "sluice leases list {installation}; once no driver of a lease runs: {revoke}",
    _Type.SPARK_OPERATOR_INSTALLED: (
        "install it, or take it out of engines in the operator's configuration: kubectl api-resources | grep spark"
    ),
    _Type.DEFINITIONS_CURRENT: "kubectl apply --server-side -f crds/ of this version",
    _Type.RIGHTS_GRANTED: "add what the checks `rights` list to its roles; helm upgrade with the chart of this version does so",
    _Type.FORMER_LEADERS_FENCED: (
        "mend what the check `admission policy` names; helm upgrade with admissionPolicy.enabled=true makes it anew"
    ),
    _Type.TABLE_IDS_UNIQUE: (
        "delete the copy, or write it anew as CREATE TABLE ... AS SELECT, which gives it an id of its own; the next leader forgets "
        "a copy that no job names: kubectl rollout restart -n {namespace} deployment/{deployment}"
    ),
}
_IF_UNKNOWN: Mapping[OperatorConditionType, str] = {
    _Type.DEFINITIONS_CURRENT: f"ask again in a minute, as the operator does by itself: kubectl get --raw {PUBLISHED}",
    _Type.FORMER_LEADERS_FENCED: (
        "run one replica, and no more: kubectl scale deployment -n {namespace} {deployment} --replicas=1"
    ),
}


def condition_findings(at: Installation, conditions: Iterable[OperatorCondition]) -> Iterator[Finding]:
    """Judges what a leader says."""
    said = {one.type: one for one in conditions}
    for type_ in OperatorConditionType:
        one = said.get(type_)
        if one is None:
            yield warn("condition", type_.value, "the operator has not told it yet", "ask again in a minute")
        elif one.status is ConditionStatus.TRUE:
            yield ok("condition", type_.value, one.message)
        else:
            told = warn if one.status is ConditionStatus.UNKNOWN else fail
            yield told("condition", type_.value, f"{one.reason}: {one.message}", cure_of(one, at))


def last_findings(at: Installation, conditions: Iterable[OperatorCondition]) -> Iterator[Finding]:
    """What a leader found wrong that is gone may be why it went; what it found well says nothing of now."""
    for one in conditions:
        if one.status is not ConditionStatus.TRUE:
            message = f"the last leader said {one.reason}: {one.message}"
            yield warn(
                "condition", one.type.value, message, f"see whether it is still so: {cure_of(one, at)}"
            )


def cure_of(condition: OperatorCondition, at: Installation) -> str:
    """What to do about a condition that is not True."""
    known = _IF_UNKNOWN if condition.status is ConditionStatus.UNKNOWN else {}
    words = {
        "{namespace}": at.namespace,
        "{deployment}": at.deployment,
        "{lease}": names.leader_lease(at.deployment),
        "{installation}": f"-n {at.namespace} --deployment {at.deployment}",
        "{revoke}": at.revoke_command("HOLDER"),
    }
    cure = known.get(condition.type, _CURES[condition.type])
    return _PLACE.sub(lambda place: words[place[0]], cure)
