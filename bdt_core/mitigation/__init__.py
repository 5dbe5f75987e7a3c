"""Remedies for a gap: thresholds per group, weights of training data, and features that stand in for a group."""

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
