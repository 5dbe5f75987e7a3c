"""The method of the bias audit: plain Python, usable in a notebook, without any orchestrator.

Start with :func:`audit`; :func:`compare` holds two models against each other. `HBAC`, `LOGAN`, `bias_metrics`,
`find_slices`, `find_worst_groups`, `find_miscalibrated_groups`, `GroupThresholds` and `reweigh` are parts of it.
Importing the package costs nothing: what is named here is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdt_core.on_demand import lend, loader

if TYPE_CHECKING:
    from bdt_core.auditing import AuditResult, audit
    from bdt_core.calibration import find_miscalibrated_groups
    from bdt_core.clustering import HBAC
    from bdt_core.comparing import compare
    from bdt_core.fairness import bias_metrics
    from bdt_core.groups.scan import find_worst_groups
    from bdt_core.groups.slices import find_slices
    from bdt_core.local_bias import LOGAN
    from bdt_core.mitigation import GroupThresholds, reweigh
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
    "find_miscalibrated_groups",
    "find_slices",
    "find_worst_groups",
    "reweigh",
]

_HOMES = {
    "AuditResult": ".auditing",
    "GroupThresholds": ".mitigation",
    "HBAC": ".clustering",
    "LOGAN": ".local_bias",
    "Stages": ".stages",
    "audit": ".auditing",
    "bias_metrics": ".fairness",
    "compare": ".comparing",
    "find_miscalibrated_groups": ".calibration",
    "find_slices": ".groups.slices",
    "find_worst_groups": ".groups.scan",
    "reweigh": ".mitigation",
}

# Import paths of old, and pictures of results: the rooms below offer names of floors above them, without knowing these.
_CLARIFY = ("ClarifyAnalysis", "ClarifyConfig", "clarify_analysis", "read_analysis_config", "write_analysis")
lend("bdt_core.clustering", {"LOGAN": "bdt_core.local_bias.logan"})
lend("bdt_core.fairness", dict.fromkeys(_CLARIFY, "bdt_core.clarify"))
lend("bdt_core.result", {"plot": "bdt_core.report.plots"})
lend("bdt_core.clustering.hbac", {"plot_tree": "bdt_core.report.plots"})


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from bdt_core.version import installed_version

        return installed_version()
    return loader(__name__, _HOMES)(name)


def __dir__() -> list[str]:
    return sorted(__all__)
