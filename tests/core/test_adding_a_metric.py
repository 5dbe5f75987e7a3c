"""Adding a metric is one entry in the registry: everything that knows metrics by name finds it there."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pypdf
import pytest
import yaml
from jsonschema import Draft202012Validator
from scipy.stats import binom
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, matthews_corrcoef
from typer.testing import CliRunner

from bdt_core import metrics
from bdt_core.audit import audit
from bdt_core.clarify import clarify_analysis, read_analysis_config
from bdt_core.clarify.page import build_clarify_page, clarify_html, clarify_markdown
from bdt_core.errors import SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.groups.slices import find_slices
from bdt_core.history import follow
from bdt_core.metrics import ClarifyMetric, Criterion, RateMetric, ScoreMetric
from bdt_core.report.html import render_html
from bdt_core.report.markdown import render_markdown
from bdt_core.report.pdf import render_pdf
from bdt_core.spec import json_schema, parse_spec
from bdt_pipeline.cli import app
from tests.core.history.made_batches import days, history_spec
from tests.pipeline.conftest import run

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
    document = audit(people(), spec(gate=LIMITS, pdf="whole")).document
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


BALANCED = ScoreMetric(
    name="balanced_accuracy",
    words="Balanced accuracy",
    better="higher",
    short_names=("bac",),
    shown=("prediction",),
    of_counts=lambda c: (c.tp / c.positives + c.tn / c.negatives) / 2,
)
MATTHEWS = ScoreMetric(
    name="matthews",
    words="Matthews correlation",
    better="higher",
    of_counts=lambda c: (
        (c.tp * c.tn - c.fp * c.fn) / np.sqrt(c.positives * c.negatives * c.predicted_positives * c.predicted_negatives)
    ),
)


def kappa(label: Any, prediction: Any) -> float:
    """Cohen's kappa; scikit-learn's takes a hundred times as long per call, and is what this is held against."""
    chance = label.mean() * prediction.mean() + (1 - label.mean()) * (1 - prediction.mean())
    return ((label == prediction).mean() - chance) / (1 - chance)


KAPPA = ScoreMetric(name="kappa", words="Cohen kappa", better="higher", of_rows=kappa)
FUNCTIONS = {"balanced_accuracy": balanced_accuracy_score, "matthews": matthews_corrcoef, "kappa": cohen_kappa_score}


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in (BALANCED, MATTHEWS, KAPPA):
        monkeypatch.setitem(metrics.METRICS, one.name, one)


def mixed(n: int = 1200) -> pd.DataFrame:
    """People of two groups, each with errors of both kinds; women are missed three times as often."""
    frame = people(n)
    wrong = (np.arange(n) // 20 % 5 == 0) & (frame["label"] == 0)
    return frame.assign(prediction=frame["prediction"].where(~wrong, 1))


def limits_of_functions() -> list[dict[str, Any]]:
    return [
        one
        for name in FUNCTIONS
        for one in (
            {"metric": name, "facet": "sex", "min": 0.9},
            {"metric": f"{name}_difference", "facet": "sex", "min": -0.05, "max": 0.05},
            {"metric": f"{name}_ratio", "facet": "sex", "min": 0.01, "max": 50.0},
        )
    ]


VERDICTS = ["fail", "fail", "pass"] * len(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_agrees_with_scikit_learn_and_lies_in_its_interval(functions, name):
    frame = mixed()
    found = bias_metrics(frame, facet="sex", label="label", prediction="prediction")
    of = {group: FUNCTIONS[name](rows["label"], rows["prediction"]) for group, rows in frame.groupby("sex")}
    for group, value in of.items():
        assert found[name][group].estimate == pytest.approx(value)
        assert value - 0.15 < found[name][group].low < value < found[name][group].high < value + 0.15
    difference, ratio = found[f"{name}_difference"]["m"], found[f"{name}_ratio"]["m"]
    assert difference.estimate == pytest.approx(of["m"] - of["f"])
    assert 0 < difference.low < difference.estimate < difference.high
    assert ratio.estimate == pytest.approx(of["m"] / of["f"])
    assert 1 < ratio.low < ratio.estimate < ratio.high
    again = bias_metrics(frame, facet="sex", label="label", prediction="prediction")
    assert again[name].low == found[name].low
    without = bias_metrics(frame, facet="sex", label="label")
    assert without[name]["f"].undefined_reason == "no prediction column was named"


def test_a_function_of_rows_and_the_same_of_counts_have_like_intervals_in_small_and_large_groups(functions):
    for n in (400, 40_000):
        found = bias_metrics(mixed(n), facet="sex", label="label", prediction="prediction")
        with pytest.MonkeyPatch.context() as patch:
            by_rows = ScoreMetric(name="matthews", words="", of_rows=matthews_corrcoef)
            patch.setitem(metrics.METRICS, "matthews", by_rows)
            again = bias_metrics(mixed(n), facet="sex", label="label", prediction="prediction")
        width = found["matthews"]["f"].high - found["matthews"]["f"].low
        for end in ("estimate", "low", "high"):
            one, other = (getattr(x["matthews"]["f"], end) for x in (found, again))
            assert abs(one - other) < 0.1 * width


@pytest.mark.parametrize("name", FUNCTIONS)
def test_its_interval_widens_where_rows_are_weighted_or_of_few_persons(functions, name):
    frame = mixed(600).assign(weight=np.random.default_rng(0).choice([0.3, 3.0], 600))
    columns = {"facet": "sex", "label": "label", "prediction": "prediction"}
    plain, weighted = bias_metrics(frame, **columns), bias_metrics(frame, **columns, weight="weight")
    four = pd.concat([frame.assign(person=np.arange(600))] * 4, ignore_index=True)

    def width(value: Any) -> float:
        return value.high - value.low

    def audited(**changes: Any) -> Any:
        found = audit(four, spec(features={"include": ["age"]}, groups={"facets": ["sex"]}, **changes))
        return found.groups.facets[0].metrics[name]["f"]

    women = frame[frame["sex"] == "f"]
    exact = FUNCTIONS[name](women["label"], women["prediction"], sample_weight=women["weight"])
    assert weighted[name]["f"].estimate == pytest.approx(exact, abs=1e-4)
    assert width(weighted[name]["f"]) > 1.2 * width(plain[name]["f"])
    assert width(audited(split={"key": "person"})) == pytest.approx(width(plain[name]["f"]), rel=0.1)
    assert width(audited()) == pytest.approx(width(plain[name]["f"]) / 2, rel=0.1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_intervals_hold_the_truth_as_often_as_they_say(functions, name):
    rng = np.random.default_rng(26)
    tables = 300
    truth, held, held_apart = {}, 0, 0
    shares = {"a": (0.35, 0.10, 0.10, 0.45), "b": (0.20, 0.15, 0.10, 0.55)}
    cells = {"label": [1, 0, 1, 0], "prediction": [1, 1, 0, 0]}
    for group, one in shares.items():
        truth[group] = FUNCTIONS[name](cells["label"], cells["prediction"], sample_weight=one)
    with pytest.MonkeyPatch.context() as patch:
        for other in set(FUNCTIONS) - {name}:
            patch.delitem(metrics.METRICS, other)
        for _ in range(tables):
            rows = {group: np.repeat(np.arange(4), rng.multinomial(60, one)) for group, one in shares.items()}
            cell = np.concatenate(list(rows.values()))
            frame = pd.DataFrame({key: np.array(values)[cell] for key, values in cells.items()})
            frame["group"] = np.repeat(list(rows), [len(one) for one in rows.values()])
            found = bias_metrics(frame, facet="group", label="label", prediction="prediction", reference="b", alpha=0.1)
            value, difference = found[name]["a"], found[f"{name}_difference"]["a"]
            held += value.low <= truth["a"] <= value.high
            held_apart += difference.low <= truth["a"] - truth["b"] <= difference.high
    least, most = binom.ppf((0.001, 0.999), tables, 0.9)
    assert least <= held <= most
    assert least <= held_apart <= most


def test_no_error_at_all_is_no_certainty(functions):
    frame = pd.DataFrame({"sex": list("fm") * 20, "label": [0, 0, 1, 1] * 10})
    found = bias_metrics(frame.assign(prediction=frame["label"]), facet="sex", label="label", prediction="prediction")
    for name in FUNCTIONS:
        assert found[name]["f"].high == found[name]["f"].estimate == 1.0
        assert found[name]["f"].low < 0.95


def test_a_group_in_which_a_function_is_undefined_says_why(functions):
    frame = mixed().assign(label=lambda of: of["label"].where(of["sex"] == "m", 1))
    found = bias_metrics(frame, facet="sex", label="label", prediction="prediction")
    assert found["balanced_accuracy"]["f"].undefined_reason == "undefined for these labels and predictions"
    reason = found["balanced_accuracy_difference"]["m"].undefined_reason
    assert reason in ("the reference itself", "undefined for these labels and predictions in the reference")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", ["", "_difference", "_ratio"])
def test_a_specification_can_name_a_function(functions, name, kind):
    settings = spec(gate=[{"metric": name + kind, "facet": "sex", "min": 0.0, "max": 0.1}])
    assert parse_spec(settings).gate[0].metric == name + kind
    Draft202012Validator(json_schema()).validate(settings)


@pytest.mark.parametrize("language", ["en", "nl"])
def test_functions_are_judged_and_stand_in_every_form(functions, language):
    limits = limits_of_functions()
    document = audit(mixed(), spec(gate=limits, language=language, pdf="whole")).document
    judged = {one["metric"]: one for one in document["gate"]}
    assert [judged[one["metric"]]["verdict"] for one in limits] == VERDICTS
    facet = document["groups"]["facets"][0]
    assert set(FUNCTIONS) <= set(facet["groups"][0]["rates"])
    assert {f"{one}_difference" for one in FUNCTIONS} <= {one["metric"] for one in facet["against_reference"]}
    every = (BALANCED.words, MATTHEWS.words, KAPPA.words)
    for text, names in (
        (render_html(document), every),
        (_text_of(render_pdf(document)), every),
        (render_markdown(document), (BALANCED.words, "Matthews", "Kappa")),  # limits, and what is shown first
    ):
        assert "no score column was named" not in text
        for name in names:
            assert name in text
    row = re.search(
        r"Cohen kappa\s+\+0[.,]4\s+\[.*?\]; (ratio|verhouding) 3", re.sub("<[^>]*>", " ", render_html(document))
    )
    assert row is not None
    assert not re.search("points|punten|%", row[0])  # it is no rate


def test_history_leaves_limits_on_functions_to_the_batches(functions):
    settings = history_spec(
        favourable="positive", gate=[{"metric": "kappa_difference", "facet": "sex", "min": -0.1, "max": 0.1}]
    )
    worse = {"f": (200, 100, 300, 400), "m": (400, 100, 100, 400)}
    found = follow(days(settings, [worse] * 3), settings)
    assert {one.metric for one in found.streams} <= set(metrics.RATES)
    assert not found.limits


def test_functions_reach_the_command_line_and_dagster(functions, tmp_path: Path):
    mixed().to_csv(tmp_path / "misses.csv", index=False)
    settings = spec(gate=limits_of_functions(), source={"path": str(tmp_path / "misses.csv")})
    file = tmp_path / "misses.yaml"
    file.write_text(yaml.safe_dump(settings))
    CliRunner().invoke(app, ["gate", str(file), "--report", str(tmp_path / "out")])
    told = json.loads((tmp_path / "out" / "gate.json").read_text())
    assert [one["verdict"] for one in told["limits"]] == VERDICTS
    with dg.DagsterInstance.ephemeral(str(tmp_path), settings={"telemetry": {"enabled": False}}) as instance:
        result = run(parse_spec(settings), instance)
    checks = {one.check_name: one for one in result.get_asset_check_evaluations()}
    for limit, verdict in zip(limits_of_functions(), VERDICTS, strict=True):
        name = next(one for one in checks if one.startswith(limit["metric"] + "_") and one.endswith("sex"))
        assert checks[name].passed == (verdict == "pass") or checks[name].metadata["verdict"].value == verdict


def test_an_entry_that_names_nothing_to_compute_it_from_is_refused():
    with pytest.raises(SpecError, match='"balanced_accuracy" names 0 things'):
        ScoreMetric(name="balanced_accuracy", words="Balanced accuracy")
    with pytest.raises(SpecError, match="names 2 things"):
        ScoreMetric(name="balanced_accuracy", words="", of=MISSED, of_rows=balanced_accuracy_score)
