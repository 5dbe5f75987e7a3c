"""Names of a package that are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package, by the module of each name; ``.results`` is one of the package.

    Examples
    --------
    >>> loader("bdt_core", {"HBAC": ".clustering.hbac"})("HBAC").__name__
    'HBAC'
    """

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name], package), name)

    return found
