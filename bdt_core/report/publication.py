"""The form of a report for others: nobody can be recognised, and no small count be worked out.

The report of an audit is its owner's working file. What it hides of a small group is "all less the others", which
whoever has the file can compute. The form for publication is another document, made of the first one by one rule:

    Every number in it is computed from counts to which noise was added, and which were rounded to tens, beforehand.

So whatever is added up, subtracted or compared with another edition of the form, nobody learns more of a person than
the noise lets through, which is known (`bdt_core.report.noise`). What cannot be made of such counts (p-values,
intervals after a search, thresholds, trees, single rows) is left out. Groups with fewer people than the minimum are in
no sum of the form, so that no difference between a sum and its parts is theirs, and neither are their names. Verdicts,
and which findings there are, have no noise: they are those of the owner's report.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence
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
from bdt_core.metrics import RATES, RateMetric, harm_sign
from bdt_core.ranking import Finding, Findings
from bdt_core.report import document as parts
from bdt_core.report.findings import nobody
from bdt_core.report.noise import DEVIATION, EDITIONS, Noise, owners_key
from bdt_core.report.without_clusters import everybody, no_differences, no_test, undivided
from bdt_core.result import SCHEMA_MINOR, SCHEMA_VERSION, Part
from bdt_core.said import Numeral, joined, of_ours, say
from bdt_core.sentences import with_sentences
from bdt_core.verdict import LimitOutcome, kind_of, of_majority

Counts = NDArray[np.float64]
BASE = 10
"""Counts are rounded to multiples of this."""
SMALL = "a small group"
_PARTS = ("train", "test")
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
    noise : Noise
    """

    base: int
    minimum: int
    each: int | None
    noise: Noise

    @classmethod
    def of(cls, report: parts.Document, key: bytes) -> Coarseness:
        """That of a report."""
        split, least = report.split, max(report.spec["significance"]["min_rows"], BASE)
        noise = Noise(key, report.data.fingerprint)
        if split.test_persons is None:
            return cls(BASE, least, None, noise)
        each = math.ceil((split.train_rows + split.test_rows) / ((split.train_persons or 0) + split.test_persons))
        return cls(BASE * each, least * each, each, noise)

    @property
    def counted(self) -> Literal["people", "rows"]:
        return "people" if self.each is None else "rows"

    @property
    def rates_from(self) -> int:
        """Rates of fewer say more about the noise than about them."""
        return max(self.minimum, 10 * self.base)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise."""
        return DEVIATION * (self.each or 1)

    @property
    def variance(self) -> float:
        """That of a count's error, by noise and rounding; a count rounded to a multiple of b has one of b^2 / 12."""
        return self.deviation**2 + self.base**2 / 12.0

    def noise_of(self, x: float, *what: Any) -> float:
        """Noise of a number, in people or rows."""
        return self.deviation * self.noise.of(*what, round(float(x), 6))

    def count(self, n: float, *what: Any) -> int:
        """A count as it is told, of people whom `what` describes."""
        return max(rounded(n + self.noise_of(n, *what), self.base), 0)

    def is_enough(self, group: Group | DeclaredGroup) -> bool:
        """Whether a group may be named: by its rows and, where they are counted, its persons."""
        persons = group.rows if group.persons is None or self.each is None else group.persons * self.each
        return min(group.rows, persons) >= self.minimum


def for_publication(document: Mapping[str, Any], key: bytes | None = None) -> dict[str, Any]:
    """The form of a report that can be given to others.

    Parameters
    ----------
    document : mapping
        The report as data; fresh or read back from report.json.
    key : bytes, optional
        The secret by which noise is drawn: with the same one the same table always has the same noise. By default that
        of the file which the environment variable BDT_PUBLICATION_KEY names, else of ``.config/bdt/publication.key`` in
        the user's home; it is made where there is none.

    Returns
    -------
    dict
        A document of the same schema, with a member ``publication`` that says how it was made. A form for publication
        is returned as it is.

    Raises
    ------
    SourceError
        The file holds no key.
    OutputError
        There is no key, and none can be written.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> result = audit(frame, outcome="error", slices=None, worst_groups=None, clustering={"stability": 0})
    >>> form = for_publication(result.document, key=b"kept by whoever owns the table")["publication"]
    >>> form["base"], form["deviation"]  # counts are rounded to tens, after noise
    (10, 7.5)
    """
    report = parts.Document.model_validate(with_sentences(document))
    if report.publication is not None:
        return report.to_dict()
    return _published(report, owners_key() if key is None else key).to_dict()


