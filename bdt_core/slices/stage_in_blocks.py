"""The slice search on a large table, block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add

import numpy as np
import pandas as pd

from bdt_core.errors import DataError, did_you_mean
from bdt_core.inference.summaries import Centring, Scale, Seen, look
from bdt_core.slices.chosen import Coding, known_outcome
from bdt_core.slices.fit_in_blocks import fit_columns_in_blocks
from bdt_core.slices.measure import Measure, Payload, TwoValues
from bdt_core.slices.part import Part
from bdt_core.slices.part_in_blocks import PartInBlocks
from bdt_core.slices.results import Slices
from bdt_core.slices.settings import Settings
from bdt_core.slices.stages import search_parts
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import Drawn


def search_in_blocks(
    train: Rows, test: Rows, names: Sequence[str], measure: Measure, settings: Settings, sample_rows: int
) -> Slices:
    """Search for slices in which the bias variable is worse; `bdt_core.slices.stages.search` for a large table.

    All rows are counted. Quantiles of numbers are those of a sample of the train rows, and permutations, where a
    mean needs them and has too many values to be counted, are drawn from a sample of the test rows.

    Parameters
    ----------
    train, test : Rows
    names : sequence of str
        Columns whose values make the slices.
    measure : Measure
        Of the bias variable.
    settings : Settings
    sample_rows : int
        Rows of a sample.

    Returns
    -------
    Slices
        For a bias variable of two values the same as from all rows at once, when the sample holds all of them; for
        others up to rounding.

    Raises
    ------
    DataError
        A column that does not exist.
    """
    looks = [part.map_blocks(_look, [BIAS_VARIABLE]) for part in (train, test)]
    on_train, on_test = (reduce(add, one) for one in looks)
    sample = _known(train.sample(sample_rows))
    for name in names:
        if name not in sample.columns:
            raise DataError(f'There is no column "{name}". {did_you_mean(name, sample.columns)}')
    min_train_rows = max(math.ceil(settings.min_support * on_train.span.rows - 1e-9), settings.min_rows)
    columns, excluded = fit_columns_in_blocks(
        train,
        sample,
        names,
        rows=on_train.span.rows,
        bins=settings.bins,
        max_levels=settings.max_levels,
        min_rows=min_train_rows,
    )
    both = (on_train + on_test).values
    two = TwoValues.of(float(both[0]), float(both[-1])) if both is not None and both.size <= 2 else None

    def part(table: Rows, seen: Seen, blocks: int) -> PartInBlocks:
        coding = Coding(tuple(columns), two or _scale(table, seen))
        return PartInBlocks(
            table, coding, measure, seen, blocks, partial(_in_rows, table, coding, measure, sample_rows)
        )

    to_test_on = part(test, on_test, len(looks[1]))
    found = search_parts(
        part(train, on_train, len(looks[0])),
        to_test_on,
        [one.sliced for one in columns],
        tuple(excluded),
        min_train_rows,
        settings,
    )
    is_cut = any(one.kind == "intervals" for one in found.columns)
    return replace(
        found,
        cut_on=_drawn(len(sample), on_train) if is_cut else None,
        permuted_on=_drawn(to_test_on.in_rows.rows, on_test) if to_test_on.has_permuted else None,
    )


def _drawn(rows: int, seen: Seen) -> Drawn | None:
    return Drawn(rows, seen.span.rows) if rows < seen.span.rows else None


def _look(table: AuditTable) -> Seen:
    return look(known_outcome(table)[0])


def _scale(table: Rows, seen: Seen) -> Scale:
    """Whole steps around the mean in which values are added up."""
    centring = Centring.of(seen)
    return centring.scale(sum(table.map_blocks(partial(_steps, centring=centring), [BIAS_VARIABLE])))


def _steps(table: AuditTable, centring: Centring) -> int:
    return centring.count(known_outcome(table)[0])


def _known(table: AuditTable) -> pd.DataFrame:
    known = known_outcome(table)[1]
    return table.frame if known.all() else table.frame[known]


def _in_rows(table: Rows, coding: Coding, measure: Measure, rows: int) -> Part:
    """A sample of the rows at hand, coded."""
    sample = table.sample(rows)
    values, known = known_outcome(sample)
    offsets = np.concatenate([[0], np.cumsum(coding.levels, dtype=np.int64)]).astype(np.int64)
    two = coding.outcome
    payload = (
        Payload(known, two.codes(values), None, two.lower, two.step)
        if isinstance(two, TwoValues)
        else Payload(known, None, values)
    )
    return Part.of(coding.codes(_known(sample)), payload, measure, offsets)
