"""Columns that say what they should not know: the bias variable itself, the outcome, or what the algorithm said.

Clusters and intersections of such columns only repeat a definition: "is_recid is 0 and score_text is High" is no group
of people, it is what a false positive is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.said import Column, joined, say
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_core.table.pool import mapped, width_for
from bdt_core.table.repeated_rows import one_each

DETERMINED = 0.999
"""Share of the variance of a number that a column explains when it determines it."""
NEARLY = 0.8
"""The same of a value among few: of an outcome or a decision no honest feature explains so much."""
_FEW_VALUES = 20
_CERTAIN = 1e-6
"""Rounding stays far below it."""
_BINS = 4096
_NO_OVERFLOW = 1e200
_SCATTERING = np.uint64(0x9E3779B97F4A7C15)
_PAIRED_ROWS = 20_000
_PAIRED_COLUMNS = 40

Codes = NDArray[np.intp]


def find_leaks(table: AuditTable) -> dict[str, str]:
    """Columns of the search that define or determine the bias variable, the outcome or the prediction.

    Parameters
    ----------
    table : AuditTable
        Features, and the columns that a search names, are looked at; alone against the bias variable, the label, the
        prediction and the score, and in pairs against the bias variable. Legitimate factors are held against the bias
        variable.

    Returns
    -------
    dict
        A sentence by column; two that leak together have the same one. What copies of a row have in common is no leak.
    """
    return _leaks_of(one_each(table)) if _leaks_of(table) else {}


def _leaks_of(table: AuditTable) -> dict[str, str]:
    spec, audited = table.spec, table.audited
    leaks = telling_columns(table)
    honest = [name for name in _searched(table, audited) if name not in leaks]
    for column, other in _pairs(audited, honest):
        message = _OF_BOTH if spec.bias_variable.derive else _TOGETHER
        leak = say(message, as_is=Column(column), as_is_other=Column(other))
        warning = joined([leak, say(_MENDED_BOTH)], " ")
        leaks |= {column: warning, other: warning}
    return leaks


def telling_columns(table: AuditTable) -> dict[str, str]:
    """Columns of the search that leak by themselves, whether or not copies of a row are why.

    Returns
    -------
    dict
        A sentence by column, as of `find_leaks`.
    """
    audited = table.audited
    names = _searched(table, audited)
    outcomes = _outcomes(table)
    leaks = mapped(lambda name: next(_alone(name, table, audited, outcomes), None), names, width_for(len(audited)))
    explaining = {name: _explains_all(name, audited) for name in table.spec.legitimate if name in audited.columns}
    return {name: told for name, told in explaining.items() if told is not None} | {
        name: joined([told, say(_MENDED)], " ") for name, told in zip(names, leaks, strict=True) if told is not None
    }


def _searched(table: AuditTable, audited: pd.DataFrame) -> list[str]:
    """The columns that a search uses, each once."""
    local = table.spec.local_bias
    embedded = local.embeddings if local is not None and isinstance(local.embeddings, list) else []
    names = [*table.names("feature"), *table.spec.searched_columns, *embedded]
    return [name for name in dict.fromkeys(names) if name in audited.columns]


def _explains_all(name: str, audited: pd.DataFrame) -> str | None:
    """What is said of a legitimate factor that says what is measured: it explains every difference away."""
    target = audited[BIAS_VARIABLE]
    if not _tells(audited[name], target, _told_from(target)):
        return None
    return say(
        'Column "{as_is}" in "legitimate" determines the bias variable (almost) completely: among people alike in it '
        "hardly any difference is left to find. If it says what was decided, and not why, take it out.",
        as_is=Column(name),
    )


_MENDED = 'If so, add it to "features.exclude" (or take it out of each key that names it, such as "features.include").'
_TOGETHER = (
    'Columns "{as_is}" and "{as_is_other}" together determine the bias variable (almost) completely: they may be a '
    "leak."
)
_OF_BOTH = (
    'Columns "{as_is}" and "{as_is_other}" together determine the bias variable (almost) completely: they may be a '
    "leak, one of the outcome and one of the prediction."
)
_MENDED_BOTH = (
    'If so, add them to "features.exclude" (or take them out of each key that names them, such as "features.include").'
)


@dataclass(frozen=True)
class _Outcome:
    """The outcome or the prediction, and from which share of its variance on a column says the same."""

    name: str
    what: str
    share: float


def _outcomes(table: AuditTable) -> list[_Outcome]:
    """The outcome and the prediction, where there are such and they are not the bias variable itself."""
    spec, frame = table.spec, table.frame
    bias = spec.bias_variable
    return [
        _Outcome(name, what, _told_from(frame[name]))
        for name, what in zip(_label_and_prediction(spec), ("outcome", "prediction"), strict=True)
        if name is not None and name in frame.columns and name != bias.column
    ]


def _label_and_prediction(spec: AuditSpec) -> list[str | None]:
    bias = spec.bias_variable
    return [given or own for given, own in zip(spec.group_columns(), (bias.label, bias.prediction), strict=True)]


def _alone(name: str, table: AuditTable, audited: pd.DataFrame, outcomes: Sequence[_Outcome]) -> Iterator[str]:
    """What a column gives away by itself."""
    spec, frame = table.spec, table.frame
    bias = spec.bias_variable
    if name in (bias.label, bias.prediction):
        yield say(
            'Column "{as_is}" defines the bias variable and is also a feature: clusters will follow from that '
            "definition.",
            as_is=Column(name),
        )
    if name in spec.scores:
        yield say(
            'Column "{as_is}" is the score of the algorithm and is also a feature: clusters will follow from it.',
            as_is=Column(name),
        )
    label, prediction = _label_and_prediction(spec)
    if name in (label, prediction):
        what = "outcome" if name == label else "prediction"
        yield say(
            'Column "{as_is}" is the {what} and is also a feature: clusters will follow from it.',
            as_is=Column(name),
            what=say(what),
        )
    if _tells(audited[name], audited[BIAS_VARIABLE], DETERMINED):
        yield say(
            'Column "{as_is}" determines the bias variable (almost) completely: it may be a leak.', as_is=Column(name)
        )
    for outcome in outcomes:
        if _tells(frame[name], frame[outcome.name], outcome.share):
            yield say(
                'Column "{as_is}" says (almost) the same as the {what} "{as_is2}": it may be a leak.',
                as_is=Column(name),
                what=say(outcome.what),
                as_is2=Column(outcome.name),
            )


def _pairs(audited: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of columns that determine a bias variable of two values together; each column in one pair at most."""
    y = audited[BIAS_VARIABLE].to_numpy(dtype=np.float64)[:_PAIRED_ROWS]
    if len(np.unique(y)) != 2:
        return
    coded = {name: codes for name in names if (codes := _few_codes(audited[name].iloc[:_PAIRED_ROWS])) is not None}
    alone = {name: _explained(codes, y) for name, codes in coded.items()}
    likely = sorted(coded, key=lambda name: (-alone[name], name))[:_PAIRED_COLUMNS]
    size = {name: int(codes.max()) + 1 for name, codes in coded.items()}
    ranked = [
        (_explained(coded[one] * size[other] + coded[other], y), one, other) for one, other in combinations(likely, 2)
    ]
    taken: set[str] = set()
    for explained, first, other in sorted(ranked, key=lambda pair: (-pair[0], pair[1:])):
        if explained < NEARLY:
            return
        if not taken & {first, other}:
            taken |= {first, other}
            yield min(first, other), max(first, other)


