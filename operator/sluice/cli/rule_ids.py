"""Every rule id that a verdict can carry, by the function that gives it: read from the rules' own code, so that none can be
forgotten on the page of all rules."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType

_ID = 1
"""Position of the rule's id among the arguments of Verdict."""


def ids_of(module: ModuleType) -> dict[str, tuple[str, ...]]:
    """By function, those of the functions of the module that it calls included; under "" what stands outside of all."""
    tree = ast.parse(inspect.getsource(module))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    makers = {"Verdict": _ID, **_makers(functions)}
    own = {name: tuple(_own(node, makers)) for name, node in functions.items()}
    calls = {name: [call for call in _called(node) if call in functions] for name, node in functions.items()}
    outside = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    found = {name: _reached(name, own, calls) for name in functions}
    found[""] = tuple(dict.fromkeys(one for node in outside for one in _own(node, makers)))
    return found


def _makers(functions: Mapping[str, ast.FunctionDef]) -> dict[str, int]:
    """Functions that make a verdict under an id that they are given, by the position of that argument."""
    found = {}
    for name, node in functions.items():
        parameters = [argument.arg for argument in node.args.args]
        for call in _calls(node, "Verdict"):
            given = call.args[_ID]
            if isinstance(given, ast.Name):
                found[name] = parameters.index(given.id)
    return found


def _own(node: ast.AST, makers: Mapping[str, int]) -> Iterator[str]:
    for maker, position in makers.items():
        for call in _calls(node, maker):
            given = call.args[position]
            if isinstance(given, ast.Constant):
                yield str(given.value)
            elif not isinstance(
                given, ast.Name | ast.Attribute
            ):  # a maker's parameter, or another verdict's id
                raise TypeError(f"line {call.lineno}: write the rule's id as one text: {ast.unparse(given)}")


def _calls(node: ast.AST, name: str) -> list[ast.Call]:
    return [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == name
    ]


def _called(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
            yield one.func.id


def _reached(
    name: str, own: Mapping[str, tuple[str, ...]], calls: Mapping[str, list[str]]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    seen: set[str] = set()
    pending = [name]
    while pending:
        one = pending.pop(0)
        if one not in seen:
            seen.add(one)
            found.update(dict.fromkeys(own[one]))
            pending += calls[one]
    return tuple(found)
