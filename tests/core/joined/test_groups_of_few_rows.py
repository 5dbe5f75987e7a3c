"""A rate on fewer than ten rows is judged by no limit: not by the gate, not over time, not as drift."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bdt_core.history import follow
from tests.core.history.made_batches import days, history_spec
from tests.core.joined.made_tables import quick_audit

LARGE = {"a": (200, 60, 100, 240), "b": (210, 60, 90, 240)}
Cells = tuple[int, int, int, int]  # true positives, false positives, false negatives, true negatives


def people(groups: dict[str, Cells]) -> pd.DataFrame:
    """Rows with these confusion counts, and a feature."""
    rows = [
        (group, label, prediction)
        for group, (tp, fp, fn, tn) in groups.items()
        for label, prediction, number in ((1, 1, tp), (0, 1, fp), (1, 0, fn), (0, 0, tn))
        for _ in range(number)
    ]
    frame = pd.DataFrame(rows, columns=["group", "label", "prediction"])
    return frame.assign(x=[i % 10 for i in range(len(frame))])


def gate(negatives: int, **limit: Any) -> dict[str, Any]:
    """The limit's result where all ``negatives`` of group c, of about 200 rows, are wrongly called positive."""
    result = quick_audit(
        people({**LARGE, "c": (130, negatives, 65, 0)}),
        bias_variable={"derive": "error", "label": "label", "prediction": "prediction"},
        protected=["group"],
        clustering={"stability": 0, "n_init": 1, "max_iter": 1},
        gate=[{"facet": "group", **limit}],
    )
    found: dict[str, Any] = result.document["gate"][0]
    assert result.verdict == found["verdict"]
    return found


@pytest.mark.parametrize("rule", ["point", "interval"])
@pytest.mark.parametrize(
    "limit",
    [
        {"metric": "false_positive_rate", "max": 0.5},
        {"metric": "false_positive_rate_difference", "max": 0.4},
        {"metric": "false_positive_rate_ratio", "max": 2.0},
        {"metric": "predictive_equality_difference", "max": 0.4},
        {"metric": "predictive_equality_ratio", "min": 0.4},
        {"metric": "equalized_odds_difference", "max": 0.4},
    ],
    ids=lambda one: one["metric"],
)
def test_the_gate_judges_a_rate_on_ten_rows_and_none_on_nine(limit: dict[str, Any], rule: str) -> None:
    nine, ten = gate(9, rule=rule, **limit), gate(10, rule=rule, **limit)
    assert nine["verdict"] == "pass"
    assert nine["left_out"] == ["c"]
    assert ten["left_out"] == []
    assert ten["groups_judged"] == nine["groups_judged"] + 1
    assert ten["verdict"] != "pass"
    if rule == "point":
        assert ten["verdict"] == "fail"


@pytest.mark.parametrize("metric", ["false_positive_rate_difference", "predictive_equality_difference"])
def test_limits_over_time_count_the_rows_of_all_batches(metric: str) -> None:
    spec = history_spec(gate=[{"metric": metric, "facet": "sex", "max": 0.4}])
    small = {**LARGE, "c": (200, 3, 0, 0)}
    (three,) = follow(days(spec, [small] * 3), spec).limits
    (four,) = follow(days(spec, [small] * 4), spec).limits
    assert (three.left_out, three.groups_judged) == (("c",), 2)
    assert (four.left_out, four.groups_judged) == ((), 3)
    assert three.value is not None
    assert four.value is not None
    assert three.value < 0.1 < 0.7 < four.value


def test_drift_needs_ten_rows_to_take_the_rate_of() -> None:
    spec = history_spec()
    past = {**LARGE, "c": (200, 10, 0, 40)}
    for negatives, state in ((9, "not_testable"), (10, "drift")):
        streams = follow(days(spec, [past] * 5 + [{**LARGE, "c": (200, negatives, 0, 0)}]), spec).streams
        (found,) = (one.drift for one in streams if (one.group, one.metric) == ("c", "false_positive_rate"))
        assert found.state == state
