"""Hierarchical bias-aware clustering: groups of similar people whom an algorithm treats differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bdt_core.clustering.hbac import HBAC
    from bdt_core.clustering.tree import ClusterTree, Node

__all__ = ["HBAC", "ClusterTree", "Node"]

_HOMES = {
    "HBAC": "bdt_core.clustering.hbac",
    "ClusterTree": "bdt_core.clustering.tree",
    "Node": "bdt_core.clustering.tree",
    "LOGAN": "bdt_core.local_bias.logan",  # where it was found until it had a room of its own
}


def __getattr__(name: str) -> Any:
    # The compiler behind the kernels takes a third of a second to import: only when it is needed.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
