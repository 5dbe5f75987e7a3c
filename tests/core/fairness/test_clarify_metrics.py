"""The 21 metrics against the published example, and their rules at the edges."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from bdt_core.fairness import Threshold, bias_metrics
from bdt_core.metrics import CLARIFY, of_stage

ADULT = {"Female": (433, 10, 679, 8660), "Male": (2718, 84, 3678, 13900)}
_NO_PPRED = "nobody with a positive prediction in d and in a"
FIXED = {
    "CI": 0.35137, "DPL": 0.20016, "KL": 0.14307, "JS": 0.03076, "LP": 0.28307, "TVD": 0.20016, "KS": 0.20016,
    "DPPL": 0.09220, "DI": 0.32939, "AD": -0.11416, "RD": 0.03556, "DAR": -0.00741, "DCA": -0.22750, "SD": 0.00485,
    "DRR": 0.13653, "DCR": 0.13283, "TE": 24.11429, "GE": 0.08653,
}  # fmt: skip
# As printed, from rates that had been rounded to three digits; SD and DRR are printed as a - d.
PRINTED = {
    "CI": 0.352, "DPL": 0.20, "KL": 0.143, "DPPL": 0.092, "DI": 0.328, "AD": -0.115, "RD": 0.036, "DCA": -0.227,
    "SD": -0.005, "DAR": -0.007, "DRR": -0.136, "DCR": 0.132, "TE": 24.114,
}  # fmt: skip


def rows(counts: dict[str, tuple[int, int, int, int]]) -> pd.DataFrame:
    """Rows with these true positives, false positives, false negatives and true negatives."""
    outcomes = [(1, 1), (0, 1), (1, 0), (0, 0)]
    parts = [
        pd.DataFrame({"sex": group, "y": label, "p": prediction}, index=range(n))
        for group, cells in counts.items()
        for (label, prediction), n in zip(outcomes, cells, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def metrics(counts, **options):
    return bias_metrics(rows(counts), facet="sex", label="y", prediction="p", **options)


@pytest.fixture(scope="module")
def adult():
    return metrics(ADULT, facet_values=["Female"])


@pytest.mark.parametrize("name", FIXED)
def test_published_example_to_five_digits(adult, name):
    found = adult[name].only
    assert round(found.estimate, 5) == FIXED[name]
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("name", PRINTED)
def test_printed_figures_and_the_two_signs(adult, name):
    sign = -1 if name in ("SD", "DRR") else 1
    assert sign * adult[name].only.estimate == pytest.approx(PRINTED[name], abs=0.0015)


def test_all_21_are_there(adult):
    assert len(of_stage("pre_training")) + len(of_stage("post_training")) == 21
    assert [one.name for one in adult.metrics if one.kind == "clarify" and one.name != "GE"] == [
        *of_stage("pre_training"),
        *(name for name in of_stage("post_training") if name != "GE"),
    ]
    assert adult["CDDL"].only.undefined_reason == "no group column was named to compare within"
    assert "features" in adult["FT"].only.undefined_reason


def test_one_against_the_rest_equals_listing_the_value(adult):
    every = metrics(ADULT)
    for name in FIXED:
        if name != "GE":
            assert every[name]["Female"] == adult[name].only


# Exchanging d and a: differences change their sign, the ratio inverts, distances other than KL stay.
NEGATED = ("CI", "DPL", "DPPL", "RD", "SD", "DAR", "DRR", "AD", "DCA", "DCR", "TE")
KEPT = ("JS", "LP", "TVD", "KS", "GE")


def test_exchanging_d_and_a(adult):
    other = metrics(ADULT, facet_values="Male")
    for name in NEGATED:
        one, two = adult[name].only, other[name].only
        assert (one.estimate, one.low, one.high) == pytest.approx((-two.estimate, -two.high, -two.low), abs=1e-12)
    for name in KEPT:
        one, two = adult[name].only, other[name].only
        assert (one.estimate, one.low, one.high) == pytest.approx((two.estimate, two.low, two.high), abs=1e-12)
    one, two = adult["DI"].only, other["DI"].only
    assert (one.estimate, one.low, one.high) == pytest.approx((1 / two.estimate, 1 / two.high, 1 / two.low), rel=1e-8)
    assert other["KL"].only.estimate != pytest.approx(adult["KL"].only.estimate, abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "name", "value", "reason"),
    [
        # A label that d never has.
        ({"Female": (0, 5, 0, 45), "Male": (20, 5, 10, 15)}, "KL", math.inf, None),
        ({"Female": (0, 5, 0, 45), "Male": (20, 5, 10, 15)}, "RD", None, "nobody with a positive label in d"),
        # 0/0 is undefined; smclarify says 0, the largest bias there is.
        ({"Female": (0, 0, 20, 30), "Male": (0, 0, 9, 41)}, "DI", None, _NO_PPRED),
        ({"Female": (9, 2, 9, 30), "Male": (0, 0, 9, 41)}, "DI", math.inf, None),
        ({"Female": (0, 0, 9, 41), "Male": (9, 2, 9, 30)}, "DI", 0.0, None),
        ({"Female": (0, 0, 9, 41), "Male": (9, 2, 9, 30)}, "DCA", None, "nobody with a positive prediction in d"),
        ({"Female": (9, 2, 9, 30), "Male": (30, 20, 0, 0)}, "DCR", None, "nobody with a negative prediction in a"),
        ({"Female": (9, 0, 9, 30), "Male": (9, 3, 6, 30)}, "TE", math.inf, None),
        ({"Female": (9, 3, 9, 30), "Male": (9, 0, 6, 30)}, "TE", -math.inf, None),
        ({"Female": (9, 0, 9, 30), "Male": (9, 0, 6, 30)}, "TE", None,
         "no false positives in d and in a: infinite on both sides"),
        ({"Female": (9, 0, 0, 30), "Male": (9, 2, 6, 30)}, "TE", None, "no errors in d"),
        ({"Female": (9, 2, 3, 30), "Male": (0, 0, 0, 0)}, "CI", -1.0, None),
        ({"Female": (9, 2, 3, 30), "Male": (0, 0, 0, 0)}, "DPL", None, "no rows in a"),
    ],
)  # fmt: skip
def test_edges(counts, name, value, reason):
    found = metrics(counts, facet_values="Female")[name].only
    assert (found.estimate, found.undefined_reason) == (value, reason)
    if value is None:
        assert (found.low, found.high) == (None, None)


def test_one_undefined_metric_leaves_the_others():
    found = metrics({"Female": (0, 0, 20, 30), "Male": (0, 0, 9, 41)}, facet_values="Female")
    assert found["DPL"].only.estimate == pytest.approx(9 / 50 - 20 / 50)
    assert found["AD"].only.estimate is not None


def test_everybody_denied_has_no_entropy():
    found = metrics({"Female": (0, 0, 5, 0), "Male": (0, 0, 9, 0)})["GE"].only
    assert found.estimate is None
    assert "benefit" in found.undefined_reason


def test_many_labels_use_the_whole_distribution():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": ["d"] * 300 + ["a"] * 700})
    frame["y"] = np.where(frame.g == "d", rng.choice(4, 1000, p=[0.1, 0.2, 0.3, 0.4]), rng.choice(4, 1000))
    result = bias_metrics(frame, facet="g", label="y", positive=3, facet_values="d")
    p_d, p_a = (frame[frame.g == one].y.value_counts(normalize=True).sort_index().to_numpy() for one in "da")
    gap = np.abs(p_a - p_d)
    wanted = {
        "KL": entropy(p_a, p_d),
        "JS": jensenshannon(p_a, p_d) ** 2,
        "LP": np.sqrt((gap**2).sum()),
        "TVD": gap.sum() / 2,
        "KS": gap.max(),
    }
    for name, value in wanted.items():
        found = result[name].only
        assert found.estimate == pytest.approx(value, rel=1e-12)
        assert found.low <= value <= found.high
    two = bias_metrics(frame, facet="g", label="y", positive=3, facet_values="d", distribution="two")
    assert two["KS"].only.estimate == pytest.approx(gap[3])
    assert any('"y" has 4 values' in note for note in result.notes)


def test_a_label_absent_in_both_groups_counts_for_nothing():
    frame = pd.DataFrame({"g": list("ddaa") * 20, "y": pd.Categorical([0, 1, 1, 1] * 20, categories=[0, 1, 2])})
    assert bias_metrics(frame, facet="g", label="y", facet_values="d")["KL"].only.estimate == pytest.approx(
        entropy([0, 1], [0.5, 0.5])
    )


def test_listed_values_are_one_d_and_unknown_rows_are_in_neither():
    frame = pd.DataFrame({"g": ["x", "y", "z", None] * 25, "y": [1, 0, 1, 0] * 25})
    result = bias_metrics(frame, facet="g", label="y", facet_values=["x", "y"])
    assert result["DPL"].names == ("x, y",)
    assert result["DPL"].only.estimate == 0.5
    assert result["CI"].only.estimate == pytest.approx((25 - 50) / 75)
    assert result.missing["g"] == 25
    assert any("25 of 100 rows lack" in note for note in result.notes)


def test_thresholds_of_a_continuous_facet_and_label():
    frame = pd.DataFrame({"age": [30.0, 40.0, 40.1, 50.5] * 10, "pay": [1.5, 9.9, 9.9, 3.0] * 10})
    result = bias_metrics(frame, facet="age", label="pay", positive=Threshold(3.0), facet_values=Threshold(40))
    assert result["DPL"].names == ("> 40",)
    assert (result["CI"].only.estimate, result["DPL"].only.estimate) == (0.0, 0.0)
    # A 0/1 label stored as floats is a label with two values, not a continuous one.
    floats = bias_metrics(frame.assign(pay=[0.0, 1.0, 1.0, 1.0] * 10), facet="age", label="pay",
                          facet_values=Threshold(40))  # fmt: skip
    assert floats["DPL"].only.estimate == -0.5


def test_every_value_lies_in_its_range_and_comes_to_its_ends():
    """Random tables, and those in which a metric is as large or as small as it can be."""
    rng = np.random.default_rng(2)
    tables = [{one: tuple(rng.integers(0, 9, 4)) for one in "da"} for _ in range(100)]
    tables += [
        {"d": (0, 0, 0, 500), "a": (500, 0, 0, 0)},
        {"d": (500, 0, 0, 0), "a": (0, 0, 0, 500)},
        {"d": (0, 0, 500, 500), "a": (500, 0, 0, 500)},
        {"d": (500, 0, 0, 500), "a": (0, 500, 500, 0)},
        {"d": (0, 500, 500, 0), "a": (500, 0, 0, 500)},
        {"d": (1, 0, 0, 9999), "a": (9999, 0, 0, 1)},
        {"d": (9999, 0, 0, 1), "a": (1, 0, 0, 9999)},
        {"d": (0, 0, 9999, 0), "a": (1, 0, 0, 0)},
        {"d": (1, 0, 0, 0), "a": (0, 0, 9999, 0)},
    ]
    found = {name: [] for name in CLARIFY}
    for counts in tables:
        result = metrics(counts, facet_values="d")
        for name in CLARIFY:
            found[name] += [one for one in result[name].estimate if one is not None]
    for name, values in found.items():
        low, high = CLARIFY[name].lowest, CLARIFY[name].highest
        assert all(low - 1e-12 <= one <= high + 1e-12 for one in values), name
    for name in ("DPL", "DPPL", "AD", "RD", "SD", "CI"):
        assert (min(found[name]), max(found[name])) == pytest.approx((-1.0, 1.0), abs=2.1e-3), name
    for name in ("JS", "LP", "TVD", "KS"):
        assert (min(found[name]), max(found[name])) == pytest.approx((0.0, CLARIFY[name].highest), abs=1e-3), name
    assert max(found["KL"]) == max(found["DI"]) == math.inf
    assert max(found["GE"]) == pytest.approx((10_000 - 1) / 2)  # far beyond the .5 of the guide
