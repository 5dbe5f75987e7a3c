"""The parts of the report's document on intersections, local bias and mitigation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bdt_core.findings import AuditFindings
from bdt_core.verdict import GateResult

SLICES_LISTED = 50


def depth_document(findings: AuditFindings, gate: GateResult) -> dict[str, Any]:
    """What was found beside clusters and declared groups; null for what was not asked for.

    Slices are listed as far as they are significant, and the first `SLICES_LISTED` of the others.
    """
    slices = findings.slices
    if slices is not None:
        significant = sum(bool(one.significant) for one in slices.slices)
        slices = replace(slices, slices=slices.slices[: max(significant, SLICES_LISTED)])
    return {
        "slices": None if slices is None else _without_drawn(slices.to_dict()),
        "local_bias": None if findings.local_bias is None else _without_state(findings.local_bias.to_dict()),
        "mitigation": None if findings.mitigation is None else _mitigation(findings.mitigation, gate),
    }


def _without_drawn(slices: dict[str, Any]) -> dict[str, Any]:
    """What was worked out on some of the rows stands in a part of its own."""
    return {name: value for name, value in slices.items() if name not in ("cut_on", "permuted_on")}


def _mitigation(found: Any, gate: GateResult) -> dict[str, Any]:
    from bdt_core.mitigation import recommend

    return {**found.to_dict(), "recommendations": [one.to_dict() for one in recommend(found, gate.limits)]}


def _without_state(found: dict[str, Any]) -> dict[str, Any]:
    """Without the fitted model, which is needed to place new rows and not to read the result."""
    return {name: value for name, value in found.items() if name != "model_state"}
