"""The request on an operator's Lease object to have a lease revoked, and the operator's answer."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class RevocationRequest:
    id: str
    holder: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError if the text is not a request."""
        fields = _fields(text, {"id": str, "holder": str})
        return cls(**fields)


@dataclass(frozen=True)
class RevocationAnswer:
    id: str
    """The id of the request; empty if that could not be read."""
    done: bool
    message: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError if the text is not an answer."""
        return cls(**_fields(text, {"id": str, "done": bool, "message": str}))


def _fields(text: str, types: dict[str, type]) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict) or {*fields} != {*types}:
        raise ValueError(f"not a JSON object of {', '.join(types)}")
    if not all(type(fields[name]) is type_ for name, type_ in types.items()):
        raise ValueError(f"not the types of {', '.join(types)}")
    return fields
