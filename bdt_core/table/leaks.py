"""Columns that say what they should not know: the bias variable itself, the outcome, or what the algorithm said.

Clusters and intersections of such columns only repeat a definition: "is_recid is 0 and score_text is High" is no group
of people, it is what a false positive is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.said import Column, joined, say
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_core.table.pool import mapped, width_for
from bdt_core.table.repeated_rows import one_each

DETERMINED = 0.999
"""Share of the variance of a number that a column explains when it determines it."""
NEARLY = 0.8
"""The same of a value among few: of an outcome or a decision no honest feature explains so much."""
_FEW_VALUES = 20
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
    leaks = mapped(lambda name: next(_alone(name, table, audited), None), names, width_for(len(audited)))
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
    if _tells(audited[name], target) < (NEARLY if _is_of_few(target) else DETERMINED):
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


def _alone(name: str, table: AuditTable, audited: pd.DataFrame) -> Iterator[str]:
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
    label, prediction = (
        given or own for given, own in zip(spec.group_columns(), (bias.label, bias.prediction), strict=True)
    )
    if name in (label, prediction):
        what = "outcome" if name == label else "prediction"
        yield say(
            'Column "{as_is}" is the {what} and is also a feature: clusters will follow from it.',
            as_is=Column(name),
            what=say(what),
        )
    if _tells(audited[name], audited[BIAS_VARIABLE]) >= DETERMINED:
        yield say(
            'Column "{as_is}" determines the bias variable (almost) completely: it may be a leak.', as_is=Column(name)
        )
    for target, what in ((label, "outcome"), (prediction, "prediction")):
        if target is None or target not in frame.columns or target == bias.column:
            continue
        if _tells(frame[name], frame[target]) >= (NEARLY if _is_of_few(frame[target]) else DETERMINED):
            yield say(
                'Column "{as_is}" says (almost) the same as the {what} "{as_is2}": it may be a leak.',
                as_is=Column(name),
                what=say(what),
                as_is2=Column(target),
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


def _is_of_few(column: pd.Series) -> bool:
    return column.nunique() <= _FEW_VALUES


def _tells(column: pd.Series, target: pd.Series) -> float:
    """How much of another column's variance a column explains, over the rows where that one is known."""
    known = target.notna().to_numpy()
    column, target = column[known], target[known]
    if pd.api.types.is_numeric_dtype(target.dtype):
        return explained(column, target.to_numpy(dtype=np.float64))
    codes, levels = pd.factorize(target)
    if not 2 <= len(levels) <= _FEW_VALUES:
        return 0.0
    return min(explained(column, (codes == level).astype(np.float64)) for level in range(len(levels)))


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