def _few_codes(column: pd.Series) -> Codes | None:
    """Codes of at most so many values; a number is cut into parts of about equally many rows; None of other texts."""
    codes, levels = pd.factorize(column, use_na_sentinel=False)
    if len(levels) > _FEW_VALUES:
        if not pd.api.types.is_numeric_dtype(column.dtype):
            return None
        ranks = column.rank(method="dense", pct=True).fillna(0.0).to_numpy()
        codes = np.ceil(ranks * _FEW_VALUES).astype(np.intp)
    return np.asarray(codes, dtype=np.intp)


def _told_from(target: pd.Series) -> float:
    """From which share of its variance on a column tells another one."""
    return NEARLY if target.nunique() <= _FEW_VALUES else DETERMINED


def _tells(column: pd.Series, target: pd.Series, share: float) -> bool:
    """Whether a column explains so much of another column's variance, over the rows where that one is known."""
    known = target.notna().to_numpy()
    if not known.all():
        column, target = column[known], target[known]
    if pd.api.types.is_numeric_dtype(target.dtype):
        return _explains(column, target.to_numpy(dtype=np.float64), share)
    codes, levels = pd.factorize(target)
    if not 2 <= len(levels) <= _FEW_VALUES:
        return False
    return all(_explains(column, (codes == level).astype(np.float64), share) for level in range(len(levels)))


