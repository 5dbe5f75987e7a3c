"""Two tables side by side: the same groups in both, and what is certain of how their means have changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bdt_core import words
from bdt_core.changes.measuring import (
    FollowedGroup,
    KeptPersons,
    Outcomes,
    Sides,
    declared_groups,
    hashes_of,
    outcomes_of,
    persons_sides,
    rows_sides,
)
from bdt_core.changes.results import Change, ChangedGroup, Changes, HeldToLimit, People
from bdt_core.errors import DataError
from bdt_core.groups.conditions import GroupCondition
from bdt_core.inference.estimates import Difference, MeanEstimate, critical_value
from bdt_core.inference.persons import Hashes, Persons, PersonSums
from bdt_core.metrics import harm_sign
from bdt_core.ranking.results import Finding
from bdt_core.spec import AuditSpec, FoundBy, reported_specification
from bdt_core.spec.wording import wording
from bdt_core.table.rows import Rows
from bdt_core.verdict.judge import Evidence, Tolerated, judge

EVERYBODY = FollowedGroup(())


@dataclass(frozen=True)
class ComparedTable:
    """What A or B is.

    Attributes
    ----------
    spec : AuditSpec
    name, source : str
        As they are called in the report.
    """

    spec: AuditSpec
    name: str
    source: str


@dataclass(frozen=True)
class Followed:
    """A group in A and in B."""

    group: FollowedGroup
    a: Sides
    b: Sides

    @property
    def is_there(self) -> bool:
        return self.a.inside is not None and self.b.inside is not None


def compare_tables(
    a: ComparedTable,
    b: ComparedTable,
    rows: tuple[Rows, Rows],
    test: Rows,
    findings: Sequence[Finding],
    *,
    rows_are_paired: bool = False,
    max_worse: float | None = None,
) -> Changes:
    """Say for whom B is better or worse than A.

    Parameters
    ----------
    a, b : ComparedTable
        With the same bias variable.
    rows : (Rows, Rows)
        Where both have a key of persons, and some are in both, these are compared with themselves; else people are
        different ones.
    test : Rows
        Of A: those that its clusters and intersections were not found on.
    findings : sequence of Finding
        Of A.
    rows_are_paired : bool
        Whether the key is the number of the row in one table.
    max_worse : float, optional
        How much worse anybody may be off in B, in units of the bias variable.

    Returns
    -------
    Changes
        All intervals hold at once (Bonferroni). Findings were chosen for being bad in A, so that chance makes them
        look better in B: the end of their interval that is nearer to harm allows for everything that the search
        looked at, and so "better" is harder to say than "worse".

    Raises
    ------
    DataError
        The tables do not fit together, or too few people are in both.
    """
    outcomes = _outcomes(*rows)
    people, kept = _people(*rows, rows_are_paired=rows_are_paired)
    declared = declared_groups(rows, facets_of(a.spec))
    followed = [one for one in findings if one.found_by != "local_bias" and one.conditions not in declared]
    on_all = [EVERYBODY, *(FollowedGroup(one) for one in declared)]
    on_all += [FollowedGroup(one) for one in followed if not one.on_test_rows]
    on_test = [FollowedGroup(one) for one in followed if one.on_test_rows]
    _refuse_missing_columns([*on_all, *on_test], *rows)

    fewest = a.spec.significance.min_rows
    (sides_a, sums_a), (sides_b, sums_b) = (
        _sides(one, on_all, outcomes, kept_of, kept, fewest) for one, kept_of in zip(rows, kept, strict=True)
    )
    all_followed = [Followed(*one) for one in zip(on_all, sides_a, sides_b, strict=True)]
    if on_test:
        of_test = _of_test(test, kept, paired=people.paired_by is not None)
        both = (
            _sides(one, on_test, outcomes, kept_of, kept, fewest)[0]
            for one, kept_of in zip((test, rows[1]), of_test, strict=True)
        )
        all_followed += [Followed(*one) for one in zip(on_test, *both, strict=True)]
    everybody, *groups = all_followed
    if not everybody.is_there:
        raise DataError(
            f"Too few people to compare: {people.a:,} in A and {people.b:,} in B, where {fewest} are needed "
            '("significance.min_rows").'
            + (" Only people who are in both count: is the key the same one?" if people.paired_by else "")
        )
    return changes_of(
        a,
        b,
        _counted(people, everybody, _elsewhere(sums_a, sums_b, len(declared))),
        everybody,
        groups,
        findings=findings,
        is_rate=outcomes.are_rates,
        max_worse=max_worse,
    )


def changes_of(
    a: ComparedTable,
    b: ComparedTable,
    people: People,
    everybody: Followed,
    followed: Sequence[Followed],
    *,
    is_rate: bool,
    max_worse: float | None,
    findings: Sequence[Finding] = (),
) -> Changes:
    """Put means in A and in B into words, under one error control.

    Parameters
    ----------
    a, b : ComparedTable
    people : People
    everybody : Followed
        In both.
    followed : sequence of Followed
        Groups.
    is_rate : bool
    max_worse : float or None
    findings : sequence of Finding
        Of A, in their order.
    """
    spec, settings = a.spec, a.spec.significance
    sign = harm_sign(spec.bias_variable.better)
    gaps = [_has_gap(one, followed, everybody, sign) for one in followed]
    statements = 1 + sum(one.is_there + gap for one, gap in zip(followed, gaps, strict=True))

    def reach(group: FollowedGroup) -> tuple[float, float]:
        chosen = group.who.reach if isinstance(group.who, Finding) else 0.0
        return critical_value(settings.alpha, statements), critical_value(settings.alpha, statements, chosen)

    overall = _difference(everybody.b.inside, everybody.a.inside)
    order: dict[bool, list[ChangedGroup]] = {True: [], False: []}
    for of_group, gap in zip(followed, gaps, strict=True):
        if of_group.is_there:
            of_finding = isinstance(of_group.group.who, Finding)
            order[of_finding].append(_group_change(of_group, reach(of_group.group), sign, gap=gap))
    ranks = [one.who for one in findings]
    groups = (*sorted(order[True], key=lambda one: ranks.index(one.who)), *order[False])
    change = change_of(overall, reach(EVERYBODY), sign)
    return Changes(
        name_a=a.name,
        name_b=b.name,
        source_a=a.source,
        source_b=b.source,
        measured=wording(spec.bias_variable).name,
        is_rate=is_rate,
        better=spec.bias_variable.better,
        alpha=settings.alpha,
        statements=statements,
        people=people,
        overall=change,
        narrower=_narrower(overall, reach(EVERYBODY)[0]) if people.paired_by else None,
        groups=groups,
        too_small=tuple(_conditions(one.group)[0] for one in followed if not one.is_there),
        min_people=settings.min_rows,
        others_left_out=sum(one.found_by == "local_bias" for one in findings),
        limit=None if max_worse is None else _held(max_worse, change, groups, sign),
        spec_a=reported_specification(spec),
        spec_b=reported_specification(b.spec),
    )


def facets_of(spec: AuditSpec) -> tuple[tuple[str, ...], ...]:
    """The declared groupings, with a label and a prediction or without, and those of the gate."""
    return tuple(dict.fromkeys([*spec.declared_facets, *spec.facets]))


def _outcomes(a: Rows, b: Rows) -> Outcomes:
    """The values in both tables, which must be of one kind."""
    of_a, of_b = outcomes_of(a), outcomes_of(b)
    if of_a.are_rates != of_b.are_rates:
        kinds = {True: "0 and 1", False: "other numbers"}
        raise DataError(
            f"The bias variable holds {kinds[of_a.are_rates]} in A and {kinds[of_b.are_rates]} in B, so they cannot be "
            "compared. Measure the same in both."
        )
    return Outcomes(min(of_a.low, of_b.low), max(of_a.high, of_b.high), of_a.are_rates)


def _people(a: Rows, b: Rows, *, rows_are_paired: bool) -> tuple[People, tuple[Hashes | None, Hashes | None]]:
    """Who is compared; of each table the persons who count, None where rows are persons."""
    keyed = [one.spec.split.key is not None for one in (a, b)]
    of_a, of_b = (hashes_of(one) if is_keyed else None for one, is_keyed in zip((a, b), keyed, strict=True))
    if of_a is None or of_b is None:
        return People(None, a.audited_rows, b.audited_rows), (of_a, of_b)
    both = np.intersect1d(of_a, of_b, assume_unique=True)
    if not both.size:
        return People(None, of_a.size, of_b.size), (of_a, of_b)
    by: Literal["row", "key"] = "row" if rows_are_paired else "key"
    return People(by, both.size, both.size, of_a.size - both.size, of_b.size - both.size), (both, both)


def _sides(
    table: Rows,
    groups: Sequence[FollowedGroup],
    outcomes: Outcomes,
    of_table: Hashes | None,
    kept: tuple[Hashes | None, Hashes | None],
    fewest: int,
) -> tuple[list[Sides], list[PersonSums]]:
    if of_table is None:
        return rows_sides(table, groups, outcomes, fewest), []
    persons = Persons.of(np.concatenate([one for one in kept if one is not None]))
    return persons_sides(table, groups, outcomes, KeptPersons(of_table, persons), fewest)


def _of_test(
    test: Rows, kept: tuple[Hashes | None, Hashes | None], *, paired: bool
) -> tuple[Hashes | None, Hashes | None]:
    """Who counts for what was found on A's train rows: in B the same people, or everybody who is another."""
    of_a, of_b = kept
    if of_a is None:
        return kept
    tested = np.intersect1d(of_a, hashes_of(test), assume_unique=True)
    return tested, tested if paired else of_b


