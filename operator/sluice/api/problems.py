"""What is wrong with a manifest, in words for those who wrote it."""

from pydantic import ValidationError

_IN_PLAIN_WORDS = {
    "extra_forbidden": "there is no such field",
    "missing": "is required",
    "model_type": "must be a mapping of fields",
    "dict_type": "must be a mapping of fields",
}


def problems_of(error: ValidationError, within: str = "spec", *, most: int = 3) -> str:
    """The first few, each with its place."""
    found = [
        f"{'.'.join(str(part) for part in (within, *problem['loc']))}: "
        f"{_IN_PLAIN_WORDS.get(problem['type'], problem['msg'])}"
        for problem in error.errors()
    ]
    more = f"; and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(dict.fromkeys(found[:most])) + more
