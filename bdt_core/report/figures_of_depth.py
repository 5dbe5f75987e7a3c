"""Presence of figures on groups that were searched, local bias and mitigation; templates ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.report import calibration, local_bias, mitigation, slices

if TYPE_CHECKING:
    from bdt_core.report.document import Document


def figures_of_depth(document: Document) -> tuple[str, ...]:
    """Figures on groups that were searched, local bias and mitigation that a document has."""
    searched, local = document.slices, document.local_bias
    there = {
        "worst_groups": document.worst_groups and document.worst_groups.groups,
        "ruled_out": document.worst_groups and document.worst_groups.limited,
        "calibration": document.calibration and calibration.drawn_facet(document.calibration),
        "slices": searched and slices.drawn_slices(searched),
        "slices_lattice": searched and len(searched.lattice) > 1,
        "local_bias": local and any(local_bias.pair(one) for one in local.logan.clusters),
        "mitigation": mitigation.mitigation_points(document),
    }
    return tuple(name for name, is_there in there.items() if is_there)
