"""The form of a report for others: nobody can be recognised, and no small count be worked out.

The report of an audit is its owner's working file. What it hides of a small group is "all less the others", which
whoever has the file can compute. The form for publication is another document, made of the first one by one rule:

    Every number in it is computed from counts that were rounded to tens beforehand, each by itself.

So whatever is added up, subtracted or compared with another edition of the form, a count can be anything that is
rounded to the same ten: no two of them together tell more than each alone, but that both are of the same people. What
cannot be made of such counts (p-values, intervals after a search, thresholds, trees, single rows) is left out. Groups
with fewer people than the minimum are in no sum of the form, so that no difference between a sum and its parts is
theirs, and neither are their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bdt_core import words
from bdt_core.declared import DeclaredFacet, DeclaredGroup, DeclaredOutcomes
from bdt_core.fairness.coding import Level
from bdt_core.fairness.confusion import Confusion
from bdt_core.fairness.local_law_144 import CategoryImpact, ImpactTable
from bdt_core.fairness.metric_results import group_name
from bdt_core.fairness.reported_groups import Facet, Group, Groups, Rate
from bdt_core.fairness.selection_rules import FourFifthsTable, SelectionRules
from bdt_core.fairness.uniform_guidelines import FourFifths, GroupImpact, four_fifths
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.scan.blanks import Blanks
from bdt_core.groups.scan.results import Certificate
from bdt_core.inference.alike import AlikeComparison
from bdt_core.inference.proportions import wilson_interval
from bdt_core.metrics import RATES, RateMetric
from bdt_core.ranking import Finding, Findings
from bdt_core.report import document as parts
from bdt_core.report.findings import nobody
from bdt_core.report.without_clusters import everybody, no_differences, no_test, undivided
from bdt_core.result import SCHEMA_MINOR, SCHEMA_VERSION, Part
from bdt_core.said import of_ours, say
from bdt_core.sentences import with_sentences
from bdt_core.verdict import LimitOutcome, kind_of, of_majority

Counts = NDArray[np.float64]
BASE = 10
"""Counts are rounded to multiples of this."""
SMALL = "a small group"
LEFT_OUT = "left out of the form for publication"
_NO_SOURCE = "a table that this form does not name"
_UNDESCRIBED = "people in one of the clusters, who are not described here"
_ABOVE_NOUGHT = 1e-9
"""A bound that says that there is something, and not how much."""
_WHO_HAS_A_LABEL = 0.95
"""Share of the people a rule counts who must have a label, too, for its table to be made of groups' counts."""
_P_VALUES = (0.001, 0.01, 0.05, 1.0)
_SECTIONS_OF_SPEC = (
    "name", "require", "bias_variable", "legitimate", "favourable", "significance", "title", "language", "units",
)  # fmt: skip
_ABOUT_LEFT_OUT = ("model_file", "hazards")  # a file, and groups that may be small
_TESTED_APART = ("clusters", "slices")
_DERIVED: Mapping[str, Callable[[Confusion], tuple[Any, Any]]] = {
    "error": lambda c: (c.fp + c.fn, c.n),
    "false_positive": lambda c: (c.fp, c.n),
    "false_negative": lambda c: (c.fn, c.n),
    "false_positive_rate": lambda c: (c.fp, c.negatives),
    "false_negative_rate": lambda c: (c.fn, c.positives),
    "positive_prediction": lambda c: (c.predicted_positives, c.n),
}  # fmt: skip
"""Events and rows of bias variables that counts of a declared group give."""


def rounded(n: float, base: int = BASE) -> int:
    """A count to the nearest multiple of `base`; halves upwards.

    Examples
    --------
    >>> [rounded(n) for n in (0, 4, 5, 14, 1796)]
    [0, 0, 10, 10, 1800]
    """
    return base * math.floor(n / base + 0.5)


