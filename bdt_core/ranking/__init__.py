"""One list of findings: who fares worse, how surely, by how much, and what remains of it among people alike."""

from bdt_core.ranking.finding import Finding, Findings

__all__ = ["Finding", "Findings"]
