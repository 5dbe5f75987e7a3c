"""Find the intersections of conditions in which people fare worse: search on train rows, test on test rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.favourable import Positive
from bdt_core.groups.slices.measure import Measure, outcomes, resolve
from bdt_core.groups.slices.results import Slices
from bdt_core.groups.slices.settings import SliceSettings
from bdt_core.groups.slices.stages import search
from bdt_core.metrics import Better
from bdt_core.table.blocks import OUTCOME, OneBlock, frame_at_hand, refuse_taken, refuse_text
from bdt_core.table.frames import AnyTable, plain_column

IN_SAMPLE = (
    "The slices were searched for and tested on the same rows: their differences are too large, because the slices "
    "were chosen for them, and their intervals too optimistic. Do not decide on them; use honest=True or new rows."
)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def find_slices(
    frame: AnyTable,
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    prediction: str | None = None,
    outcome: str | None = None,
    metric: str = "error_rate",
    better: Better | None = None,
    positive: Positive | None = None,
    positive_prediction: Positive | None = None,
    max_conditions: int = 3,
    min_support: float = 0.01,
    min_rows: int = 30,
    fdr: float = 0.10,
    alpha: float = 0.05,
    bins: int = 5,
    max_levels: int = 50,
    max_tests: int = 100,
    permutations: int = 0,
    honest: bool = True,
    test_size: float = 0.5,
    random_state: int = 0,
) -> Slices:
    """Find the conjunctions of conditions in which a rate or a mean is worse than for everybody else.

    Every conjunction with enough rows is compared with its complement on the train rows. Those that look worse are
    tested on the test rows, which had no part in choosing them, and the false discovery rate of all these tests is
    controlled.

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns
        One row per person.
    columns : sequence of str, optional
        Columns whose values make the slices; by default all but label, prediction and outcome. Columns that cannot
        be used are listed in the result with the reason.
    label, prediction : str, optional
        What really happened, and what the algorithm said.
    outcome : str, optional
        A numeric column in their place, whose mean is compared.
    metric : str, default "error_rate"
        A rate of the confusion matrix: "error_rate", "accuracy", "selection_rate", "prevalence",
        "true_positive_rate" ("tpr"), "false_positive_rate", "true_negative_rate", "false_negative_rate",
        "positive_predictive_value", "negative_predictive_value", "false_discovery_rate" or "false_omission_rate".
    better : {"lower", "higher"}, optional
        Whether people are better off with a lower or a higher value. By default errors should be few and correct
        decisions many; selection rate, prevalence and an outcome have no default.
    positive, positive_prediction : value or values, optional
        Values of label and prediction that count as positive (of both, when only the first is given); by default
        1 among 0 and 1.
    max_conditions : int, default 3
        Most conditions of a slice, at most 5.
    min_support : float, default 0.01
        Fewest train rows of a slice, as a share.
    min_rows : int, default 30
        Fewest rows in the metric's denominator, in a slice and outside, on train and test rows.
    fdr : float, default 0.1
        Share of false discoveries that is accepted among the significant slices, on average.
    alpha : float, default 0.05
        Intervals have confidence 1 - alpha.
    bins : int, default 5
        Numbers with many values are cut into so many intervals of about equally many train rows.
    max_levels : int, default 50
        Columns of categories with more values are excluded.
    max_tests : int, default 100
        Most slices that are tested on the test rows, those with the strongest evidence on the train rows. With
        ``honest=False`` all are tested and so many are listed.
    permutations : int, default 0
        More than 0: adjust p-values by so many permutations of the outcome (max-T) instead of Benjamini-Hochberg;
        `fdr` then bounds the chance of any false discovery.
    honest : bool, default True
        Search and test on different rows. False uses all rows for both, and says so.
    test_size : float, default 0.5
        Share of the rows that are kept for testing.
    random_state : int, default 0
        Seed of the division, which depends on the content of the rows and not on their order.

    Returns
    -------
    Slices

    Raises
    ------
    SpecError
        A setting out of range, an unknown metric, or a direction that has to be said.
    SourceError
        `frame` is no table.
    DataError
        A column does not exist, is not numeric or two-valued where it must be, or no outcome is known.

    Notes
    -----
    Rates are tested with the mid-p value of the exact conditional test, means with Welch's t and, where it rejects
    but cannot be relied on, with a studentised permutation test in its place (see
    `bdt_core.inference.compare_samples`; in-sample, with Welch's t alone). The printed p-value is two-sided. The
    correction takes the one-sided test for harm, which is half of it where the slice fares worse, so that every
    discovery is one of harm; a slice that is not worse at level `alpha` by itself counts with p = 1.

    The correction is Benjamini-Hochberg on p / weight. The weights are proportional to 1 / rank of the evidence on
    the train rows and 1 on average: what was learned there says where to look hardest. They do not depend on the test
    rows, so that the false discovery rate is kept, and they win back most of the power that splitting costs.

    References
    ----------
    Benjamini, Y., Hochberg, Y. (1995). JRSS B 57, 289-300. Genovese, C. R., Roeder, K., Wasserman, L. (2006). False
    discovery control with p-value weighting. Biometrika 93, 509-524. Cox, D. R. (1975). A note on data-splitting for
    the evaluation of significance levels. Biometrika 62, 441-444. Pastor, E., de Alfaro, L., Baralis, E. (2021).
    Looking for trouble: analyzing classifier behavior via pattern divergence. SIGMOD.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 4000), "region": rng.choice(["city", "land"], 4000)})
    >>> harmed = (frame.sex == "f") & (frame.region == "land")
    >>> frame["wrong"] = rng.random(4000) < np.where(harmed, 0.3, 0.1)
    >>> found = find_slices(frame, outcome="wrong", better="lower")
    >>> found.worst.name, found.worst.test_rows, round(found.worst.comparison.difference, 2)
    ('sex is f and region is land', 458, 0.19)

    As a table, and which rows they are:

    >>> found.to_frame()[["slice", "test_rows"]].values.tolist()[0]
    ['sex is f and region is land', 458]
    >>> bool((found.members(frame)["sex is f and region is land"] == harmed).all())
    True
    """
    settings = _settings(locals())
    frame = frame_at_hand(frame, "frame")
    measure = _measure(frame, locals())
    names = _names(frame, columns, measure)
    if not honest:
        warnings.warn(IN_SAMPLE, UserWarning, stacklevel=2)
        return _search([frame], names, measure, settings, notes=(IN_SAMPLE,))
    if not 0.0 < test_size < 1.0:
        raise SpecError(f"test_size must lie between 0 and 1, both excluded; found {test_size!r}.")
    return _search(_divided(frame, [*names, *measure.columns], test_size, random_state), names, measure, settings)


def _search(
    frames: Sequence[pd.DataFrame],
    names: list[str],
    measure: Measure,
    settings: SliceSettings,
    notes: tuple[str, ...] = (),
) -> Slices:
    """Search in rows at hand: train and test rows, or one table in place of both."""
    refuse_taken(names, measure.columns)
    searched = [name for name in names if name not in measure.columns]
    values = outcomes(measure, frames)
    known = [~np.isnan(one) for one in values]
    for rows, part in zip(known, ("train", "test"), strict=False):
        if not rows.any():
            where = " and ".join(f'"{name}"' for name in measure.columns)
            raise DataError(f"No {part} row has a value in {where}.")
    blocks = [
        OneBlock(frame.loc[rows, searched].assign(**{OUTCOME: of[rows]}))
        for frame, of, rows in zip(frames, values, known, strict=True)
    ]
    return search(
        blocks[0],
        None if len(blocks) == 1 else blocks[1],
        names,
        measure,
        settings,
        sample_rows=max(map(len, frames)),
        left_out=sum(int((~rows).sum()) for rows in known),
        notes=notes,
    )


def _settings(arguments: dict[str, object]) -> SliceSettings:
    return SliceSettings(**{name: arguments[name] for name in SliceSettings.__dataclass_fields__})  # type: ignore[arg-type]


def _measure(frame: pd.DataFrame, given: dict[str, object]) -> Measure:
    columns = ("better", "label", "prediction", "outcome", "positive", "positive_prediction")
    measure = resolve(given["metric"], **{name: given[name] for name in columns})  # type: ignore[arg-type]
    for name in measure.columns:
        _known(frame, name)
    return measure


def _names(frame: pd.DataFrame, columns: Sequence[str] | None, measure: Measure) -> list[str]:
    refuse_text(columns, "columns")
    names = list(dict.fromkeys(map(str, frame.columns if columns is None else columns)))
    for name in names:
        _known(frame, name)
    if columns is None:
        return [name for name in names if name not in measure.columns]
    return names


def _known(frame: pd.DataFrame, name: str) -> None:
    if name not in frame.columns:
        raise DataError(f'There is no column "{name}". {did_you_mean(name, frame.columns)}')
    if isinstance(frame[name], pd.DataFrame):
        raise DataError(f'There are {frame[name].shape[1]} columns named "{name}". Rename all but one.')


def _divided(
    frame: pd.DataFrame, names: Sequence[str], test_size: float, random_state: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Divide the rows at random, in a way that does not depend on their order."""
    order = np.argsort(_hashes(frame, names), kind="stable")
    is_test = np.zeros(len(frame), dtype=bool)
    drawn = np.random.default_rng(random_state).permutation(len(frame))[: round(test_size * len(frame))]
    is_test[order[drawn]] = True
    used = frame[list(dict.fromkeys(names))]
    return used[~is_test], used[is_test]


def _hashes(frame: pd.DataFrame, names: Sequence[str]) -> NDArray[np.uint64]:
    """Content hash per row; columns that cannot be hashed cannot be used either and do not count."""
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for name in sorted(set(names)):
        try:
            of_column = pd.util.hash_pandas_object(plain_column(frame[name]), index=False).to_numpy()
        except TypeError:
            continue
        hashes = hashes * _GOLDEN + of_column.astype(np.uint64, copy=False)
    return hashes