def _published(report: parts.Document, key: bytes) -> parts.Document:
    coarse = Coarseness.of(report, key)
    facets = _published_facets(report.groups, coarse)
    publisher = _Publisher(report, coarse, facets)
    gate = _gate(report, facets)
    findings = publisher.findings(report.findings) if report.findings else None
    left_out = len(report.findings.findings) - len(findings.findings) if report.findings and findings else 0
    variable = report.bias_variable
    train_rows, test_rows = (coarse.count(getattr(report.split, f"{part}_rows"), part) for part in _PARTS)
    means = {
        part: publisher.mean(getattr(variable, f"{part}_mean"), getattr(report.split, f"{part}_rows"), part)
        for part in _PARTS
    }
    coarse.noise.shifts["means"] = 1.0  # everybody is in one of the two
    declared = publisher.declared()
    return parts.Document(
        schema_version=SCHEMA_VERSION,
        schema_minor=SCHEMA_MINOR,
        name=report.name,
        software=report.software,
        spec=_spec(report.spec, publisher.levels),
        publication=parts.Publication(
            base=coarse.base,
            minimum=coarse.minimum,
            rates_from=coarse.rates_from,
            counted=coarse.counted,
            findings_left_out=left_out,
            deviation=coarse.deviation,
            guessed=coarse.noise.guessed() if publisher.is_rate else None,
            guessed_of_ten=coarse.noise.guessed(EDITIONS) if publisher.is_rate else None,
        ),
        data=parts.Data(
            source=_NO_SOURCE, fingerprint="", rows=coarse.count(report.data.rows, "rows"), rows_audited=publisher.rows,
            rows_left_out=(), columns=(),
        ),
        bias_variable=parts.ReportedVariable(
            **_members(variable, "name", "short", "description", "kind", "better", "better_by", "unit"),
            train_mean=means["train"],
            test_mean=means["test"],
        ),
        split=parts.TrainTestSplit(
            **_members(report.split, "test_size", "method", "stratified", "random_state"),
            train_rows=train_rows,
            test_rows=test_rows,
        ),
        verdict=parts.OverallVerdict(
            **_members(report.verdict, "verdict", "blocks", "held_back"), sentence=_verdict_sentence(report, gate)
        ),
        summary=_summary(report, findings),
        gate=gate,
        search=None
        if report.search is None
        else parts.Search(
            **_members(report.search, "method", "engine"),
            min_cluster_rows=coarse.count(report.search.min_cluster_rows, "cluster"),
        ),
        stability=None,
        clusters=(
            everybody(
                variable.kind, report.clusters[0].comparison.confidence, LEFT_OUT, rows=train_rows,
                test_rows=test_rows, mean=means["train"],
            ),
        ),
        tree=undivided(train_rows, means["train"], publisher.spread),
        primary_test=no_test(LEFT_OUT),
        differences=no_differences(test_rows, report.differences.correction),
        proxies=(),
        declared_outcomes=declared,
        groups=None
        if report.groups is None
        else Groups(
            **_members(
                report.groups, "label", "prediction", "positive", "favourable", "score", "stratum", "confidence"
            ),
            min_rows=coarse.minimum,
            notes=(),
            facets=tuple(one.facet for one in facets if one.facet.groups),
        ),
        selection_rules=_selection_rules(report, facets, coarse),
        findings=findings,
        blanks=_blanks(report.blanks, coarse),
        seal=report.seal,
        looks=report.looks,
        warnings=(_note(coarse),),
    )  # fmt: skip


