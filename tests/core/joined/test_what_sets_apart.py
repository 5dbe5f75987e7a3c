"""What sets a cluster apart: who is in it comes first, and a corrected p-value stands beside a corrected interval."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.inference import compare_counts, corrected_interval, newcombe_interval
from bdt_core.report import render_html, render_markdown
from tests.core.joined.made_tables import quick_audit

ONE_SPLIT = {"stability": 0, "n_init": 2, "max_iter": 1}


def census(rows: int = 8000) -> pd.DataFrame:
    """A small cluster of mostly women; many columns differ a little in it, by larger effect sizes of another kind."""
    rng = np.random.default_rng(7)
    inside = np.arange(rows) % 12 == 0
    numbers = {f"size{i}": rng.normal(size=rows) + 4.0 * inside for i in range(6)}
    return pd.DataFrame(
        {
            "x": rng.normal(size=rows) + 9.0 * inside,
            **numbers,
            "sex": np.where(rng.random(rows) < np.where(inside, 0.825, 0.49), "f", "m"),
            "town": rng.choice(["a", "b", "c"], rows),
            "label": rng.integers(0, 2, rows),
            "y": (rng.random(rows) < 0.3 + 0.2 * inside).astype(int),
        }
    )


def audited(**changes: Any) -> dict[str, Any]:
    features = {"include": ["x", "town", *(f"size{i}" for i in range(6))]}
    return quick_audit(census(), features=features, clustering=ONE_SPLIT, worst_groups=None, **changes).document


@cache
def of_sex() -> dict[str, Any]:
    return audited(protected=["sex"])


@pytest.mark.parametrize(
    "declared",
    [
        {"protected": ["sex"]},
        {"groups": {"facets": ["sex"], "label": "label"}},  # named as a group, and kept aside
    ],
    ids=["protected", "facet"],
)
def test_women_are_named_first_whatever_differs_besides(declared):
    report = audited(**declared)
    first, *others = report["summary"]["what_sets_apart"]
    assert first.startswith("sex (protected, kept out of the clustering): f 8")
    assert len(others) == 5
    columns = [one["column"] for one in report["differences"]["features"]]
    assert columns[0] == "sex"
    effects = {one["column"]: abs(one["effect"]) for one in report["differences"]["features"]}
    assert effects["sex"] < min(effects[f"size{i}"] for i in range(6))  # Cramér's V is of another kind


def test_effect_sizes_of_one_kind_are_ranked_among_themselves():
    features = of_sex()["differences"]["features"]
    for declared in (True, False):
        of_family = [one for one in features if one["declared"] == declared]
        kinds = [one["effect_name"] for one in of_family]
        assert sorted(set(kinds), key=kinds.index) == list(dict.fromkeys(kinds))
        assert kinds == [kind for name in dict.fromkeys(kinds) for kind in kinds if kind == name]
        for name in set(kinds):
            sizes = [abs(one["effect"]) for one in of_family if one["effect_name"] == name]
            assert sizes == sorted(sizes, reverse=True)


def test_protected_columns_are_a_list_of_their_own():
    report = of_sex()
    page = render_markdown(report)
    first = page.index("Protected and other declared columns: how cluster 0 differs")
    assert first < page.index("Features: how cluster 0 differs")
    assert "1 test of declared columns" in page.replace("\n", " ")
    assert "Protected and other declared columns" in render_html(report)


def test_many_features_do_not_hide_that_a_protected_column_differs():
    """In one family with 200 others, p = 0.002 is nothing."""
    rng = np.random.default_rng(2)
    noise = pd.DataFrame(rng.normal(size=(3000, 120))).add_prefix("noise")
    frame = pd.concat([census(3000), noise], axis="columns")
    inside = np.arange(3000) % 12 == 0
    frame["sex"] = np.where(rng.random(3000) < np.where(inside, 0.76, 0.49), "f", "m")
    asked = {"protected": ["sex"], "clustering": ONE_SPLIT, "worst_groups": None}
    report = quick_audit(frame.drop(columns="label"), **asked).document
    (sex,) = (one for one in report["differences"]["features"] if one["column"] == "sex")
    p = sex["levels"][0]["comparison"]["p_value"]
    assert 120 * p > 0.05 > p == sex["p_adjusted"]
    assert sex["significant"]


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "none"])
def test_intervals_and_corrected_p_values_say_the_same(correction):
    frame = census(4000)
    report = quick_audit(
        frame.drop(columns="label"),
        protected=["sex"],
        clustering={"stability": 0, "n_init": 2, "max_iter": 3, "min_cluster_size": 0.06},
        significance={"correction": correction},
    ).document
    features = report["differences"]["features"]
    told = [*report["clusters"], *(one for one in features if one["kind"] == "numeric")]
    told += [level for one in features if one["kind"] == "categorical" for level in one["levels"]]
    tested = [one for one in told if one["p_adjusted"] is not None]
    assert len(tested) > 10
    for one in tested:
        low, high = one["corrected_low"], one["corrected_high"]
        assert one["significant"] == (low >= 0 or high <= 0), one
        if correction != "none" and not one["significant"]:
            assert low <= one["comparison"]["low"]
            assert high >= one["comparison"]["high"]


def test_a_corrected_interval_is_bonferronis():
    one = compare_counts(50, 120, 300, 1200)
    wide = newcombe_interval(50, 120, 300, 1200, confidence=1 - 0.05 / 7)
    for p, correction in ((0.001, "holm"), (0.2, "holm"), (0.001, "bonferroni")):
        low, high = corrected_interval(one, p, correction=correction, tests=7, rejected=2)
        assert high == pytest.approx(wide[1])
        assert low == pytest.approx(wide[0] if p < 0.05 else min(wide[0], 0.0))
    of_reported = newcombe_interval(50, 120, 300, 1200, confidence=1 - 2 * 0.05 / 7)
    assert corrected_interval(one, 0.01, correction="bh", tests=7, rejected=2) == pytest.approx(of_reported)
    assert corrected_interval(one, None, correction="holm", tests=7, rejected=0) is None
