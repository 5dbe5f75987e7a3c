"""The first page as data: what was audited, who fares worse, what is not known, and who signs.

No sentence stands here: those are in the templates of each language, and so are the words for conditions.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bdt_core.metrics import LOCAL_METRICS
from bdt_core.report.amounts import (
    Amount,
    amount_of_chosen_share,
    amount_of_difference,
    amount_of_share,
    amounts_of_means,
    amounts_of_shares,
    at_least,
    at_most,
)
from bdt_core.report.blocks import Facts, FigureWords, Folded, Section
from bdt_core.report.catalogue import say_in
from bdt_core.report.declared import are_all
from bdt_core.report.figure_axis import scale
from bdt_core.report.findings import unit_of
from bdt_core.report.plain_names import NamedMeasure, PlainNames
from bdt_core.report.prose import language_of, read_in
from bdt_core.report.sheet import CALM, HARM, Ruler, Sheet
from bdt_core.report.verdict import remarks
from bdt_core.said import AsItIs, Text
from bdt_core.table.repeats_said import nearly_repeated_in, repeated_in

if TYPE_CHECKING:
    from bdt_core.groups.conditions import GroupCondition
    from bdt_core.groups.scan.results import WorstGroups
    from bdt_core.inference.alike import AlikeComparison
    from bdt_core.ranking import Finding
    from bdt_core.report.document import Document, Printed
    from bdt_core.spec import FoundBy
    from bdt_core.words import Unit

_NAMED = 3
_MAJORITY = 0.5
_CHANCES = (1_000, 100, 20)
_UNDER_HALF = 0.5
_LEFT, _SHORTEST = 4.0, 60.0
PHONE = 320.0
"""The picture's words and bars end here: so much of the sheet is shown on a phone, more than a pixel for each point."""
_NAME_LINE, _BAR = 12.0, 13.0
_AMOUNT = 9.5


@dataclass(frozen=True)
class AmongAlike:
    """What remains among people alike in the factors.

    Attributes
    ----------
    remaining : Amount
        How much worse they fare.
    proven : bool
        Whether they fare worse at all.
    least : Amount or None
        How much worse at least; None where it is not proven, and in a form for publication.
    explains : {"nothing", "a part"}
        What the factors say of the difference among all people.
    """

    remaining: Amount
    proven: bool
    least: Amount | None
    explains: Literal["nothing", "a part"]


@dataclass(frozen=True)
class Apart:
    """What sets a place of the data apart: a column that is higher or lower there, a level more or less usual."""

    column: str
    level: str | None
    more: bool


@dataclass(frozen=True)
class NamedGroup:
    """Some people who are confirmed to fare worse.

    Attributes
    ----------
    conditions : tuple of GroupCondition
    found_by : str
        Of clusters the conditions describe them nearly; of local bias they are within one place of the data.
    place : tuple of Apart
        Of local bias: what sets that place apart.
    compared_with : tuple of GroupCondition
        Of local bias: the others of that place whom they are compared with; empty where that is everybody else.
    measure : NamedMeasure
    people : int
    share : Amount
    inside, outside : Amount
        Of them, and of everybody else.
    fares_worse : bool
        Whether that shows: it may show among people alike only.
    more : bool
        Whether more of what is counted is worse.
    least : Amount or None
        How much worse at least, where any such bound is above 0.
    chance : int
        Chance alone finds as much in less than one of so many audits of people who are all treated alike.
    alike : AmongAlike or None
        None without factors, and where there are hardly any people alike.
    alone : bool
        Whether there are hardly any people alike in the factors to compare them with.
    groups_before : int
        How many groups above this one people are compared within, too.
    among_alike : Amount or None
        Without factors: how much worse they fare among people alike in those groups; None where there are none.
    only_alike : bool
        Whether they are worse off among people alike in the factors only, and for certain.
    better_off : bool
        Whether they fare better than everybody else, whatever is proven among people alike.
    gap : Amount or None
        Of local bias: how much worse they fare than those whom they are compared with.
    place_words : tuple of str
        Of local bias of texts: words of that place.
    at_floor : bool
        Whether the search could not have found them to be any surer.
    most : bool
        Whether they are more than half of all.
    all_but : GroupCondition or None
        Of most people: what holds for everybody else, where one condition says so.
    """

    conditions: tuple[GroupCondition, ...]
    found_by: FoundBy
    place: tuple[Apart, ...]
    compared_with: tuple[GroupCondition, ...]
    measure: NamedMeasure
    people: int
    share: Amount
    inside: Amount
    outside: Amount
    fares_worse: bool
    more: bool
    least: Amount | None
    chance: int
    alike: AmongAlike | None
    alone: bool
    groups_before: int
    among_alike: Amount | None
    only_alike: bool
    better_off: bool
    gap: Amount | None
    place_words: tuple[str, ...]
    at_floor: bool
    most: bool
    all_but: GroupCondition | None