def _refuse_missing_columns(groups: Sequence[FollowedGroup], a: Rows, b: Rows) -> None:
    """B must have what A's groups are made of: the columns of conditions, and all features where clusters are."""
    there = {one.name for one in b.columns if one.role != "unused"} | set(b.spec.carried)
    for group in groups:
        is_cluster = isinstance(group.who, Finding) and group.who.places is not None
        needed = a.names("feature") if is_cluster else [one.column for one in _conditions(group)[0]]
        missing = [one for one in needed if one not in there]
        if missing:
            raise DataError(
                f'B does not use the column "{missing[0]}", which says who is in a group of A. Add it to "protected" '
                "or \"features.include\" of B's specification, or leave it out of A's."
            )


def _counted(people: People, everybody: Followed, elsewhere: int | None) -> People:
    assert everybody.a.inside is not None
    assert everybody.b.inside is not None
    moved = elsewhere if people.paired_by is not None else None
    return People(
        people.paired_by, everybody.a.inside.people, everybody.b.inside.people, people.only_a, people.only_b, moved
    )


def _elsewhere(sums_a: list[PersonSums], sums_b: list[PersonSums], declared: int) -> int | None:
    """How many persons are in other declared groups in B than in A."""
    if not sums_a or not sums_b or sums_a[0].persons != np.count_nonzero(sums_a[0].rows):
        return None
    groups = zip(sums_a[1 : 1 + declared], sums_b[1 : 1 + declared], strict=True)
    moved = np.zeros(sums_a[0].rows.size, dtype=bool)
    for group, other in groups:
        moved |= (group.rows > 0) != (other.rows > 0)
    return int(np.count_nonzero(moved))