def _blanks(blanks: Blanks | None, coarse: Coarseness) -> Blanks | None:
    """How many outcomes are missing, and not whose."""
    if blanks is None:
        return None
    rows = coarse.count(blanks.rows, "blanks")
    return None if rows < coarse.minimum else Blanks(blanks.outcome, rows, coarse.count(blanks.of, "rows"))


def _members(part: Part, *names: str) -> dict[str, Any]:
    """Those members of a part that the form keeps; what may be added to it later stays out."""
    return {name: getattr(part, name) for name in names}


_NOTE = (
    "This form is for publication. Every count has noise and is rounded to a multiple of {N}, every rate is worked out "
    "from such counts, and groups of fewer than {Nleast} {counted} are left out, of sums, too."
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
                    level: name
                    for level, name in (one.get("levels") or {}).items()
                    if column in measured or level in levels.get(column, ())
                },
            }
            for column, one in spec["labels"].items()
        }
    if "about" in spec:
        said["about"] = {key: one for key, one in (spec["about"] or {}).items() if key not in _ABOUT_LEFT_OUT}
    if stacked := (spec.get("source") or {}).get("stacked"):  # labels are names of columns
        said["source"] = {"stacked": stacked}
    return {**said, "groups": groups}


# -- declared groups ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PublishedFacet:
    """A grouping as it is published, and the counts that it is made of.

    Attributes
    ----------
    facet : Facet
    cells : ndarray of float, shape (4, groups)
        True and false positives, false and true negatives of each group, as they are told. Of groups with a label or a
        prediction alone two are nought, as in `bdt_core.fairness.confusion.Confusion`.
    exact : ndarray of float, shape (4, groups)
        Of the same people.
    draws : ndarray of float, shape (groups,)
        Of how many such counts each of a group's four is the sum.
    """

    facet: Facet
    cells: Counts
    exact: Counts
    draws: Counts

    def within(self, columns: Sequence[str], values: Sequence[Level]) -> NDArray[np.bool_]:
        """Which groups have these values."""
        places = [self.facet.columns.index(one) for one in columns]
        return np.array(
            [[one.values[place] for place in places] == list(values) for one in self.facet.groups], dtype=bool
        )


def _published_facets(groups: Groups | None, coarse: Coarseness) -> tuple[_PublishedFacet, ...]:
    """Groupings without their small groups, in the order of the report.

    Counts of a group are those of its parts, where a finer grouping stands there, and of all who are in none of these
    if they are enough. Were they drawn apart, parts and whole would tell more of one another.
    """
    if groups is None:
        return ()
    published: dict[int, _PublishedFacet] = {}
    for place in sorted(range(len(groups.facets)), key=lambda i: -len(groups.facets[i].columns)):
        facet = groups.facets[place]
        finer = [one for one in published.values() if set(facet.columns) < set(one.facet.columns)]
        parts_of = min(finer, key=lambda one: len(one.facet.columns), default=None)
        published[place] = _facet(facet, parts_of, groups.confidence, coarse)
    return tuple(published[place] for place in range(len(groups.facets)))


def _facet(facet: Facet, finer: _PublishedFacet | None, confidence: float, coarse: Coarseness) -> _PublishedFacet:
    large = [one for one in facet.groups if one.rates is not None and coarse.is_enough(one)]
    kinds = _kinds({name for one in large for name in one.rates or ()})
    exact = np.array([_cells(one.rates or {}) for one in large]).reshape(-1, 4).T
    cells, draws = np.zeros_like(exact), np.zeros(len(large))
    for i, group in enumerate(large):
        of_parts = np.zeros(4)
        if finer is not None:
            inside = finer.within(facet.columns, group.values)
            cells[:, i], of_parts = finer.cells[:, inside].sum(axis=1), finer.exact[:, inside].sum(axis=1)
            draws[i] = finer.draws[inside].sum()
        rest = exact[:, i] - of_parts
        if rest.sum() < coarse.minimum:
            exact[:, i] = of_parts
            continue
        who = sorted(zip(facet.columns, group.values, strict=True)), rest.tolist()
        cells[kinds, i] += [coarse.count(rest[kind], *who, kind) for kind in kinds]
        draws[i] += 1.0
        coarse.noise.shifts[facet.columns] = 2.0  # in one count more, in another one less
    kept = np.flatnonzero(cells.sum(axis=0) >= coarse.minimum)
    cells, exact, draws, groups = cells[:, kept], exact[:, kept], draws[kept], [large[i] for i in kept]
    asked = [name for name in RATES if any(name in (one.rates or ()) for one in groups)]
    rates = [
        {name: _rate(RATES[name], one, confidence, coarse, many) for name in asked}
        for one, many in zip(cells.T, draws, strict=True)
    ]
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
            Group(group=one.group, values=one.values, rows=int(of_group.sum()), rates=rates_of_group)
            for one, of_group, rates_of_group in zip(groups, cells.T, rates, strict=True)
        ),
        against_reference=(),
        ranges=(),
        clarify=(),
        bias_score=None,
    )
    return _PublishedFacet(published, cells, exact, draws)