@dataclass(frozen=True)
class DeclaredWorst:
    """The declared group that fares worst, and everybody else."""

    conditions: tuple[GroupCondition, ...]
    inside: Amount
    outside: Amount
    certain: bool


@dataclass(frozen=True)
class Unseen:
    """Groups of at least this share may fare worse by up to so much."""

    share: Amount
    largest: Amount


@dataclass(frozen=True)
class Bound:
    """What is not ruled out: groups of at least `share` were looked at, and so many of such audits are right."""

    share: Amount
    unseen: tuple[Unseen, ...]
    right: Amount


@dataclass(frozen=True)
class Underrepresented:
    """A group of which there are less than half as many among those audited as where it is used, of 100 people."""

    name: str
    audited: Amount
    used_on: Amount


@dataclass(frozen=True)
class Judged:
    """A limit on people who were searched for: of whom, compared with whom, and what it allows.

    Attributes
    ----------
    people : str
        As in `bdt_core.verdict.scope.Scope`, like `conditions`, `tested` and `width`.
    conditions, tested : int or None
    columns, alike : tuple of str
        In the readers' names.
    share : Amount or None
        Of the smallest groups that it judges; None where it judges all.
    allowed : Amount
    default : bool
        Whether nobody set the allowed difference.
    width : str or None
    is_of_score : bool
        Whether it allows a score to be off, and no difference.
    """

    people: str
    conditions: int | None
    tested: int | None
    columns: tuple[str, ...]
    alike: tuple[str, ...]
    share: Amount | None
    allowed: Amount
    default: bool
    width: str | None
    is_of_score: bool = False


@dataclass(frozen=True)
class NotJudged:
    """Some people who are proven to be worse off by more than a limit that does not judge groups so small.

    Attributes
    ----------
    conditions : tuple of GroupCondition
    who : str
        Where no conditions say it.
    least : Amount
    """

    conditions: tuple[GroupCondition, ...]
    who: str
    least: Amount


@dataclass(frozen=True)
class Unknown:
    """People whose outcome is not known.

    Attributes
    ----------
    people : int
    more : tuple of GroupCondition
        Who lack it more often than others for sure; empty where nobody does.
    inside, outside : Amount
        Of these, and of everybody else, those who lack it.
    worst : tuple of GroupCondition
        Who might fare worst, were all of their missing outcomes bad, and good those of everybody else.
    largest : Amount or None
        How much worse they would fare then; None where they would not.
    two_valued : bool
        Whether an outcome is bad or good; else bad means as bad as the worst 1 of 100 known ones.
    """

    people: int
    more: tuple[GroupCondition, ...]
    inside: Amount
    outside: Amount
    worst: tuple[GroupCondition, ...]
    largest: Amount | None
    two_valued: bool


