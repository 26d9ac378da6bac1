"""The names that a package offers, each loaded from its module when it is first asked for."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def load_from(package: str, module_of: Mapping[str, str]) -> Callable[[str], object]:
    """Returns the package's `__getattr__`. `module_of`: the module below the package that each name comes from."""

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package} has no attribute {name}")
        found: object = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return load