@dataclass(frozen=True)
class Coarseness:
    """How coarse counts are. Where persons have several rows, these are those that as many persons have on average.

    Attributes
    ----------
    base : int
        Counts are rounded to multiples of this.
    minimum : int
        Of groups of fewer nothing is told.
    each : int or None
        Rows that a person has on average, rounded upwards; None where rows are people.
    """

    base: int = BASE
    minimum: int = BASE
    each: int | None = None

    @classmethod
    def of(cls, found: parts.Document) -> Coarseness:
        """That of a report."""
        split, least = found.split, max(found.spec["significance"]["min_rows"], BASE)
        if split.test_persons is None:
            return cls(BASE, least)
        each = math.ceil((split.train_rows + split.test_rows) / ((split.train_persons or 0) + split.test_persons))
        return cls(BASE * each, least * each, each)

    @property
    def counted(self) -> Literal["people", "rows"]:
        return "people" if self.each is None else "rows"

    @property
    def rates_from(self) -> int:
        """Rates of fewer say more about the rounding than about them."""
        return max(self.minimum, 5 * self.base)

    def rounded(self, n: float) -> int:
        """A count as it is told."""
        return rounded(n, self.base)

    def is_enough(self, one: Group | DeclaredGroup) -> bool:
        """Whether a group may be named: by its rows and, where they are counted, its persons."""
        persons = one.rows if one.persons is None or self.each is None else one.persons * self.each
        return min(one.rows, persons) >= self.minimum


def for_publication(document: Mapping[str, Any]) -> dict[str, Any]:
    """The form of a report that can be given to others.

    Parameters
    ----------
    document : mapping
        The report as data; fresh or read back from report.json.

    Returns
    -------
    dict
        A document of the same schema, with a member ``publication`` that says how it was made. A form for publication
        is returned as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> result = audit(frame, outcome="error", slices=None, worst_groups=None, clustering={"stability": 0})
    >>> for_publication(result.document)["publication"]["base"]  # counts are rounded to tens
    10
    """
    found = parts.Document.model_validate(with_sentences(document))
    return (found if found.publication is not None else _published(found)).to_dict()


def _published(found: parts.Document) -> parts.Document:
    coarse = Coarseness.of(found)
    shown = _shown(found.groups, coarse)
    told = _Told(found, coarse, shown)
    gate = tuple(_limit(one, found, shown) for one in found.gate)
    findings = told.findings(found.findings) if found.findings else None
    left_out = len(found.findings.findings) - len(findings.findings) if found.findings and findings else 0
    variable, train_rows = found.bias_variable, coarse.rounded(found.split.train_rows)
    test_rows = coarse.rounded(found.split.test_rows)
    means = {
        part: told.mean(getattr(variable, f"{part}_mean"), getattr(found.split, f"{part}_rows"))
        for part in ("train", "test")
    }
    return parts.Document(
        schema_version=SCHEMA_VERSION,
        schema_minor=SCHEMA_MINOR,
        name=found.name,
        software=found.software,
        spec=_spec(found.spec, told.levels),
        publication=parts.Publication(
            base=coarse.base,
            minimum=coarse.minimum,
            rates_from=coarse.rates_from,
            counted=coarse.counted,
            findings_left_out=left_out,
        ),
        data=parts.Data(
            source=_NO_SOURCE, fingerprint="", rows=coarse.rounded(found.data.rows), rows_audited=told.rows,
            rows_left_out=(), columns=(),
        ),
        bias_variable=parts.ReportedVariable(
            **_members(variable, "name", "short", "description", "kind", "better", "better_by", "unit"),
            train_mean=means["train"],
            test_mean=means["test"],
        ),
        split=parts.TrainTestSplit(
            **_members(found.split, "test_size", "method", "stratified", "random_state"),
            train_rows=train_rows,
            test_rows=test_rows,
        ),
        verdict=parts.OverallVerdict(
            **_members(found.verdict, "verdict", "blocks"), sentence=_verdict_sentence(found, gate)
        ),
        summary=_summary(found, findings),
        gate=gate,
        search=found.search,
        stability=None,
        clusters=(
            everybody(
                variable.kind, found.clusters[0].comparison.confidence, LEFT_OUT, rows=train_rows,
                test_rows=test_rows, mean=means["train"],
            ),
        ),
        tree=undivided(train_rows, means["train"], told.spread),
        primary_test=no_test(LEFT_OUT),
        differences=no_differences(test_rows, found.differences.correction),
        proxies=(),
        declared_outcomes=told.declared(),
        groups=None
        if found.groups is None
        else Groups(
            **_members(
                found.groups, "label", "prediction", "positive", "favourable", "score", "stratum", "confidence"
            ),
            min_rows=coarse.minimum,
            notes=(),
            facets=tuple(one.facet for one in shown if one.facet.groups),
        ),
        selection_rules=_selection_rules(found, shown, coarse),
        findings=findings,
        blanks=_blanks(found.blanks, coarse),
        warnings=(_note(coarse),),
    )  # fmt: skip


