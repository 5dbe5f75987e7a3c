"""Rows of d, the group under suspicion, in each of Clarify's metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import SpecError
from bdt_core.fairness.coding import Threshold, Value, canonical, is_same, values_of
from bdt_core.fairness.confusion import Floats
from bdt_core.fairness.counts import CountTable, Group
from bdt_core.fairness.metric_results import group_name

FacetValues = Value | Iterable[Value | tuple[Value, ...]] | Threshold


@dataclass(frozen=True)
class FacetContrasts:
    """Which groups make up each d; a are all other groups."""

    values: tuple[Group, ...]
    members: NDArray[np.float64] | None
    """Shape (contrasts, groups); None when every group is a d of its own."""

    def of_d(self, array: Floats) -> Floats:
        """Sum over the groups of each d; the groups are the first axis."""
        return array if self.members is None else np.tensordot(self.members, array, axes=1)


def facet_contrasts(table: CountTable, facet_values: FacetValues | None) -> FacetContrasts:
    """Find the groups that make up d."""
    if facet_values is None:
        return FacetContrasts(table.groups, None)
    if isinstance(facet_values, Threshold):
        of_d: list[Group] = [(facet_values.above,)]
    elif isinstance(facet_values, str) or not isinstance(facet_values, Iterable):
        of_d = [(canonical(facet_values),)]
    else:
        of_d = [values_of(one) if isinstance(one, tuple) else (canonical(one),) for one in facet_values]
    if not of_d or any(len(group) != len(table.facets) for group in of_d):
        raise SpecError(f"facet_values must name one value for each of: {', '.join(table.facets)}.")
    members = np.array([[any(map(_is_group, repeat(one), of_d)) for one in table.groups]], dtype=np.float64)
    name = of_d[0] if len(of_d) == 1 else (", ".join(group_name(group) for group in of_d),)
    return FacetContrasts((name,), members)


def _is_group(group: Group, asked: Group) -> bool:
    return all(map(is_same, group, asked))
