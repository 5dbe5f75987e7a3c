"""Columns that say what they should not know are called leaks, wherever they come from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import DataError
from bdt_core.report.catalogue import sayings
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.table.leaks import _is_short_of, explained, find_leaks
from bdt_core.table.sources import read_table
from bdt_core.table.validate import validate
from tests.core.joined.made_tables import OUT_OF_CORE, quick_audit

DERIVED = {"derive": "error", "label": "label", "prediction": "said"}


def people(n: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    score = rng.random(n)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "city": rng.choice(["Riga", "Oslo", "Bern"], n)})
    label = (rng.random(n) < 0.2 + 0.5 * score).astype(int)
    return frame.assign(score=score, label=label, said=(score >= 0.5).astype(int))


def spec(**changes: Any) -> AuditSpec:
    return parse_spec({"name": "t", "source": {"path": "t.csv"}, "bias_variable": DERIVED, **changes})


def leaks(frame: pd.DataFrame, **changes: Any) -> dict[str, str]:
    return find_leaks(validate(frame, spec(**changes)))


SCORES = [{"groups": {"score": "score"}}, {"mitigation": {"group": "city", "score": "score"}}]


@pytest.mark.parametrize("section", SCORES)
def test_the_score_of_the_algorithm_is_no_feature(section):
    checked = validate(people(), spec(**section))
    assert checked.names("feature") == (["age", "city"])
    assert not find_leaks(checked)
    assert "score" in validate(people(), spec()).names("feature")  # unless nothing says that it is one


def test_a_score_that_is_asked_for_as_a_feature_is_called_a_leak():
    found = leaks(people(), groups={"score": "score"}, features={"include": ["age", "score"]})
    assert set(found) == {"score"}
    assert '"score" is the score of the algorithm' in found["score"]


def test_a_score_that_nobody_declared_is_known_by_its_cut():
    found = leaks(people())
    assert set(found) == {"score"}
    assert 'says (almost) the same as the prediction "said"' in found["score"]


def test_copies_of_the_outcome_and_the_prediction_are_leaks():
    frame = people()
    rng = np.random.default_rng(1)
    frame["came_back"] = np.where(rng.random(len(frame)) < 0.02, 1 - frame["label"], frame["label"])
    frame["grade"] = np.where(frame["said"] == 1, rng.choice(["B", "C"], len(frame)), "A")
    found = leaks(frame.drop(columns="score"))
    assert set(found) == {"came_back", "grade"}
    assert 'same as the outcome "label"' in found["came_back"]
    assert 'same as the prediction "said"' in found["grade"]


def test_a_pair_that_defines_the_bias_variable_is_a_leak():
    """As is_recid = 0 and score_text = 1 where the bias variable is a column of false positives."""
    frame = people()
    wrong = ((frame["label"] == 0) & (frame["said"] == 1)).astype(int)
    frame = frame.rename(columns={"label": "is_recid", "said": "score_text"}).assign(wrong=wrong)
    found = leaks(frame.drop(columns="score"), bias_variable={"column": "wrong"})
    assert set(found) == {"is_recid", "score_text"}
    assert len(set(found.values())) == 1
    assert '"is_recid" and "score_text" together determine the bias variable' in found["is_recid"]
    warnings = validate(frame.drop(columns="score"), spec(bias_variable={"column": "wrong"})).warnings
    assert sum("together determine" in one for one in warnings) == 1


@pytest.mark.parametrize("search", ["slices", "worst_groups"])
def test_a_column_that_a_search_names_itself_is_looked_at_too(search):
    frame = people().drop(columns="score")
    found = leaks(frame, features={"include": ["age"]}, **{search: {"columns": ["city", "label"]}})
    assert set(found) == {"label"}


def test_columns_that_local_bias_clusters_on_are_looked_at_too():
    frame = people().drop(columns="score")
    asked = {"features": {"include": ["age"]}, "local_bias": {"group": "city", "embeddings": ["age", "said"]}}
    found = leaks(frame, **asked)
    assert set(found) == {"said"}


def test_a_legitimate_factor_that_says_what_was_decided_explains_everything_away():
    frame = people().assign(grade=lambda one: np.where(one["said"] == 1, "B", "A"))
    decided = {"derive": "positive_prediction", "prediction": "said", "better": "higher"}
    asked = {"features": {"include": ["age", "city"]}, "bias_variable": decided}
    found = leaks(frame, **asked, legitimate=["grade", "age"])
    assert set(found) == {"grade"}
    assert 'Column "grade" in "legitimate" determines the bias variable' in found["grade"]
    dutch = sayings("nl")(found["grade"])
    assert dutch.startswith('Kolom "grade" in "legitimate" bepaalt de biasvariabele')
    assert "take it out" not in dutch
    assert not leaks(frame, **asked, legitimate=["age", "label"])  # what really happened may be a reason


def test_copies_of_numbers_are_leaks():
    rng = np.random.default_rng(3)
    frame = people().assign(income=lambda one: 2000 + 50 * one["age"] + rng.normal(0, 300, len(one)))
    frame["estimate"] = frame["income"] + rng.normal(0, 200, len(frame))
    frame["in_cents"] = 100 * frame["estimate"]
    frame["last_year"] = frame["income"] + rng.normal(0, 150, len(frame))  # as an honest column may be
    asked = {"features": {"include": ["age", "in_cents", "last_year"]}}
    of_numbers = {"derive": "absolute_error", "label": "income", "prediction": "estimate"}
    found = leaks(frame, **asked, bias_variable=of_numbers)
    assert set(found) == {"in_cents"}
    assert 'says (almost) the same as the prediction "estimate"' in found["in_cents"]


def test_intersections_may_be_of_columns_that_are_no_features():
    frame = people().drop(columns="score")
    asked = {"bias_variable": DERIVED, "features": {"include": ["age"]}}
    found = quick_audit(frame, **asked, slices={"columns": ["city"]})
    assert found.slices is not None
    assert [one.name for one in found.slices.columns] == ["city"]
    with pytest.raises(DataError, match='no column "cty", which legitimate, characteristics, worst_groups, slices'):
        quick_audit(frame, **asked, slices={"columns": ["cty"]})


def test_honest_columns_are_no_leaks():
    frame = people().drop(columns="score")
    rng = np.random.default_rng(2)
    frame["income"] = 30 + 20 * frame["label"] + 10 * rng.normal(size=len(frame))
    frame["tested"] = np.where(rng.random(len(frame)) < 0.1, np.nan, frame["said"] + rng.normal(size=len(frame)))
    assert not leaks(frame)
    few = frame.head(300).assign(**{f"x{i}": rng.integers(0, 18, 300) for i in range(12)})
    assert not leaks(few)  # pairs of 18 values each have more cells than rows


def test_means_of_values_explain_less_what_as_many_groups_of_chance_would():
    """The adjusted share: 1 - (rest / (rows - groups)) / (total / (rows - 1))."""
    y = np.array([0.0, 0, 0, 1, 1, 1, 1, 0, 2, 2])
    column = pd.Series(["a"] * 5 + ["b"] * 5)
    rest = sum(((part - part.mean()) ** 2).sum() for part in (y[:5], y[5:]))
    total = ((y - y.mean()) ** 2).sum()
    assert explained(column, y) == pytest.approx(1 - (rest / 8) / (total / 9))


def test_a_number_of_many_values_explains_by_its_best_bound_between_two_values():
    x = np.array([0.0, 1, 2, 3, 3, 4, 5, 6, 7, 8])
    y = np.array([0.0, 0, 0, 0, 1, 1, 1, 1, 1, 1])  # the jump is among equal numbers, where no bound can be
    total = ((y - y.mean()) ** 2).sum()

    def between(bound: float) -> float:
        return sum(part.size * (part.mean() - y.mean()) ** 2 for part in (y[x < bound], y[x >= bound]))

    best = max(between(bound) for bound in np.unique(x)[1:]) / total
    assert np.corrcoef(x, y)[0, 1] ** 2 < best < 1
    for order in (np.arange(10), np.random.default_rng(1).permutation(10)):
        assert explained(pd.Series(x[order]), y[order]) == pytest.approx(best)


def test_values_are_many_where_less_than_five_rows_have_each():
    """The middle of three values: no bound and no line explains it, means of values do."""
    y = np.tile([0.0, 1.0, 0.0], 5)
    assert explained(pd.Series(np.tile([1.0, 2.0, 3.0], 5)), y) == 1.0
    assert explained(pd.Series(np.tile([1.0, 2.0, 3.0], 5)[:14]), y[:14]) < 0.5
    assert explained(pd.Series(np.tile(["a", "b", "c"], 5)[:14]), y[:14]) == 0.0  # texts have neither


def test_a_number_that_is_missing_somewhere_explains_the_rows_where_it_is_known():
    x = np.r_[np.arange(10.0), [np.nan] * 4]
    y = np.r_[np.zeros(4), np.ones(6), [0.0, 1.0, 0.0, 1.0]]
    assert explained(pd.Series(x), y) == pytest.approx(1.0)
    assert explained(pd.Series(x), np.r_[np.ones(10), np.zeros(4)]) == 0.0


def test_a_leak_comes_in_by_a_join(tmp_path: Path):
    frame = people().drop(columns="score").assign(id=np.arange(2000))
    frame.drop(columns=["label"]).to_csv(tmp_path / "people.csv", index=False)
    frame[["id", "label"]].assign(closed=frame["label"].map({0: "no", 1: "yes"})).to_csv(
        tmp_path / "outcomes.csv", index=False
    )
    source = {"path": str(tmp_path / "people.csv"), "join": {"path": str(tmp_path / "outcomes.csv"), "key": "id"}}
    asked = parse_spec({"name": "t", "source": source, "bias_variable": DERIVED, "features": {"exclude": ["id"]}})
    assert "closed" in find_leaks(validate(read_table(asked.source), asked))


@pytest.mark.parametrize("large", [{}, OUT_OF_CORE])
def test_a_report_names_its_leaks(large):
    frame = people().drop(columns="score").assign(grade=lambda x: x["said"].map({0: "low", 1: "high"}))
    report = quick_audit(frame, bias_variable=DERIVED, **large).document
    assert [one for one in report["warnings"] if '"grade" says (almost) the same as the prediction' in one]


def test_without_its_score_an_audit_may_have_no_feature_left():
    with pytest.raises(DataError, match="No feature is left"):
        validate(people()[["score", "label", "said"]], spec(groups={"score": "score"}))


SHAPES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "bell": lambda rng, n: rng.standard_normal(n),
    "long tail": lambda rng, n: np.exp(3 * rng.standard_normal(n)),
    "many copies": lambda rng, n: rng.integers(0, max(2, n // 2), n).astype(float),
    "float32": lambda rng, n: rng.random(n, dtype=np.float32),
    "counting": lambda _, n: np.arange(n),
    "huge": lambda rng, n: 1e150 * rng.standard_normal(n),
}
TARGETS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x / (np.abs(x).max() or 1.0),
    "a cut": lambda x: x > np.quantile(x, 0.3),
    "a wave": lambda x: np.sin(3 * (x / (np.abs(x).max() or 1.0))),
    "nothing": np.zeros_like,
}


@pytest.mark.parametrize("rows", [2, 5, 20, 2000])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_certain_without_order_is_so_in_order(rows: int, shape: str, target: str):
    rng = np.random.default_rng(8)
    certain = 0
    for noise in (0.0, 0.01, 0.1, 1.0):
        x = np.asarray(SHAPES[shape](rng, rows), dtype=np.float64)
        y = TARGETS[target](x).astype(np.float64) + noise * rng.standard_normal(rows)
        for column, outcome in (
            (x, y),
            (np.where(rng.random(rows) < 0.2, np.nan, x), (y > np.median(y)).astype(float)),
        ):
            for share in (0.05, 0.3, 0.8, 0.999):
                short = _is_short_of(pd.Series(column), outcome, share)
                assert not short or explained(pd.Series(column), outcome) < share
                certain += short
    assert certain or rows < 20 or shape == "long tail"