def _kinds(rates: Collection[str]) -> list[int]:
    """Which of the four are counted, by what rates there are: of a label, or a prediction, alone two."""
    if {"true_positive_rate", "false_positive_rate"} <= set(rates):
        return [0, 1, 2, 3]
    return [1, 3] if "selection_rate" in rates else [2, 3]


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


def _rate(metric: RateMetric, cells: Counts, confidence: float, coarse: Coarseness, draws: float = 1.0) -> Rate:
    """A rate of such counts in whole percents; its interval allows for their noise and rounding, too.

    Each of the counts is the sum of so many `draws`.
    """
    events, n = _of(metric, cells)
    least = coarse.rates_from
    if n < least:
        fewer = "of fewer than {N} people" if coarse.counted == "people" else "of fewer than {N} rows"
        return Rate(
            estimate=None, low=None, high=None, n=n, events=None,
            undefined_reason=say(fewer, N=words.count(least)),
        )  # fmt: skip
    rate = events / n
    low, high = wilson_interval(events, n, confidence)
    of_events, of_all = _of(metric, np.ones(4))
    variance = (of_events * (1.0 - rate) ** 2 + (of_all - of_events) * rate**2) * draws * coarse.variance / n**2
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


def _selection_rules(
    report: parts.Document, facets: Sequence[_PublishedFacet], coarse: Coarseness
) -> SelectionRules | None:
    """Tables of rules, worked out from the counts of the groups that stand there: they tell nothing that those do not.

    Rules count people without a label, too. Where there are many of these, and for groupings that are not declared and
    for scores, there are no counts to make a table of.
    """
    rules = report.selection_rules
    if rules is None:
        return None
    ratios = (_impact_table(one, facets, rules, coarse) for one in rules.ll144)
    four_fifths_tables = (_four_fifths_table(one, facets, rules, coarse) for one in rules.four_fifths)
    return replace(
        rules, rows=0, selected=(), without_prediction=0, score=None, without_score=0, key=None,
        min_rows=coarse.rates_from, ll144=tuple(filter(None, ratios)),
        four_fifths=tuple(filter(None, four_fifths_tables)),
    )  # fmt: skip


def _impact_table(
    table: ImpactTable, facets: Sequence[_PublishedFacet], rules: SelectionRules, coarse: Coarseness
) -> ImpactTable | None:
    if table.median is not None:
        return None
    names = {group_name(one.category): one.category for one in table.categories}
    counted = _who_applied(table.columns, names, sum(one.n for one in table.categories), facets, rules, coarse)
    if counted is None:
        return None
    groups = _rounded_rule(counted, coarse.rates_from, rules).groups
    return replace(table, unknown=0, categories=tuple(_category(one, names[one.group]) for one in groups))


def _four_fifths_table(
    table: FourFifthsTable, facets: Sequence[_PublishedFacet], rules: SelectionRules, coarse: Coarseness
) -> FourFifthsTable | None:
    names = {
        group_name(group.values): group.values
        for each in facets
        for group in each.facet.groups
        if set(each.facet.columns) == set(table.columns)
    }
    counted = _who_applied(
        table.columns, names, sum(one.applicants for one in table.rule.groups), facets, rules, coarse
    )
    if counted is None:
        return None
    few = tuple(name for name, (n, _) in counted.items() if n < coarse.rates_from)
    return replace(table, unknown=0, too_few=few, rule=_rounded_rule(counted, coarse.rates_from, rules))


