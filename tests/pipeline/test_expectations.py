"""Great Expectations in a process of its own: the same verdicts, and nothing is taken for one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_pipeline.resources import expectations
from bdt_pipeline.resources.expectations import Expectation, evaluate, evaluated_beside

TABLE = pd.DataFrame(
    {
        "age": [20, np.nan, 40],
        "sex": ["f", None, "m"],
        "city": pd.Categorical(["b", "a", "b"]),
        "seen": [True, False, False],
        "day": pd.to_datetime(["2026-01-01", "2026-01-02", "NaT"]),
    }
)
ASKED = [
    (Expectation("ExpectColumnToExist", {"column": "age"}), True),
    (Expectation("ExpectColumnToExist", {"column": "wage"}), False),
    (Expectation("ExpectTableRowCountToBeBetween", {"min_value": 4}), False),
    (Expectation("ExpectColumnValuesToNotBeNull", {"column": "sex", "mostly": 0.6}), True),
    (Expectation("ExpectColumnValuesToNotBeNull", {"column": "day", "mostly": 0.7}), False),
    (Expectation("ExpectColumnValuesToBeInSet", {"column": "seen", "value_set": [False], "mostly": 0.6}), True),
    (Expectation("ExpectColumnUniqueValueCountToBeBetween", {"column": "city", "min_value": 3}), False),
]


def test_a_process_beside_gives_the_same_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, expected = [one for one, _ in ASKED], [verdict for _, verdict in ASKED]
    assert evaluate(TABLE, asked) == expected

    def not_here(*_: Any) -> list[bool]:
        raise AssertionError("evaluated in this process")

    monkeypatch.setattr(expectations, "_evaluated", not_here)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with evaluated_beside(["colorsys"]):
        assert "colorsys" not in sys.modules, "before anything is waited for"
        assert evaluate(TABLE, asked) == expected
        assert "colorsys" in sys.modules
        assert evaluate(TABLE.head(1), asked[:1]) == [True]
        with pytest.raises(RuntimeError, match="could not evaluate ExpectColumnValuesToNotBeNull"):
            evaluate(TABLE, [Expectation("ExpectColumnValuesToNotBeNull", {"column": "wage"})])
        assert evaluate(TABLE, asked[1:2]) == [False]


def test_a_process_that_has_ended_gives_no_verdict() -> None:
    with evaluated_beside():
        (beside,) = expectations._THERE
        beside.process.kill()
        beside.process.wait()
        with pytest.raises(RuntimeError, match="has ended"):
            evaluate(TABLE, [ASKED[0][0]])
