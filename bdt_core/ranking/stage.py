"""The audit's stage: all findings in one list, under one error control."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bdt_core.clustering.clusters import Clusters
from bdt_core.ranking.candidates import (
    from_clusters,
    from_declared_groups,
    from_local_bias,
    from_slices,
    from_worst_groups,
    name_of,
    with_rows,
)
from bdt_core.ranking.finding import Finding, Findings
from bdt_core.significance.clusters import ClusterSignificance
from bdt_core.spec import AuditSpec, FoundBy
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.factors import factors_of, rows_for_factors
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import Drawn

if TYPE_CHECKING:
    from bdt_core.declared import DeclaredOutcomes
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.scan.results import WorstGroups
    from bdt_core.slices.results import Slices

_SAME_PEOPLE = 0.5
_SAME_HARM = 0.5
"""Share of their harm that people suffer outside a group, too, from which on it is not that of the group."""
_MOST_FINDINGS = 20
Mask = NDArray[np.bool_]


def rank_findings(
    table: Rows,
    test: Rows,
    clusters: Clusters | None,
    significance: ClusterSignificance | None,
    worst_groups: WorstGroups | None,
    slices: Slices | None,
    local_bias: LocalBias | None,
    declared: DeclaredOutcomes | None,
    spec: AuditSpec,
) -> Findings:
    """Gather what all searches found, correct for how many there were, fold what overlaps, and rank.

    Parameters
    ----------
    table, test : Rows
        All rows, and those that clusters and intersections were tested on.
    clusters, significance, worst_groups, slices, local_bias, declared
        What the searches found; None where one was not asked for.
    spec : AuditSpec

    Returns
    -------
    Findings
        The chance of any where nobody fares worse than others is at most alpha: each search has its share of it
        (Bonferroni's inequality, weighted). Ranked by how many people are harmed at least.
    """
    measured, alpha = name_of(spec), spec.significance.alpha
    rows = rows_for_factors(table)
    brought: dict[FoundBy, Iterator[Finding]] = {}
    if worst_groups is not None:
        brought["worst_groups"] = from_worst_groups(worst_groups, measured)
    if declared is not None:
        brought["groups"] = from_declared_groups(declared)
    if clusters is not None and significance is not None:
        brought["clusters"] = from_clusters(clusters, significance, measured)
    if slices is not None:
        brought["slices"] = from_slices(slices, measured)
    if local_bias is not None:
        brought["local_bias"] = from_local_bias(local_bias, spec)
    shares = spec.search_shares
    kept = [
        replace(one, p_value=min(1.0, one.p_value / shares[found_by]))
        for found_by, several in brought.items()
        for one in several
    ]
    kept = [one for one in kept if one.p_value <= alpha and one.difference > 0]
    found = _Measured(rows, rows_for_factors(test), table.audited_rows, spec)
    measured_once = [found.measured(one, inside) for one, inside in _without_copies(kept, found.members)]
    ranked = ranked_by_harm([pair for pair in measured_once if pair[0].p_value <= alpha and pair[0].harm_at_least > 0])
    counted: Literal["people", "rows"] = "people" if spec.split.key is None else "rows"
    drawn = Drawn.where_fewer(rows.audited_rows, table.audited_rows)
    return Findings(
        tuple(_folded(ranked, found.harm))[:_MOST_FINDINGS], dict(shares), alpha, tuple(spec.legitimate), counted, drawn
    )


class _Measured:
    """Who the findings are among the rows at hand, and what remains of them among people alike."""

    def __init__(self, rows: AuditTable, test: AuditTable, of: int, spec: AuditSpec) -> None:
        self._rows, self._of, self._spec = rows, of, spec
        self._is_rate = bool(np.isin(rows.y, (0.0, 1.0)).all())
        parts = {False: rows, True: test}
        self._factors = {on_test: factors_of(part) for on_test, part in parts.items()} if spec.legitimate else {}
        self._frames = {on_test: part.audited for on_test, part in parts.items()}

    @property
    def harm(self) -> NDArray[np.float64]:
        """What the rows suffer, higher being worse, beyond what legitimate factors let expect."""
        if self._factors:
            return self._factors[False].unexplained
        return self._rows.y if self._spec.bias_variable.better == "lower" else -self._rows.y

    def members(self, finding: Finding) -> Mask:
        """Which rows a finding is about."""
        return finding.members(self._frames[False])

    def measured(self, finding: Finding, inside: Mask) -> tuple[Finding, Mask]:
        """A finding with its numbers of people and what remains of it, and which rows it is about."""
        finding = with_rows(finding, inside, self._of / inside.size, is_rate=self._is_rate)
        if self._factors and finding.found_by != "local_bias":
            on_test = finding.on_test_rows
            members = finding.members(self._frames[True]) if on_test else inside
            remaining, alpha = finding.remaining, self._spec.significance.alpha
            if remaining is None and 0 < members.sum() < members.size:
                remaining = self._factors[on_test].compare(members, alpha=alpha, reach=finding.reach)
                # Found by a difference in all, which factors may explain: what is claimed must be as sure as that was.
                comparisons = alpha / (2.0 * ndtr(-finding.reach))
                p_value = remaining.p_value * comparisons / self._spec.search_shares[finding.found_by]
                finding = replace(finding, p_value=float(min(1.0, max(finding.p_value, p_value))))
            if remaining is not None:
                finding = replace(
                    finding,
                    difference=remaining.difference,
                    low=remaining.low,
                    high=remaining.high,
                    remaining=remaining,
                    people_harmed=remaining.people_harmed(finding.rows) if self._is_rate else None,
                )
        return finding, inside


def _without_copies(
    candidates: Sequence[Finding], members: Callable[[Finding], Mask]
) -> Iterator[tuple[Finding, Mask]]:
    """Of findings that are the very same people, the one of the widest search: its interval allows for most."""
    told: set[bytes] = set()
    for one in candidates:
        inside = members(one)
        people = inside.tobytes()
        if people not in told:
            told.add(people)
            yield one, inside


def ranked_by_harm(found: Sequence[tuple[Finding, Mask]]) -> list[tuple[Finding, Mask]]:
    """Those first that harm most people at least.

    What was measured on the test rows alone depends on which rows these are: it goes before what was measured on all
    rows only where it harms more people at least than the other was found to harm.
    """
    by_harm = sorted(found, key=lambda pair: pair[0].harm_at_least, reverse=True)
    on_all = [pair for pair in by_harm if not pair[0].on_test_rows]
    on_test = [pair for pair in by_harm if pair[0].on_test_rows]
    ranked = []
    for pair in on_all:
        while on_test and on_test[0][0].harm_at_least > pair[0].harm_as_found:
            ranked.append(on_test.pop(0))
        ranked.append(pair)
    return ranked + on_test


def _folded(ranked: Sequence[tuple[Finding, Mask]], harm: NDArray[np.float64]) -> Iterator[Finding]:
    """Each finding with the weaker ones that it tells of."""
    left = list(ranked)
    while left:
        first, rest = left[0], left[1:]
        told = [_tells_of(first, one, harm) for one in rest]
        names = dict.fromkeys(one.who for (one, _), is_told in zip(rest, told, strict=True) if is_told)
        yield replace(first[0], also=tuple(name for name in names if name != first[0].who))
        left = [pair for pair, is_told in zip(rest, told, strict=True) if not is_told]


def _tells_of(first: tuple[Finding, Mask], other: tuple[Finding, Mask], harm: NDArray[np.float64]) -> bool:
    """Whether a finding tells of another: most people of the smaller one are in both, and their harm is its own.

    People who fare worse at least than the first was found to, or as badly where they are not among the first, fare
    worse for another reason: that most of them are among the first may be chance, where the first are many.
    """
    (one, inside), (two, members) = first, other
    if (inside & members).sum() < _SAME_PEOPLE * min(inside.sum(), members.sum()):
        return False
    if one.measured != two.measured:
        return True
    elsewhere, neither = members & ~inside, ~members & ~inside
    beyond = float(harm[elsewhere].mean() - harm[neither].mean()) if elsewhere.any() and neither.any() else 0.0
    return two.at_least <= one.as_found and beyond < _SAME_HARM * two.as_found
