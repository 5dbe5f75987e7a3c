"""The stages beside clusters and declared groups, each only when the specification asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bdt_core.spec import AuditSpec
from bdt_core.table.rows import Rows

if TYPE_CHECKING:
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.mitigation import Mitigation
    from bdt_core.slices import Slices


@dataclass(frozen=True)
class Depth:
    """What was found beside clusters and declared groups; None for what was not asked for."""

    slices: Slices | None = None
    local_bias: LocalBias | None = None
    mitigation: Mitigation | None = None


def look_deeper(train: Rows, test: Rows, spec: AuditSpec) -> Depth:
    """Search intersections, look for local bias and measure a mitigation, as far as the specification asks for it.

    Parameters
    ----------
    train, test : Rows
        Everything is found on the one and judged on the other. Of a large table, intersections are counted on all
        rows; local bias and mitigation are worked out on ``large_rows`` drawn rows of each part.
    spec : AuditSpec

    Returns
    -------
    Depth
    """
    slices = local_bias = mitigation = None
    if spec.slices is not None:
        from bdt_core.slices.stage import find_bias_slices

        slices = find_bias_slices(train, test, spec.slices)
    if spec.local_bias is not None:
        from bdt_core.local_bias.stage import find_audited_local_bias

        local_bias = find_audited_local_bias(train, test, spec.local_bias)
    if spec.mitigation is not None:
        from bdt_core.mitigation.audited import mitigate_audited

        mitigation = mitigate_audited(train, test, spec.mitigation)
    return Depth(slices, local_bias, mitigation)