def _blanks(found: Blanks | None, coarse: Coarseness) -> Blanks | None:
    """How many outcomes are missing, and not whose."""
    if found is None or found.rows < coarse.minimum:
        return None
    return Blanks(found.outcome, coarse.rounded(found.rows), coarse.rounded(found.of))


def _members(part: Part, *names: str) -> dict[str, Any]:
    """Those members of a part that the form keeps; what may be added to it later stays out."""
    return {name: getattr(part, name) for name in names}


_NOTE = (
    "This form is for publication. Every count is rounded to a multiple of {N}, every rate is worked out from "
    "counts so rounded, and groups of fewer than {Nleast} {counted} are left out, of sums, too."
)


def _note(coarse: Coarseness) -> str:
    return say(_NOTE, N=words.count(coarse.base), Nleast=words.count(coarse.minimum), counted=of_ours(coarse.counted))


def _spec(spec: Mapping[str, Any], levels: Mapping[str, set[str]]) -> dict[str, Any]:
    """What of the specification the form speaks of: no paths, addresses, or levels that may be rare.

    What readers are told of the system and its audit stays.
    """
    groups = {key: spec["groups"][key] for key in ("label", "prediction", "positive", "score", "thresholds")}
    said: dict[str, Any] = {key: spec[key] for key in _SECTIONS_OF_SPEC if key in spec}
    measured = [spec["bias_variable"][key] for key in ("column", "label", "prediction")]
    if "labels" in spec:
        said["labels"] = {
            column: {
                "name": one.get("name"),
                "levels": {
                    level: told
                    for level, told in (one.get("levels") or {}).items()
                    if column in measured or level in levels.get(column, ())
                },
            }
            for column, one in spec["labels"].items()
        }
    if "about" in spec:
        said["about"] = {key: one for key, one in (spec["about"] or {}).items() if key not in _ABOUT_LEFT_OUT}
    return {**said, "groups": groups}


# -- declared groups ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shown:
    """A grouping as it is published, and the counts that it is made of.

    Attributes
    ----------
    facet : Facet
    cells : ndarray of float, shape (4, groups)
        True and false positives, false and true negatives of each group, rounded. Of groups with a label or a
        prediction alone two are nought, as in `bdt_core.fairness.confusion.Confusion`.
    exact : ndarray of float, shape (4, groups)
        Of the same people.
    """

    facet: Facet
    cells: Counts
    exact: Counts

    def within(self, columns: Sequence[str], values: Sequence[Level]) -> NDArray[np.bool_]:
        """Which groups have these values."""
        places = [self.facet.columns.index(one) for one in columns]
        return np.array(
            [[one.values[place] for place in places] == list(values) for one in self.facet.groups], dtype=bool
        )


def _shown(found: Groups | None, coarse: Coarseness) -> tuple[_Shown, ...]:
    """Groupings without their small groups, in the order of the report.

    Counts of a group are those of its parts, where a finer grouping stands there, and of all who are in none of these
    if they are enough. Were they rounded apart, parts and whole would bound one another.
    """
    if found is None:
        return ()
    shown: dict[int, _Shown] = {}
    for place in sorted(range(len(found.facets)), key=lambda i: -len(found.facets[i].columns)):
        facet = found.facets[place]
        finer = [one for one in shown.values() if set(facet.columns) < set(one.facet.columns)]
        parts_of = min(finer, key=lambda one: len(one.facet.columns), default=None)
        shown[place] = _facet(facet, parts_of, found.confidence, coarse)
    return tuple(shown[place] for place in range(len(found.facets)))