def _has_gap(people: Followed, followed: Sequence[Followed], everybody: Followed, sign: float) -> bool:
    """Whether its distance from everybody else is told: of two groups who are all others of each other that of who
    fares worse in A."""
    if not people.is_there or people.a.outside is None or people.b.outside is None:
        return False
    if isinstance(people.group.who, Finding):
        return True
    columns = _columns(people)
    alike = [each for each in followed if not isinstance(each.group.who, Finding) and _columns(each) == columns]
    if len(alike) != 2 or not all(each.is_there for each in alike):
        return True
    inside = [each.a.inside for each in (*alike, everybody) if each.a.inside is not None]
    if inside[0].people + inside[1].people != inside[2].people:
        return True
    is_first_worse = sign * inside[0].value >= sign * inside[1].value
    return (people is alike[0]) is is_first_worse


def _columns(people: Followed) -> tuple[str, ...]:
    return tuple(each.column for each in _conditions(people.group)[0])


def _conditions(group: FollowedGroup) -> tuple[tuple[GroupCondition, ...], tuple[GroupCondition, ...], FoundBy]:
    if isinstance(group.who, Finding):
        return group.who.conditions, group.who.described, group.who.found_by
    return group.who, (), "groups"


def _group_change(people: Followed, reach: tuple[float, float], sign: float, *, gap: bool) -> ChangedGroup:
    conditions, described, found_by = _conditions(people.group)
    who = people.group.who
    assert people.a.inside is not None
    assert people.b.inside is not None
    change = None
    if gap:
        after, before = (_difference(side.inside, side.outside) for side in (people.b, people.a))
        change = change_of(Difference(after, before), reach, sign)
    return ChangedGroup(
        who=who.who if isinstance(who, Finding) else words.all_of([each.words for each in who]),
        found_by=found_by,
        conditions=conditions,
        described=described,
        people_a=people.a.inside.people,
        people_b=people.b.inside.people,
        on_test_rows=isinstance(who, Finding) and who.on_test_rows,
        change=change_of(_difference(people.b.inside, people.a.inside), reach, sign),
        gap=change,
    )


