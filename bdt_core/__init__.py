"""The method of the bias audit: plain Python, usable in a notebook, without any orchestrator.

Start with :func:`audit`; :func:`compare` holds two models against each other. `HBAC`, `LOGAN`, `bias_metrics`,
`find_slices`, `find_worst_groups`, `GroupThresholds` and `reweigh` are parts of the method.
Importing the package costs nothing: what is named here is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.audit import AuditResult, audit
    from bdt_core.clustering import HBAC
    from bdt_core.comparing import compare
    from bdt_core.fairness import bias_metrics
    from bdt_core.local_bias import LOGAN
    from bdt_core.mitigation import GroupThresholds, reweigh
    from bdt_core.scan import find_worst_groups
    from bdt_core.slices import find_slices
    from bdt_core.stages import Stages

__all__ = [
    "HBAC",
    "LOGAN",
    "AuditResult",
    "GroupThresholds",
    "Stages",
    "__version__",
    "audit",
    "bias_metrics",
    "compare",
    "find_slices",
    "find_worst_groups",
    "reweigh",
]

_HOMES = {
    "AuditResult": ".audit",
    "GroupThresholds": ".mitigation",
    "HBAC": ".clustering",
    "LOGAN": ".local_bias",
    "Stages": ".stages",
    "bias_metrics": ".fairness",
    "compare": ".comparing",
    "find_slices": ".slices",
    "find_worst_groups": ".scan",
    "reweigh": ".mitigation",
}


def __getattr__(name: str) -> Any:
    if name == "audit":
        return import_module("bdt_core.audit")  # which can be called, for it takes the place of its function here
    if name == "__version__":
        from bdt_core.version import installed_version

        return installed_version()
    return loader(__name__, _HOMES)(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
