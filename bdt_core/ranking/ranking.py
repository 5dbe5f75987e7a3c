"""The audit's stage: all findings in one list, under one error control."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bdt_core.clustering.clusters import Clusters
from bdt_core.inference.alike import AlikeComparison
from bdt_core.metrics import harm_sign
from bdt_core.ranking.candidates import (
    from_clusters,
    from_declared_groups,
    from_local_bias,
    from_slices,
    from_worst_groups,
    name_of,
    with_rows,
)
from bdt_core.ranking.profiles import profiles_of
from bdt_core.ranking.results import Finding, Findings
from bdt_core.significance.clusters import ClusterSignificance
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.factors import factors_of, rows_for_factors
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import Drawn

if TYPE_CHECKING:
    from bdt_core.declared import DeclaredOutcomes
    from bdt_core.groups.scan.results import WorstGroups
    from bdt_core.groups.slices.results import Slices
    from bdt_core.local_bias.results import LocalBias

_SAME_PEOPLE = 0.5
_NEARLY_ALL = 0.8
"""Share of all who are in either of two findings that are in both, from which on they are the same people."""
_WITHIN = 0.9
"""Share of a finding's people who are among those of another, from which on it is a part of that."""
_SAME_HARM = 0.5
"""Share of their harm that people suffer outside a group, too, from which on it is not that of the group."""
_CERTAIN = float(ndtri(0.975))
_MOST_FINDINGS = 20
Mask = NDArray[np.bool_]
_Mask = TypeVar("_Mask", bound=Mask | None)


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

    def sure(candidates: Iterable[Finding]) -> list[Finding]:
        """Those that are sure enough after the correction for the other searches."""
        shares = spec.search_shares
        corrected = (replace(one, p_value=min(1.0, one.p_value / shares[one.found_by])) for one in candidates)
        return [one for one in corrected if one.p_value <= alpha and one.difference > 0]

    def scanned(groups: WorstGroups | None) -> list[Finding]:
        return [] if groups is None else sure(from_worst_groups(groups, measured))

    places = () if local_bias is None else sure(from_local_bias(local_bias, spec, table.audited_rows))
    others = sure(
        chain(
            from_declared_groups(declared) if declared is not None else (),
            from_clusters(clusters, significance, measured)
            if clusters is not None and significance is not None
            else (),
            from_slices(slices, measured) if slices is not None else (),
        )
    )
    people = _People(rows, rows_for_factors(test), table.audited_rows, spec)
    compared = [people.among_alike(*pair) for pair in people.counted([*scanned(worst_groups), *others])]
    confirmed = ranked_by_harm(
        [pair for pair in compared if pair[0].p_value <= alpha and pair[0].harm_at_least > 0]
        + [(one, None) for one in places if one.harm_at_least > 0]
    )
    at_first_sight: tuple[Finding, ...] = ()
    if spec.legitimate:
        raw = None if worst_groups is None else worst_groups.raw
        at_first_sight = tuple(people.at_first_sight([*scanned(raw), *others]))
    return Findings(
        findings=tuple(people.profiled(list(folded(confirmed, people.harm))[:_MOST_FINDINGS])),
        searches=dict(spec.search_shares),
        alpha=alpha,
        legitimate=tuple(spec.legitimate),
        counted="people" if spec.split.key is None else "rows",
        drawn=Drawn.where_fewer(rows.audited_rows, table.audited_rows),
        at_first_sight=at_first_sight,
        confirmed=tuple(one for one, _ in confirmed),
    )


