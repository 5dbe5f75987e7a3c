"""A favourable value that no row has is an error wherever it is named, and numbers are numbers however written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from bdt_core.clarify import clarify_analysis, read_analysis_config
from bdt_core.errors import DataError
from bdt_core.fairness import bias_metrics
from bdt_core.fairness.coding import Threshold
from bdt_core.fairness.declared_groups import compare_groups, count_groups
from bdt_core.spec import MetricLimit, parse_spec
from bdt_core.verdict import judge_metric
from bdt_pipeline.cli import app
from tests.core.joined.made_tables import quick_audit
from tests.core.tables_in_blocks import SourceInBlocks

BIAS = {"column": "wrong"}
RATE = {"m": 0.75, "f": 0.5}


def people(yes: Any = 1, no: Any = 0) -> pd.DataFrame:
    """Half of the women and three quarters of the men are hired; a row in ten was judged wrongly."""
    good = [i % 4 < 3 for i in range(400)] + [i % 2 == 0 for i in range(400)]
    hired = pd.Series([yes if one else no for one in good])
    wrong = [float(i % 10 == 0) for i in range(800)]
    return pd.DataFrame({"sex": ["m"] * 400 + ["f"] * 400, "hired": hired, "wrong": wrong, "x": range(800)})


def audited(frame: pd.DataFrame, **groups: Any) -> Any:
    gate = [{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.1}]
    changes = {"bias_variable": BIAS, "protected": ["sex"], "features": {"include": ["x"]}, "gate": gate}
    return quick_audit(frame, **changes, groups={"prediction": "hired", **groups})


def config(values: list[Any], facet: Any = "f", **more: Any) -> dict[str, Any]:
    return {
        "label": "hired",
        "label_values_or_threshold": values,
        "facet": [{"name_or_index": "sex", "value_or_threshold": [facet]}],
        "methods": {"pre_training_bias": {"methods": ["DPL", "CI"]}},
        **more,
    }


def test_an_audit_names_the_key_the_value_and_the_values_there_are() -> None:
    told = r"groups\.positive: no row of \"hired\" has the favourable value 'Yes'; the values there are: 'no', 'yes'\."
    with pytest.raises(DataError, match=told):
        audited(people("yes", "no"), positive="Yes")
    found = audited(people("yes", "no"), positive="yes").document
    assert found["gate"][0]["value"] == pytest.approx(0.25)
    assert found["verdict"]["verdict"] == "fail"


def test_an_audit_that_names_no_value_asks_for_it() -> None:
    with pytest.raises(DataError, match="groups.positive: no row of .* value 1; the values there are: 'no', 'yes'"):
        audited(people("yes", "no"))


def test_a_threshold_that_nobody_exceeds_is_an_error() -> None:
    with pytest.raises(DataError, match=r"groups\.thresholds\.hired: no row .* value > 5; .* <= 5\. Set a lower"):
        audited(people(5, 2), thresholds={"hired": 5})


def test_the_value_may_stand_in_any_block() -> None:
    frame = people("yes", "no")
    settled = parse_spec(
        {
            "name": "a",
            "source": {"path": "a.csv"},
            "bias_variable": BIAS,
            "protected": ["sex"],
            "groups": {"prediction": "hired", "positive": "yes"},
        }
    )
    source = SourceInBlocks(frame.sort_values("hired"), (10, 20))  # the first blocks have none
    found = compare_groups(count_groups(source, settled), settled.significance, source)
    limit = MetricLimit(metric="demographic_parity_difference", facet="sex", max=0.1)
    assert judge_metric(limit, found).verdict == "fail"


def test_bias_metrics() -> None:
    frame = people("yes", "no")
    with pytest.raises(DataError, match=r"positive: no row of \"hired\" has the favourable value 'y', 'Y'"):
        bias_metrics(frame, facet="sex", label="hired", positive=["y", "Y"])
    with pytest.raises(DataError, match=r"^positive_prediction: no row of \"hired\" has the favourable value 'Yes'"):
        bias_metrics(frame, facet="sex", label="wrong", prediction="hired", positive_prediction="Yes")
    with pytest.raises(DataError, match="value > 9"):
        bias_metrics(people(5, 2), facet="sex", label="hired", positive=Threshold(9))
    many = frame.assign(hired=[f"v{i % 9}" for i in range(800)])
    with pytest.raises(DataError, match=r"'v0', 'v1', 'v2', 'v3', 'v4', \.\.\.\. Name one"):
        bias_metrics(many, facet="sex", label="hired", positive="w")


def test_a_prediction_that_favours_nobody_is_no_slip() -> None:
    """Its values are those of the label, one of which it never takes."""
    frame = people().assign(advice=0)
    found = bias_metrics(frame, facet="sex", label="hired", prediction="advice")
    assert found["selection_rate"]["f"].estimate == 0
    with pytest.raises(DataError, match=r'no row of "advice"'):
        bias_metrics(people("yes", "no").assign(advice=0), facet="sex", label="hired", prediction="advice",
                     positive="yes")  # fmt: skip


def test_clarify_in_memory() -> None:
    told = r"label_values_or_threshold: no row of \"hired\" has the favourable value 'Yes'; .*'no', 'yes'"
    with pytest.raises(DataError, match=told):
        clarify_analysis(read_analysis_config(config(["Yes"])), people("yes", "no"))
    predicted = config(["yes"], predicted_label="advice")
    with pytest.raises(DataError, match=r'label_values_or_threshold: no row of "advice"'):
        clarify_analysis(read_analysis_config(predicted), people("yes", "no").assign(advice=["Yes", "No"] * 400))


def test_bdt_clarify(tmp_path: Path) -> None:
    people("yes", "no").to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "config.json").write_text(json.dumps(config(["Yes"])))
    asked = [
        "clarify",
        str(tmp_path / "config.json"),
        "--data",
        str(tmp_path / "people.csv"),
        "--out",
        str(tmp_path / "out"),
    ]
    ended = CliRunner().invoke(app, asked)
    assert ended.exit_code == 2, ended.output
    assert "label_values_or_threshold: no row of" in " ".join(ended.output.split())
    assert not (tmp_path / "out").exists()


WRITTEN = {
    "numbers": people().astype({"hired": "category"}),
    "floats": people(1.0, 0.0).astype({"hired": "category"}),
    "texts": people("1", "0").astype({"hired": "category"}),
    "texts of floats": people("1.0", "0.0").astype({"hired": "category"}),
    "objects": people().astype({"hired": object}),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("asked", [1, 1.0])
def test_categories_of_numbers_are_numbers(name: str, asked: Any) -> None:
    frame = WRITTEN[name]
    found = bias_metrics(frame, facet="sex", label="hired", positive=asked)
    assert found["prevalence"]["m"].estimate == RATE["m"]
    assert found["DPL"]["f"].estimate == pytest.approx(0.25)
    turned = frame.rename(columns={"sex": "hired", "hired": "sex"})  # a facet is found just so
    as_facet = bias_metrics(turned, facet="sex", label="hired", positive="m", facet_values=asked)
    assert as_facet["CI"].only.events == (people()["hired"] == 1).sum()
    analysis = clarify_analysis(read_analysis_config(config([asked])), frame)
    assert analysis.metrics["sex"]["DPL"].only.estimate == pytest.approx(0.25)
    of_facet = clarify_analysis(read_analysis_config(config(["m"], asked)), turned)
    assert of_facet.metrics["sex"]["CI"].only.events == (people()["hired"] == 1).sum()


def test_categories_of_numbers_in_an_audit() -> None:
    found = audited(WRITTEN["texts"], positive=1).document
    assert found["gate"][0]["value"] == pytest.approx(0.25)