def _facet(facet: Facet, finer: _Shown | None, confidence: float, coarse: Coarseness) -> _Shown:
    large = [one for one in facet.groups if one.rates is not None and coarse.is_enough(one)]
    exact = np.array([_cells(one.rates or {}) for one in large]).reshape(-1, 4).T
    cells = np.empty_like(exact)
    for i, one in enumerate(large):
        of_parts = np.zeros((2, 4))
        if finer is not None:
            inside = finer.within(facet.columns, one.values)
            of_parts = np.array([finer.cells[:, inside].sum(axis=1), finer.exact[:, inside].sum(axis=1)])
        rest = exact[:, i] - of_parts[1]
        if rest.sum() < coarse.minimum:
            rest = np.zeros(4)
        exact[:, i] = of_parts[1] + rest
        cells[:, i] = of_parts[0] + [coarse.rounded(x) for x in rest]
    kept = np.flatnonzero(cells.sum(axis=0) >= coarse.minimum)
    cells, exact, groups = cells[:, kept], exact[:, kept], [large[i] for i in kept]
    asked = [name for name in RATES if any(name in (one.rates or ()) for one in groups)]
    told = [{name: _rate(RATES[name], one, confidence, coarse) for name in asked} for one in cells.T]
    overall = {name: _rate(RATES[name], cells.sum(axis=1), confidence, coarse).estimate for name in asked}
    published = Facet(
        facet=facet.facet,
        columns=facet.columns,
        rows=int(cells.sum()),
        missing={},
        reference=facet.reference if facet.reference in [one.group for one in groups] else SMALL,
        overall={name: rate for name, rate in overall.items() if rate is not None},
        notes=(),
        groups=tuple(
            Group(group=one.group, values=one.values, rows=int(of_group.sum()), rates=rates)
            for one, of_group, rates in zip(groups, cells.T, told, strict=True)
        ),
        against_reference=(),
        ranges=(),
        clarify=(),
        bias_score=None,
    )
    return _Shown(published, cells, exact)


def _cells(rates: Mapping[str, Rate]) -> tuple[float, float, float, float]:
    true, false = rates.get("true_positive_rate"), rates.get("false_positive_rate")
    selected, positive = rates.get("selection_rate"), rates.get("prevalence")
    if true is not None and false is not None:
        tp, fp = true.events or 0.0, false.events or 0.0
        return tp, fp, true.n - tp, false.n - fp
    if selected is not None:
        return 0.0, selected.events or 0.0, 0.0, selected.n - (selected.events or 0.0)
    if positive is not None:
        return 0.0, 0.0, positive.events or 0.0, positive.n - (positive.events or 0.0)
    return 0.0, 0.0, 0.0, 0.0


def _rate(metric: RateMetric, cells: Counts, confidence: float, coarse: Coarseness) -> Rate:
    """A rate of rounded counts in whole percents; its interval allows for the rounding, too."""
    events, n = _of(metric, cells)
    least = coarse.rates_from
    if n < least:
        return Rate(
            estimate=None, low=None, high=None, n=n, events=None,
            undefined_reason=say(f"of fewer than {{N}} {coarse.counted}", N=words.count(least)),
        )  # fmt: skip
    rate = events / n
    low, high = wilson_interval(events, n, confidence)
    # A count rounded to a multiple of b has an error of variance b^2 / 12; a rate is of several such counts.
    of_events, of_all = _of(metric, np.ones(4))
    variance = (of_events * (1.0 - rate) ** 2 + (of_all - of_events) * rate**2) * coarse.base**2 / 12.0 / n**2
    reach = float(ndtri(0.5 + confidence / 2.0)) ** 2 * variance
    low, high = rate - math.sqrt((rate - low) ** 2 + reach), rate + math.sqrt((high - rate) ** 2 + reach)
    return Rate(
        estimate=_whole(rate), low=max(0.0, _down(low)), high=min(1.0, -_down(-high)), n=n, events=events,
        undefined_reason=None,
    )  # fmt: skip


def _of(metric: RateMetric, cells: Counts) -> tuple[float, float]:
    """Events of a rate, and people among whom it is."""
    counted = Confusion(*cells[:, None])
    return float(metric.events(counted)[0]), float(metric.among(counted)[0])


def _whole(rate: float) -> float:
    return round(rate, 2)


def _down(rate: float) -> float:
    return math.floor(rate * 100.0 + 1e-9) / 100.0


# -- rules of selection ------------------------------------------------------------------------------------------------


