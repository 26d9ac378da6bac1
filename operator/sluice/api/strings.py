"""Strings as objects can hold them; imports no models, so that programs that only need these start soon."""


def without_surrogates(text: str) -> str:
    """Replaces lone surrogates, halves of characters, which people may write into objects and no JSON takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shortened(text: str, maximum: int) -> str:
    return text if len(text) <= maximum else text[: maximum - 1] + "…"