@dataclass(frozen=True)
class FirstPage:
    """What stands on the first page.

    Attributes
    ----------
    title, name : str
    units : mapping
        Of the numbers of columns, by the readers' names.
    about : mapping
        As in the specification.
    tested_on, next_review : date or None
    source : str
    counted : {"people", "rows"}
    people, people_of : int
        Audited, and in the table.
    labels : int
        How often each row of the source stands in the table: once for each of its labels.
    measure : NamedMeasure
    verdict : str
    blocks : bool
        Whether the limits stop a deployment.
    limits, broken, kept : int
        In all; those that are broken for certain, and those that hold for certain.
    asks_use : bool
        Whether something that decides about people is audited; else it is asked what must be explained.
    agreed : bool
        Whether somebody set a limit; else all are the tool's own.
    passed_from : Amount or None
        Where all limits hold: the share of the people from which on groups were ruled out.
    breaking : tuple of GroupCondition
        Who breaks the limit for any group, where nobody named above breaks it; empty elsewhere.
    breaking_words : str or None
        The same people, where no conditions say who they are.
    judged : tuple of Judged
        The limits on people who were searched for, each kind of them once.
    not_judged : tuple of NotJudged
    reopened_by : str or None
        What leaves a limit open that its own search keeps: "finding" or "blanks".
    reasons : tuple of (str, str)
        Factors for which somebody said why the decision may depend on them, and the reason.
    limits_alike : bool
        Whether a limit judges groups that are compared within places of the data.
    better_by : {"said", "guessed", "implied"} or None
        How it is known which way of the measure is worse; None in older reports.
    more_is_worse : bool
    looked_at : tuple of str
        Columns that were searched or whose groups were compared.
    wrong : Amount or None
        How many of such audits of people who are all treated alike name anybody at most.
    groups : tuple of NamedGroup
    first_sight : NamedGroup or None
        With factors: who is worse off for certain than everybody else at first sight, and not named above.
    declared_worst : DeclaredWorst or None
        Where it is not named above.
    more_groups : int
        Further findings, which the annex lists.
    factors : tuple of str
        Legitimate ones.
    nameless : bool
        Whether columns tell that somebody is worse off, and no group says who.
    bound : Bound or None
    too_small : tuple of str
        Declared groups with too few people to be judged, the largest of them first.
    more_too_small : int
        How many further ones there are, too many to be printed.
    unused : tuple of str
        Columns that were not looked at.
    unsearched : bool
        Whether nobody looked for groups that conditions describe.
    only_declared : bool
        Whether the declared groups alone were compared, and nothing was searched.
    declared : tuple of str
        Columns whose groups were compared.
    referred : bool
        Whether it is known whom the system is used on; a form for publication does not say.
    untold : int
        Findings that a form for publication leaves out.
    underrepresented : tuple of Underrepresented
    unknown : Unknown or None
        None where every outcome is known.
    repeated : (int, int) or None
        How many rows are copies of others, and of how many, where nothing says whom they belong to.
    nearly_repeated : (int, int, bool) or None
        The same of rows that differ in a few columns, and whether only one of each was audited.
    warnings : int
    mitigated : bool
        Whether the annex says what other thresholds would change.
    plan : tuple of Text
        When the plan was fixed, whether the audit keeps to it, and the level where looks share it.
    held_back : tuple of Text
        What is no limit and keeps the answer from being a pass.
    looks : tuple of Text
        Which look at these people this is, and what was changed since earlier ones; empty where nothing records them.
    """

    title: str
    name: str
    units: Mapping[str, str]
    about: dict[str, Any]
    tested_on: datetime.date | None
    next_review: datetime.date | None
    source: str
    counted: Literal["people", "rows"]
    people: int
    people_of: int
    labels: int
    measure: NamedMeasure
    verdict: str
    blocks: bool
    limits: int
    broken: int
    kept: int
    asks_use: bool
    agreed: bool
    passed_from: Amount | None
    breaking: tuple[GroupCondition, ...]
    breaking_words: str | None
    judged: tuple[Judged, ...]
    not_judged: tuple[NotJudged, ...]
    reopened_by: str | None
    reasons: tuple[tuple[str, str], ...]
    limits_alike: bool
    better_by: Literal["said", "guessed", "implied"] | None
    more_is_worse: bool
    looked_at: tuple[str, ...]
    wrong: Amount | None
    groups: tuple[NamedGroup, ...]
    first_sight: NamedGroup | None
    declared_worst: DeclaredWorst | None
    more_groups: int
    factors: tuple[str, ...]
    nameless: bool
    bound: Bound | None
    too_small: tuple[str, ...]
    more_too_small: int
    unused: tuple[str, ...]
    unsearched: bool
    only_declared: bool
    declared: tuple[str, ...]
    referred: bool
    untold: int
    underrepresented: tuple[Underrepresented, ...]
    unknown: Unknown | None
    repeated: tuple[int, int] | None
    nearly_repeated: tuple[int, int, bool] | None
    warnings: int
    mitigated: bool
    plan: tuple[Text, ...]
    held_back: tuple[Text, ...]
    looks: tuple[Text, ...]

    @property
    def also_measured(self) -> tuple[NamedMeasure, ...]:
        """What else is counted of people than the question says: within places of the data."""
        return tuple(dict.fromkeys(one.measure for one in self.groups if one.measure != self.measure))

    @property
    def drawn(self) -> tuple[NamedGroup, ...]:
        """Groups for the picture: those whose difference can be seen, in what all of them are measured by."""
        return tuple(one for one in self.groups if one.fares_worse and one.measure == self.measure)

    @property
    def not_drawn(self) -> tuple[NamedGroup, ...]:
        """All others that are named."""
        return tuple(one for one in self.groups if one not in self.drawn)

    @property
    def worse_off(self) -> tuple[NamedGroup, ...]:
        """Those who are worse off than everybody else, or of whom factors hide it in part."""
        return tuple(one for one in self.groups if not one.only_alike)

    @property
    def worse_among_alike(self) -> tuple[NamedGroup, ...]:
        """Those who are worse off among people alike in the factors, and not at first sight."""
        return tuple(one for one in self.groups if one.only_alike)


