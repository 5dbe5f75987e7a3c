"""The stages of the slice search in their order: code, search, test, shrink, fold, sort."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bdt_core import words
from bdt_core.errors import DataError, did_you_mean
from bdt_core.groups.cells import LeftOutColumn
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.slices.candidates import Candidates, find_candidates
from bdt_core.groups.slices.coding import Coding
from bdt_core.groups.slices.columns import SlicedColumn, fit_columns
from bdt_core.groups.slices.contrasts import Prior, contrasts, prior, shrunken
from bdt_core.groups.slices.measure import MEAN, Measure
from bdt_core.groups.slices.outcome import outcomes_alike
from bdt_core.groups.slices.part import CodedPart, parts_of
from bdt_core.groups.slices.results import Bounded, LatticeNode, Slice, Slices
from bdt_core.groups.slices.settings import SliceSettings
from bdt_core.groups.slices.testing import Tested, fold, tested_in_sample, tested_on_other_rows
from bdt_core.inference import Comparison, interval_of_selected
from bdt_core.inference.persons import Persons
from bdt_core.said import Column, joined, of_ours, say
from bdt_core.table.blocks import Blocks, known_rows, seen_outcomes
from bdt_core.table.summaries import Drawn


def search(
    train: Blocks,
    test: Blocks | None,
    names: Sequence[str],
    measure: Measure,
    settings: SliceSettings,
    *,
    sample_rows: int,
    left_out: int = 0,
    notes: tuple[str, ...] = (),
    persons: Sequence[Persons | None] = (None, None),
) -> Slices:
    """Search for slices on the train rows and test them on the test rows; see `bdt_core.find_slices`.

    All rows are counted. Where there are more than those of a sample, quantiles of numbers are those of a sample of
    the train rows, and permutations, where a mean needs them and has too many values to be counted, are drawn from a
    sample of the test rows.

    Parameters
    ----------
    train, test : Blocks
        None to search and test on the same rows.
    names : sequence of str
        Columns whose values make the slices.
    measure : Measure
    settings : SliceSettings
    sample_rows : int
        Rows of a sample.
    left_out : int
        Rows without an outcome.
    notes : tuple of str
        Warnings.
    persons : sequence of Persons or None
        Who is in the train and in the test rows, where persons may have several.

    Raises
    ------
    DataError
        A column that does not exist.
    """
    tables = [train] if test is None else [train, test]
    looks = [seen_outcomes(table) for table in tables]
    seen = [reduce(add, blocks) for blocks in looks]
    rows = seen[0].span.rows
    sample, _ = known_rows(train.sample(sample_rows))
    searched = [name for name in names if name not in measure.columns]
    for name in searched:
        if name not in sample.columns:
            raise DataError(f'There is no column "{name}". {did_you_mean(name, sample.columns)}')
    per_person = 1.0 if persons[0] is None else rows / max(persons[0].number, 1)
    min_train_rows = max(math.ceil(settings.min_support * rows - 1e-9), math.ceil(settings.min_rows * per_person))
    fitted, unusable = fit_columns(
        train,
        sample,
        searched,
        rows=rows,
        bins=settings.bins,
        max_levels=settings.max_levels,
        min_rows=min_train_rows,
    )
    columns = [one.sliced for one in fitted]
    excluded = (*(LeftOutColumn(name, "it is measured") for name in names if name in measure.columns), *unusable)
    outcomes = outcomes_alike(list(zip(tables, seen, strict=True)), is_rate=measure.metric != MEAN)
    parts = [
        CodedPart(table, Coding(tuple(fitted), outcome), measure, blocks, sample_rows, of_part)
        for table, outcome, blocks, of_part in zip(tables, outcomes, looks, persons, strict=False)
    ]
    on_train, on_test, in_sample = parts[0], parts[-1], test is None
    candidates = find_candidates(on_train, on_test.rows, min_train_rows, settings)
    tested = (tested_in_sample if in_sample else tested_on_other_rows)(candidates, on_test, settings)
    conditions = [condition for one in columns for condition in one.conditions]
    against_rest = None
    if tested.items:
        effects = np.array([_design_effect(one, on_test) for one in tested.comparisons])
        against_rest = contrasts(on_test.outcome, measure.harm_sign, tested.totals, on_test.whole, effects)
    spread = Prior(0.0, 0.0)
    if against_rest is not None:  # of the whole family that was tested, whose differences did not choose it
        was_tested = np.array([one.status == "tested" for one in tested.comparisons])
        spread = prior(candidates.contrasts if in_sample else against_rest[was_tested])
    shrunk = [] if against_rest is None else shrunken(against_rest, spread).tolist()
    slices = _slices(tested, candidates, on_train, on_test, conditions, shrunk, settings)
    return Slices(
        metric=measure.metric,
        metric_name=measure.name,
        better=measure.better,
        label=measure.label,
        prediction=measure.prediction,
        outcome=measure.outcome,
        in_sample=in_sample,
        train_rows=on_train.rows,
        test_rows=on_test.rows,
        left_out=left_out,
        train_value=on_train.value(),
        test_value=on_test.value(),
        columns=tuple(columns),
        excluded=excluded,
        bins=settings.bins,
        max_conditions=settings.max_conditions,
        min_rows=settings.min_rows,
        min_support=settings.min_support,
        min_train_rows=min_train_rows,
        max_tests=settings.max_tests,
        searched=len(candidates.items),
        tests=tested.tests,
        correction="max-t" if settings.permutations else "bh",
        fdr=settings.fdr,
        alpha=settings.alpha,
        prior_mean=spread.mean,
        prior_sd=math.sqrt(spread.variance),
        slices=slices,
        lattice=_lattice(slices, on_test, conditions, settings, in_sample),
        reason=None if tested.tests else _reason(excluded, candidates, tested, on_train, min_train_rows, settings),
        warnings=notes,
        cut_on=Drawn.where_fewer(len(sample), rows) if any(one.kind == "intervals" for one in columns) else None,
        permuted_on=Drawn.where_fewer(on_test.sample.values.size, on_test.rows) if on_test.has_sampled else None,
        test_persons=None if on_test.persons is None else on_test.persons.number,
        bounded=_bounded(candidates, columns),
    )


def _bounded(candidates: Candidates, columns: Sequence[SlicedColumn]) -> tuple[Bounded, ...] | None:
    """What was not searched whole, with the names of columns."""
    return (
        tuple(
            Bounded(
                one.conditions, math.comb(len(columns), one.conditions), tuple(columns[i].name for i in one.columns)
            )
            for one in candidates.combined
        )
        or None
    )


def _slices(
    tested: Tested,
    candidates: Candidates,
    train: CodedPart,
    test: CodedPart,
    conditions: Sequence[GroupCondition],
    shrunk: Sequence[float],
    settings: SliceSettings,
) -> tuple[Slice, ...]:
    """The tested slices, folded and sorted, with intervals that allow for the selection of those that are reported."""
    overall, harm_sign = test.value(), test.measure.harm_sign
    of_items = [tuple(conditions[i] for i in items) for items in tested.items]
    parents = fold(tested, test, settings.alpha)
    reported = sum(bool(one) and parent is None for one, parent in zip(tested.significant, parents, strict=True))
    slices = []
    for i, (of_slice, comparison, parent) in enumerate(zip(of_items, tested.comparisons, parents, strict=True)):
        at = tested.positions[i]
        difference, train_rows = comparison.difference, int(candidates.rows[at])
        stands_for = tested.stands_for(i, reported) if tested.significant[i] else 1.0
        low, high = interval_of_selected(comparison, stands_for, harm_is_up=harm_sign > 0) or (None, None)
        expected = None
        if difference is not None:  # within the interval, and never more harmful than what was measured
            ends = (low, difference) if harm_sign > 0 else (difference, high)
            expected = float(np.clip(shrunk[i], *ends))
        slices.append(
            Slice(
                name=_name(of_slice),
                conditions=of_slice,
                train_rows=train_rows,
                train_support=train_rows / train.rows,
                train_value=float(candidates.contrasts.value[at]),
                train_difference=float(candidates.contrasts.difference[at]),
                test_rows=tested.rows[i],
                test_support=tested.rows[i] / test.rows,
                comparison=comparison,
                ratio_to_overall=_ratio(comparison.mean_a, overall, test.lowest),
                shrunken_difference=expected,
                worse=None if difference is None else harm_sign * difference > 0,
                weight=tested.weights[i],
                p_adjusted=tested.p_adjusted[i],
                significant=tested.significant[i],
                parent=None if parent is None else _name(of_items[parent]),
                low=low,
                high=high,
            )
        )

    def rank(conjunction: Slice) -> tuple[Any, ...]:
        expected, p_value = conjunction.shrunken_difference, conjunction.comparison.p_value
        group = 3 if expected is None else 2 if not conjunction.significant else int(conjunction.parent is not None)
        harm = harm_sign * (expected or 0.0)
        return group, -harm, 1.0 if p_value is None else p_value, len(conjunction.conditions), conjunction.name

    return tuple(sorted(slices, key=rank))


def _design_effect(comparison: Comparison, test: CodedPart) -> float:
    """That of a slice of persons with several rows; else 1."""
    if comparison.persons is None or comparison.persons.design_effect is None:
        return test.design_effect
    return comparison.persons.design_effect


def _lattice(
    slices: tuple[Slice, ...],
    test: CodedPart,
    conditions: Sequence[GroupCondition],
    settings: SliceSettings,
    in_sample: bool,
) -> tuple[LatticeNode, ...]:
    """All parts of the first slice's conditions on the test rows."""
    if not slices:
        return ()
    number = {condition: i for i, condition in enumerate(conditions)}
    parts = parts_of(tuple(number[one] for one in slices[0].conditions))
    nodes = []
    compared = test.compare(parts, settings, permuting=not in_sample)
    for part, (_, comparison, rows) in zip(parts, compared, strict=True):
        of_node = tuple(conditions[i] for i in part)
        nodes.append(LatticeNode(_name(of_node), of_node, rows, rows / test.rows, comparison))
    return tuple(nodes)


def _reason(
    excluded: Sequence[LeftOutColumn],
    candidates: Candidates,
    tested: Tested,
    train: CodedPart,
    min_train_rows: int,
    settings: SliceSettings,
) -> str:
    """Why nothing was tested."""
    if not train.columns:
        if not excluded:
            return say("no column is left to search (none was given)")
        reasons = [say("{column}: {what}", column=Column(one.name), what=of_ours(one.reason)) for one in excluded]
        return say("no column is left to search ({reasons})", reasons=joined(reasons, "; "))
    if train.is_constant:
        return say("every train row has the same outcome")
    if not candidates.items:
        return say(
            "no slice has {N} train rows and {Nrows} rows in the denominator of the metric, inside and outside, on "
            "train and test rows",
            N=words.count(min_train_rows),
            Nrows=words.count(settings.min_rows),
        )
    if not tested.items:
        return say("no slice fares noticeably worse on the train rows")
    return say("no slice has enough test rows")


def _ratio(value: float | None, overall: float | None, lowest: float) -> float | None:
    return None if value is None or not overall or lowest < 0.0 else value / overall


def _name(conditions: Sequence[GroupCondition]) -> str:
    return words.all_of([one.words for one in conditions])
