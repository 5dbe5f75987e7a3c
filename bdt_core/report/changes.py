"""One page on what has changed from A to B and for whom, and its forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.changes.results import Change, ChangedGroup, Changes, HeldToLimit, People
from bdt_core.report.amounts import Amount, amount_of_difference, amounts_of_means, at_least, at_most
from bdt_core.report.blocks import Section
from bdt_core.report.plain_names import NamedMeasure, PlainNames
from bdt_core.report.prose import read_in
from bdt_core.report.section_page import SectionPage

if TYPE_CHECKING:
    from bdt_core.groups.conditions import GroupCondition
    from bdt_core.spec import FoundBy
    from bdt_core.words import Unit

MOST_ROWS = 16
Became = Literal["grew", "shrank", "turned", "cannot_tell"]


@dataclass(frozen=True)
class ChangeInWords:
    """A change, for readers.

    Attributes
    ----------
    a, b : Amount
        In A and in B.
    more : bool
        Whether more of what is counted, or a higher mean, was found in B.
    least : Amount or None
        How large the change is at least; None where it is not certain that there is one.
    most : Amount or None
        How much worse it may have become; None where "worse" is ruled out.
    numbers : tuple of float
        A, B, B less A, and the ends of the interval; of rates in points.
    says : {"worse", "better", "cannot_tell"}
    became : {"grew", "shrank", "turned", "cannot_tell"}
        Of a gap.
    """

    a: Amount
    b: Amount
    more: bool
    least: Amount | None
    most: Amount | None
    numbers: tuple[float, ...]
    says: Literal["worse", "better", "cannot_tell"]
    became: Became


@dataclass(frozen=True)
class GroupInWords:
    """A group and its changes; the first attributes are what the words for groups ask for."""

    conditions: tuple[GroupCondition, ...]
    found_by: FoundBy
    people_a: int
    people_b: int
    change: ChangeInWords
    gap: ChangeInWords | None
    most: bool = False  # by their conditions even if these hold for most people, for A and B may differ in that
    all_but: GroupCondition | None = None


@dataclass(frozen=True)
class ChangesPage:
    """What stands on the page.

    Attributes
    ----------
    title, name_a, name_b, source_a, source_b : str
    measure : NamedMeasure
    unit : str or None
        Of means.
    units : mapping
        Of the numbers of columns, by the readers' names.
    people : People
    narrower : float or None
        As in `bdt_core.changes.Changes`; None below 1.05.
    overall : ChangeInWords
    groups : tuple of GroupInWords
        Those that stand in the table.
    more_groups : int
        Those that stand in the data only.
    worse, better, gaps : tuple of GroupInWords
        Those of which it is certain, the surest first.
    says : {"worse", "better", "both", "cannot_tell"}
    limit : HeldToLimit or None
    allowed : Amount or None
    has_findings : bool
    too_small : tuple of tuple of GroupCondition
    min_people, statements : int
    alpha : float
    factors : tuple of str
    others_left_out : int
    harm_is_more : bool
        Whether more of what is counted is worse.
    """

    title: str
    name_a: str
    name_b: str
    source_a: str
    source_b: str
    measure: NamedMeasure
    unit: str | None
    units: Mapping[str, str]
    people: People
    narrower: float | None
    overall: ChangeInWords
    groups: tuple[GroupInWords, ...]
    more_groups: int
    worse: tuple[GroupInWords, ...]
    better: tuple[GroupInWords, ...]
    gaps: tuple[GroupInWords, ...]
    says: Literal["worse", "better", "both", "cannot_tell"]
    limit: HeldToLimit | None
    allowed: Amount | None
    has_findings: bool
    too_small: tuple[tuple[GroupCondition, ...], ...]
    min_people: int
    statements: int
    alpha: float
    factors: tuple[str, ...]
    others_left_out: int
    harm_is_more: bool

    @property
    def banner(self) -> str:
        """The colour of the answer, as that of a verdict."""
        if self.limit is not None:
            return self.limit.verdict
        return {"worse": "fail", "both": "fail", "better": "pass", "cannot_tell": "inconclusive"}[self.says]


def changes_page(changes: Changes) -> ChangesPage:
    """What the page on some changes says; every text is safe to print."""
    from bdt_core.spec.factor import factors_in

    safe = Changes.from_dict(words.printable(changes.to_dict()))
    names = PlainNames(safe.spec_a)
    unit: Unit = "rate" if safe.is_rate else "value"

    def in_words(change: Change) -> ChangeInWords:
        return _in_words(change, safe.better, unit, names)

    def conditions(unnamed: Sequence[GroupCondition]) -> tuple[GroupCondition, ...]:
        return tuple(map(names.condition, unnamed))

    def changed(group: ChangedGroup) -> GroupInWords:
        gap = None if group.gap is None else in_words(group.gap)
        who = conditions(group.conditions or group.described)
        return GroupInWords(who, group.found_by, group.people_a, group.people_b, in_words(group.change), gap)

    def surest(says: str) -> tuple[GroupInWords, ...]:

        certain = [one for one in safe.groups if one.change.says == says]
        return tuple(map(changed, sorted(certain, key=lambda one: _at_least(one.change), reverse=True)))

    gaps = [one for one in safe.groups if one.gap is not None and one.gap.says != "cannot_tell"]
    return ChangesPage(
        title=safe.spec_b.get("title") or safe.spec_a.get("title") or names.plain(safe.spec_a["name"]).capitalize(),
        name_a=safe.name_a,
        name_b=safe.name_b,
        source_a=safe.source_a,
        source_b=safe.source_b,
        measure=names.measure(safe.is_rate),
        unit=names.unit,
        units=names.units_of_columns(),
        people=safe.people,
        narrower=safe.narrower if safe.narrower is not None and safe.narrower >= 1.05 else None,
        overall=in_words(safe.overall),
        groups=tuple(map(changed, safe.groups[:MOST_ROWS])),
        more_groups=len(safe.groups[MOST_ROWS:]),
        worse=surest("worse"),
        better=surest("better"),
        gaps=tuple(map(changed, sorted(gaps, key=lambda one: _at_least(one.gap), reverse=True))),
        says=safe.says,
        limit=safe.limit,
        allowed=amount_of_difference(safe.limit.max_worse, unit, names) if safe.limit else None,
        has_findings=any(one.found_by != "groups" for one in safe.groups),
        too_small=tuple(map(conditions, safe.too_small)),
        min_people=safe.min_people,
        statements=safe.statements,
        alpha=safe.alpha,
        factors=tuple(map(names.column, factors_in(safe.spec_a))),
        others_left_out=safe.others_left_out,
        harm_is_more=safe.better == "lower",
    )


def changes_section(changes: Changes) -> Section:
    """The page in the readers' language: that of B's specification."""
    section = read_in(_language(changes), "changes", page=changes_page(changes))
    assert section is not None  # it always has a title
    return section


def changes_as_page(changes: Changes) -> SectionPage:
    """The page, which has all forms."""
    page = changes_page(changes)
    foot = f"{page.name_a} → {page.name_b}"
    return SectionPage(changes_section(changes), changes.to_dict(), _language(changes), page.banner, foot)


def write_changes(changes: Changes, folder: str | Path, notice: Callable[[str], None] | None = None) -> dict[str, Path]:
    """Write comparison.json, comparison.html, comparison.pdf and comparison.md into a folder.

    Parameters
    ----------
    changes : Changes
    folder : str or Path
        Made when it does not exist.
    notice : callable, optional
        See `bdt_core.report.write_reports`.

    Returns
    -------
    dict of str to Path
        Files by form: ``json``, ``html``, ``pdf``, ``md``; without those that cannot be drawn.

    Raises
    ------
    OutputError
        The folder holds another comparison already, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from bdt_core import compare
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10, "old": [0, 1] * 200})
    >>> keys = {"slices": None, "worst_groups": None, "clustering": {"stability": 0}}
    >>> keys["bias_variable"] = {"column": "old"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(write_changes(compare({"name": "old", **keys}, {"name": "new", **keys}, data_a=frame), folder))
    ['html', 'json', 'md', 'pdf']
    """
    return changes_as_page(changes).write(folder, "comparison", notice)


def _language(changes: Changes) -> str:
    return str(changes.spec_b.get("language", "en"))


def _at_least(change: Change | None) -> float:
    """How large a change is for certain."""
    assert change is not None
    return max(change.low, -change.high, 0.0)


def _in_words(change: Change, better: str, unit: Unit, names: PlainNames) -> ChangeInWords:
    certain = _at_least(change)
    worse = change.high if better == "lower" else -change.low
    scale = 100.0 if unit == "rate" else 1.0
    numbers = tuple(
        round(scale * one, 1) if unit == "rate" else one
        for one in (change.a, change.b, change.difference, change.low, change.high)
    )
    a, b = amounts_of_means(change.a, change.b, unit, names)
    return ChangeInWords(
        a=a,
        b=b,
        more=change.difference > 0.0,
        least=at_least(certain, unit, names) if certain > 0.0 else None,
        most=at_most(worse, unit, names) if worse > 0.0 else None,
        numbers=numbers,
        says=change.says,
        became=_became(change),
    )


def _became(gap: Change) -> Became:
    if gap.says == "cannot_tell":
        return "cannot_tell"
    if gap.a * gap.b < 0.0:
        return "turned"
    return "grew" if abs(gap.b) > abs(gap.a) else "shrank"
