"""Names of a package that are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_LENT: dict[tuple[str, str], str] = {}


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package, by the module of each name; ``.results`` is one of the package.

    Names that `lend` gave to the package are found, too.

    Examples
    --------
    >>> loader("bdt_core", {"HBAC": ".clustering.hbac"})("HBAC").__name__
    'HBAC'
    """

    def load(name: str) -> Any:
        home = homes.get(name) or _LENT.get((package, name))
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home, package), name)

    return load


def lend(package: str, homes: Mapping[str, str]) -> None:
    """Let a package offer names of floors above it, which it does not know; only the top of `bdt_core` does so."""
    _LENT.update({(package, name): home for name, home in homes.items()})


def lent(package: str, name: str) -> Any:
    """What `lend` gave to a package by this name."""
    return getattr(import_module(_LENT[package, name]), name)
