"""Rows whose outcome is not known: whether that is a matter of group, and what they could change at worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.derivations import derived
from bdt_core.fairness.coding import Threshold, code_column
from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.groups.results import OfConditions
from bdt_core.groups.scan.results import WorstGroups
from bdt_core.groups.scan.settings import ScanSettings
from bdt_core.groups.scan.stages import Question, scan
from bdt_core.groups.settings import searched_columns
from bdt_core.inference import adjust_p_values, compare_counts
from bdt_core.inference.exact_sums import exact_sum
from bdt_core.inference.persons import Persons, compare_persons, person_sums
from bdt_core.result import Result, Shown
from bdt_core.said import Text
from bdt_core.spec import AuditSpec, WorstGroupSearch
from bdt_core.spec.wording import wording
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, AuditTable
from bdt_core.table.blocks import OUTCOME, OneBlock
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import Drawn, rows_at_hand

PERMUTATIONS = 99
_MOST_GROUPS = 3
_FEWEST_BLANKS = 5
_MOST_LEVELS = 20
_EXTREMES = (0.01, 0.99)
"""Blank amounts are taken for the worse one of these quantiles in a group, and for the better one elsewhere."""

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BlankGroup(OfConditions):
    """People of a group whose outcome is not known, against everybody else.

    Attributes
    ----------
    conditions : tuple of GroupCondition
    declared : bool
        Whether the specification names the group; else the search found it.
    rows, of : int
        Of the group: rows without an outcome, and all.
    share_inside, share_outside : float
        Of rows without an outcome.
    low, high : float or None
        Interval of the difference of the shares; None where it was not tested.
    p_value : float or None
        Corrected for everything that was looked at.
    confirmed : bool
        Whether more is missing of them than of everybody else, for sure.
    difference : float
        How much worse they fare as far as outcomes are known, harm counted as positive.
    worst_case : float
        The same if all blank outcomes of the group were harmful, and none of everybody else's.
    """

    conditions: tuple[GroupCondition, ...]
    declared: bool
    rows: int
    of: int
    share_inside: float
    share_outside: float
    low: float | None
    high: float | None
    p_value: float | None
    confirmed: bool
    difference: float
    worst_case: float


@dataclass(frozen=True, repr=False)
class Blanks(Result, Shown):
    """Rows of the audited population without an outcome, by group.

    Attributes
    ----------
    outcome : str
        The bias variable's name.
    rows, of : int
        Rows without an outcome, and all that were to be audited.
    groups : tuple of BlankGroup
        Those first of whom more is missing for sure; among these, and among the others, the worst case first.
    worst_case : float or None
        The largest of the groups' worst cases, in the bias variable's unit; None without blanks or groups.
    who : str or None
        Whose it is.
    harmful, harmless : float or None
        What blank outcomes are taken for in a group and elsewhere; None where nothing is missing.
    two_valued : bool
        Whether these are the only two values that there are; else they are the quantiles .99 and .01 of the known ones.
    alpha : float
    permutations : int
        Of the search.
    random_state : int
    drawn : Drawn or None
        Rows that groups were compared on, where these are not all.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10, "sex": ["f", "m"] * 200})
    >>> frame["error"] = (frame.index % 3 == 0).astype(float)
    >>> frame.loc[(frame["sex"] == "f") & (frame.index % 4 == 0), "error"] = None
    >>> found = audit(frame, outcome="error", protected=["sex"], slices=None, clustering={"stability": 0}).blanks
    >>> found.rows, found.of, found.who
    (100, 400, 'age up to 57 and sex is f')
    >>> found.to_frame().query("declared")[["who", "rows", "of", "confirmed"]].values.tolist()[0]
    ['sex is f', 100, 200, True]
    """

    outcome: Text
    rows: int
    of: int
    groups: tuple[BlankGroup, ...] = ()
    worst_case: float | None = None
    who: str | None = None
    harmful: float | None = None
    harmless: float | None = None
    two_valued: bool = False
    alpha: float = 0.05
    permutations: int = PERMUTATIONS
    random_state: int = 0
    drawn: Drawn | None = None

    @property
    def confirmed(self) -> tuple[BlankGroup, ...]:
        """Groups of whom more is missing for sure, the largest difference of shares first."""
        sure = (one for one in self.groups if one.confirmed)
        return tuple(sorted(sure, key=lambda one: one.share_outside - one.share_inside))

    @property
    def worst(self) -> BlankGroup | None:
        """The group of the worst case."""
        return max(self.groups, key=lambda one: one.worst_case, default=None)

    def to_frame(self) -> pd.DataFrame:
        """One row per group.

        Returns
        -------
        DataFrame
            who, declared, rows, of, share_inside, share_outside, low, high, p_value, confirmed, difference, worst_case.
        """
        names = [name for name in BlankGroup.__dataclass_fields__ if name != "conditions"]
        columns = {name: [getattr(one, name) for one in self.groups] for name in names}
        return pd.DataFrame({"who": [one.words for one in self.groups], **columns})

    def _glance(self) -> tuple[str, pd.DataFrame]:
        columns = ["who", "rows", "of", "share_inside", "share_outside", "p_value", "confirmed", "worst_case"]
        return f"Blanks: {self.rows:,} of {self.of:,} rows have no {self.outcome}", self.to_frame()[columns]


def find_blanks(table: Rows, spec: AuditSpec) -> Blanks:
    """Say whether a missing outcome is a matter of group; nothing is searched where none is missing.

    Parameters
    ----------
    table : Rows
        All rows. Those of which the outcome is known to be none of the audit's (people with a positive label, for a
        false positive rate) are no blanks.
    spec : AuditSpec
    """
    name = wording(spec.bias_variable).name
    outside = _labels_outside(table, spec)
    columns = [BIAS_VARIABLE, *_made_of(spec)]
    counted = table.map_blocks(partial(_count, spec=spec, outside=outside), columns)
    blank, known = (sum(several) for several in zip(*counted, strict=True))
    alpha, seed = spec.significance.alpha, spec.split.random_state
    blanks = Blanks(name, blank, blank + known, alpha=alpha, random_state=seed)
    if not blank:
        return blanks
    rows = rows_at_hand(table)
    y, is_blank = _marked(rows, spec, outside)
    population = is_blank | ~np.isnan(y)
    frame = rows.frame[population].reset_index(drop=True)
    compared = _Compared.of(frame, y[population], is_blank[population], spec)
    declared = tuple(_declared(rows, frame, spec))
    share = 0.5 if declared else 1.0
    searched: tuple[BlankGroup, ...] = ()
    if _FEWEST_BLANKS <= int(compared.is_blank.sum()) < len(frame):
        searched = compared.searched(_search(rows, frame, compared.is_blank, spec, share))
    named = compared.declared(declared, alpha * share)
    same = {compared.inside(one).tobytes() for one in searched}
    kept = (one for one in named if compared.inside(one).tobytes() not in same)
    groups = tuple(sorted([*searched, *kept], key=lambda one: (not one.confirmed, -one.worst_case, one.words)))
    worst = max(groups, key=lambda one: one.worst_case, default=None)
    return replace(
        blanks,
        groups=groups,
        worst_case=None if worst is None else worst.worst_case,
        who=None if worst is None else worst.words,
        harmful=compared.harmful,
        harmless=compared.harmless,
        two_valued=compared.two_valued,
        drawn=Drawn.where_fewer(len(frame), blank + known),
    )


@dataclass(frozen=True, eq=False)
class _Compared:
    """Rows at hand, and what blanks among them are taken for.

    Attributes
    ----------
    frame : DataFrame
    y : ndarray of float64, shape (n,)
    is_blank : ndarray of bool, shape (n,)
    harmful, harmless : float
    two_valued : bool
    spec : AuditSpec
    """

    frame: pd.DataFrame
    y: Floats
    is_blank: Mask
    harmful: float
    harmless: float
    two_valued: bool
    spec: AuditSpec

    @classmethod
    def of(cls, frame: pd.DataFrame, y: Floats, is_blank: Mask, spec: AuditSpec) -> _Compared:
        known = y[~is_blank]
        two = len(np.unique(known)) <= 2
        ends = (known.min(), known.max()) if two else np.quantile(known, _EXTREMES)
        low, high = map(float, ends)
        harmful, harmless = (high, low) if spec.bias_variable.better == "lower" else (low, high)
        return cls(frame, y, is_blank, harmful, harmless, two, spec)

    def inside(self, group: BlankGroup) -> Mask:
        """Which rows are in a group."""
        return members(self.frame, group.conditions)

    def searched(self, worst: WorstGroups) -> tuple[BlankGroup, ...]:
        """Groups that the search has confirmed."""
        return tuple(
            self._group(one.conditions, False, (one.low, one.high), one.p_value, confirmed=True) for one in worst.groups
        )

    def declared(self, groups: Sequence[tuple[GroupCondition, ...]], level: float) -> list[BlankGroup]:
        """Declared groups, tested together."""
        comparisons = []
        persons = None if self.spec.split.key is None else Persons.of(self.frame[KEY].to_numpy())
        min_rows = self.spec.significance.min_rows
        for conditions in groups:
            inside = members(self.frame, conditions)
            events = [int((self.is_blank & side).sum()) for side in (inside, ~inside)]
            n, rest = int(inside.sum()), int((~inside).sum())
            compared = compare_counts(
                events[0], n, events[1], rest, alpha=self.spec.significance.alpha, min_rows=min_rows
            )
            if persons is not None:
                numbers = persons.numbers(self.frame[KEY].to_numpy())
                a, b = (
                    person_sums(self.is_blank[side].astype(np.float64), numbers[side], persons.size)
                    for side in (inside, ~inside)
                )
                compared = compare_persons(compared, a, b, min_rows=min_rows)
            comparisons.append(compared)
        tested = [one.p_value if one.status == "tested" else None for one in comparisons]
        adjusted = adjust_p_values(tested, "holm")
        blank_groups = []
        for conditions, comparison, p in zip(groups, comparisons, adjusted, strict=True):
            p_value = None if comparison.status != "tested" or np.isnan(p) else float(p)
            more = comparison.difference is not None and comparison.difference > 0.0
            sure = p_value is not None and p_value <= level and more
            blank_groups.append(
                self._group(conditions, True, (comparison.low, comparison.high), p_value, confirmed=sure)
            )
        return blank_groups

    def _group(
        self,
        conditions: tuple[GroupCondition, ...],
        declared: bool,
        interval: tuple[float | None, float | None],
        p_value: float | None,
        *,
        confirmed: bool,
    ) -> BlankGroup:
        inside = members(self.frame, conditions)
        sign = 1.0 if self.harmful >= self.harmless else -1.0
        filled = np.where(self.is_blank, np.where(inside, self.harmful, self.harmless), self.y)
        known = [self.y[side & ~self.is_blank] for side in (inside, ~inside)]
        seen = _mean(known[0]) - _mean(known[1]) if known[0].size and known[1].size else 0.0
        return BlankGroup(
            conditions=conditions,
            declared=declared,
            rows=int((inside & self.is_blank).sum()),
            of=int(inside.sum()),
            share_inside=float(self.is_blank[inside].mean()),
            share_outside=float(self.is_blank[~inside].mean()),
            low=interval[0],
            high=interval[1],
            p_value=p_value,
            confirmed=confirmed,
            difference=sign * seen,
            worst_case=sign * (_mean(filled[inside]) - _mean(filled[~inside])),
        )


def _mean(values: Floats) -> float:
    """A mean that is the same in any order of the rows."""
    return exact_sum(values) / values.size


def _search(rows: AuditTable, frame: pd.DataFrame, is_blank: Mask, spec: AuditSpec, share: float) -> WorstGroups:
    """The search for worst groups, with "it is missing" as the outcome."""
    asked = spec.worst_groups or WorstGroupSearch()
    columns = searched_columns(rows)
    key = KEY if spec.split.key else None
    question = Question(columns, "missing", "lower", key=key)
    level = spec.significance.alpha * share
    settings = ScanSettings(
        min_share=asked.min_share,
        min_rows=spec.significance.min_rows,
        max_groups=_MOST_GROUPS,
        permutations=max(PERMUTATIONS, int(np.ceil(1.0 / level - 1e-9)) - 1),
        alpha=spec.significance.alpha,
        share=share,
    )
    used = [*columns, *([KEY] if key else [])]
    block = OneBlock(frame[used].assign(**{OUTCOME: is_blank.astype(np.float64)}))
    return scan(block, question, settings, sample_rows=len(frame))


def _declared(rows: AuditTable, frame: pd.DataFrame, spec: AuditSpec) -> Iterator[tuple[GroupCondition, ...]]:
    """Declared groups with enough people inside and outside, by their conditions."""
    facets = dict.fromkeys([*((name,) for name in rows.names("protected")), *spec.declared_facets, *spec.facets])
    for facet in facets:
        if any(name not in frame.columns for name in facet):
            continue
        named = [spec.groups.thresholds.get(name) for name in facet]
        cuts = [None if one is None else Threshold(one) for one in named]
        coded = [code_column(frame, name, cut) for name, cut in zip(facet, cuts, strict=True)]
        if any(len(one.counted()) > _MOST_LEVELS for one in coded):
            continue  # of numbers that nobody cuts into groups, and the search looks at them
        cells, sizes = np.unique(np.stack([one.codes for one in coded], axis=1), axis=0, return_counts=True)
        for codes, n in zip(cells, sizes.tolist(), strict=True):
            if min(n, len(frame) - n) >= spec.significance.min_rows:
                levels = [one.levels[int(code)] for one, code in zip(coded, codes, strict=True)]
                yield tuple(map(GroupCondition.of_level, facet, levels, cuts))


def _made_of(spec: AuditSpec) -> list[str]:
    """Columns that say whether a row without a bias variable is of the audited population."""
    bias = spec.bias_variable
    made = derived(bias.derive)
    if made is None or made.among is None:
        return []
    return [one for one in (bias.label, bias.prediction) if one is not None]


def _labels_outside(table: Rows, spec: AuditSpec) -> frozenset[object]:
    """Labels with which a row is none of the audited population."""
    made_of = _made_of(spec)
    if not made_of:
        return frozenset()
    return frozenset().union(*table.map_blocks(partial(_outside, made_of=made_of), [BIAS_VARIABLE, *made_of]))


def _outside(block: AuditTable, made_of: list[str]) -> frozenset[object]:
    frame = block.frame
    both = frame[made_of].notna().all(axis="columns") & frame[BIAS_VARIABLE].isna()
    return frozenset(frame[made_of[0]][both].unique())


def _marked(block: AuditTable, spec: AuditSpec, outside: frozenset[object]) -> tuple[Floats, Mask]:
    """The bias variable of each row, and which rows lack one that they should have."""
    y = block.frame[BIAS_VARIABLE].to_numpy(dtype=np.float64)
    is_blank: Mask = np.isnan(y)
    made_of = _made_of(spec)
    if made_of and is_blank.any():
        is_blank &= ~block.frame[made_of[0]].isin(outside).to_numpy(dtype=bool)
    return y, is_blank


def _count(block: AuditTable, spec: AuditSpec, outside: frozenset[object]) -> tuple[int, int]:
    """Rows without an outcome, and with one."""
    y, is_blank = _marked(block, spec, outside)
    return int(is_blank.sum()), int((~np.isnan(y)).sum())
