"""How large a YAML document is once its aliases are unfolded, which a few lines can make larger than any machine.

PyYAML keeps what aliases share shared, so reading it is cheap, but whoever walks through it afterwards never ends.
"""

from collections.abc import Iterator

import yaml
from yaml.constructor import ConstructorError

MOST_SHARED = 100_000
"""Values that aliases may add; kubectl's parser has a bound of this kind, too."""
MOST_DIGITS = 1000
"""Python itself reads, or writes, no more than 4,300 of a number."""


class Unfoldable:
    """Part of a loader: refuses a document that is too large to be walked through, with the place."""

    def construct_document(self, node: yaml.Node) -> object:
        refuse_what_cannot_be_unfolded(node)
        return super().construct_document(node)  # type: ignore[misc]  # a loader's


def refuse_what_cannot_be_unfolded(document: yaml.Node) -> None:
    sizes: dict[int, int] = {}
    begun: set[int] = set()
    left = [document]
    while left:
        node = left[-1]
        if id(node) in sizes:
            left.pop()
        elif id(node) in begun:
            left.pop()
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in _parts(node))
            if sizes[id(node)] > MOST_SHARED + len(begun):
                raise refused(
                    node, f"its aliases add more than {MOST_SHARED:,} values: write out what is needed"
                )
        else:
            begun.add(id(node))
            _refuse_long_numbers(node)
            for part in _parts(node):
                if id(part) in begun and id(part) not in sizes:
                    raise refused(part, "an alias in it stands for itself: no manifest can be endless")
                left.append(part)


def _parts(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair


def _refuse_long_numbers(node: yaml.Node) -> None:
    if (
        isinstance(node, yaml.ScalarNode)
        and node.tag == "tag:yaml.org,2002:int"
        and len(node.value) > MOST_DIGITS
    ):
        raise refused(node, f"a number of {len(node.value):,} digits: no field takes one")


def refused(node: yaml.Node, why: str) -> ConstructorError:
    return ConstructorError(None, None, why, node.start_mark)
