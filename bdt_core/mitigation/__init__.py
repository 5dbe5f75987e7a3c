"""Remedies for a gap: thresholds per group, weights of training data, and features that stand in for a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.mitigation.group_thresholds import GroupThresholds
    from bdt_core.mitigation.mitigating import mitigate
    from bdt_core.mitigation.proxies import Proxy, ProxyTable, proxy_table
    from bdt_core.mitigation.recommendations import Recommendation, recommend
    from bdt_core.mitigation.results import Mitigation, MitigationSettings
    from bdt_core.mitigation.reweighing import Reweighing, reweigh
    from bdt_core.mitigation.sweep import FrontierPoint

__all__ = [
    "FrontierPoint",
    "GroupThresholds",
    "Mitigation",
    "MitigationSettings",
    "Proxy",
    "ProxyTable",
    "Recommendation",
    "Reweighing",
    "mitigate",
    "proxy_table",
    "recommend",
    "reweigh",
]

# scikit-learn, an estimator of which the thresholds are, takes a second to import: only when they are needed.
_HOMES = {
    "FrontierPoint": ".sweep",
    "GroupThresholds": ".group_thresholds",
    "Mitigation": ".results",
    "MitigationSettings": ".results",
    "Proxy": ".proxies",
    "ProxyTable": ".proxies",
    "Recommendation": ".recommendations",
    "Reweighing": ".reweighing",
    "mitigate": ".mitigating",
    "proxy_table": ".proxies",
    "recommend": ".recommendations",
    "reweigh": ".reweighing",
}
__getattr__ = loader(__name__, _HOMES)
