"""Adding a metric is one entry in the registry: everything that knows metrics by name finds it there."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pandas as pd
import pypdf
import pytest
from jsonschema import Draft202012Validator

from bdt_core import metrics
from bdt_core.audit import audit
from bdt_core.clarify import clarify_analysis, read_analysis_config
from bdt_core.clarify.page import build_clarify_page, clarify_html, clarify_markdown
from bdt_core.errors import SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.history import follow
from bdt_core.metrics import ClarifyMetric, Criterion, RateMetric, ScoreMetric
from bdt_core.report.html import render_html
from bdt_core.report.markdown import render_markdown
from bdt_core.report.pdf import render_pdf
from bdt_core.slices import find_slices
from bdt_core.spec import json_schema, parse_spec
from tests.core.history.made_batches import days, history_spec

MISSED = RateMetric(
    name="missed_share",
    words="Share missed",
    events=lambda c: c.fn,
    among=lambda c: c.n,
    nobody="no rows",
    better="lower",
    short_names=("msh",),
    shown=("prediction",),
    advice="look at whom the model misses",
)
THREAT_SCORE = ScoreMetric(
    name="threat_score", words="Threat score", shown=("prediction",), of=MISSED, change=lambda share: 1.0 - share
)
EQUAL_MISSES = Criterion(name="equal_misses", words="Equal misses", asks="equal shares missed", of=(MISSED,))
MISSES = ClarifyMetric(
    name="MD",
    long_name="missed_difference",
    words="Missed difference",
    how="group less others",
    title="Missed Difference",
    stage="post_training",
    means="above 0: d is missed more often",
    worse=1,
    rate="missed_share",
    of_d=1,
)
NEW = (MISSED, THREAT_SCORE, EQUAL_MISSES, MISSES)
CHOICES = (
    "missed_share",
    "missed_share_difference",
    "missed_share_ratio",
    "threat_score",
    "equal_misses_difference",
    "equal_misses_ratio",
    "MD",
    "missed_difference",
)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in NEW:
        monkeypatch.setitem(metrics.METRICS, one.name, one)


def people(n: int = 1200) -> pd.DataFrame:
    """Women are missed three times as often as men: .3 against .1 of all rows."""
    row = np.arange(n) // 2 % 10
    sex = np.where(np.arange(n) % 2 == 0, "f", "m")
    label = (row < 5).astype(int)
    missed = row < np.where(sex == "f", 3, 1)
    return pd.DataFrame({"sex": sex, "age": 20 + row, "label": label, "prediction": np.where(missed, 0, label)})


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "name": "misses",
        "source": {"path": "misses.csv"},
        "protected": ["sex"],
        "features": {"include": ["age"]},
        "bias_variable": {"derive": "error", "label": "label", "prediction": "prediction"},
        "favourable": "positive",
        **changes,
    }


LIMITS = [
    {"metric": "missed_share", "facet": "sex", "max": 0.2},
    {"metric": "missed_share_difference", "facet": "sex", "max": 0.1},
    {"metric": "missed_share_ratio", "facet": "sex", "min": 0.1, "max": 5.0},
    {"metric": "threat_score", "facet": "sex", "min": 0.8},
    {"metric": "equal_misses_difference", "facet": "sex", "max": 0.1},
    {"metric": "missed_difference", "facet": "sex", "max": 0.1},
]


def test_it_is_computed(added):
    found = bias_metrics(people(), facet="sex", label="label", prediction="prediction")
    assert found["msh"]["f"].estimate == pytest.approx(0.3)
    assert found["threat_score"]["f"].estimate == pytest.approx(0.7)
    assert found["equal_misses_difference"].only.estimate == pytest.approx(0.2)
    assert found["equal_misses_difference"].p_value < 1e-9
    assert found["MD"]["f"].estimate == pytest.approx(0.2)
    assert found["MD"]["f"].low > 0.1
    without = bias_metrics(people(), facet="sex", label="label")
    assert without["missed_share"]["f"].undefined_reason == "no prediction column was named"
    assert without["MD"]["f"].undefined_reason == "no prediction column was named"


@pytest.mark.parametrize("choice", CHOICES)
def test_a_specification_can_name_it(added, choice):
    settings = spec(gate=[{"metric": choice, "facet": "sex", "min": 0.0, "max": 0.1}])
    assert parse_spec(settings).gate[0].metric == choice
    Draft202012Validator(json_schema()).validate(settings)


@pytest.mark.parametrize("choice", CHOICES)
def test_it_is_unknown_when_it_is_not_in_the_registry(choice):
    settings = spec(gate=[{"metric": choice, "facet": "sex", "max": 0.1}])
    with pytest.raises(SpecError, match=f'there is no metric "{choice}"'):
        parse_spec(settings)
    assert not Draft202012Validator(json_schema()).is_valid(settings)


def test_the_gate_judges_it_and_every_form_of_the_report_shows_it(added):
    document = audit(people(), spec(gate=LIMITS)).document
    judged = {one["metric"]: one for one in document["gate"]}
    assert [judged[one["metric"]]["verdict"] for one in LIMITS] == ["fail", "fail", "pass", "fail", "fail", "fail"]
    assert judged["missed_difference"]["minimum"] == -0.1  # it is signed: a largest value is meant in both directions
    rates = document["groups"]["facets"][0]["groups"][0]["rates"]
    assert rates["missed_share"]["estimate"] == pytest.approx(0.3)
    shown = ("Share missed", "Threat score", "Equal misses", "equal shares missed")
    for text, names in (
        (render_html(document), (*shown, "Missed difference")),
        (_text_of(render_pdf(document)), (*shown, "Missed difference")),
        (render_markdown(document), shown),  # which has Clarify's metrics among the limits alone
    ):
        for name in names:
            assert re.search(f"{name}(?! difference| ratio| by)", text), name  # not as the name of a limit
        assert "Missed difference by sex" in text


def _text_of(pdf: bytes) -> str:
    return " ".join(" ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(pdf)).pages).split())


def test_history_follows_it_and_judges_its_limits(added):
    worse = {"f": (200, 100, 300, 400), "m": (400, 100, 100, 400)}
    settings = history_spec(
        favourable="positive", gate=[{"metric": one, "facet": "sex", "min": -0.1, "max": 0.1} for one in CHOICES[1::3]]
    )
    found = follow(days(settings, [worse] * 10), settings)
    stream = next(one for one in found.streams if one.metric == "missed_share")
    assert stream.discovered
    assert {one.metric: one.verdict for one in found.limits} == {
        "missed_share_difference": "fail",
        "equal_misses_difference": "fail",
        "missed_difference": "fail",
    }


def test_slices_are_searched_for_by_it(added):
    found = find_slices(people(), columns=["sex"], label="label", prediction="prediction", metric="msh")
    assert found.metric_name == "missed share"
    assert "f" in str(found.slices[0].conditions)


def test_a_clarify_analysis_has_it(added):
    config = read_analysis_config(
        {
            "label": "label",
            "label_values_or_threshold": [1],
            "predicted_label": "prediction",
            "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
            "methods": {"post_training_bias": {"methods": "all"}},
        }
    )
    analysis = clarify_analysis(config, people().drop(columns="age"))
    entry = analysis.analysis["post_training_bias_metrics"]["facets"]["sex"][0]["metrics"]
    assert next(one for one in entry if one["name"] == "MD")["description"] == "Missed Difference (MD)"
    page = build_clarify_page(analysis, "misses")
    for text in (clarify_html(page), clarify_markdown(page)):
        assert "Missed Difference" in text
        assert "d is missed more often" in text