def first_page(document: Printed) -> FirstPage:
    """What the first page of a document says."""
    return document.once("first_page", _first_page)


def measure(document: Document) -> NamedMeasure:
    """What is counted of people by the bias variable."""
    return PlainNames(document.spec).measure(document.bias_variable.unit == "rate")


def first_section(document: Printed) -> Section:
    """The first page in the document's language."""
    return document.once("first_section", lambda one: _in_words(one, "first_page"))


def short_parts(document: Printed) -> tuple[Folded, Folded, Folded]:
    """Of the first page whether it may be used, who is worse off, and what to do: for forms that are short."""
    parts = [one for one in first_section(document).blocks if isinstance(one, Folded)]
    return parts[0], parts[1], parts[3]


def words_of_forms(document: Printed) -> dict[str, str]:
    """What stands around the report, by name."""
    (facts,) = _in_words(document, "forms").blocks
    assert isinstance(facts, Facts)
    return dict(facts.pairs)


def draw(document: Printed, figure: FigureWords) -> Sheet:
    """Two bars per group: what happens to its people, and to everybody else."""
    page = first_page(document)
    names = [Ruler().wrap(who.text, PHONE - 2 * _LEFT, 10, 4, bold=True) for who, *_ in figure.labels]
    heights = [_NAME_LINE * len(name) + 2 * _BAR + 10 for name in names]
    sheet = Sheet(figure.title, sum(heights), subtitle=figure.subtitle, room=PHONE)
    widest = max(sheet.measure(cell.text, _AMOUNT) for _, *sides in figure.labels for cell in sides)
    axis = scale(
        [0.0, *(side.number / (side.of or 1) for one in page.drawn for side in (one.inside, one.outside))],
        _LEFT,
        max(PHONE - widest - 6, _LEFT + _SHORTEST),
    )
    y = sheet.top + 6
    for group, (_, *sides), name, height in zip(page.drawn, figure.labels, names, heights, strict=True):
        for place, words in enumerate(name):
            sheet.text(_LEFT, y + 8 + _NAME_LINE * place, words, size=10, bold=True)
        bars = zip((group.inside, group.outside), sides, (HARM, CALM), strict=True)
        for line, (amount, cell, color) in enumerate(bars):
            start, end = sorted((axis.place(0.0), axis.place(amount.number / (amount.of or 1))))
            top = y + _NAME_LINE * len(name) + 4 + _BAR * line
            sheet.box(start, top, max(end - start, 0.5), _BAR - 2, fill=color, edge=color, round_by=0)
            text = sheet.fit(cell.text, PHONE - end - 6, _AMOUNT)
            sheet.text(end + 6, top + (_BAR - 2) / 2, text, size=_AMOUNT)
        y += height
    return sheet