def _selection_rules(found: parts.Document, shown: Sequence[_Shown], coarse: Coarseness) -> SelectionRules | None:
    """Tables of rules, worked out from the counts of the groups that stand there: they tell nothing that those do not.

    Rules count people without a label, too. Where there are many of these, and for groupings that are not declared and
    for scores, there are no counts to make a table of.
    """
    rules = found.selection_rules
    if rules is None:
        return None
    ratios: list[ImpactTable] = []
    of_four_fifths: list[FourFifthsTable] = []
    least = coarse.rates_from
    for table in rules.ll144:
        names = {group_name(one.category): one.category for one in table.categories}
        counted = None if table.median is not None else _who_applied(table.columns, names, sum(
            one.n for one in table.categories), shown, rules)  # fmt: skip
        if counted is not None:
            rule = _rounded_rule(counted, least, rules)
            ratios.append(
                replace(table, unknown=0, categories=tuple(_category(one, names[one.group]) for one in rule.groups))
            )
    for one in rules.four_fifths:
        values = {group_name(group.values): group.values for each in shown for group in each.facet.groups
                  if set(each.facet.columns) == set(one.columns)}  # fmt: skip
        judged = sum(each.applicants for each in one.rule.groups)
        counted = _who_applied(one.columns, values, judged, shown, rules)
        if counted is not None:
            few = tuple(name for name, (n, _) in counted.items() if n < least)
            of_four_fifths.append(
                replace(one, unknown=0, too_few=few, rule=_rounded_rule(counted, least, rules))
            )  # fmt: skip
    return replace(
        rules, rows=0, selected=(), without_prediction=0, score=None, without_score=0, min_rows=least, key=None,
        ll144=tuple(ratios), four_fifths=tuple(of_four_fifths),
    )  # fmt: skip


def _who_applied(
    columns: Sequence[str],
    names: Mapping[str, Sequence[Level]],
    applicants: int,
    shown: Sequence[_Shown],
    rules: SelectionRules,
) -> dict[str, tuple[int, int]] | None:
    """Rounded numbers of people and of those selected, by group; None where the form has no counts of them."""
    of_all = [one for one in shown if set(columns) <= set(one.facet.columns)]
    counted = min(of_all, key=lambda one: len(one.facet.columns), default=None)
    if counted is None or rounded(counted.exact.sum()) < _WHO_HAS_A_LABEL * rounded(applicants):
        return None
    found = {}
    for name, values in names.items():
        true, false, missed, spared = counted.cells[:, counted.within(columns, values)].sum(axis=1)
        n, positive = int(true + false + missed + spared), int(true + false)
        if n:
            found[name] = n, positive if rules.favourable == "positive" else n - positive
    return found


def _rounded_rule(counted: Mapping[str, tuple[int, int]], least: int, rules: SelectionRules) -> FourFifths:
    """The rule on rounded counts, in whole percents and untested."""
    large = {name: one for name, one in counted.items() if one[0] >= least}
    rule = four_fifths(
        {name: selected for name, (_, selected) in large.items()},
        {name: n for name, (n, _) in large.items()},
        alpha=1.0 - rules.confidence,
        small_share=rules.small_share,
    )
    return replace(rule, groups=tuple(map(_coarse_impact, rule.groups)))


def _coarse_impact(one: GroupImpact) -> GroupImpact:
    return replace(
        one, share=_whole(one.share), rate=None if one.rate is None else _whole(one.rate),
        ratio=None if one.ratio is None else _whole(one.ratio), low=None, high=None, changes_with_one_person=None,
        p_value=None,
    )  # fmt: skip


def _category(one: GroupImpact, values: tuple[Level, ...]) -> CategoryImpact:
    return CategoryImpact(
        category=values, n=one.applicants, selected=one.selected, share=one.share, rate=one.rate or 0.0,
        impact_ratio=None if one.small_share else one.ratio, low=None, high=None, p_value=None,
        excluded=one.small_share,
    )  # fmt: skip


# -- findings ----------------------------------------------------------------------------------------------------------


