"""A limit by the four-fifths rule: the selection rate of each group against 4/5 of the highest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bdt_core import words
from bdt_core.errors import SpecError, did_you_mean
from bdt_core.said import Column, Numeral, joined, say
from bdt_core.spec import FourFifthsLimit
from bdt_core.verdict.judge import (
    Evidence,
    Judgement,
    LimitOutcome,
    Tolerated,
    allowed_and_why,
    judge,
)
from bdt_core.verdict.kinds import AuditResults, LimitKind, OfGroups, Row
from bdt_core.verdict.words import clauses, judged_on, sentences

if TYPE_CHECKING:
    from bdt_core.fairness.selection_rules import FourFifthsTable, SelectionRules
    from bdt_core.fairness.uniform_guidelines import GroupImpact

NOT_APPLIED = say("the four-fifths rule was not applied")
_TOLERATED = Tolerated(minimum=0.8, rule="significant")


@dataclass(frozen=True, kw_only=True)
class FourFifthsLimitResult(LimitOutcome):
    """What the four-fifths rule says of all groups.

    Attributes
    ----------
    facet : str
        The grouping that decides; all of them where nothing can be tested.
    facets : tuple of str
        The groupings that were judged.
    group, reference : str or None
        The group that decides, and the one with the highest selection rate.
    minimum : float
        4/5.
    value, low, high : float or None
        Selection rate of the group over that of the reference, with limits that hold for all groups of the grouping.
    confidence : float or None
    p_value : float or None
        Of equal rates, corrected for all groups of all groupings that were judged.
    groups_judged : int
    left_out : tuple of str
        Groups that are a small share of the people, or have too few rows.
    rows_seen, rows_unseen : int or None
        Rows with a decision and a group, and without, by the grouping that decides; None where nothing was judged.
    """

    kind: Literal["four_fifths"]
    check: Literal["four_fifths"]
    facet: str
    facets: tuple[str, ...]
    group: str | None
    reference: str | None
    minimum: float
    value: float | None
    confidence: float | None
    groups_judged: int
    left_out: tuple[str, ...]
    rows_seen: int | None = None
    rows_unseen: int | None = None

    @property
    def who(self) -> str | None:
        """The group."""
        return self.group


class FourFifthsLimits(LimitKind[FourFifthsLimit, FourFifthsLimitResult]):
    """Limits by the four-fifths rule."""

    limit, outcome = FourFifthsLimit, FourFifthsLimitResult
    about = "the four-fifths rule, whose ratio a limit on four_fifths_ratio measures"
    compared = ("Lowest impact ratio", "The groups of the two reports may be different ones.")
    published = frozenset({"facet", "facets", "minimum", "groups_judged"})
    names_groups = ("group", "reference")
    is_ratio = True

    def judge(self, limit: FourFifthsLimit, results: AuditResults) -> FourFifthsLimitResult:
        return judge_four_fifths(limit, results.selection_rules)

    def title(self, outcome: FourFifthsLimitResult) -> str:
        return say("Four-fifths rule by {facet}", facet=outcome.facet)

    def subject(self, outcome: FourFifthsLimitResult, measured: str) -> str:  # noqa: ARG002 - by who is selected
        return say("Four-fifths rule by {facet}", facet=words.listing(outcome.facets or (outcome.facet,)))

    def scope(self, outcome: FourFifthsLimitResult) -> str:
        return say("the four-fifths rule by {facet}", facet=words.listing(outcome.facets))

    def row(self, outcome: FourFifthsLimitResult, report: Any) -> Row:
        """With the two groups whose rates are compared."""
        row = super().row(outcome, report)._replace(allowed_note=say("fails where significant"))
        if outcome.group is None:
            return row
        return row._replace(
            on_note=say("{group} over {reference}", group=outcome.group, reference=str(outcome.reference))
        )

    def groups_in(self, outcome: FourFifthsLimitResult, report: Any) -> OfGroups:
        """The groups of all groupings that were judged, each against the highest rate of its own."""
        tables = report.selection_rules.four_fifths if report.selection_rules else ()
        judged = [one.rule.groups for one in tables if " & ".join(one.columns) in outcome.facets]
        each = (
            Evidence(one.group, math.nan if one.ratio is None else one.ratio, one.low, one.high)
            for groups in judged
            for one in groups
        )
        return OfGroups(tuple(each), None)

    def meaning(self, outcome: FourFifthsLimitResult) -> str | None:
        """The rule needs no interval to fail, but a significant difference."""
        return words.SIGNIFICANTLY_BEYOND if outcome.verdict == "fail" else None


def judge_four_fifths(limit: FourFifthsLimit, rules: SelectionRules | None) -> FourFifthsLimitResult:
    """Hold every declared group against the four-fifths rule.

    Parameters
    ----------
    limit : FourFifthsLimit
    rules : SelectionRules or None
        None where the rule was not applied.

    Returns
    -------
    FourFifthsLimitResult
        fail: a group is selected less than 4/5 as often as the one with the highest rate, in whole numbers, and the
        difference is significant. pass: the whole interval of every group is from 4/5 on. Otherwise inconclusive; not
        testable where there are no two groups to compare.

    Raises
    ------
    SpecError
        A grouping that was not counted.

    Notes
    -----
    Each p-value is multiplied by the number of groupings (Bonferroni), for any of them can fail the limit; within a
    grouping it is corrected for choosing the highest rate already.
    """
    tables = _tables(limit, rules)
    known = [
        Evidence((table, group), group.ratio, group.low, group.high, rejects=_p_value(group, tables) <= _alpha(rules))
        for table in tables
        for group in table.rule.groups
        if group.ratio is not None and not group.small_share and group.group != table.rule.reference
    ]
    left_out = tuple(
        name
        for table in tables
        for name in (*(one.group for one in table.rule.groups if one.small_share), *table.too_few)
    )
    if not known:
        too_few = say("there are no two groups with enough people, of whom somebody is selected")
        by = words.listing([" & ".join(one.columns) for one in tables]) if tables else say("any declared column")
        message = "The four-fifths rule by {name} is not testable: {reason}."
        sentence: str = say(message, name=by, reason=too_few if tables else NOT_APPLIED)
        return _result(limit, by, tables, None, rules, sentence, left_out)
    judged = judge(known, _TOLERATED)
    table, group = judged.decides.of
    by = " & ".join(table.columns)
    sentence = _sentence(judged, table, rules)
    if left_out:
        named = joined([*left_out[:10], *(["..."] if len(left_out) > 10 else [])], ", ")
        sentence = sentences(sentence, say("Not judged, for too few people: {list}.", list=named))
    if rules is not None:
        sentence = sentences(sentence, judged_on(*_rows(table, rules), _lacking(table, rules)))
    return _result(limit, by, tables, judged, rules, sentence, left_out, _p_value(group, tables))


def _rows(table: FourFifthsTable, rules: SelectionRules) -> tuple[int, int]:
    """How many rows a table has in groups, and how many lack a decision or a group."""
    unseen = rules.without_prediction + table.unknown
    return rules.rows - unseen, unseen


def _lacking(table: FourFifthsTable, rules: SelectionRules) -> list[str]:
    """The columns of which the others lack a value."""
    of_groups = table.columns if table.unknown else ()
    return [*of_groups, *([rules.prediction] if rules.prediction and rules.without_prediction else [])]


def _tables(limit: FourFifthsLimit, rules: SelectionRules | None) -> list[FourFifthsTable]:
    tables = list(rules.four_fifths) if rules is not None else []
    if not limit.facets or rules is None:
        return tables
    limited = [one for one in tables if set(one.columns) == set(limit.facets)]
    if not limited:
        name = " & ".join(limit.facets)
        known = [" & ".join(one.columns) for one in tables]
        raise SpecError(
            f'The gate limits four_fifths by "{name}", which makes no groups. {did_you_mean(name, known)} A column of '
            "numbers is cut in two with groups.thresholds."
        )
    return limited


def _alpha(rules: SelectionRules | None) -> float:
    return 0.0 if rules is None else 1.0 - rules.confidence


def _p_value(group: GroupImpact, tables: list[FourFifthsTable]) -> float:
    return 1.0 if group.p_value is None else min(group.p_value * len(tables), 1.0)


_SELECTED = (
    "Four-fifths rule by {name}: {as_is} is selected {N} times as often as {as_is2} "
    "({Nselected} of {Nall} against {Nother} of {Nothers})"
)
_SELECTED_WITH_INTERVAL = (
    "Four-fifths rule by {name}: {as_is} is selected {N} times as often as {as_is2} {interval} "
    "({Nselected} of {Nall} against {Nother} of {Nothers})"
)


def _sentence(
    judged: Judgement[tuple[FourFifthsTable, GroupImpact]], table: FourFifthsTable, rules: SelectionRules | None
) -> str:
    evidence = judged.decides
    _, group = evidence.of
    top = next(x for x in table.rule.groups if x.group == table.rule.reference)
    message, values = _SELECTED, {}
    if evidence.low is not None and evidence.high is not None and rules is not None:
        message = _SELECTED_WITH_INTERVAL
        values["interval"] = say(
            "[{N} % CI {low} to {high}]",
            N=Numeral(f"{100 * rules.confidence:.4g}"),
            low=words.number(evidence.low),
            high=words.number(evidence.high),
        )
    rates = say(
        message,
        name=joined([Column(one) for one in table.columns], " & "),
        as_is=group.group,
        N=words.number(evidence.value),
        as_is2=top.group,
        Nselected=words.count(group.selected),
        Nall=words.count(group.applicants),
        Nother=words.count(top.selected),
        Nothers=words.count(top.applicants),
        **values,
    )
    turned = say("One other outcome would turn it.") if group.changes_with_one_person else ""
    return sentences(clauses(rates, allowed_and_why(judged, _TOLERATED)), turned)


def _result(
    limit: FourFifthsLimit,
    facet: str,
    tables: list[FourFifthsTable],
    judged: Judgement[tuple[FourFifthsTable, GroupImpact]] | None,
    rules: SelectionRules | None,
    sentence: str,
    left_out: tuple[str, ...],
    p_value: float | None = None,
) -> FourFifthsLimitResult:
    evidence = judged.decides if judged else None
    seen, unseen = (None, None) if evidence is None or rules is None else _rows(evidence.of[0], rules)
    return FourFifthsLimitResult.of(
        limit,
        judged.verdict if judged else "not_testable",
        sentence,
        judged,
        kind="four_fifths",
        check=limit.check,
        facet=facet,
        facets=tuple(" & ".join(table.columns) for table in tables),
        group=evidence.of[1].group if evidence else None,
        reference=evidence.of[0].rule.reference if evidence else None,
        minimum=0.8,
        value=evidence.value if evidence else None,
        confidence=None if rules is None else rules.confidence,
        p_value=p_value,
        groups_judged=sum(not x.small_share for table in tables for x in table.rule.groups) if judged else 0,
        left_out=left_out,
        rows_seen=seen,
        rows_unseen=unseen,
    )