def _in_words(document: Printed, template: str) -> Section:
    section = read_in(language_of(document), template, page=first_page(document))
    assert section is not None  # it always has a title
    return section


def _in_language(document: Printed, sentences: Iterable[Text]) -> tuple[Text, ...]:
    """Sentences of stages as the readers' language has them: the page itself knows no catalogue of theirs."""
    return tuple(AsItIs(say_in(document)(one)) for one in sentences)


def _first_page(document: Printed) -> FirstPage:
    from bdt_core.sealed.looks import said_looks  # which loads numpy
    from bdt_core.sealed.seal import said_plan
    from bdt_core.spec import About  # which reads YAML
    from bdt_core.spec.factor import factors_in

    names = PlainNames(document.spec)
    about: dict[str, Any] = {**dict.fromkeys(About.model_fields), **(document.spec.get("about") or {})}
    unit, ranked = document.bias_variable.unit, document.findings
    findings = ranked.findings if ranked else ()
    breaking, breaking_words = _breaking(document, findings[:_NAMED])
    groups = tuple(_group(one, unit, document, names) for one in findings[:_NAMED])
    first_sight = _first_sight(document, names, groups)
    named = [one.conditions for one in (*groups, first_sight) if one is not None]
    scan = document.worst_groups
    facets = document.groups.facets if document.groups else ()
    return FirstPage(
        title=document.spec.get("title") or names.plain(document.name).capitalize(),
        name=document.name,
        units=names.units_of_columns(),
        about=about,
        tested_on=_day(about.get("tested_on")),
        next_review=_day(about.get("next_review")),
        source=about.get("data_source") or document.data.source,
        counted=ranked.counted if ranked else "people",
        people=document.data.rows_audited,
        people_of=document.data.rows,
        labels=len(((document.spec.get("source") or {}).get("stacked") or {"rows": "1"})["rows"]),
        measure=measure(document),
        verdict=document.verdict.verdict,
        blocks=document.verdict.blocks,
        limits=len(document.gate),
        broken=sum(one.verdict == "fail" for one in document.gate),
        kept=sum(one.verdict == "pass" for one in document.gate),
        asks_use=_asks_use(document, about),
        agreed=_agreed(document),
        passed_from=_passed_from(document),
        breaking=tuple(map(names.condition, breaking)),
        breaking_words=breaking_words,
        judged=tuple(dict.fromkeys(_judged(document, unit, names))),
        not_judged=tuple(dict.fromkeys(_not_judged(document, unit, names))),
        reopened_by=next((one.reopened_by for one in _searched(document) if one.reopened_by), None),
        reasons=tuple((names.column(one), one.because) for one in factors_in(document.spec) if one.because is not None),
        limits_alike=any(one.scope.people == "places" for one in _searched(document)),
        better_by=document.bias_variable.better_by,
        more_is_worse=document.bias_variable.better == "lower",
        looked_at=tuple(
            names.column(one.name) for one in document.data.columns if one.role in ("feature", "protected")
        ),
        wrong=amount_of_chosen_share(ranked.alpha) if ranked else None,
        groups=groups,
        first_sight=first_sight,
        declared_worst=_declared_worst(document, names, named),
        more_groups=len(findings[_NAMED:]),
        factors=tuple(map(names.column, factors_in(document.spec))),
        nameless=not groups and scan is not None and scan.structure is not None and scan.structure.confirmed,
        bound=_bound(scan, unit, names),
        too_small=tuple(
            dict.fromkeys(
                names.levels(facet.columns, group.values)
                for facet in facets
                for group in facet.groups
                if group.rates is None
            )
        ),
        more_too_small=sum(
            facet.groups_not_printed for facet in facets if facet.groups and facet.groups[-1].rates is None
        ),
        unsearched=document.worst_groups is None and document.slices is None,
        only_declared=are_all(document),
        unused=tuple(names.column(one) for one in _unused(document)),
        declared=tuple(dict.fromkeys(names.column(one) for facet in facets for one in facet.columns)),
        referred=bool(document.spec.get("reference")) or document.publication is not None,
        untold=document.publication.findings_left_out if document.publication else 0,
        underrepresented=tuple(_underrepresented(document, names)),
        unknown=_unknown(document, names),
        repeated=repeated_in(document.warnings),
        nearly_repeated=nearly_repeated_in(document.warnings),
        warnings=len(remarks(document)),
        mitigated=document.mitigation is not None,
        plan=_in_language(document, said_plan(document.seal, document.spec)),
        held_back=_in_language(document, document.verdict.held_back),
        looks=() if document.looks is None else _in_language(document, said_looks(document.looks)),
    )