class _Told:
    """What is told of people who fare worse."""

    def __init__(self, found: parts.Document, coarse: Coarseness, groups: Sequence[_Shown]) -> None:
        self.found, self.coarse, self.minimum, self.groups = found, coarse, coarse.minimum, groups
        self.rows = coarse.rounded(found.data.rows_audited)
        self.is_rate = found.bias_variable.unit == "rate"
        self.spread = 0.0 if self.is_rate else _two_digits(found.tree.nodes[0].std)
        self.levels = _large_levels(found, coarse)
        self._alpha: float = found.spec["significance"]["alpha"]

    def mean(self, mean: float, rows: float) -> float:
        """A mean as rounded counts have it; other numbers as coarse as ten people two deviations apart make it."""
        n = max(self.coarse.rounded(rows), self.coarse.base)
        if self.is_rate:
            return _whole(min(self.coarse.rounded(mean * rows) / n, 1.0))
        return self._coarse(mean, n)

    def _coarse(self, x: float, n: float) -> float:
        """A number as coarse as ten people make it, harmed or two standard deviations apart."""
        step = _step(2.0 * self.coarse.base * (1.0 if self.is_rate else self.spread) / n)
        return round(round(x / step) * step, 12) if step else x

    def findings(self, found: Findings) -> Findings:
        """The list without those of too few people, and without places that only the owner's file describes."""
        told, raw = (
            tuple(one for each in several if (one := self._finding(each)) is not None)
            for several in (found.findings, found.at_first_sight)
        )
        return Findings(
            findings=told, searches=found.searches, alpha=found.alpha, legitimate=found.legitimate,
            counted=found.counted, at_first_sight=raw,
        )  # fmt: skip

    def declared(self) -> DeclaredOutcomes | None:
        """The bias variable by declared column, worked out from rounded counts; nothing is held against others.

        Where the form has counts of the groups by label and prediction, nobody needs two of the same people. Groups of
        several columns are left out: parts and wholes that are rounded apart would bound one another.
        """
        outcomes = self.found.declared_outcomes
        if outcomes is None or self.found.groups is not None:
            return None
        facets = [
            DeclaredFacet(one.columns, tuple(filter(None, map(self._declared, one.groups))))
            for one in outcomes.facets
            if len(one.columns) == 1
        ]
        return replace(
            outcomes, min_rows=self.coarse.rates_from, rows=self.rows, mean=self.mean(outcomes.mean, outcomes.rows),
            comparisons=0, key=None, facets=tuple(one for one in facets if one.groups),
        )  # fmt: skip

    def _declared(self, one: DeclaredGroup) -> DeclaredGroup | None:
        """A group as it is published; None where it is too small."""
        rows = self.coarse.rounded(one.rows)
        if one.mean is None or not self.coarse.is_enough(one) or rows < self.minimum:
            return None
        told = DeclaredGroup(
            group=one.group, values=one.values,
            conditions=tuple(self._condition(each, one.rows) for each in one.conditions), rows=rows,
            share=_whole(min(rows / max(self.rows, 1), 1.0)),
        )  # fmt: skip
        if rows < self.coarse.rates_from:
            return told
        if not self.is_rate:
            return replace(told, mean=self.mean(one.mean, one.rows))
        events = min(self.coarse.rounded(one.mean * one.rows), rows)
        cells = np.array([0.0, events, 0.0, rows - events])
        rate = _rate(RATES["selection_rate"], cells, 1.0 - self._alpha, self.coarse)
        return replace(told, mean=rate.estimate, low=rate.low, high=rate.high)

    def _finding(self, one: Finding) -> Finding | None:
        rows, share_tested = (
            self.coarse.rounded(one.rows),
            self.found.split.test_size if one.found_by in _TESTED_APART else 1.0,
        )
        if one.found_by == "local_bias" or one.rows * share_tested < self.minimum or rows < self.minimum:
            return None
        others = max(self.found.data.rows_audited - one.rows, 0)
        inside, outside = (
            self.mean(one.mean_inside, one.rows),
            self.mean(one.mean_outside, others),
        )
        counted = self._counted(one)
        if counted is not None:
            rows, inside, outside = counted
        sign = 1.0 if self.found.bias_variable.better == "lower" else -1.0
        difference = sign * (inside - outside)
        if one.remaining is None:
            difference = max(difference, 0.0)  # it is confirmed; the rounding may hide it
        conditions = tuple(self._condition(each, one.rows) for each in one.conditions)
        return Finding(
            who=words.all_of([each.words for each in conditions]) if conditions else _UNDESCRIBED,
            found_by=one.found_by, rows=rows, share=_whole(min(rows / max(self.rows, 1), 1.0)), measured=one.measured,
            mean_inside=inside, mean_outside=outside, difference=difference, low=0.0, high=math.inf,
            p_value=next(most for most in _P_VALUES if one.p_value <= most),
            people_harmed=self.coarse.rounded(difference * rows) if self.is_rate and one.remaining is None else None,
            remaining=None if one.remaining is None else self._remaining(one.remaining, difference, one.rows),
            groups_before=one.groups_before, only_among_alike=one.only_among_alike, on_test_rows=one.on_test_rows,
            at_floor=one.at_floor, conditions=conditions,
        )  # fmt: skip

    def _remaining(self, one: AlikeComparison, difference: float, rows: int) -> AlikeComparison:
        """What remains among people alike, about; the bound is 0 where anything is proven to, else there is none."""
        remaining, proven = self._coarse(one.remaining, self.coarse.rounded(rows)), one.remaining_low > 0.0
        return AlikeComparison(
            difference=difference, low=0.0, high=math.inf, explained=difference - remaining,
            explained_low=_ABOVE_NOUGHT if one.explained_low > 0.0 else -math.inf, explained_high=math.inf,
            remaining=remaining, remaining_low=0.0 if proven else -math.inf,
            remaining_high=math.inf, p_value=next(most for most in _P_VALUES if one.p_value <= most),
            confidence=one.confidence, overlap=round(one.overlap, 1), robustness=round(one.robustness, 1),
            robustness_low=0.0, rows=self.coarse.rounded(one.rows), rows_inside=self.coarse.rounded(one.rows_inside),
        )  # fmt: skip

    def _counted(self, one: Finding) -> tuple[int, float, float] | None:
        """Rows and means of people who are declared groups: from the counts that stand there, so that two tell no more.

        None where they are others, or counts of groups do not give the bias variable.
        """
        derived = self.found.spec["bias_variable"]["derive"]
        if derived not in _DERIVED or any(each.kind != "values" for each in one.conditions):
            return None
        columns = [each.column for each in one.conditions]
        shown = next((each for each in self.groups if columns and set(columns) <= set(each.facet.columns)), None)
        if shown is None:
            return None
        facet = shown.facet
        inside = np.array(
            [
                all(
                    (group.values[facet.columns.index(each.column)] in each.values) != each.excluded
                    for each in one.conditions
                )
                for group in facet.groups
            ],
            dtype=bool,
        )
        events, rows = _DERIVED[derived](Confusion(*shown.cells))
        if min(rows[inside].sum(), rows[~inside].sum()) < self.minimum:
            return None
        means = (_whole(float(events[these].sum() / rows[these].sum())) for these in (inside, ~inside))
        return int(rows[inside].sum()), *means  # type: ignore[return-value]

    def _condition(self, one: GroupCondition, rows: int) -> GroupCondition:
        """A condition without rare levels, and with ends that are no single person's."""
        if one.kind == "interval":
            return replace(one, low=_end(one.low, whole=one.whole), high=_end(one.high, whole=False))
        if len(one.values) == 1 and not one.excluded and not one.missing and rows >= self.minimum:
            return one  # all of them have it
        large = [value for value in one.values if str(value) in self.levels.get(one.column, ())]
        return replace(one, values=(*large, *((SMALL,) if len(large) < len(one.values) else ())))


