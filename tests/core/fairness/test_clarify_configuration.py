"""Clarify's configuration in, its analysis.json out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import SourceError, SpecError
from bdt_core.fairness import bias_metrics, clarify_analysis, read_analysis_config, write_analysis
from bdt_core.fairness.from_counts import POST_TRAINING, PRE_TRAINING

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


def test_shape_is_clarifys(analysis, frame):
    document = analysis.analysis
    assert list(document) == ["version", "pre_training_bias_metrics", "post_training_bias_metrics"]
    for section, names in (("pre_training", PRE_TRAINING), ("post_training", POST_TRAINING)):
        part = document[f"{section}_bias_metrics"]
        assert (part["label"], part["label_value_or_threshold"]) == ("Target", "1")
        assert list(part["facets"]) == ["Sex", "Age"]
        (sex,), (age,) = part["facets"].values()
        assert sex["value_or_threshold"] == "0"
        assert age["value_or_threshold"] == f"(40.5, {frame.b.max():.12g}]"
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
    frame = pd.DataFrame({"y": [0, 1, 1, 0] * 20, "age": [30, 40, 50, 60] * 20})
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