def _bound(scan: WorstGroups | None, unit: Unit, names: PlainNames) -> Bound | None:
    """What is not ruled out of groups of two sizes, those that readers ask for."""
    if scan is None or scan.certificate is None:
        return None
    certificates = dict.fromkeys(scan.ruled_out(share) or scan.certificate for share in (0.1, 0.5))
    return Bound(
        amount_of_share(scan.certificate.min_share),
        tuple(
            Unseen(amount_of_share(one.min_share), at_most(one.largest_difference, unit, names)) for one in certificates
        ),
        amount_of_chosen_share(scan.certificate.confidence),
    )


def _unused(document: Document) -> Iterator[str]:
    """Columns that neither features nor groups are, and that no section looks at."""
    places = document.local_bias.settings.places if document.local_bias is not None else None
    return (one.name for one in document.data.columns if one.role == "unused" and one.name != places)


def _asks_use(document: Document, about: dict[str, Any]) -> bool:
    """Whether a system is audited that says something of people: it is named, or a column has what it said."""
    bias, groups = document.spec["bias_variable"], document.spec.get("groups") or {}
    return bool(about.get("system") or bias.get("prediction") or groups.get("prediction"))


def _searched(document: Document) -> list[Any]:
    """Limits on people who were searched for, which say what they are about."""
    return [one for one in document.gate if getattr(one, "scope", None) is not None]


def _agreed(document: Document) -> bool:
    searched = _searched(document)
    return len(searched) < len(document.gate) or not all(one.scope.default for one in searched)


def _passed_from(document: Document) -> Amount | None:
    """The largest share from which on a limit that holds rules groups out."""
    if document.verdict.verdict != "pass":
        return None
    shares = [one.scope.ruled_out_from for one in _searched(document) if one.verdict == "pass"]
    largest = max((one for one in shares if one is not None), default=None)
    return None if largest is None else amount_of_share(largest)


def _unit_of_limit(limit: Any, unit: Unit) -> Unit:
    """In what a limit on people is written, who are judged by a difference of rates or of values."""
    from bdt_core.verdict import kind_of  # loads numpy, which not every form needs

    return "rate" if kind_of(limit).unit_of(limit, unit) == "rate" else "value"


