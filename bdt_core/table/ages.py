"""Ages in place of dates of birth, in whole years on a day that the specification names, or a column of the table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.errors import SourceError, did_you_mean
from bdt_core.said import AsItIs, Column, say
from bdt_core.table.facts import holds_dates
from bdt_core.table.reading_notes import ReadingNotes


def day(reference: str) -> dt.date | None:
    """The day that a reference names; None for the name of a column.

    Examples
    --------
    >>> day("2026-01-31"), day("decided")
    (datetime.date(2026, 1, 31), None)
    """
    try:
        return dt.date.fromisoformat(reference)
    except ValueError:
        return None


def columns_needed(ages: Mapping[str, str], chosen: Collection[str]) -> set[str]:
    """Columns whose dates say on which day some chosen columns are ages."""
    return {reference for name, reference in ages.items() if name in chosen and day(reference) is None}


def refuse_unknown(ages: Mapping[str, str], columns: Collection[str], table: str) -> None:
    """All columns that `source.ages` names must be there.

    Raises
    ------
    SourceError
    """
    for name in (*ages, *sorted(columns_needed(ages, ages))):
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise SourceError(f'source.ages: {table} has no column "{name}". {hint}')


def notes_on_ages(ages: Mapping[str, str]) -> ReadingNotes:
    """What is to be said of columns that became ages."""
    return ReadingNotes(
        remarks=tuple(
            say(
                'Column "{column}" is the age in whole years on the day in "{other}" ("source.ages").',
                column=Column(name),
                other=Column(reference),
            )
            if day(reference) is None
            else say(
                'Column "{column}" is the age in whole years on {day} ("source.ages").',
                column=Column(name),
                day=reference,
            )
            for name, reference in ages.items()
        )
    )


def with_ages(frame: pd.DataFrame, ages: Mapping[str, str]) -> pd.DataFrame:
    """Rows with ages in place of dates of birth; the age is missing where either day is.

    Parameters
    ----------
    frame : DataFrame
    ages : dict of str to str
        By column: a day such as 2026-01-31, or another column of dates.

    Raises
    ------
    SourceError
        A column holds something else than dates, or somebody is born after the day.
    """
    questions = ReadingNotes.of(frame.attrs).questions
    changed = {}
    for name, reference in ages.items():
        days = [_days(frame[name], questions)]
        that = day(reference)
        days.append(_days(frame[reference], questions) if that is None else np.full(len(frame), that, "datetime64[D]"))
        changed[name] = pd.Series(_whole_years(*days), index=frame.index, name=name)
        if (changed[name] < 0).any():
            raise SourceError(
                f'source.ages: some rows have a day in "{name}" that lies after {reference}. Expected the day on which '
                "ages are wanted, such as that of the decision."
            )
    return frame.assign(**changed) if changed else frame


def _days(column: pd.Series[Any], questions: Mapping[str, str]) -> npt.NDArray[np.datetime64]:
    known = column.notna().to_numpy()
    if known.any() and not holds_dates(column):
        asked = questions.get(str(column.name))
        raise SourceError(
            say("{key}: {question}", key=AsItIs("source.ages"), question=asked)
            if asked
            else f'source.ages: column "{column.name}" holds something else than dates in one notation. Write them as '
            "2026-01-31."
        )
    days = np.full(len(column), np.datetime64("NaT"), "datetime64[D]")
    days[known] = pd.to_datetime(column[known], utc=True).dt.tz_localize(None).to_numpy("datetime64[D]")
    return days


def _whole_years(born: npt.NDArray[np.datetime64], on: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Birthdays until a day, that day included; who is born on 29 February has it on 1 March in other years."""
    months = on.astype("datetime64[M]") - born.astype("datetime64[M]")
    is_before = (on - on.astype("datetime64[M]")) < (born - born.astype("datetime64[M]"))
    known = ~(np.isnat(born) | np.isnat(on))
    years = np.full(len(born), np.nan)
    years[known] = (months[known].astype(np.int64) - is_before[known]) // 12
    return years
