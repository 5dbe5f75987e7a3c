"""The composite score: the calculator's examples by hand, counts, noise floor."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import SpecError
from bdt_core.fairness import BiasScore, bias_score, bias_score_from_rates, count_rows
from bdt_core.fairness.score_parts import severity_of

RATES = {
    "true_positive_rates": [0.85, 0.70],
    "false_positive_rates": [0.10, 0.18],
    "selection_rates": [0.60, 0.42],
    "mean_scores": [0.55, 0.48],
}


def test_calculator_by_hand():
    found = bias_score_from_rates(**RATES)
    assert found.demographic_parity_difference == pytest.approx(0.18)
    assert found.equalized_odds_difference == pytest.approx((0.15 + 0.08) / 2)
    assert found.calibration_difference == pytest.approx(0.07)
    assert found.score == pytest.approx(0.333 * 0.18 + 0.333 * 0.115 + 0.334 * 0.07)
    assert found.severity == "moderate"
    assert found.disparate_impact_ratio == pytest.approx(0.7)
    assert found.adverse_impact
    assert [part.signed for part in found.parts] == pytest.approx([0.18, 0.15, -0.08, 0.07])
    assert found.warnings == ()
    assert BiasScore.from_dict(found.to_dict()) == found


def test_ratio_is_b_over_a_whichever_is_larger():
    swapped = {name: values[::-1] for name, values in RATES.items()}
    found = bias_score_from_rates(**swapped)
    assert found.disparate_impact_ratio == pytest.approx(0.6 / 0.42)
    assert found.score == pytest.approx(bias_score_from_rates(**RATES).score)
    exact = bias_score_from_rates(**{**RATES, "selection_rates": [0.6, 0.48]})
    assert not exact.adverse_impact
    assert bias_score_from_rates(**{**RATES, "selection_rates": [0.0, 0.4]}).disparate_impact_ratio == np.inf
    assert bias_score_from_rates(**{**RATES, "selection_rates": [0.0, 0.0]}).disparate_impact_ratio is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"true_positive_rates": [1.2, 0.5]}, "true_positive_rates must lie between 0 and 1"),
        ({"mean_scores": [float("nan"), 0.5]}, "between 0 and 1"),
        ({"selection_rates": ["many", 0.5]}, "must be numbers"),
        ({"selection_rates": [0.5]}, "two groups or more"),
        ({"weights": (0.5, 0.6, -0.1)}, "0 or more"),
        ({"weights": (0.3, 0.3, 0.3)}, "add up to 0.900"),
        ({"weights": (0.5, 0.5)}, "three weights"),
        ({"groups": ["one"]}, "1 names for 2 groups"),
    ],
)
def test_inputs_are_checked(change, words):
    with pytest.raises(SpecError, match=words):
        bias_score_from_rates(**{**RATES, **change})


def test_weights_within_a_hundredth_are_taken_and_worse_than_chance_is_warned_of():
    found = bias_score_from_rates(**{**RATES, "false_positive_rates": [0.1, 0.8]}, weights=(0.33, 0.33, 0.33))
    assert len(found.warnings) == 1
    assert "Group B" in found.warnings[0]
    assert found.score is not None


def test_rows_give_the_interval_that_counts_give():
    """Scores of 0 and 1 have the variance that is taken for scores by hand: then both ways must agree."""
    cells = {"A": (120, 40, 80, 160), "B": (90, 60, 60, 240)}  # tp, fp, fn, tn
    outcomes = [(1, 1), (0, 1), (1, 0), (0, 0)]
    frame = pd.concat(
        pd.DataFrame({"g": group, "y": y, "p": p, "s": float(p)}, index=range(n))
        for group, counts in cells.items()
        for (y, p), n in zip(outcomes, counts, strict=True)
    )
    counted = bias_score(table_of(frame, score="s"))
    found = bias_score_from_rates(
        true_positive_rates=[0.6, 0.6],
        false_positive_rates=[0.2, 0.2],
        selection_rates=[0.4, 150 / 450],
        mean_scores=[0.4, 150 / 450],
        rows=[400, 450],
    )
    for name in ("score", "confidence", "noise_mean", "noise_high", "disparate_impact_ratio"):
        assert getattr(found, name) == pytest.approx(getattr(counted, name), abs=1e-3), name
    assert found.p_value == pytest.approx(counted.p_value, abs=0.01)  # both are drawn
    for one, two in zip(found.parts[:3], counted.parts[:3], strict=True):
        assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-9)
    assert (found.low, found.high) == pytest.approx((counted.low, counted.high), abs=0.005)
    assert found.low <= found.score <= found.high


@pytest.mark.parametrize(
    ("change", "rows", "words"),
    [
        ({"selection_rates": [0.95, 0.42]}, [500, 500], "of group A, rates do not tell the labels"),
        ({"true_positive_rates": [0.1, 0.7]}, [500, 500], "of group A, rates do not tell the labels"),
        ({}, [500, 15], "of group B, fewer than 10 labels"),
    ],
)
def test_rows_behind_rates_that_cannot_be_known(change, rows, words):
    found = bias_score_from_rates(**{**RATES, **change}, rows=rows)
    plain = bias_score_from_rates(**{**RATES, **change})
    assert (found.low, found.noise_high, found.score) == (None, None, plain.score)
    assert words in found.warnings[-1]


@pytest.mark.parametrize("rows", [[500], [500, 0], [500, 1.5], [500, float("nan")]])
def test_rows_are_checked(rows):
    with pytest.raises(SpecError, match="[Nn]umbers of rows"):
        bias_score_from_rates(**RATES, rows=rows)


def test_a_selection_rate_that_no_rows_can_have_is_warned_of():
    (told,) = bias_score_from_rates(**{**RATES, "selection_rates": [0.6, 0.05]}).warnings
    assert told.startswith("Group B: the rate of positive predictions lies outside")
    assert bias_score_from_rates(**{**RATES, "selection_rates": [0.854, 0.42]}).warnings == ()  # rounded


@pytest.mark.parametrize(
    ("score", "severity"),
    [(0.0499, "minimal"), (0.05, "low"), (0.0999, "low"), (0.1, "moderate"), (0.1999, "moderate"), (0.2, "high"),
     (0.3499, "high"), (0.35, "severe")],
)  # fmt: skip
def test_severity(score, severity):
    assert severity_of(score) == severity


def simulated(rng, rates, n=2_000):
    group = rng.choice(list(rates), n)
    y = rng.random(n) < 0.4
    p = rng.random(n) < np.where(y, 0.7, 0.2) + np.array([rates[one] for one in group])
    return pd.DataFrame({"g": group, "y": y, "p": p, "s": np.clip(0.3 * p + 0.5 * rng.random(n), 0, 1)})


def table_of(frame, **options):
    return count_rows(frame, "g", label="y", prediction="p", **options)


def test_counts_give_what_the_calculator_gives_for_their_rates():
    frame = simulated(np.random.default_rng(0), {"A": 0.1, "B": -0.1})
    found = bias_score(table_of(frame, score="s"))
    rate = frame.groupby("g")
    wanted = bias_score_from_rates(
        true_positive_rates=list(frame[frame.y].groupby("g").p.mean()),
        false_positive_rates=list(frame[~frame.y].groupby("g").p.mean()),
        selection_rates=list(rate.p.mean()),
        mean_scores=list(rate.s.mean()),
    )
    assert found.score == pytest.approx(wanted.score, abs=1e-7)
    assert [part.signed for part in found.parts] == pytest.approx([part.signed for part in wanted.parts], abs=1e-7)
    assert 0 < found.low < found.score < found.high < 1
    assert found.score > found.noise_high > found.noise_mean > 0
    assert found.p_value < 0.01


def test_noise_floor_grows_with_groups_and_shrinks_with_rows():
    rng = np.random.default_rng(1)
    few = bias_score(table_of(simulated(rng, dict.fromkeys("AB", 0.0), 8_000)))
    many = bias_score(table_of(simulated(rng, dict.fromkeys("ABCDEFGH", 0.0), 8_000)))
    short = bias_score(table_of(simulated(rng, dict.fromkeys("AB", 0.0), 400)))
    assert many.noise_mean > few.noise_mean
    assert short.noise_mean > few.noise_mean
    assert many.low == few.low == 0.0
    assert "calibration difference is left out" in few.warnings[0]
    assert few.weights == pytest.approx((0.5, 0.5, 0.0))


def test_groups_too_small_are_named_and_too_few_are_undefined():
    frame = simulated(np.random.default_rng(2), {"A": 0.0, "B": 0.0})
    small = pd.concat([frame, frame[:12].assign(g="C")])
    assert bias_score(table_of(small)).excluded == ("C",)
    alone = bias_score(table_of(frame[frame.g == "A"]))
    assert (alone.score, alone.undefined_reason) == (None, "1 groups with enough rows; two are needed")
    outside = bias_score(table_of(frame.assign(s=frame.s + 1), score="s"))
    assert "outside 0 to 1" in outside.undefined_reason
    with pytest.raises(SpecError, match="label and of a prediction"):
        bias_score(count_rows(frame, "g", label="y"))