def _difference(mean: MeanEstimate | None, other: MeanEstimate | None) -> Difference:
    assert mean is not None
    assert other is not None
    return Difference(mean, other)


def change_of(difference: Difference, reach: tuple[float, float], sign: float) -> Change:
    """What is certain; the end that is nearer to harm reaches as far as the search that chose the group asks."""
    toward_good, toward_harm = (difference.arms(critical) for critical in reach)
    below, above = (toward_good[0], toward_harm[1]) if sign > 0 else (toward_harm[0], toward_good[1])
    low, high = difference.value - below, difference.value + above
    harm = (low, high) if sign > 0 else (-high, -low)
    says: Literal["worse", "better", "cannot_tell"] = (
        "worse" if harm[0] > 0.0 else "better" if harm[1] < 0.0 else "cannot_tell"
    )
    return Change(difference.other.value, difference.first.value, difference.value, low, high, says)


def _narrower(overall: Difference, critical: float) -> float | None:
    """How much longer the interval would be if B's people were others."""
    paired, apart = (Difference(overall.first, overall.other, paired=one).arms(critical) for one in (True, False))
    return sum(apart) / sum(paired) if sum(paired) > 0.0 else None


def _held(max_worse: float, overall: Change, groups: Sequence[ChangedGroup], sign: float) -> HeldToLimit:
    """The limit, on everybody and on every group: the gate's judge decides."""

    def evidence(who: str | None, change: Change) -> Evidence[str | None]:
        low, high = sorted((sign * change.low, sign * change.high))
        return Evidence(who, sign * change.difference, low, high)

    every = [evidence(None, overall), *(evidence(one.who, one.change) for one in groups)]
    judged = judge(every, Tolerated(maximum=max_worse), nearest="bound")
    decides = judged.decides
    assert decides.low is not None
    assert decides.high is not None
    return HeldToLimit(max_worse, judged.verdict, decides.of, decides.value, decides.low, decides.high)