def _judged(document: Document, unit: Unit, names: PlainNames) -> Iterator[Judged]:
    for limit in _searched(document):
        scope, own = limit.scope, _unit_of_limit(limit, unit)
        yield Judged(
            people="groups" if scope.people == "scored" else scope.people,
            conditions=scope.conditions,
            tested=scope.tested,
            columns=tuple(map(names.column, scope.columns)),
            alike=tuple(map(names.column, scope.alike)),
            share=None if scope.min_share is None else amount_of_share(scope.min_share),
            allowed=amount_of_difference(limit.limit, own, names),
            default=scope.default,
            width=scope.width,
            is_of_score=scope.people == "scored",
        )


def _not_judged(document: Document, unit: Unit, names: PlainNames) -> Iterator[NotJudged]:
    for limit in _searched(document):
        own = _unit_of_limit(limit, unit)
        for group in limit.not_judged:
            conditions = tuple(map(names.condition, group.conditions))
            yield NotJudged(conditions, group.who, at_least(group.at_least, own, names))


def _first_sight(document: Document, names: PlainNames, named: Sequence[NamedGroup]) -> NamedGroup | None:
    """Who is worse off for certain at first sight, where nobody who is named is the same people."""
    at_first_sight = document.findings.at_first_sight if document.findings else ()
    if not at_first_sight:
        return None
    first = _group(at_first_sight[0], document.bias_variable.unit, document, names)
    return None if any(one.conditions == first.conditions and one.fares_worse for one in named) else first


def _declared_worst(
    document: Document, names: PlainNames, named: Sequence[tuple[GroupCondition, ...]]
) -> DeclaredWorst | None:
    """The declared group that fares worst: the worst of those for certain, where there are any."""
    outcomes = document.declared_outcomes
    if outcomes is None:
        return None
    harms = [(bool(one.significant), outcomes.harm(one) or 0.0, one) for each in outcomes.facets for one in each.groups]
    worse = [each for each in harms if each[1] > 0.0]
    if not worse:
        return None
    certain, _, group = max(worse, key=lambda each: each[:2])
    conditions = tuple(map(names.condition, group.conditions))
    if conditions in named:
        return None
    assert group.mean is not None
    assert group.mean_others is not None  # it was compared
    inside, outside = amounts_of_means(group.mean, group.mean_others, document.bias_variable.unit, names)
    return DeclaredWorst(conditions, inside, outside, certain)


def _breaking(document: Document, findings: Sequence[Finding]) -> tuple[Sequence[GroupCondition], str | None]:
    """Who is judged to break the limit for any group, unless somebody who is named breaks it."""
    broken = [
        one for one in _searched(document) if one.verdict == "fail" and one.scope.people not in ("places", "scored")
    ]
    least = [one.low if one.remaining is None else one.remaining.remaining_low for one in findings]
    if not broken or any(low > broken[0].limit for low in least):
        return (), None
    other = broken[0].broken_by
    if other is not None:
        return other.conditions, None if other.conditions else other.who
    if document.worst_groups is None:
        return (), None
    searched = (document.worst_groups, document.worst_groups.raw)
    groups = [group for one in searched if one is not None for group in one.groups]
    return next((one.conditions for one in groups if one.words == broken[0].who), ()), None