def _explains(column: pd.Series, y: NDArray[np.float64], share: float) -> bool:
    """Whether a column explains so much of the variance of y."""
    if pd.api.types.is_numeric_dtype(column.dtype) and _is_short_of(column, y, share):
        return False
    return explained(column, y) >= share


def _is_short_of(column: pd.Series, y: NDArray[np.float64], share: float) -> bool:
    """Whether it is certain, without putting rows in order, that many different numbers explain less than a share of y.

    No cut explains more than would the rows below a part of the numbers, those above it, and each row within by itself.
    """
    x = column.to_numpy(dtype=np.float64, na_value=np.nan)
    known = ~np.isnan(x)
    if not known.all():
        x, y = x[known], y[known]
    if not len(x):
        return False
    low, high = float(x.min()), float(x.max())
    if not 0.0 < high - low < np.inf or not _has_more_values(x, len(column) / 5):
        return False
    about = y - y.mean()
    squares = about * about
    total = float(squares.sum())
    if not 1.0 / _NO_OVERFLOW < total < _NO_OVERFLOW:
        return False
    place = (x - low) / (high - low)
    parts = np.minimum(place * _BINS, _BINS - 1).astype(np.intp)
    place -= place.mean()
    both = float(place @ about)
    if both * both >= (share - _CERTAIN) * total * float(place @ place):  # as a line
        return False
    rows, sums, within = (np.bincount(parts, weights, _BINS).astype(np.float64) for weights in (None, about, squares))
    most = _between(rows, sums) + within + _between(rows[::-1], sums[::-1])[::-1]
    return float(most.max()) < (share - _CERTAIN) * total


def _between(rows: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the mean of all earlier parts together explains, for each part."""
    many, much = np.cumsum(rows) - rows, np.cumsum(sums) - sums
    return np.asarray(np.divide(much**2, many, out=np.zeros(len(sums)), where=many > 0.5))


def _has_more_values(x: NDArray[np.float64], number: float) -> bool:
    """Whether it is certain that there are more different values: they fall to more different places by their bits."""
    width = np.uint64(64 - max(1, int(2 * len(x)).bit_length()))
    is_there = np.zeros(1 << int(64 - width), dtype=np.bool_)
    is_there[((x + 0.0).view(np.uint64) * _SCATTERING) >> width] = True  # both zeros are one
    return bool(np.count_nonzero(is_there) > number)


def explained(column: pd.Series, y: NDArray[np.float64]) -> float:
    """Share of the variance of y that a column explains: by means of its values, or of numbers by one bound or line."""
    if len(y) < 2 or y.std() == 0.0:
        return 0.0
    codes, levels = pd.factorize(column, use_na_sentinel=False)
    if len(levels) <= len(y) / 5:
        return _explained(np.asarray(codes, dtype=np.intp), y)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return 0.0
    known = column.notna().to_numpy()
    x, y = column.to_numpy(dtype=np.float64)[known], y[known]
    if x.size < 2 or x.std() == 0 or y.std() == 0:
        return 0.0
    return max(float(np.corrcoef(x, y)[0, 1] ** 2), _explained_by_a_bound(x, y))


def _explained_by_a_bound(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """What the best cut of x into two parts explains: a decision that follows from a score is such a cut."""
    order = np.argsort(x, kind="stable")
    ordered = y[order] - y.mean()
    below = np.cumsum(ordered)[:-1]
    rows = np.arange(1, len(y))
    between = below**2 * (1.0 / rows + 1.0 / (len(y) - rows))
    between = np.where(np.diff(x[order]) > 0, between, 0.0)
    return float(between.max() / (ordered**2).sum())


def _explained(codes: Codes, y: NDArray[np.float64]) -> float:
    """What the means of some groups explain, less what as many groups of chance would."""
    sizes = np.bincount(codes)
    total = float(((y - y.mean()) ** 2).sum())
    groups = int((sizes > 0).sum())
    if total == 0.0 or groups >= len(y):
        return 0.0
    sums = np.bincount(codes, weights=y)
    means = np.divide(sums, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    left = total - float((sizes * (means - y.mean()) ** 2).sum())
    return 1.0 - (left / (len(y) - groups)) / (total / (len(y) - 1))
