"""Predictions and facets that stand in files of their own, set beside the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from bdt_core.clarify.config import ClarifyConfig
from bdt_core.clarify.data import named_column, read_clarify_data, with_headers
from bdt_core.errors import DataError, SourceError, did_you_mean

PREDICTED_LABEL = "predicted_label"
"""Name of the column of predictions in a file of their own, where the configuration names none."""


def beside(
    frame: pd.DataFrame,
    config: ClarifyConfig,
    *,
    predictions: str | Path | None = None,
    facets: str | Path | None = None,
) -> tuple[pd.DataFrame, ClarifyConfig]:
    """Set predictions and facets from files of their own beside the rows of the data.

    Parameters
    ----------
    frame : DataFrame
    config : ClarifyConfig
        With ``joinsource``, rows belong together that agree in it, and rows without a partner are left out, as in an
        inner join; without, the n-th row belongs to the n-th. ``predicted_label`` and the facets name columns of the
        new files, by name or position.
    predictions, facets : str or Path, optional
        Files in any form that `read_clarify_data` reads.

    Returns
    -------
    frame : DataFrame
    config : ClarifyConfig
        The same, with names for the new columns, and how many rows found no partner among the remarks.

    Raises
    ------
    SourceError, DataError
        A file lacks a column, holds an identifier twice, has another number of rows, or has them in another order.
    """
    frame = with_headers(frame, config)
    label = named_column(config.label, frame, "label")
    key = None if config.joinsource is None else named_column(config.joinsource, frame, "joinsource_name_or_index")
    config = replace(
        config,
        label=label,
        headers=None,
        joinsource=key,
        excluded_columns=tuple(named_column(one, frame, "excluded_columns") for one in config.excluded_columns),
    )
    if predictions is not None:
        asked = PREDICTED_LABEL if config.predicted_label is None else config.predicted_label
        frame, (name,), remarks = _with_columns(
            frame, predictions, {"predicted_label": asked}, key, config, config.predicted_label_headers, "predictions"
        )
        config = replace(config, predicted_label=name, remarks=(*config.remarks, *remarks))
    if facets is not None:
        places = {f"facet {i}": one.name_or_index for i, one in enumerate(config.facets)}
        frame, names, remarks = _with_columns(frame, facets, places, key, config, config.facet_headers, "facets")
        config = replace(
            config,
            facets=tuple(replace(one, name_or_index=name) for one, name in zip(config.facets, names, strict=True)),
            excluded_columns=(*config.excluded_columns, *names),  # the model did not see them: no features
            remarks=(*config.remarks, *remarks),
        )
    return frame, config


def _with_columns(
    frame: pd.DataFrame,
    file: str | Path,
    places: Mapping[str, str | int],
    key: str | None,
    config: ClarifyConfig,
    headers: tuple[str, ...] | None,
    what: str,
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The rows with the wanted columns of a file, the names of these, and what there is to say."""
    asked = replace(
        config, headers=headers, label=next(iter(places.values())), predicted_label=None, facets=(), group_variable=key
    )
    other, read = read_clarify_data(asked, file)
    other = with_headers(other, read)
    remarks = [one for one in read.remarks if one not in config.remarks]
    names = [_name(one, other, file) for one in places.values()]
    new = other[list(dict.fromkeys(names))]
    if key is None:
        if len(other) != len(frame):
            raise DataError(
                f"{file} has {len(other):,} rows, and the data has {len(frame):,}. Name the column that both have in "
                "common in joinsource_name_or_index (--join)."
            )
        _refuse_another_order(frame, other, names, file)
        joined = frame.drop(columns=names, errors="ignore").reset_index(drop=True)
        return joined.join(new.reset_index(drop=True)), names, remarks
    if key not in other.columns:
        raise SourceError(f'{file} has no column "{key}", by which rows are joined. {_has(other)}')
    for source, table in (("The data", frame), (str(file), other)):
        if repeated := int(table[key].duplicated().sum()):
            raise DataError(f'{source} holds {repeated:,} values of "{key}" more than once. Each row needs its own.')
    by_key = new.assign(**{key: other[key]}).set_index(key)
    rows = frame[key].isin(by_key.index)
    joined = frame[rows].drop(columns=[one for one in names if one != key], errors="ignore")
    if joined.empty:
        raise DataError(f'No "{key}" of the data is one of {file}. Are they written alike in both?')
    if len(joined) < len(frame):
        remarks.append(
            f"{len(frame) - len(joined):,} of {len(frame):,} rows have no {what} in {file} and are left out."
        )
    if len(joined) < len(other):
        remarks.append(f"{len(other) - len(joined):,} rows of {file} belong to no row of the data.")
    return joined.join(by_key, on=key).reset_index(drop=True), names, remarks


def _refuse_another_order(frame: pd.DataFrame, other: pd.DataFrame, names: Sequence[str], file: str | Path) -> None:
    """The n-th row belongs to the n-th, unless a column that tells rows apart stands in both and says otherwise."""
    for name in (one for one in frame.columns if one in other.columns and one not in names):
        ours, theirs = (table[name].astype(str).reset_index(drop=True) for table in (frame, other))
        if ours.is_unique and set(ours) == set(theirs) and not ours.equals(theirs):
            raise DataError(
                f'{file} has the same values of "{name}" as the data, in another order, and nothing says by what rows '
                f'belong together: name it in joinsource_name_or_index (--join "{name}").'
            )


def _name(given: str | int, frame: pd.DataFrame, file: str | Path) -> str:
    if isinstance(given, int) and 0 <= given < frame.shape[1]:
        return str(frame.columns[given])
    if given not in frame.columns:
        raise SourceError(f'{file} has no column "{given}". {did_you_mean(str(given), _columns(frame))}')
    return str(given)


def _has(frame: pd.DataFrame) -> str:
    return f"It has {', '.join(_columns(frame)[:10])}."


def _columns(frame: pd.DataFrame) -> Sequence[str]:
    return [str(one) for one in frame.columns]
