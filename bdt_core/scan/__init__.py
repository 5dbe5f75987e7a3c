"""The worst-treated groups: a scan over all groups that can be said in a few conditions."""

from bdt_core.scan.conditions import GroupCondition
from bdt_core.scan.results import Certificate, Searched, WorstGroup, WorstGroups
from bdt_core.scan.search import find_worst_groups

__all__ = ["Certificate", "GroupCondition", "Searched", "WorstGroup", "WorstGroups", "find_worst_groups"]