class _People:
    """Who the findings are among the rows at hand, how they fare, and what remains of it among people alike."""

    def __init__(self, rows: AuditTable, test: AuditTable, of: int, spec: AuditSpec) -> None:
        self._rows, self._of, self._spec = rows, of, spec
        self._is_rate = bool(np.isin(rows.y, (0.0, 1.0)).all())
        self._sign = harm_sign(spec.bias_variable.better)
        parts = {False: rows, True: test}
        self._factors = {on_test: factors_of(part) for on_test, part in parts.items()} if spec.legitimate else {}
        self._frames = {on_test: part.audited for on_test, part in parts.items()}
        self._compared: dict[tuple[bytes, bool, float], AlikeComparison] = {}

    @property
    def harm(self) -> NDArray[np.float64]:
        """What the rows suffer, higher being worse, beyond what legitimate factors let expect."""
        return self._factors[False].unexplained if self._factors else self._sign * self._rows.y

    def counted(self, candidates: Sequence[Finding]) -> Iterator[tuple[Finding, Mask]]:
        """Findings with their numbers of people and means, and which rows they are; the same people once."""
        times = self._of / self._rows.audited_rows
        for finding, inside in _without_copies(candidates, lambda one: one.members(self._frames[False])):
            if 0 < inside.sum() < inside.size:
                yield with_rows(finding, inside, self._rows.y, times, is_rate=self._is_rate), inside

    def among_alike(self, finding: Finding, inside: Mask) -> tuple[Finding, Mask]:
        """A finding with what remains of it among people alike."""
        if self._factors:
            given = finding.remaining
            remaining = given or self._compare(finding, inside)
            if given is None and remaining is not None:
                # Found by a difference in all, which factors may explain: what is claimed must be as sure as that was.
                comparisons = float(self._spec.significance.alpha / (2.0 * ndtr(-finding.reach)))
                p_value = remaining.p_value * comparisons / self._spec.search_shares[finding.found_by]
                if p_value > finding.p_value:
                    finding = replace(finding, p_value=min(1.0, p_value), at_floor=False)
            if remaining is not None:
                finding = replace(
                    finding,
                    difference=remaining.difference,
                    low=remaining.low,
                    high=remaining.high,
                    remaining=remaining,
                    people_harmed=remaining.people_harmed(finding.rows) if self._is_rate else None,
                    only_among_alike=remaining.low <= 0.0,
                )
        return self._beside_alike(finding), inside

    def profiled(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Findings with the features of their people; a place among embeddings has none that the table says."""
        profile_of = profiles_of(self._rows)
        for finding in findings:
            known = finding.embeddings is None
            yield replace(finding, profile=profile_of(finding.members(self._frames[False]))) if known else finding

    def at_first_sight(self, candidates: Sequence[Finding]) -> Iterator[Finding]:
        """Those whose difference in all is certain, the largest harm first, and what remains of each."""
        certain = [pair for pair in map(self._in_all, self.counted(candidates)) if pair[0].harm_at_least > 0]
        raw = self._sign * self._rows.y
        for finding in list(folded(ranked_by_harm(certain), raw))[:_MOST_FINDINGS]:
            inside = finding.members(self._frames[False])
            remaining = self._compare(finding, inside)
            # Compared with everybody else; groups found before do not matter any more.
            yield self._beside_alike(replace(finding, remaining=remaining, groups_before=0))

    def _in_all(self, pair: tuple[Finding, Mask]) -> tuple[Finding, Mask]:
        """A finding by its difference from everybody else, where the search compared people alike in groups before."""
        finding, inside = pair
        if finding.groups_before:  # a group of the search, which was on all rows
            alpha = self._spec.significance.alpha
            difference, low, high = self._factors[False].in_all(inside, alpha=alpha, reach=finding.reach)
            harmed = finding.rows * difference if self._is_rate else None
            finding = replace(finding, difference=difference, low=low, high=high, people_harmed=harmed)
        return finding, inside

    def _compare(self, finding: Finding, inside: Mask) -> AlikeComparison | None:
        """A finding's people against people alike; None where all rows to compare are on one side."""
        on_test = finding.on_test_rows
        members = finding.members(self._frames[True]) if on_test else inside
        if not 0 < members.sum() < members.size:
            return None
        key = members.tobytes(), on_test, finding.reach
        if key not in self._compared:
            alpha = self._spec.significance.alpha
            self._compared[key] = self._factors[on_test].compare(members, alpha=alpha, reach=finding.reach)
        return self._compared[key]

    def _beside_alike(self, finding: Finding) -> Finding:
        """A finding with the mean that its people would have, fared they as people alike do."""
        is_adjusted = finding.groups_before > 0 if finding.remaining is None else finding.remaining.has_people_alike
        return replace(finding, mean_alike=finding.mean_inside - self._sign * finding.as_found if is_adjusted else None)


def _without_copies(
    candidates: Sequence[Finding], members: Callable[[Finding], Mask]
) -> Iterator[tuple[Finding, Mask]]:
    """Of findings that are the very same people, the one of the widest search: its interval allows for most."""
    known: set[bytes] = set()
    for finding in candidates:
        inside = members(finding)
        people = inside.tobytes()
        if people not in known:
            known.add(people)
            yield finding, inside


def ranked_by_harm(findings: Sequence[tuple[Finding, _Mask]]) -> list[tuple[Finding, _Mask]]:
    """Those first that harm most people at least.

    What was measured on the test rows alone depends on which rows these are: it goes before what was measured on all
    rows only where it harms more people at least than the other was found to harm.
    """
    by_harm = sorted(findings, key=lambda pair: pair[0].harm_at_least, reverse=True)
    on_all = [pair for pair in by_harm if not pair[0].on_test_rows]
    on_test = [pair for pair in by_harm if pair[0].on_test_rows]
    ranked = []
    for pair in on_all:
        while on_test and on_test[0][0].harm_at_least > pair[0].harm_as_found:
            ranked.append(on_test.pop(0))
        ranked.append(pair)
    return ranked + on_test


def folded(ranked: Sequence[tuple[Finding, Mask | None]], harm: NDArray[np.float64]) -> Iterator[Finding]:
    """Each finding with the weaker ones that it tells of, and with those whose harm is that of its people.

    A place of local bias is nobody else's to tell: who reads of the group must read where it is behind.

    Parameters
    ----------
    ranked : sequence of (Finding, mask)
        Those first that are told first; of places of local bias without a mask.
    harm : ndarray of float64
        Of each row, higher being worse.
    """
    explained = _explained(ranked, harm)
    left = [(place, one) for place, one in enumerate(ranked) if place not in explained]
    while left:
        (place, first), rest = left[0], left[1:]
        parents = [ranked[parent][0].who for parent, child in explained.items() if child == place]
        tells = [_tells_of(first, one, harm) for _, one in rest]
        weaker = [
            name
            for (other, (one, _)), is_told in zip(rest, tells, strict=True)
            if is_told
            for name in (one.who, *(ranked[parent][0].who for parent, child in explained.items() if child == other))
        ]
        names = dict.fromkeys((*parents, *weaker))
        yield replace(first[0], also=tuple(name for name in names if name != first[0].who))
        left = [one for one, is_told in zip(rest, tells, strict=True) if not is_told]


def _explained(ranked: Sequence[tuple[Finding, Mask | None]], harm: NDArray[np.float64]) -> dict[int, int]:
    """By the place of a finding whose harm is that of a part of its people: the place of that part in the list.

    Of several such parts the one that is told first; where that is explained by a part of its own, the latter.
    """
    explained: dict[int, int] = {}
    for place, parent in enumerate(ranked):
        parts = (other for other, child in enumerate(ranked) if other != place and _explains(child, parent, harm))
        part = next(parts, None)
        if part is not None:
            explained[place] = part

    def last(place: int) -> int:
        return last(explained[place]) if place in explained else place

    return {place: last(part) for place, part in explained.items()}


def _explains(
    child: tuple[Finding, Mask | None], parent: tuple[Finding, Mask | None], harm: NDArray[np.float64]
) -> bool:
    """Whether a part of a finding's people are all its harm: nothing is certain of the others any more.

    Where the finding would tell of that part, as it is no worse off than all of them, most of its harm must be ruled
    out for the others: a search for the worst leaves those out, too, who fare better by chance.
    """
    (part, members), (whole, inside) = child, parent
    if members is None or inside is None or members.sum() >= inside.sum():
        return False
    if (inside & members).sum() < _WITHIN * members.sum() or _same_people(members, inside):
        return False
    rest, neither = inside & ~members, ~inside & ~members
    if not neither.any():
        return False
    beyond, error = _difference(harm[rest], harm[neither])
    if beyond + _CERTAIN * error < _SAME_HARM * whole.as_found:
        return True
    is_told = part.at_least <= whole.as_found
    return not is_told and beyond - _CERTAIN * error <= 0.0 and beyond < _SAME_HARM * whole.as_found


def _difference(some: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[float, float]:
    """Of two means, with its standard error."""
    error = math.sqrt(some.var() / some.size + others.var() / others.size)
    return float(some.mean() - others.mean()), error


def _tells_of(
    first: tuple[Finding, Mask | None], other: tuple[Finding, Mask | None], harm: NDArray[np.float64]
) -> bool:
    """Whether a finding tells of another: most people of the smaller one are in both, and their harm is its own.

    People who fare worse at least than the first was found to, or as badly where they are not among the first, fare
    worse for another reason: that most of them are among the first may be chance, where the first are many. The same
    people but for few, who suffer little of the harm, are told once, and so is another cut of the same column.
    """
    (finding, inside), (weaker, members) = first, other
    if inside is None or members is None or (inside & members).sum() < _SAME_PEOPLE * min(inside.sum(), members.sum()):
        return False
    by_one_column = _of_one_column(finding) is not None and _of_one_column(finding) == _of_one_column(weaker)
    if by_one_column and (inside & members).sum() >= _SAME_PEOPLE * (inside | members).sum():
        return True
    elsewhere, neither = members & ~inside, ~members & ~inside
    beyond = _difference(harm[elsewhere], harm[neither])[0] if elsewhere.any() and neither.any() else 0.0
    few = (1.0 - _NEARLY_ALL) * members.sum() * weaker.as_found
    if _same_people(inside, members) and elsewhere.sum() * beyond < few:
        return True
    return weaker.at_least <= finding.as_found and beyond < _SAME_HARM * weaker.as_found


def _same_people(some: Mask, others: Mask) -> bool:
    """Whether two findings are the same people but for few."""
    return bool((some & others).sum() >= _NEARLY_ALL * (some | others).sum())


def _of_one_column(finding: Finding) -> str | None:
    """The column that alone says who they are."""
    columns = {one.column for one in finding.conditions or finding.described}
    return next(iter(columns)) if len(columns) == 1 else None
