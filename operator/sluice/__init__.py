"""Sluice admits Delta Lake writes by the data they touch, before any compute is spent.

As a library it is the oracle alone: see docs/python-api.md. What it offers is loaded when it is first asked for, because the
operator imports this package, too, and needs none of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sluice.offline.api import Oracle as Oracle
    from sluice.offline.api import explain as explain
    from sluice.offline.api import history as history
    from sluice.offline.api import plan as plan

__all__ = ["Oracle", "explain", "history", "plan"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module sluice has no attribute {name}")
    return getattr(import_module("sluice.offline.api"), name)
