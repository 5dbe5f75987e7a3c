"""Hierarchical bias-aware clustering: groups of similar people whom an algorithm treats differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.clustering.hbac import HBAC
    from bdt_core.clustering.tree import ClusterTree, Node

__all__ = ["HBAC", "ClusterTree", "Node"]

# The compiler behind the kernels takes a third of a second to import: only when it is needed.
_HOMES = {
    "HBAC": "bdt_core.clustering.hbac",
    "ClusterTree": "bdt_core.clustering.tree",
    "Node": "bdt_core.clustering.tree",
}
__getattr__ = loader(__name__, _HOMES)
