"""One list of findings: who fares worse, how surely, by how much, and what remains of it among people alike."""

from bdt_core.ranking.results import Finding, FindingList, Findings

__all__ = ["Finding", "FindingList", "Findings"]