def _group(finding: Finding, unit: Unit, document: Document, names: PlainNames) -> NamedGroup:
    own = unit_of(finding, unit)
    alike = finding.remaining if finding.remaining and finding.remaining.has_people_alike else None
    published = document.publication is not None
    gap = abs(finding.mean_inside - finding.mean_outside)
    has_missing = {each.name for each in document.data.columns if each.missing}
    most = finding.share > _MAJORITY
    measure = names.measure(unit == "rate")
    if finding.found_by == "local_bias":
        metric = next(each for each in LOCAL_METRICS.values() if finding.measured == (each.measured or each.words))
        measure = NamedMeasure(metric.asked, not metric.is_area, measure.result, measure.outcome)
        more = measure.kind == "false_positive_rate" and finding.mean_inside > finding.mean_outside
    else:
        more = document.bias_variable.better == "lower"
    inside, outside = amounts_of_means(finding.mean_inside, finding.mean_outside, own, names)
    return NamedGroup(
        conditions=tuple(map(names.condition, finding.conditions or finding.described)),
        found_by=finding.found_by,
        place=tuple(
            Apart(
                names.column(each.column),
                None if each.level is None else names.level(each.column, each.level),
                each.inside > each.outside,
            )
            for each in finding.place
        ),
        compared_with=tuple(map(names.condition, finding.compared_with)),
        measure=measure,
        people=finding.rows,
        share=amount_of_share(finding.share),
        inside=inside,
        outside=outside,
        fares_worse=inside.number != outside.number
        and (finding.found_by == "local_bias" or (inside.number > outside.number) == more),
        more=more,
        least=at_least(finding.low, own, names) if finding.low > 0.0 else None,
        chance=next((n for n in _CHANCES if finding.p_value < 1 / n), math.floor(1 / max(finding.p_value, 0.05))),
        alike=_alike(alike, own, names, published) if alike else None,
        alone=finding.remaining is not None and not finding.remaining.has_people_alike,
        groups_before=finding.groups_before,
        among_alike=amount_of_difference(finding.difference, own, names)
        if finding.mean_alike is not None and finding.remaining is None
        else None,
        only_alike=finding.only_among_alike,
        better_off=bool((finding.mean_inside - finding.mean_outside) * (1.0 if more else -1.0) < 0.0),
        gap=amount_of_difference(gap, own, names) if finding.compared_with else None,
        place_words=finding.place_words,
        at_floor=finding.at_floor,
        most=most,
        all_but=names.all_but(finding.conditions[0], has_missing=finding.conditions[0].column in has_missing)
        if most and len(finding.conditions) == 1
        else None,
    )


def _alike(comparison: AlikeComparison, unit: Unit, names: PlainNames, published: bool) -> AmongAlike:
    """Of a comparison that counts harm as positive; what is published has a bound of 0 where it is proven."""
    return AmongAlike(
        remaining=amount_of_difference(max(comparison.remaining, 0.0), unit, names),
        proven=comparison.remaining_low > 0.0 or (published and comparison.remaining_low == 0.0),
        least=at_least(comparison.remaining_low, unit, names) if comparison.remaining_low > 0.0 else None,
        explains="a part" if comparison.explained_low > 0.0 else "nothing",
    )


def _day(day: str | None) -> datetime.date | None:
    return None if day is None else datetime.date.fromisoformat(day)


def _unknown(document: Document, names: PlainNames) -> Unknown | None:
    blanks = document.blanks
    if blanks is None:
        return None
    most, worst = next(iter(blanks.confirmed), None), blanks.worst
    shares = (most.share_inside, most.share_outside) if most else (0.0, 0.0)
    inside, outside = amounts_of_means(*shares, "rate", names)
    size = 0.0 if worst is None else worst.worst_case
    return Unknown(
        people=blanks.rows,
        more=tuple(map(names.condition, most.conditions)) if most else (),
        inside=inside,
        outside=outside,
        worst=tuple(map(names.condition, worst.conditions)) if worst else (),
        largest=amount_of_difference(size, document.bias_variable.unit, names) if size > 0.0 else None,
        two_valued=blanks.two_valued,
    )


def _underrepresented(document: Document, names: PlainNames) -> Iterator[Underrepresented]:
    """Groups with less than half the share among those audited that they have among the people it is used on."""
    facets = {one.columns: one for one in document.groups.facets} if document.groups else {}
    for column, counts in (document.spec.get("reference") or {}).items():
        audited = {str(one.values[0]): one.rows for one in facets[(column,)].groups}
        every, all_audited = sum(counts.values()), max(sum(audited.values()), 1)
        for level, n in counts.items():
            share, expected = audited.get(level, 0) / all_audited, n / every
            if share < _UNDER_HALF * expected:
                yield Underrepresented(names.level(column, level), *amounts_of_shares(share, expected))
