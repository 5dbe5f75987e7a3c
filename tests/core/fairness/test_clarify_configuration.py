"""Clarify's configuration in, its analysis.json out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bdt_core.clarify.data import read_clarify_data
from bdt_core.errors import SourceError, SpecError
from bdt_core.fairness import (
    ClarifyConfig,
    bias_metrics,
    clarify_analysis,
    read_analysis_config,
    write_analysis,
)
from bdt_core.metrics import of_stage

CONFIG = {
    "version": "1.0",
    "dataset_type": "text/csv",
    "headers": ["Target", "Age", "Sex", "Dept", "Prediction", "Id"],
    "label": "Target",
    "label_values_or_threshold": [1],
    "facet": [{"name_or_index": "Sex", "value_or_threshold": [0]}, {"name_or_index": 1, "value_or_threshold": [40.5]}],
    "group_variable": "Dept",
    "predicted_label": "Prediction",
    "probability_threshold": 0.5,
    "excluded_columns": ["Id"],
    "methods": {
        "pre_training_bias": {"methods": "all"},
        "post_training_bias": {"methods": "all"},
        "report": {"name": "report"},
        "shap": {"num_samples": 1},
    },
    "predictor": {"model_name": "m"},
    "lable": 1,
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    n = 400
    return pd.DataFrame({"a": rng.integers(0, 2, n), "b": rng.normal(40, 10, n), "c": rng.integers(0, 2, n),
                         "d": rng.choice(list("xyz"), n), "e": rng.random(n), "f": range(n)})  # fmt: skip


@pytest.fixture(scope="module")
def analysis(frame):
    return clarify_analysis(read_analysis_config(CONFIG), frame)


def test_every_key_that_is_not_used_is_named():
    remarks = read_analysis_config(CONFIG).remarks
    assert [one.split(":")[0] for one in remarks] == ["predictor", "lable", "methods.shap"]
    assert 'Did you mean "label"?' in remarks[1]


def test_a_space_before_a_quotation_mark_is_no_part_of_a_value(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text('1, 41.5, 0, "sales, south", 0.7, 1\n0, 38, 1, north, 0.2, 2\n')
    read, _ = read_clarify_data(read_analysis_config(CONFIG), file)
    assert list(read.columns) == CONFIG["headers"]
    assert read.Dept.tolist() == ["sales, south", "north"]


def test_shape_is_clarifys(analysis, frame):
    document = analysis.analysis
    assert list(document) == ["version", "pre_training_bias_metrics", "post_training_bias_metrics"]
    for section, names in (("pre_training", of_stage("pre_training")), ("post_training", of_stage("post_training"))):
        part = document[f"{section}_bias_metrics"]
        assert (part["label"], part["label_value_or_threshold"]) == ("Target", "1")
        assert list(part["facets"]) == ["Sex", "Age"]
        (sex,), (age,) = part["facets"].values()
        assert sex["value_or_threshold"] == "0"
        assert age["value_or_threshold"] == f"(40.5, {frame.b.max()}]"
        assert [one["name"] for one in sex["metrics"]] == sorted(names)
        assert all(set(one) <= {"name", "description", "value", "error"} for one in sex["metrics"])
        assert all(f"({one['name']})" in one["description"] for one in sex["metrics"])


def test_values_are_those_of_the_library(analysis, frame):
    named = frame.set_axis(CONFIG["headers"], axis=1)
    named["Chosen"] = (named.Prediction > 0.5).astype(int)
    direct = bias_metrics(named, facet="Sex", label="Target", prediction="Chosen", group="Dept", facet_values=0,
                          features=["Age"])  # fmt: skip
    for section in ("pre_training", "post_training"):
        for one in analysis.analysis[f"{section}_bias_metrics"]["facets"]["Sex"][0]["metrics"]:
            assert one["value"] == pytest.approx(direct[one["name"]].only.estimate, abs=1e-12), one["name"]


def test_signs_of_the_flip_test(analysis, frame):
    other = clarify_analysis(read_analysis_config(CONFIG), frame, signs="smclarify")
    one, two = (which.metrics["Sex"]["FT"].only.estimate for which in (analysis, other))
    assert one == -two != 0


def test_infinite_and_undefined_values_are_valid_json(tmp_path):
    frame = pd.DataFrame({"y": [1, 0] * 30, "p": [1, 0] * 30, "sex": ["f"] * 2 + ["m"] * 58})
    frame.loc[frame.sex == "f", "y"] = 0
    config = read_analysis_config({"label": "y", "label_values_or_threshold": [1], "predicted_label": "p",
                                   "facet": {"name_or_index": "sex", "value_or_threshold": "f"},
                                   "methods": {"pre_training_bias": {},
                                               "post_training_bias": {"methods": ["RD", "FT"]}}})  # fmt: skip
    path = write_analysis(clarify_analysis(config, frame), tmp_path / "out")
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    pre = {one["name"]: one for one in document["pre_training_bias_metrics"]["facets"]["sex"][0]["metrics"]}
    assert pre["KL"]["value"] == "Infinity"
    assert pre["CDDL"]["value"] is None
    assert "group" in pre["CDDL"]["error"]
    post = document["post_training_bias_metrics"]["facets"]["sex"][0]["metrics"]
    assert [one["name"] for one in post] == ["FT", "RD"]
    assert "positive label in d" in post[1]["error"]


def test_whole_numbers_are_values_unless_said_otherwise():
    frame = pd.DataFrame({"y": [0, 1, 1, 0] * 30, "age": [30, 40, 50, 60] * 30})
    config = read_analysis_config({"label": "y", "label_values_or_threshold": [1],
                                   "facet": [{"name_or_index": "age", "value_or_threshold": [40]}],
                                   "methods": {"pre_training_bias": {"methods": ["CI"]}}})  # fmt: skip
    as_value = clarify_analysis(config, frame)
    assert as_value.metrics["age"]["CI"].only.estimate == 0.5
    assert any("taken as a value, not as a threshold" in remark for remark in as_value.remarks)
    as_threshold = clarify_analysis(config, frame, kinds={"age": "continuous"})
    assert as_threshold.metrics["age"]["CI"].only.estimate == 0.0


def test_a_label_of_floats_0_and_1_has_two_values():
    frame = pd.DataFrame({"y": [0.0, 1.0] * 20, "sex": list("ffmm") * 10})
    config = read_analysis_config({"label": "y", "label_values_or_threshold": [1], "facet": {"name_or_index": "sex"},
                                   "methods": {"pre_training_bias": {"methods": ["DPL", "CI"]}}})  # fmt: skip
    entries = clarify_analysis(config, frame).analysis["pre_training_bias_metrics"]["facets"]["sex"]
    assert [one["value_or_threshold"] for one in entries] == ["f", "m"]
    assert [one["value"] for one in entries[0]["metrics"]] == [0.0, 0.0]


SIMPLE = {
    "label": "y",
    "label_values_or_threshold": [1],
    "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
    "methods": {"pre_training_bias": {"methods": ["CI", "DPL"]}, "post_training_bias": {"methods": ["DI", "FT"]}},
}


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(8)
    n = 300
    sex = rng.choice(["f", "m"], n)
    return pd.DataFrame({"y": rng.integers(0, 2, n), "sex": sex, "age": rng.integers(20, 60, n), "key": range(n),
                         "p": np.clip(rng.random(n) + 0.2 * (sex == "m"), 0, 1)})  # fmt: skip


def analysed(frame, **changes):
    return clarify_analysis(read_analysis_config({**SIMPLE, "predicted_label": "p", **changes}), frame)


def test_a_facet_that_is_asked_for_twice_keeps_both(scored):
    facets = [{"name_or_index": "sex", "value_or_threshold": [one]} for one in "fm"]
    found = analysed(scored, facet=facets)
    assert list(found.metrics) == ["sex", "sex = m"]
    entries = found.analysis["pre_training_bias_metrics"]["facets"]["sex"]
    assert [one["value_or_threshold"] for one in entries] == ["f", "m"]
    assert entries[0]["metrics"][1]["value"] == -entries[1]["metrics"][1]["value"] != 0
    assert len(found.table()) == sum(len(one.table()) for one in found.metrics.values())


def test_scores_are_cut_before_favourable_values_are_looked_for(scored):
    up, down = (analysed(scored, probability_threshold=0.6, label_values_or_threshold=[one]) for one in (1, 0))
    rate = (scored.p > 0.6).groupby(scored.sex).mean()
    assert up.metrics["sex"]["DI"].only.estimate == pytest.approx(rate["f"] / rate["m"])
    assert down.metrics["sex"]["DI"].only.estimate == pytest.approx((1 - rate["f"]) / (1 - rate["m"]))
    cut = clarify_analysis(read_analysis_config({**SIMPLE, "predicted_label": "p"}),
                           scored.assign(p=(scored.p > 0.5).astype(int)))  # fmt: skip
    plain = analysed(scored)
    assert plain.analysis["post_training_bias_metrics"] == cut.analysis["post_training_bias_metrics"]
    assert any(".5 is taken" in one for one in plain.remarks)


def test_scores_for_labels_of_text_and_labels_that_need_no_threshold(scored):
    words = scored.assign(y=scored.y.map({0: "no", 1: "yes"}))
    told = analysed(words, label_values_or_threshold=["yes"], probability_threshold=0.6)
    assert told.metrics["sex"]["DI"] == analysed(scored, probability_threshold=0.6).metrics["sex"]["DI"]
    assert any("taken as the probability of a favourable label" in one for one in told.remarks)
    named = words.assign(p=np.where(words.p > 0.6, "yes", "no"))
    same = analysed(named, label_values_or_threshold=["yes"], probability_threshold=0.9)
    assert same.metrics["sex"]["DI"].only == told.metrics["sex"]["DI"].only
    assert any('not used, "p" holds labels' in one for one in same.remarks)


def test_a_missing_score_stays_missing(scored):
    holes = scored.assign(p=scored.p.where(scored.index % 10 > 0))
    found = analysed(holes, probability_threshold=0.6).metrics["sex"]
    assert found.missing["p"] == 30
    wanted = analysed(scored[scored.index % 10 > 0], probability_threshold=0.6).metrics["sex"]
    assert found["DI"].only == wanted["DI"].only


def test_the_identifier_is_no_feature(scored):
    without = analysed(scored.drop(columns="key")).metrics["sex"]["FT"].only
    assert analysed(scored, joinsource_name_or_index="key").metrics["sex"]["FT"].only == without
    assert analysed(scored, excluded_columns="key").metrics["sex"]["FT"].only == without
    assert analysed(scored).metrics["sex"]["FT"].only != without
    assert analysed(scored.assign(one=1), excluded_columns=[3]).metrics["sex"]["FT"].only == without


def test_a_constant_feature_does_not_stop_the_report(scored):
    found = analysed(scored[["y", "sex", "p"]].assign(one=1)).metrics["sex"]
    assert "no features" in found["FT"].only.undefined_reason
    assert found["DI"].only.estimate is not None


def test_truth_values_are_understood_as_clarify_writes_them(scored):
    bools = scored.assign(y=scored.y == 1)
    for given in ([1], ["True"], [True], ["1"]):
        found = analysed(bools, label_values_or_threshold=given)
        assert found.metrics["sex"]["DPL"].only == analysed(scored).metrics["sex"]["DPL"].only


def test_configuration_comes_back_from_its_dictionary():
    config = read_analysis_config(CONFIG)
    assert ClarifyConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": {"shap": {}}}, "neither"),
        ({"methods": {"pre_training_bias": {"methods": ["DPX"]}}}, 'Did you mean "DPL"'),
        ({"facet": [{"name": "Sex"}]}, "name_or_index"),
    ],
)
def test_configurations_that_cannot_be_used(change, words):
    with pytest.raises(SpecError, match=words):
        read_analysis_config({**CONFIG, **change})
    with pytest.raises(SpecError, match="lacks label"):
        read_analysis_config({"facet": []})


def test_data_that_does_not_fit(frame, tmp_path):
    with pytest.raises(SpecError, match="names 6 columns; the data has 5"):
        clarify_analysis(read_analysis_config(CONFIG), frame.iloc[:, :5])
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(SourceError, match="no valid JSON"):
        read_analysis_config(tmp_path / "bad.json")
    with pytest.raises(SourceError, match="cannot be read"):
        read_analysis_config(tmp_path / "none.json")
