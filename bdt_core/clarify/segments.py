"""Parts of the data that a Clarify configuration has analysed one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.clarify.config import ClarifyConfig, ClarifySegments
from bdt_core.clarify.data import named_column
from bdt_core.errors import SpecError
from bdt_core.fairness.coding import Value, canonical, code_column, column, is_same
from bdt_core.table.facts import holds_numbers

DEFAULT = "__default__"
"""What Clarify calls the rows that no segment of a configuration holds."""
_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf)\s*"
_INTERVAL = re.compile(rf"([\[(]){_NUMBER},{_NUMBER}([\])])")


@dataclass(frozen=True)
class Segment:
    """Some rows of the data.

    Attributes
    ----------
    config : str
        Name of the segmentation: its own, else its column.
    column : str
    name : str
        Of the segment among those of its column.
    rows : ndarray of bool, shape (n,)
    """

    config: str
    column: str
    name: str
    rows: NDArray[np.bool_]


def segments_of(frame: pd.DataFrame, config: ClarifyConfig, remarks: list[str]) -> Iterator[Segment]:
    """The segments that a configuration asks for, those of the rest of the rows last.

    Rows without a value in the column are in none of them; a remark counts them.

    Raises
    ------
    SpecError
        A column does not exist, an interval is none, or segments hold the same rows.
    """
    for asked in config.segments:
        name = named_column(asked.name_or_index, frame, "segment_config.name_or_index")
        known = column(frame, name).notna().to_numpy()
        if not known.all():
            remarks.append(f'segment_config: {int((~known).sum()):,} rows lack a value of "{name}": in no segment.')
        named = [_rows_of(frame, name, values) & known for values in asked.segments]
        taken = np.sum(named, axis=0)
        if (taken > 1).any():
            raise SpecError(
                f'segment_config: {int((taken > 1).sum()):,} rows are in more than one segment of "{name}". Let each '
                "value be in one."
            )
        for label, rows in zip(_labels(asked), [*named, known & (taken == 0)], strict=True):
            if rows.any():
                yield Segment(asked.config_name or name, name, label, rows)
            elif label != DEFAULT:
                remarks.append(f'segment_config: no row is in the segment {label} of "{name}".')


def _labels(asked: ClarifySegments) -> list[str]:
    own = [", ".join(map(str, values)) for values in asked.segments]
    aliases = list(asked.display_aliases) or own
    return aliases if len(aliases) > len(own) else [*aliases, DEFAULT]


def _rows_of(frame: pd.DataFrame, name: str, values: tuple[Value, ...]) -> NDArray[np.bool_]:
    series = column(frame, name)
    if holds_numbers(series):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        chosen: NDArray[np.bool_] = np.any([_within(numbers, one, name) for one in values], axis=0)
        return chosen
    levels = [canonical(one) for one in values]
    return code_column(frame, name).rows_with(lambda level: any(is_same(level, one) for one in levels))


def _within(numbers: NDArray[np.float64], asked: Value, name: str) -> NDArray[np.bool_]:
    """Rows with a number, or inside an interval."""
    interval = _INTERVAL.fullmatch(asked.strip()) if isinstance(asked, str) else None
    if interval is None:
        try:
            return np.asarray(numbers == float(asked))
        except ValueError:
            raise SpecError(
                f'segment_config: "{name}" is numeric; expected a number or an interval such as "(2, 5]", found '
                f'"{asked}".'
            ) from None
    low, high = float(interval[2]), float(interval[3])
    above = numbers >= low if interval[1] == "[" else numbers > low
    return np.asarray(above & (numbers <= high if interval[4] == "]" else numbers < high))
