"""Rows that repeat are named, and are no leak; rows that are alike by chance are neither."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.spec import parse_spec
from bdt_core.table.repeated_rows import LEFT_OUT
from bdt_core.table.repeats_said import repeated_in
from bdt_core.table.validate import validate

ROWS, EACH = 400, 5
NAMED = "may be one person many times"


def people(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "age": rng.integers(18, 90, rows),
            "town": rng.choice(list("abcde"), rows),
            "y": (rng.random(rows) < 0.3).astype(float),
            "person": np.arange(rows),
        }
    )


def warnings_of(frame: pd.DataFrame, **changes: Any) -> str:
    return " ".join(given(frame, **changes))


def given(frame: pd.DataFrame, **changes: Any) -> list[str]:
    spec: dict[str, Any] = {
        "name": "a",
        "source": {"path": "a.csv"},
        "bias_variable": {"column": "y"},
        "features": {"exclude": ["person"]},
    }
    return list(validate(frame, parse_spec({**spec, **changes})).warnings)


def repeated(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.loc[frame.index.repeat(EACH)].sample(frac=1.0, random_state=2).reset_index(drop=True)


def test_copies_are_named_and_no_column_of_theirs_is_called_a_leak() -> None:
    """Each value of x stands in five rows with the same outcome: x determines it, because these are copies."""
    told = warnings_of(repeated(people()))
    assert f"{ROWS * EACH:,} of {ROWS * EACH:,} rows are the same as another one in every column" in told
    assert NAMED in told
    assert repeated_in(given(repeated(people()))) == (ROWS * EACH, ROWS * EACH)  # as the first page says it
    assert repeated_in([told]) is None  # a text alone, which may be anybody's
    assert '"split.key"' in told
    assert "leak" not in told


def test_with_a_key_nothing_is_named_and_rows_of_a_person_are_no_leak_though_they_differ() -> None:
    frame = repeated(people())
    frame["visit"] = np.random.default_rng(5).normal(size=len(frame))
    keyed = warnings_of(frame, features={"exclude": []}, split={"key": "person"})
    assert NAMED not in keyed
    assert "leak" not in keyed


def test_a_leak_among_copies_is_still_one() -> None:
    frame = people().assign(verdict=lambda one: np.where(one["y"] == 1, "bad", "good"))
    for rows in (frame, repeated(frame)):
        assert 'Column "verdict" determines the bias variable' in warnings_of(rows)


@pytest.mark.parametrize("rows", [300, 20_000])
def test_rows_of_few_values_that_are_alike_by_chance_are_not_named(rows: int) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(18, 90, rows), "town": rng.choice(list("abcde"), rows)})
    frame["group"] = frame["age"] // 10  # a column that another one determines
    frame["months"] = 12 * frame["age"]  # two that say the same
    frame["y"] = (rng.random(rows) < 0.3).astype(float)
    assert frame.duplicated(["age", "town"]).mean() > 0.3
    assert NAMED not in warnings_of(frame, features={"exclude": []})


def test_few_copies_among_many_rows_are_not_named() -> None:
    frame = people(4000)
    assert NAMED not in warnings_of(pd.concat([frame, frame.iloc[:40]], ignore_index=True))


def test_copies_with_noise_are_left_out_among_people_whose_other_columns_agree_by_chance() -> None:
    frame = people(500).drop(columns=["person"])
    copies = frame.loc[frame.index.repeat(EACH)].reset_index(drop=True)
    rng = np.random.default_rng(4)
    spec = parse_spec({"name": "a", "source": {"path": "a.csv"}, "bias_variable": {"column": "y"}})
    table = validate(copies.assign(x=copies["x"] + rng.normal(0.0, 0.005, len(copies))), spec)
    (left_out,) = table.left_out
    assert (left_out.reason, left_out.rows) == (LEFT_OUT, pytest.approx(500 * (EACH - 1), rel=0.05))
    assert 'in all but "x", far more than chance would make so' in " ".join(table.warnings)
    others = validate(copies.assign(x=rng.normal(size=len(copies))), spec)
    assert others.left_out == ()
