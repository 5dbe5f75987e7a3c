"""The worst-treated groups: a scan over all groups that can be said in a few conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bdt_core.scan.conditions import GroupCondition
    from bdt_core.scan.results import Certificate, Searched, WorstGroup, WorstGroups
    from bdt_core.scan.search import find_worst_groups

__all__ = ["Certificate", "GroupCondition", "Searched", "WorstGroup", "WorstGroups", "find_worst_groups"]

_HOMES = {
    "Certificate": "results",
    "GroupCondition": "conditions",
    "Searched": "results",
    "WorstGroup": "results",
    "WorstGroups": "results",
    "find_worst_groups": "search",
}


def __getattr__(name: str) -> Any:
    # A process that only compiles the kernels needs no SciPy.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"bdt_core.scan.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
