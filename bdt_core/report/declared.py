"""Outcomes of declared groups: which are shown, and in what order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.metrics import harm_sign

if TYPE_CHECKING:
    from bdt_core.declared import DeclaredFacet, DeclaredGroup, DeclaredOutcomes
    from bdt_core.report.document import Document

MOST_SHOWN = 15


def facets(outcomes: DeclaredOutcomes) -> list[DeclaredFacet]:
    """The groupings that have groups."""
    return [one for one in outcomes.facets if one.groups]


def shown(outcomes: DeclaredOutcomes, facet: DeclaredFacet) -> list[DeclaredGroup]:
    """Groups with numbers, those first that fare worst."""
    sign = harm_sign(outcomes.better)
    known = [one for one in facet.groups if one.mean is not None]
    return sorted(known, key=lambda one: -sign * (one.mean or 0.0))[:MOST_SHOWN]


def not_shown(facet: DeclaredFacet) -> int:
    """Groups with numbers that stand in report.json alone."""
    return max(len(facet.groups) - len(facet.small) - MOST_SHOWN, 0)


def is_worse(outcomes: DeclaredOutcomes, group: DeclaredGroup) -> bool:
    """Whether a group is significantly worse off than everybody else."""
    return bool(group.significant) and (outcomes.harm(group) or 0.0) > 0.0


def are_compared(outcomes: DeclaredOutcomes) -> bool:
    """Whether any group is held against everybody else; in the form for publication none is."""
    return outcomes.comparisons > 0


def stands_in_groups(document: Document, facet: DeclaredFacet) -> bool:
    """Whether the section on rates of declared groups has the same rate of the same groups."""
    rate = document.spec["bias_variable"]["derive"]
    facets = document.groups.facets if document.groups else ()
    return any(
        tuple(one.columns) == tuple(facet.columns) and any(rate in (each.rates or ()) for each in one.groups)
        for one in facets
    )


def all_stand_in_groups(document: Document) -> bool:
    """Whether that section has what each grouping has, so that only differences from everybody else are new."""
    outcomes = document.declared_outcomes
    return outcomes is not None and all(stands_in_groups(document, one) for one in facets(outcomes))


def not_searched(document: Document) -> list[str]:
    """Searches that were switched off, where clusters are among them; none in the form for publication."""
    if document.search is not None or document.publication is not None:
        return []
    searches = {"groups of conditions": document.worst_groups, "intersections": document.slices}
    return ["clusters", *(name for name, one in searches.items() if one is None)]


def are_all(document: Document) -> bool:
    """Whether the declared groups alone were compared, and nothing was searched."""
    return len(not_searched(document)) == 3 and document.local_bias is None
