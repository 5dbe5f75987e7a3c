"""What scikit-learn asks of an estimator, of a LOGAN that makes groups itself: its own fit needs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bdt_core import LOGAN
from bdt_core.errors import DataError

OTHER_WORDS = "the check asks for NumPy's own words about a dictionary in X; ours say that X must hold numbers only"


class LoganOfTwo(LOGAN):
    """Every other row is of the other group, and y tells whether a prediction was right."""

    def fit(self, X: Any, y: Any = None) -> LoganOfTwo:
        rows = X.shape[0] if getattr(X, "shape", ()) else len(X)
        known = np.arange(rows) if y is None else np.asarray(y).ravel()
        return super().fit(X, np.resize(known == known[:1], rows), np.arange(rows) % 2)


@parametrize_with_checks(
    [LoganOfTwo(n_clusters=3, min_group_size=1, min_clusters=1, n_init=2)],
    expected_failed_checks=lambda _: {"check_dtype_object": OTHER_WORDS},
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def test_its_own_fit_asks_for_the_groups() -> None:
    with pytest.raises(DataError, match="needs the group of each row"):
        LOGAN().fit(np.zeros((4, 1)), [0, 1, 0, 1])
