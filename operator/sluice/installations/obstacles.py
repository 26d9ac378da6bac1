"""What keeps the API server from taking a claim, as the register itself shows: the operator and `sluice doctor` tell it alike."""

import json
from dataclasses import dataclass

from sluice.api import names
from sluice.kube.config_map import Read

REGISTER = f"ConfigMap {names.CLAIMS_NAMESPACE}/{names.CLAIMS}"
MOST_BYTES = 1 << 20
"""What the values of a ConfigMap may have in all."""

_AT = f"-n {names.CLAIMS_NAMESPACE}"


@dataclass(frozen=True)
class ClaimObstacle:
    what: str
    cure: str

    def __str__(self) -> str:
        return f"{self.what}: {self.cure}"


def obstacle(register: Read, key: str, claim: str) -> ClaimObstacle | None:
    """Why this claim can't be written under this key; None: nothing in the register is in its way."""
    if register.is_immutable:
        anew = (
            f'kubectl get configmap {_AT} {names.CLAIMS} -o json | sed \'s/"immutable": true/"immutable": false/\' | '
            "kubectl replace --force -f -"
        )
        return ClaimObstacle("it is immutable", f"make it anew with the same entries: {anew}")
    binary = register.body.get("binaryData") or {}
    if key in binary:
        return ClaimObstacle(
            f"it has an entry {key} under binaryData, where no claim can be read",
            f"remove that: {_removing(f'/binaryData/{key}')}",
        )
    sizes = {
        f"/data/{name}": len(text.encode("utf-8", "surrogatepass"))
        for name, text in register.data.items()
        if name != key
    }
    sizes |= {f"/binaryData/{name}": len(text) * 3 // 4 for name, text in binary.items()}
    taken = sum(sizes.values())
    if sizes and taken + len(claim) > MOST_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        return ClaimObstacle(
            f"it is full: its other entries take {taken} of {MOST_BYTES} bytes, {largest} alone {sizes[largest]}",
            f"if that is no claim of an installation, remove it: {_removing(largest)}",
        )
    return None


def _removing(path: str) -> str:
    patch = json.dumps([{"op": "remove", "path": path}])
    return f"kubectl patch configmap {_AT} {names.CLAIMS} --type=json -p '{patch}'"
