"""Words for a cluster are right for those they name, and name those who are in it; else they are not said."""

import numpy as np
import pandas as pd
import pytest

from bdt_core.clustering.rule import find_rules
from bdt_core.report import render_html, render_markdown
from tests.core.clustering.test_rule import find_rule
from tests.core.joined.made_tables import quick_audit

ROWS = 4000


def without_income(share: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    missing = rng.random(ROWS) < share
    frame = pd.DataFrame({"income": rng.normal(40, 10, ROWS).round(), "age": rng.integers(18, 80, ROWS).astype(float)})
    frame.loc[missing, "income"] = np.nan
    return frame.assign(y=(rng.random(ROWS) < 0.1 + 0.4 * missing).astype(int))


def scattered() -> pd.DataFrame:
    """People far out in one of many directions are in the cluster: no short rule says who."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 8))
    centre = np.full(8, 1.1)
    inside = rng.random(ROWS) < 0.4
    X[inside] += centre
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    return frame.assign(y=(rng.random(ROWS) < 0.2 + 0.3 * inside).astype(int))


def test_a_rule_knows_what_is_missing():
    X = without_income().drop(columns="y")
    missing = X["income"].isna().to_numpy()
    assert str(find_rule(X, missing)) == "income is missing"
    assert str(find_rule(X, ~missing)) == "income is not missing"
    rule = find_rule(X, missing & (X["age"] > 50).to_numpy())
    assert str(rule) in ("income is missing and age from 51", "age from 51 and income is missing")
    assert rule.precision_and_recall(X, missing & (X["age"] > 50).to_numpy()) == (1.0, 1.0)
    bound = ~missing & (X["income"] > 45).to_numpy()
    assert "missing" not in str(find_rule(X, bound))  # a bound says it already


def test_rows_without_income_are_not_everybody():
    report = quick_audit(without_income(), clustering={"stability": 0, "n_init": 2, "max_iter": 1}).document
    assert "income is missing (100.0 % of these people are in it" in report["summary"]["cluster"]
    assert report["clusters"][0]["description"].startswith("income is missing (")
    assert report["clusters"][1]["description"].startswith("income is not missing (")


def test_precision_and_coverage_stand_beside_a_rule_in_every_form():
    report = quick_audit(without_income(), clustering={"stability": 0, "n_init": 2, "max_iter": 1}).document
    for drawn in (render_markdown(report), render_html(report)):
        text = " ".join(drawn.replace("&nbsp;", " ").replace("\xa0", " ").split())
        assert text.count("income is missing (100.0 % of these people are in it") >= 2
        assert text.count("; covers 100.0 %)") >= 3  # of both clusters


@pytest.mark.parametrize("least", [1.0, 0.6])
def test_where_no_rule_fits_there_is_a_path_and_no_rule(monkeypatch, least):
    monkeypatch.setattr("bdt_core.words.LEAST_FIT", least)
    frame = scattered()
    report = quick_audit(frame, worst_groups=None, clustering={"stability": 0, "n_init": 2, "max_iter": 4}).document
    fits = []
    for one in report["clusters"]:
        rule = one["rule"]
        fits.append(min(rule["precision"] or 0.0, rule["recall"] or 0.0) >= least)
        assert (rule["text"] in one["description"]) == fits[-1]
        if not fits[-1]:
            first = one["path"][0].split("; ")[0]
            assert one["description"].startswith(f"no short rule fits; how it came about: {first}")
    assert report["clusters"][0]["description"] in report["summary"]["cluster"]
    assert not all(fits)
    page = render_markdown(report)
    for one, fit in zip(report["clusters"], fits, strict=True):
        assert fit or one["rule"]["text"].lower() not in page.lower()


def test_an_unstable_cluster_is_not_the_headline_without_that_word():
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.normal(size=(600, 6))).add_prefix("x").assign(y=rng.integers(0, 2, 600))
    clustering = {"stability": 10, "n_init": 2, "max_iter": 4}
    report = quick_audit(noise, clustering=clustering).document
    assert report["clusters"][0]["stability"]["word"] == "do not interpret"
    assert report["summary"]["cluster"].startswith("Cluster 0 (unstable: ")
    stable = quick_audit(without_income(), clustering={**clustering, "max_iter": 1}).document
    assert stable["clusters"][0]["stability"]["word"] == "stable"
    assert "unstable" not in stable["summary"]["cluster"]


def test_rules_of_missing_and_levels_are_found_together():
    X = without_income().drop(columns="y").assign(town=pd.Categorical(np.resize(["a", "b"], ROWS)))
    labels = np.where(X["income"].isna(), 0, np.where(X["town"] == "a", 1, 2))
    assert str(find_rules(X, labels, 3)[0]) == "income is missing"
