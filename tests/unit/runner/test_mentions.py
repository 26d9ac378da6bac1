"""A statement mentions each table below it, those of an older version as well."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sluice_runner.mentions import mentioned


class Parts(tuple[Any, ...]):
    """As Scala's sequences are called."""

    __slots__ = ()

    def length(self) -> int:
        return len(self)

    def apply(self, index: int) -> Any:
        return self[index]


def node(kind: str, *children: Any, **parts: Any) -> SimpleNamespace:
    named = SimpleNamespace(getSimpleName=lambda: kind)
    below = {"children": Parts(children), "innerChildren": Parts(), "subqueries": Parts(), **parts}
    return SimpleNamespace(
        getClass=lambda: named, **{name: (lambda part=part: part) for name, part in below.items()}
    )


def relation(*name: str) -> SimpleNamespace:
    return node("UnresolvedRelation", multipartIdentifier=Parts(name))


def session(plan: Any) -> Any:
    parser = SimpleNamespace(parsePlan=lambda _: plan)
    state = SimpleNamespace(sqlParser=lambda: parser)
    return SimpleNamespace(_jsparkSession=SimpleNamespace(sessionState=lambda: state))


@pytest.mark.parametrize("kind", ["RelationTimeTravel", "TimeTravel"])
def test_a_source_of_an_older_version_is_mentioned(kind: str) -> None:
    source = node(kind, relation=relation("sales", "orders"))
    clone = node("CloneTableStatement", source, relation("sales", "copy"))
    assert mentioned(session(clone), "CREATE TABLE ... CLONE") == [("sales", "orders"), ("sales", "copy")]
