"""The worst-treated groups: a scan over all groups that can be said in a few conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.groups.scan.results import Certificate, Searched, SpreadGroup, WorstGroup, WorstGroups
    from bdt_core.groups.scan.search import find_worst_groups

__all__ = ["Certificate", "Searched", "SpreadGroup", "WorstGroup", "WorstGroups", "find_worst_groups"]

# A process that only compiles the kernels needs no SciPy.
_HOMES = {
    "Certificate": ".results",
    "Searched": ".results",
    "SpreadGroup": ".results",
    "WorstGroup": ".results",
    "WorstGroups": ".results",
    "find_worst_groups": ".search",
}
__getattr__ = loader(__name__, _HOMES)
