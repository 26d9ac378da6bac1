"""Texts as a slipping hand leaves them: tokens of good ones taken out, doubled, swapped, or put into one another."""

import random
import re
from collections.abc import Iterator, Sequence

_TOKEN = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\w+|\s+|[^\w\s]")


def broken(corpus: Sequence[str], number: int, seed: int) -> Iterator[str]:
    chance = random.Random(seed)  # noqa: S311 - the same texts each time are wanted
    tokens = [_TOKEN.findall(text) for text in corpus]
    for _ in range(number):
        found = list(chance.choice(tokens))
        for _ in range(chance.randint(1, 3)):
            chance.choice(_SLIPS)(found, tokens, chance)
        text = "".join(found)
        if text.strip():
            yield text


def _remove(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    if len(found) > 1:
        del found[chance.randrange(len(found))]


def _cut(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    start = chance.randrange(len(found))
    del found[max(start, 1) : start + chance.randint(1, 6)]


def _double(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    at = chance.randrange(len(found))
    found.insert(at, found[at] + " ")


def _swap(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    one, other = chance.randrange(len(found)), chance.randrange(len(found))
    found[one], found[other] = found[other], found[one]


def _splice(found: list[str], corpus: Sequence[list[str]], chance: random.Random) -> None:
    other = chance.choice(corpus)
    start = chance.randrange(len(other))
    at = chance.randrange(len(found) + 1)
    found[at:at] = [" ", *other[start : start + chance.randint(1, 8)], " "]


def _word(found: list[str], corpus: Sequence[list[str]], chance: random.Random) -> None:
    found[chance.randrange(len(found))] = chance.choice(chance.choice(corpus))


_SLIPS = (_remove, _cut, _double, _swap, _splice, _word)
