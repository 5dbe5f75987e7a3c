"""Every intersection of conditions in which people fare worse, with error control."""

from bdt_core.groups.slices.columns import SlicedColumn
from bdt_core.groups.slices.results import Bounded, LatticeNode, Slice, Slices
from bdt_core.groups.slices.search import find_slices

__all__ = [
    "Bounded",
    "LatticeNode",
    "Slice",
    "SlicedColumn",
    "Slices",
    "find_slices",
]