def _large_levels(found: parts.Document, coarse: Coarseness) -> dict[str, set[str]]:
    """By column the levels that the report shows at least so many people to have."""
    levels: dict[str, set[str]] = {}
    for facet in found.groups.facets if found.groups else ():
        for group in facet.groups:
            if coarse.is_enough(group):
                for column, value in zip(facet.columns, group.values, strict=True):
                    levels.setdefault(column, set()).add(str(value))
    outcomes = found.declared_outcomes
    for grouping in outcomes.facets if outcomes and found.groups is None else ():
        for declared in grouping.groups:
            if len(grouping.columns) == 1 and coarse.is_enough(declared):
                levels.setdefault(grouping.columns[0], set()).add(str(declared.values[0]))
    for feature in found.differences.features:
        for level in feature.levels if feature.kind == "categorical" else ():
            if level.rows >= coarse.minimum:
                levels.setdefault(feature.column, set()).add(level.level)
    return levels


def _end(x: float | None, *, whole: bool) -> float | None:
    """An end of an interval to two digits, of whole numbers below ten thousand to tens at the coarsest.

    Of whole numbers the words name the one after `low`, so that is what is rounded.
    """
    if x is None:
        return None
    named = x + 1.0 if whole else x
    step = 10.0 ** (math.floor(math.log10(abs(named))) - 1) if named else 1.0
    if float(named).is_integer():
        step = max(step if abs(named) >= 10_000 else min(step, 10.0), 1.0)
    return round(round(named / step) * step, 12) - (1.0 if whole else 0.0)