def _who_applied(
    columns: Sequence[str],
    names: Mapping[str, Sequence[Level]],
    applicants: int,
    facets: Sequence[_PublishedFacet],
    rules: SelectionRules,
    coarse: Coarseness,
) -> dict[str, tuple[int, int]] | None:
    """Published numbers of people and of those selected, by group; None where the form has no counts of them."""
    of_all = [one for one in facets if set(columns) <= set(one.facet.columns)]
    counted = min(of_all, key=lambda one: len(one.facet.columns), default=None)
    if counted is None or counted.cells.sum() < _WHO_HAS_A_LABEL * coarse.count(applicants, "applicants"):
        return None
    numbers = {}
    for name, values in names.items():
        true, false, missed, spared = counted.cells[:, counted.within(columns, values)].sum(axis=1)
        n, positive = int(true + false + missed + spared), int(true + false)
        if n:
            numbers[name] = n, positive if rules.favourable == "positive" else n - positive
    return numbers


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


def _coarse_impact(impact: GroupImpact) -> GroupImpact:
    return replace(
        impact, share=_whole(impact.share), rate=None if impact.rate is None else _whole(impact.rate),
        ratio=None if impact.ratio is None else _whole(impact.ratio), low=None, high=None,
        changes_with_one_person=None, p_value=None,
    )  # fmt: skip


def _category(impact: GroupImpact, values: tuple[Level, ...]) -> CategoryImpact:
    return CategoryImpact(
        category=values, n=impact.applicants, selected=impact.selected, share=impact.share, rate=impact.rate or 0.0,
        impact_ratio=None if impact.small_share else impact.ratio, low=None, high=None, p_value=None,
        excluded=impact.small_share,
    )  # fmt: skip


# -- findings ----------------------------------------------------------------------------------------------------------


