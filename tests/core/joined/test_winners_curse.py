"""The gap that the search saw against the gap on rows that it never saw: both count harm as positive."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from tests.core.joined.made_tables import harmed, quick_audit


def audited(frame: pd.DataFrame, better: str) -> AuditResult:
    """The bias variable is turned where higher is better, so that the same people are harmed."""
    if better == "higher":
        frame = frame.assign(y=1.0 - frame["y"])
    return quick_audit(frame, bias_variable={"column": "y", "better": better})


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_both_gaps_are_harm_on_their_own_rows(better: str) -> None:
    result = audited(harmed(harm=0.5, base=0.2), better)
    found = result.document["primary_test"]["shrinkage"]
    sign = 1.0 if better == "lower" else -1.0
    for part, name in ((result.train, "train_gap"), (result.test, "test_gap")):
        y, inside = part.y, result.clusters.predict(part) == 0  # type: ignore[attr-defined, arg-type]
        assert found[name] == pytest.approx(sign * (y[inside].mean() - y[~inside].mean()))
        assert found[name] > 0.3


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_where_nobody_is_harmed_the_search_still_saw_a_gap_and_new_rows_do_not(better: str) -> None:
    several = [
        audited(harmed(1200, harm=0.0, seed=seed), better).document["primary_test"]["shrinkage"] for seed in range(20)
    ]
    seen = np.array([(one["train_gap"], one["test_gap"]) for one in several if one is not None])
    assert len(seen) >= 15
    assert (seen[:, 0] > 0).all()
    too_large = seen[:, 0] - seen[:, 1]
    assert too_large.mean() > 2 * too_large.std(ddof=1) / np.sqrt(len(seen))
