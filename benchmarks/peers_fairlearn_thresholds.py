"""fairlearn's ThresholdOptimizer in an environment of its own (``pip install fairlearn==0.15.0 pyarrow``).

From the project's root: ``PEER_PYTHON -m benchmarks.peers_fairlearn_thresholds record`` prints its figures on UCI Adult
as JSON, ``... time TASK ROWS REPEATS`` its seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks import peers_tables as tables
from benchmarks.scores_tables import adult, adult_halves, simulated

CONSTRAINTS = {
    "demographic_parity": "demographic_parity",
    "equal_opportunity": "true_positive_rate_parity",
    "equalized_odds": "equalized_odds",
}
TOLERANCES = (0.0, 0.02, 0.05)
DRAWS = 20


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose probabilities are its only column."""

    def fit(self, _X: Any = None, _y: Any = None) -> Given:
        """Nothing to learn."""
        self.classes_ = np.array([0, 1])
        self.fitted_ = True
        return self

    def predict_proba(self, X: Any) -> Any:
        """Both probabilities."""
        p = np.asarray(X, dtype=float)[:, 0]
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> Any:
        """Cut at one half."""
        return (np.asarray(X, dtype=float)[:, 0] >= 0.5).astype(int)


def optimizer(constraint: str, tolerance: float) -> ThresholdOptimizer:
    """Set up as its documentation shows; equalized odds knows no tolerance."""
    relaxed = tolerance if constraint != "equalized_odds" and tolerance > 0.0 else None
    return ThresholdOptimizer(
        estimator=Given().fit(),
        constraints=CONSTRAINTS[constraint],
        prefit=True,
        predict_method="predict_proba",
        tol=relaxed,
    )


def expected(chance: Any, y: Any, g: Any, constraint: str) -> dict[str, float]:
    """Expected accuracy, and largest difference of the expected rates that the constraint is on."""
    rates = []
    for group in np.unique(g):
        of = g == group
        of_all, of_positives, of_negatives = of, of & (y == 1), of & (y == 0)
        rates.append([float(chance[one].mean()) for one in (of_all, of_positives, of_negatives)])
    columns = {"demographic_parity": [0], "equal_opportunity": [1], "equalized_odds": [1, 2]}[constraint]
    spread = np.ptp(np.array(rates)[:, columns], axis=0)
    return {"gap": float(spread.max()), "accuracy": float(np.where(y == 1, chance, 1.0 - chance).mean())}


def figures() -> Any:
    """Expected, and drawn 20 times: on the rows of the fit and on others."""
    parts = dict(zip(("fit", "judged"), adult_halves(), strict=True))
    found = []
    for facet in ("sex", "race"):
        for constraint in CONSTRAINTS:
            for tolerance in TOLERANCES[: 1 if constraint == "equalized_odds" else None]:
                fit = parts["fit"]
                model = optimizer(constraint, tolerance)
                model.fit(fit[["probability"]], fit.over_50k, sensitive_features=fit[facet])
                line: dict[str, Any] = {"facet": facet, "constraint": constraint, "tolerance": tolerance}
                for name, part in parts.items():
                    y, g = part.over_50k.to_numpy(), part[facet].to_numpy()
                    chance = model._pmf_predict(part[["probability"]], sensitive_features=g)[:, 1]
                    line[name] = expected(chance, y, g, constraint)
                    drawn = [
                        expected(
                            model.predict(part[["probability"]], sensitive_features=g, random_state=seed),
                            y, g, constraint,
                        )
                        for seed in range(DRAWS)
                    ]  # fmt: skip
                    line[name] |= {f"drawn_{key}": float(np.mean([one[key] for one in drawn])) for key in drawn[0]}
                found.append(line)
    return found


def fitting(constraint: str) -> Callable[[int], Callable[[], object]]:
    """The fit alone, on so many rows; Adult's where that is their number."""

    def prepared(rows: int) -> Callable[[], object]:
        whole = adult()
        frame, facet = (whole, "race") if rows == len(whole) else (simulated(rows), "g")
        X, y, g = frame[["probability"]], frame.over_50k, frame[facet]
        return lambda: optimizer(constraint, 0.02).fit(X, y, sensitive_features=g)

    return prepared


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables.main(
        ["fairlearn", "numpy", "pandas", "scikit-learn"],
        {"adult": figures},
        {constraint: fitting(constraint) for constraint in CONSTRAINTS},
    )