class _Publisher:
    """Publishes means, findings and declared groups of a report, from counts with noise."""

    def __init__(self, report: parts.Document, coarse: Coarseness, facets: Sequence[_PublishedFacet]) -> None:
        self.report, self.coarse, self.minimum, self.facets = report, coarse, coarse.minimum, facets
        self.rows = coarse.count(report.data.rows_audited, "audited")
        self.is_rate = report.bias_variable.unit == "rate"
        self.spread = 0.0 if self.is_rate else _two_digits(report.tree.nodes[0].std)
        self.levels = _large_levels(report, coarse)
        self._alpha: float = report.spec["significance"]["alpha"]

    def mean(self, mean: float, rows: float, *who: Any) -> float:
        """A mean as published counts have it; of other numbers one with noise, as coarse as ten people make it."""
        n = max(self.coarse.count(rows, *who), self.coarse.base)
        if self.is_rate:
            return _whole(min(self.coarse.count(mean * rows, *who, "events") / n, 1.0))
        return self._coarse(mean, n, *who)

    def _coarse(self, x: float, n: float, *who: Any) -> float:
        """A number with noise, and as coarse as ten people make it, harmed or two standard deviations apart."""
        of_each = (1.0 if self.is_rate else self.spread) / n
        step, noisy = _step(2.0 * self.coarse.base * of_each), x + self.coarse.noise_of(x, *who, n) * of_each
        return round(round(noisy / step) * step, 12) if step else x

    def _share(self, rows: int) -> float:
        """A rounded count as a share of all who are audited."""
        return _whole(min(rows / max(self.rows, 1), 1.0))

    def findings(self, findings: Findings) -> Findings:
        """The list without those of too few people, and without places that only the owner's file describes."""
        return Findings(
            findings=tuple(filter(None, map(self._finding, findings.findings))), searches=findings.searches,
            alpha=findings.alpha, legitimate=findings.legitimate, counted=findings.counted,
            at_first_sight=tuple(filter(None, map(self._finding, findings.at_first_sight))),
        )  # fmt: skip

    def declared(self) -> DeclaredOutcomes | None:
        """The bias variable by declared column, worked out from counts with noise; nothing is held against others.

        Where the form has counts of the groups by label and prediction, nobody needs two of the same people. Groups of
        several columns are left out: parts and wholes that are drawn apart would tell more of one another.
        """
        outcomes = self.report.declared_outcomes
        if outcomes is None or self.report.groups is not None:
            return None
        self.coarse.noise.shifts["declared"] = 1.0
        facets = [
            DeclaredFacet(one.columns, tuple(filter(None, (self._declared(each, one.columns) for each in one.groups))))
            for one in outcomes.facets
            if len(one.columns) == 1
        ]
        return replace(
            outcomes, min_rows=self.coarse.rates_from, rows=self.rows,
            mean=self.mean(outcomes.mean, outcomes.rows, "declared"), comparisons=0, key=None,
            facets=tuple(one for one in facets if one.groups),
        )  # fmt: skip

    def _declared(self, group: DeclaredGroup, columns: Sequence[str]) -> DeclaredGroup | None:
        """A group as it is published; None where it is too small."""
        if group.mean is None or not self.coarse.is_enough(group):
            return None
        who = "declared", *columns, *group.values
        rows, cells = self.coarse.count(group.rows, *who), np.zeros(4)
        if self.is_rate:
            harmed = group.mean * group.rows
            cells[1] = self.coarse.count(harmed, *who, group.rows, "harmed")
            cells[3] = self.coarse.count(group.rows - harmed, *who, group.rows)
            rows = int(cells.sum())
            self.coarse.noise.shifts[*who[: len(columns) + 1]] = 2.0
        if rows < self.minimum:
            return None
        published = DeclaredGroup(
            group=group.group, values=group.values,
            conditions=tuple(self._condition(each, group.rows) for each in group.conditions), rows=rows,
            share=self._share(rows),
        )  # fmt: skip
        if rows < self.coarse.rates_from:
            return published
        if not self.is_rate:
            return replace(published, mean=self._coarse(group.mean, rows, *who))
        rate = _rate(RATES["selection_rate"], cells, 1.0 - self._alpha, self.coarse)
        return replace(published, mean=rate.estimate, low=rate.low, high=rate.high)

    def _finding(self, finding: Finding) -> Finding | None:
        who = [dataclasses.astuple(each) for each in finding.conditions] or finding.found_by, finding.rows
        rows = self.coarse.count(finding.rows, who)
        share_tested = self.report.split.test_size if finding.found_by in _TESTED_APART else 1.0
        if finding.found_by == "local_bias" or finding.rows * share_tested < self.minimum or rows < self.minimum:
            return None
        others = max(self.report.data.rows_audited - finding.rows, 0)
        measured, apart = finding.rows * share_tested, others * share_tested
        inside = self.mean(finding.mean_inside, measured, who)
        outside = self.mean(finding.mean_outside, apart, "all but", who)
        counted = self._counted(finding)
        if counted is not None:
            rows, inside, outside = counted
        else:
            self.coarse.noise.shifts[str(who)] = 1.0  # everybody is inside or outside
        sign = harm_sign(self.report.bias_variable.better)
        difference = sign * (inside - outside)
        remaining = finding.remaining
        if remaining is None:
            difference = max(difference, 0.0)  # it is confirmed; the rounding may hide it
        conditions = tuple(self._condition(each, finding.rows) for each in finding.conditions)
        return Finding(
            who=words.all_of([each.words for each in conditions]) if conditions else _UNDESCRIBED,
            found_by=finding.found_by, rows=rows, share=self._share(rows), measured=finding.measured,
            mean_inside=inside, mean_outside=outside, difference=difference, low=0.0, high=math.inf,
            p_value=_rough_p_value(finding.p_value),
            people_harmed=rounded(difference * rows, self.coarse.base) if self.is_rate and remaining is None else None,
            remaining=None if remaining is None else self._remaining(remaining, difference, measured, who),
            groups_before=finding.groups_before, only_among_alike=finding.only_among_alike,
            on_test_rows=finding.on_test_rows, at_floor=finding.at_floor, conditions=conditions,
        )  # fmt: skip

    def _remaining(self, comparison: AlikeComparison, difference: float, rows: float, who: Any) -> AlikeComparison:
        """What remains among people alike, about; the bound is 0 where anything is proven to, else there is none."""
        n, proven = max(self.coarse.count(rows, who), self.coarse.base), comparison.remaining_low > 0.0
        remaining = self._coarse(comparison.remaining, n, "remaining", who)
        self.coarse.noise.shifts[f"remaining {who}"] = 1.0
        return AlikeComparison(
            difference=difference, low=0.0, high=math.inf, explained=difference - remaining,
            explained_low=_ABOVE_NOUGHT if comparison.explained_low > 0.0 else -math.inf, explained_high=math.inf,
            remaining=remaining, remaining_low=0.0 if proven else -math.inf,
            remaining_high=math.inf, p_value=_rough_p_value(comparison.p_value),
            confidence=comparison.confidence, overlap=round(comparison.overlap, 1),
            robustness=round(comparison.robustness, 1), robustness_low=0.0,
            rows=self.coarse.count(comparison.rows, "alike", who),
            rows_inside=self.coarse.count(comparison.rows_inside, "alike inside", who),
        )  # fmt: skip

    def _counted(self, finding: Finding) -> tuple[int, float, float] | None:
        """Rows and means of people who are declared groups: from the counts that stand there, so that two tell no more.

        None where they are others, or counts of groups do not give the bias variable.
        """
        derived = self.report.spec["bias_variable"]["derive"]
        if derived not in _DERIVED or any(each.kind != "values" for each in finding.conditions):
            return None
        columns = [each.column for each in finding.conditions]
        published = next((each for each in self.facets if columns and set(columns) <= set(each.facet.columns)), None)
        if published is None:
            return None
        facet = published.facet
        inside = np.array(
            [
                all(
                    (group.values[facet.columns.index(each.column)] in each.values) != each.excluded
                    for each in finding.conditions
                )
                for group in facet.groups
            ],
            dtype=bool,
        )
        events, rows = _DERIVED[derived](Confusion(*published.cells))
        if min(rows[inside].sum(), rows[~inside].sum()) < self.minimum:
            return None
        means = (_whole(float(events[these].sum() / rows[these].sum())) for these in (inside, ~inside))
        return int(rows[inside].sum()), *means  # type: ignore[return-value]

    def _condition(self, condition: GroupCondition, rows: int) -> GroupCondition:
        """A condition without rare levels, and with ends that are no single person's."""
        if condition.kind == "interval":
            low, high = _end(condition.low, whole=condition.whole), _end(condition.high, whole=False)
            return replace(condition, low=low, high=high)
        if len(condition.values) == 1 and not condition.excluded and not condition.missing and rows >= self.minimum:
            return condition  # all of them have it
        large = [value for value in condition.values if str(value) in self.levels.get(condition.column, ())]
        return replace(condition, values=(*large, *((SMALL,) if len(large) < len(condition.values) else ())))