def _two_digits(x: float) -> float:
    return float(f"{x:.2g}")


def _step(x: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten."""
    if x <= 0.0 or not math.isfinite(x):
        return 0.0
    power = 10.0 ** math.floor(math.log10(x))
    return next(one * power for one in (1.0, 2.0, 5.0, 10.0) if one * power >= x)


# -- sentences ---------------------------------------------------------------------------------------------------------


def _summary(found: parts.Document, told: Findings | None) -> parts.Summary:
    variable = found.bias_variable
    sentences = tuple(_sentence(one, told, variable) for one in told.findings) if told is not None else ()
    ruled_out = found.worst_groups.certificate if found.worst_groups else None
    if sentences:
        headline = sentences[0]
    elif found.findings is not None and found.findings.findings:
        headline = "People were found to fare worse; who they are cannot be told in this form."
    else:
        none = nobody(found.findings)
        headline = none if ruled_out is None else f"{none} {_ruled_out(ruled_out, variable)}"
    return parts.Summary(
        headline=headline, findings=sentences, cluster="Clusters are not part of the form for publication.",
        what_sets_apart=(),
    )  # fmt: skip


def _sentence(one: Finding, found: Findings, variable: parts.ReportedVariable) -> str:
    told = (
        f"{words.capital(one.who)} (about {words.count(one.rows)} {found.counted}, {_rough(one.share, 'rate')}): "
        f"{variable.short} {_rough(one.mean_inside, variable.unit)}, others {_rough(one.mean_outside, variable.unit)}"
    )
    if one.remaining is None:
        return f"{told}."
    alike = f"{told}. Among people alike in {words.listing(found.legitimate)}"
    if one.remaining.remaining_low < 0.0:
        return f"{alike} it is not proven that they fare worse."
    size = _rough(max(one.remaining.remaining, 0.0), variable.unit).replace(" %", " points")
    return f"{alike} they fare about {size} worse in {variable.short}."


def _ruled_out(one: Certificate, variable: parts.ReportedVariable) -> str:
    most = one.largest_difference
    most = -_down(-most) if variable.unit == "rate" else _two_digits(most * 1.05)
    return (
        f"Ruled out, with {one.confidence * 100:.4g} % confidence, is a group of at least {one.min_share:.0%} of the "
        f"people that fares worse in {variable.short} than others by more than {words.size(most, variable.unit)}."
    ).replace("% of", " % of")


def _rough(x: float, unit: words.Unit) -> str:
    return f"{x * 100:.0f} %" if unit == "rate" else words.number(x)


def _limit(outcome: LimitOutcome, found: parts.Document, shown: Sequence[_Shown]) -> LimitOutcome:
    """A limit, its verdict and the group that decides, if that is told; the numbers on it are left out."""
    kind = kind_of(outcome)
    groups = {each.facet.facet: {group.group for group in each.facet.groups} for each in shown}
    published: LimitOutcome = kind.for_publication(
        outcome, kind.measured(outcome, found), found.bias_variable.unit, groups
    )
    return published


def _verdict_sentence(found: parts.Document, gate: Sequence[LimitOutcome]) -> str:
    if found.spec["require"] == "majority" and gate:
        return of_majority(gate)
    return next((one.sentence for one in gate if one.verdict == found.verdict.verdict), found.verdict.sentence)
