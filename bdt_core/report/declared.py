"""Outcomes of declared groups: which are shown, and in what order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bdt_core.declared import DeclaredFacet, DeclaredGroup, DeclaredOutcomes

MOST_SHOWN = 15


def facets(found: DeclaredOutcomes) -> list[DeclaredFacet]:
    """The groupings that have groups."""
    return [one for one in found.facets if one.groups]


def shown(found: DeclaredOutcomes, facet: DeclaredFacet) -> list[DeclaredGroup]:
    """Groups with numbers, those first that fare worst."""
    sign = 1.0 if found.better == "lower" else -1.0
    known = [one for one in facet.groups if one.mean is not None]
    return sorted(known, key=lambda one: -sign * (one.mean or 0.0))[:MOST_SHOWN]


def not_shown(facet: DeclaredFacet) -> int:
    """Groups with numbers that stand in report.json alone."""
    return max(len(facet.groups) - len(facet.small) - MOST_SHOWN, 0)


def is_worse(found: DeclaredOutcomes, one: DeclaredGroup) -> bool:
    """Whether a group is significantly worse off than everybody else."""
    return bool(one.significant) and (found.harm(one) or 0.0) > 0.0


def are_compared(found: DeclaredOutcomes) -> bool:
    """Whether any group is held against everybody else; in the form for publication none is."""
    return found.comparisons > 0


def names(facet: DeclaredFacet) -> list[str]:
    """Groups that have too few rows for a number of their own."""
    return [one.group for one in facet.small]