def _large_levels(report: parts.Document, coarse: Coarseness) -> dict[str, set[str]]:
    """By column the levels that the report shows at least so many people to have."""
    levels: dict[str, set[str]] = {}
    for facet in report.groups.facets if report.groups else ():
        for group in facet.groups:
            if coarse.is_enough(group):
                for column, value in zip(facet.columns, group.values, strict=True):
                    levels.setdefault(column, set()).add(str(value))
    outcomes = report.declared_outcomes
    for grouping in outcomes.facets if outcomes and report.groups is None else ():
        for declared in grouping.groups:
            if len(grouping.columns) == 1 and coarse.is_enough(declared):
                levels.setdefault(grouping.columns[0], set()).add(str(declared.values[0]))
    for feature in report.differences.features:
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


def _rough_p_value(p_value: float) -> float:
    return next(most for most in _P_VALUES if p_value <= most)


def _two_digits(x: float) -> float:
    return float(f"{x:.2g}")


def _step(x: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten."""
    if x <= 0.0 or not math.isfinite(x):
        return 0.0
    power = 10.0 ** math.floor(math.log10(x))
    return next(one * power for one in (1.0, 2.0, 5.0, 10.0) if one * power >= x)


# -- sentences ---------------------------------------------------------------------------------------------------------


def _summary(report: parts.Document, findings: Findings | None) -> parts.Summary:
    variable = report.bias_variable
    sentences = tuple(_sentence(one, findings, variable) for one in findings.findings) if findings is not None else ()
    ruled_out = report.worst_groups.certificate if report.worst_groups else None
    headline: str
    if sentences:
        headline = sentences[0]
    elif report.findings is not None and report.findings.findings:
        headline = say("People were found to fare worse; this form does not say who they are.")
    else:
        none = nobody(report.findings)
        headline = none if ruled_out is None else joined([none, _ruled_out(ruled_out, variable)], " ")
    cluster = say("Clusters are not part of the form for publication.")
    return parts.Summary(headline=headline, findings=sentences, cluster=cluster, what_sets_apart=())


def _sentence(finding: Finding, findings: Findings, variable: parts.ReportedVariable) -> str:
    sides = say(
        "{who} (about {N} {people}, {share}): {name} {mean}, others {Nother}",
        who=finding.who,
        N=words.count(finding.rows),
        people=say(findings.counted),
        share=_rough(finding.share, "rate"),
        name=of_ours(variable.short),
        mean=_rough(finding.mean_inside, variable.unit),
        Nother=_rough(finding.mean_outside, variable.unit),
    )
    what = words.capital(sides)
    if finding.remaining is None:
        return say("{what}.", what=what)
    alike = words.people_compared_with(findings.legitimate)
    if finding.remaining.remaining_low < 0.0:
        return say("{what}. Among {alike} it is not proven that they fare worse.", what=what, alike=alike)
    remaining = max(finding.remaining.remaining, 0.0)
    of_rate = variable.unit == "rate"
    return say(
        "{what}. Among {alike} they fare about {size} worse in {measure}.",
        what=what,
        alike=alike,
        size=say("{N} points", N=Numeral(f"{remaining * 100:.0f}")) if of_rate else words.number(remaining),
        measure=of_ours(variable.short),
    )


def _ruled_out(certificate: Certificate, variable: parts.ReportedVariable) -> str:
    most = certificate.largest_difference
    most = -_down(-most) if variable.unit == "rate" else _two_digits(most * 1.05)
    return say(
        "Ruled out, with {N} % confidence, is a group of {low} to {high} of the people that up to {Nconditions} "
        "conditions describe and that fares worse in {measure} than others by more than {size}.",
        N=Numeral(f"{certificate.confidence * 100:.4g}"),
        low=_rough(certificate.min_share, "rate"),
        high=_rough(certificate.max_share, "rate"),
        Nconditions=Numeral(certificate.max_conditions),
        measure=of_ours(variable.short),
        size=words.size(most, variable.unit),
    )


def _rough(x: float, unit: words.Unit) -> str:
    return Numeral(f"{x * 100:.0f} %") if unit == "rate" else words.number(x)


def _gate(report: parts.Document, facets: Sequence[_PublishedFacet]) -> tuple[LimitOutcome, ...]:
    """Limits, their verdicts and the groups that decide, if the form names them; the numbers on them are left out."""
    groups = {each.facet.facet: {group.group for group in each.facet.groups} for each in facets}
    unit = report.bias_variable.unit
    kinds = ((kind_of(outcome), outcome) for outcome in report.gate)
    return tuple(kind.for_publication(one, kind.measured(one, report), unit, groups) for kind, one in kinds)


def _verdict_sentence(report: parts.Document, gate: Sequence[LimitOutcome]) -> str:
    if report.verdict.held_back and report.verdict.verdict != "fail":
        return joined(report.verdict.held_back, " ")
    if report.spec["require"] == "majority" and gate:
        return of_majority(gate)
    return next((one.sentence for one in gate if one.verdict == report.verdict.verdict), report.verdict.sentence)
