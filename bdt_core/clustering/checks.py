"""Settings and data that HBAC accepts; everything else is refused with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.table.encoding import Kind

_CHOICES = {
    "method": ("auto", "kmeans", "kmodes", "kprototypes"),
    "better": ("lower", "higher"),
    "engine": ("bdt", "reference"),
    "dtype": ("float32", "float64"),
}


@dataclass(frozen=True)
class HBACSettings:
    """Settings of a fit that had to be worked out."""

    seed: int
    smallest: float

    def min_rows(self, rows: int) -> int:
        """Smallest cluster in rows."""
        return max(1, math.ceil(self.smallest * rows) if self.smallest < 1 else int(self.smallest))


def checked_settings(model: Any) -> HBACSettings:
    """Check an HBAC's parameters; SpecError names the first wrong one."""
    for name, choices in _CHOICES.items():
        value = getattr(model, name)
        if not isinstance(value, str) or value not in choices:
            raise SpecError(f"{name} must be one of {', '.join(choices)}. {did_you_mean(str(value), choices)}")
    for name in ("max_iter", "n_init"):
        value = getattr(model, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise SpecError(f"{name} must be a whole number from 1 up, not {value!r}.")
    margin = model.margin
    if not isinstance(margin, Real) or not 0.0 <= float(margin) < math.inf:
        raise SpecError(f"margin must be a number from 0 up (standard deviations), not {margin!r}.")
    if not isinstance(model.scale, (bool, np.bool_)):
        raise SpecError(f"scale must be True or False, not {model.scale!r}.")
    size = model.min_cluster_size
    if (
        not isinstance(size, Real)
        or isinstance(size, bool)
        or not 0.0 < float(size) < math.inf
        or (float(size) >= 1.0 and not float(size).is_integer())
    ):
        raise SpecError(
            f"min_cluster_size must be a share of the rows between 0 and 1, or a whole number of rows, not {size!r}."
        )
    return HBACSettings(_seed(model.random_state), float(size))


def _seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise SpecError(f"random_state must be a whole number from 0 up, a RandomState or None, not {random_state!r}.")
    return int(random_state)


def settled_method(method: str, kinds: Mapping[str, Kind], engine: str) -> str:
    """The method for columns of these kinds; DataError when the chosen one cannot take them."""
    categorical = [name for name, kind in kinds.items() if kind == "categorical"]
    listed = ", ".join(f'"{name}"' for name in categorical[:10])
    if method == "auto":
        method = "kmeans" if not categorical else "kmodes" if len(categorical) == len(kinds) else "kprototypes"
    if method == "kmeans" and categorical:
        raise DataError(
            f'method="kmeans" needs numbers, but {listed} {"is" if len(categorical) == 1 else "are"} categorical. '
            'Use method="auto", or leave the column out.'
        )
    if engine == "reference" and method == "kprototypes":
        raise DataError(
            'engine="reference" clusters numbers (kmeans) or categories (kmodes), not both, and '
            f'{listed} {"is" if len(categorical) == 1 else "are"} categorical. Use engine="bdt", or '
            'method="kmodes" to take all columns as categories.'
        )
    return method


def weights_as_counts(sample_weight: Any, rows: int) -> npt.NDArray[np.int64]:
    """How many people each row stands for; DataError when it is not a whole number from 0 up per row."""
    given = np.asarray(sample_weight)
    if np.iscomplexobj(given):
        raise DataError("Complex data not supported: sample_weight must hold whole numbers.")
    try:
        weights = given.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight must hold whole numbers, one per row.") from None
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar; their shape is {weights.shape}.")
    if len(weights) != rows:
        raise DataError(f"X has {rows:,} rows and sample_weight has {len(weights):,}: they must be the same.")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights == np.floor(weights)).all()):
        raise DataError(
            "sample_weight must hold whole numbers from 0 up: how many people each row stands for. Round other "
            "weights, such as those of a survey, after multiplying them so that the least is 1 or more."
        )
    if not weights.any():
        raise DataError("sample_weight is zero in every row: nobody is left to cluster.")
    return weights.astype(np.int64)


def bias_variable(y: Any, rows: int) -> npt.NDArray[np.float64]:
    """The bias variable in float64; DataError when it is not one finite number per row."""
    if y is None:
        raise DataError(
            "HBAC requires y to be passed, but the target y is None. y is the bias variable: one number per row."
        )
    y = np.asarray(y)
    if np.iscomplexobj(y):
        raise DataError("Complex data not supported: y, the bias variable, must hold real numbers.")
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("y, the bias variable, must hold numbers, one per row, none missing.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1:
        raise DataError(f"y, the bias variable, must have one number per row, not the shape {values.shape}.")
    if len(values) != rows:
        raise DataError(f"X has {rows:,} rows and y has {len(values):,}: they must be the same.")
    bad = int(np.count_nonzero(~np.isfinite(values)))
    if bad:
        raise DataError(f"y, the bias variable, contains NaN or inf in {bad:,} rows. Drop these rows, or fill them.")
    if np.abs(values).max() > 1e140:
        raise DataError("y, the bias variable, has values beyond 1e140. Divide it by a constant.")
    return values
