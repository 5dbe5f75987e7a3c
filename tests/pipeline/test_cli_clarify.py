"""``bdt clarify``: Clarify's configurations and files, as its users have them."""

from __future__ import annotations

import csv
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from bdt_pipeline.cli import app

FILES = {"analysis.json", "metrics.csv", "report.html", "report.pdf", "report.md"}
ADULT = {"Female": (433, 10, 679, 8660), "Male": (2718, 84, 3678, 13900)}
PUBLISHED = {
    "CI": 0.35137, "DPL": 0.20016, "KL": 0.14307, "JS": 0.03076, "LP": 0.28307, "TVD": 0.20016, "KS": 0.20016,
    "DPPL": 0.09220, "DI": 0.32939, "AD": -0.11416, "RD": 0.03556, "DAR": -0.00741, "DCA": -0.22750, "SD": 0.00485,
    "DRR": 0.13653, "DCR": 0.13283, "TE": 24.11429, "GE": 0.08653,
}  # fmt: skip
CONFIG: dict[str, Any] = {
    "version": "1.0",
    "dataset_type": "text/csv",
    "headers": ["Target", "Sex", "Dept", "Prediction"],
    "label": "Target",
    "label_values_or_threshold": [1],
    "facet": [{"name_or_index": "Sex", "value_or_threshold": ["Female"]}],
    "group_variable": "Dept",
    "predicted_label": "Prediction",
    "methods": {"pre_training_bias": {"methods": "all"}, "post_training_bias": {"methods": "all"}},
}


@pytest.fixture
def bdt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs ``bdt clarify`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["clarify", *(str(one) for one in arguments)])


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    """Writes a configuration; a change to None takes the key out."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "analysis_config.json"
        path.write_text(json.dumps({key: one for key, one in {**CONFIG, **changes}.items() if one is not None}))
        return path

    return write


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The published example's rows, one in ten of them, with a stratum."""
    outcomes = [(1, 1), (0, 1), (1, 0), (0, 0)]
    parts = [
        pd.DataFrame({"Target": label, "Sex": sex, "Dept": ["x", "y"] * math.ceil(n / 2), "Prediction": prediction})
        for sex, cells in ADULT.items()
        for (label, prediction), n in zip(outcomes, (math.ceil(one / 10) for one in cells), strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def metrics(folder: Path, facet: str = "Sex", place: int = 0) -> dict[str, Any]:
    """Metrics of one d by name, in the order in which they stand in analysis.json."""
    document = json.loads((folder / "analysis.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    found: dict[str, Any] = {}
    for section in ("pre_training_bias_metrics", "post_training_bias_metrics"):
        if section in document:
            found |= {one["name"]: one for one in document[section]["facets"][facet][place]["metrics"]}
    return found


def values(folder: Path, facet: str = "Sex", place: int = 0) -> dict[str, Any]:
    return {name: one["value"] for name, one in metrics(folder, facet, place).items()}


def test_the_published_confusion_table_gives_the_published_figures(tmp_path: Path) -> None:
    outcomes = [("1", "1"), ("0", "1"), ("1", "0"), ("0", "0")]
    with (tmp_path / "adult.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        for sex, cells in ADULT.items():
            for (label, prediction), n in zip(outcomes, cells, strict=True):
                lines.writerows([[label, sex, prediction]] * n)
    given = {**CONFIG, "headers": ["Target", "Sex", "Prediction"], "group_variable": None}
    (tmp_path / "analysis_config.json").write_text(json.dumps(given))
    run = [sys.executable, "-m", "bdt_pipeline.cli", "clarify", "analysis_config.json", "--data", "adult.csv"]
    done = subprocess.run([*run, "--out", "out"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    found = metrics(tmp_path / "out")
    assert {name: round(found[name]["value"], 5) for name in PUBLISHED} == PUBLISHED
    assert {name for name in found if found[name]["value"] is None} == {"CDDL", "CDDPL", "FT"}
    assert all(found[name]["error"] for name in ("CDDL", "CDDPL", "FT"))
    table = pd.read_csv(tmp_path / "out" / "metrics.csv").set_index(["metric", "value"])
    for name, value in PUBLISHED.items():
        row = table.loc[(name, math.nan if name == "GE" else "Female")]
        assert round(row["estimate"], 5) == value
        assert row["low"] < row["estimate"] < row["high"]
    printed = (f"{value:+.4f}".replace("-", "−") for name, value in PUBLISHED.items() if name in ("DPL", "AD", "SD"))
    assert all(one in text for one in printed for text in (done.stdout, (tmp_path / "out" / "report.md").read_text()))


def test_shape_of_analysis_json(bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame) -> None:
    people.to_csv("data.csv", index=False, header=False)
    assert bdt(config(), "--data", "data.csv", "--out", "out").exit_code == 0
    document = json.loads(Path("out/analysis.json").read_text())
    assert list(document) == ["version", "pre_training_bias_metrics", "post_training_bias_metrics"]
    for section, number in (("pre_training", 8), ("post_training", 13)):
        part = document[f"{section}_bias_metrics"]
        assert (part["label"], part["label_value_or_threshold"]) == ("Target", "1")
        (entry,) = part["facets"]["Sex"]
        assert entry["value_or_threshold"] == "Female"
        names = [one["name"] for one in entry["metrics"]]
        assert names == sorted(names)
        assert len(names) == number
        assert all(set(one) - {"error"} == {"name", "description", "value"} for one in entry["metrics"])


SEGMENTS = [
    {
        "config_name": "by department",
        "name_or_index": "Dept",
        "segments": [["x"]],
        "display_aliases": ["the first", "all others"],
    },
    {"name_or_index": "Age", "segments": [["[20, 30)"], ["(40, 50]", "[60, 70]"]]},
]


def test_each_segment_is_analysed_alone(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.assign(Age=20.0 + people.index % 60)
    table.loc[::50, "Age"] = math.nan
    table.to_csv("data.csv", index=False)
    given = config(headers=None, segment_config=SEGMENTS, excluded_columns=["Age"])
    result = bdt(given, "--data", "data.csv", "--out", "out")
    assert result.exit_code == 0, result.stderr
    known = table["Age"].notna()
    second = ((table["Age"] > 40) & (table["Age"] <= 50)) | ((table["Age"] >= 60) & (table["Age"] <= 70))
    wanted = {
        ("by department", "the first"): table["Dept"] == "x",
        ("by department", "all others"): table["Dept"] == "y",
        ("Age", "[20, 30)"): table["Age"] < 30,
        ("Age", "(40, 50], [60, 70]"): second,
        ("Age", "__default__"): known & ~second & (table["Age"] >= 30),
    }
    document = json.loads(Path("out/analysis.json").read_text())
    assert [(one["config_name"], one["segment"]) for one in document["segments"]] == list(wanted)
    lines = pd.read_csv("out/metrics.csv").set_index(["segment", "metric", "value"])["estimate"]
    for i, (one, (name, rows)) in enumerate(zip(document["segments"], wanted.items(), strict=True)):
        part = table[rows].drop(columns="Age")
        part.to_csv("part.csv", index=False)
        alone = config(headers=None)
        assert bdt(alone, "--data", "part.csv", "--out", f"alone-{i}").exit_code == 0
        found = {m["name"]: m["value"] for section in ("pre", "post")
                 for m in one[f"{section}_training_bias_metrics"]["facets"]["Sex"][0]["metrics"]}  # fmt: skip
        assert one["rows"] == rows.sum()
        assert found == pytest.approx(values(Path(f"alone-{i}")), abs=1e-12)
        assert lines[(": ".join(name), "DPL", "Female")] == pytest.approx(found["DPL"])
        assert f"{': '.join(name)}, Sex is Female: " in Path("out/report.html").read_text()
    assert values(Path("out"))["CI"] == pytest.approx((table["Sex"] == "Male").mean() * 2 - 1)
    assert f'{(~known).sum()} rows lack a value of "Age": in no segment' in result.stderr


def test_a_segment_that_cannot_be_compared_does_not_cost_the_others(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.copy()
    table.loc[table["Dept"] == "x", ["Target", "Prediction"]] = 0  # nobody there has the favourable value
    table.to_csv("data.csv", index=False, header=False)
    segments = [{"name_or_index": "Dept", "segments": [["x"], ["y"]]}]
    result = bdt(config(segment_config=segments, label_values_or_threshold=[1]), "--data", "data.csv", "--out", "out")
    assert result.exit_code == 0, result.stderr
    first, second = json.loads(Path("out/analysis.json").read_text())["segments"]
    assert first["segment"] == "x"
    assert "favourable" in first["error"] or "no row" in first["error"].lower()
    assert "pre_training_bias_metrics" not in first
    assert f"Dept x: {first['error']}" in Path("out/report.md").read_text().replace("\\", "")
    assert second["pre_training_bias_metrics"]["facets"]["Sex"][0]["metrics"][2]["value"] is not None


def test_a_configuration_of_model_monitor_asks_for_every_metric(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    assert bdt(config(), "--data", "data.csv", "--out", "wanted").exit_code == 0
    result = bdt(config(methods=None), "--data", "data.csv", "--out", "out")
    assert result.exit_code == 0
    assert Path("out/analysis.json").read_bytes() == Path("wanted/analysis.json").read_bytes()
    assert "methods: not given" in result.stderr


@pytest.mark.parametrize("join", ["by id", "by order", "by configuration"])
def test_predictions_and_facets_in_files_of_their_own(
    join: str, bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.assign(id=[f"p{i}" for i in people.index], Age=people.index % 60)
    table.to_csv("whole.csv", index=False)
    whole = config(headers=None, joinsource_name_or_index="id")
    assert bdt(whole, "--data", "whole.csv", "--out", "wanted").exit_code == 0
    order = table.index if join == "by order" else table.sample(frac=1.0, random_state=1).index
    keys = [] if join == "by order" else ["id"]
    said = table.loc[order, [*keys, "Prediction"]]
    table[["Target", "Dept", "Age", *keys]].to_csv("data.csv", index=False)
    table.loc[order, [*keys, "Sex"]].to_csv("facets.csv", index=False)
    if join == "by configuration":  # without header lines, named there, with the default name of the prediction
        said.to_csv("said.csv", index=False, header=False)
        given = config(
            headers=None, joinsource_name_or_index="id", predicted_label=None, facet_dataset_uri="facets.csv",
            predicted_label_dataset_uri="said.csv", predicted_label_headers=["id", "predicted_label"],
        )  # fmt: skip
        result = bdt(given, "--data", "data.csv", "--out", "out")
    else:
        said.to_csv("said.csv", index=False)
        options = ["--predictions", "said.csv", "--facets", "facets.csv", *(["--join", "id"] if keys else [])]
        result = bdt(config(headers=None), "--data", "data.csv", *options, "--out", "out")
    assert result.exit_code == 0, result.stderr
    assert values(Path("out")) == pytest.approx(values(Path("wanted")), abs=1e-12)
    assert values(Path("wanted"))["FT"] != 0


def test_rows_without_a_partner_are_counted(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.assign(id=range(len(people)))
    table.drop(columns="Prediction").to_csv("data.csv", index=False)
    said = table[["id", "Prediction"]].iloc[100:]
    pd.concat([said, pd.DataFrame({"id": [-1, -2], "Prediction": [0, 1]})]).to_csv("said.csv", index=False)
    options = ("--data", "data.csv", "--predictions", "said.csv", "--join", "id")
    result = bdt(config(headers=None), *options, "--out", "out")
    assert result.exit_code == 0, result.stderr
    assert "100 of 3,020 rows have no predictions in said.csv and are left out" in result.stderr
    assert "2 rows of said.csv belong to no row of the data" in result.stderr
    assert json.loads(Path("out/analysis.json").read_text())
    table.iloc[100:].to_csv("rest.csv", index=False)
    bdt(config(headers=None, joinsource_name_or_index="id"), "--data", "rest.csv", "--out", "wanted")
    assert values(Path("out")) == values(Path("wanted"))


@pytest.mark.parametrize(
    ("spoil", "options", "told"),
    [
        (lambda said: said.iloc[1:], (), "said.csv has 3,019 rows, and the data has 3,020"),
        (lambda said: said.iloc[::-1], (), 'the same values of "id" as the data, in another order'),
        (lambda said: pd.concat([said, said.head(3)]), ("--join", "id"), 'holds 3 values of "id" more than once'),
        (lambda said: said.assign(id=-1 - said.index), ("--join", "id"), 'No "id" of the data is one of said.csv'),
        (lambda said: said.drop(columns="id"), ("--join", "id"), 'said.csv has no column "id"'),
        (lambda said: said.rename(columns={"Prediction": "Predicted"}), (), 'Did you mean "Predicted"'),
    ],
)
def test_files_that_do_not_fit_together(
    spoil: Callable[[pd.DataFrame], pd.DataFrame],
    options: tuple[str, ...],
    told: str,
    bdt: Callable[..., Result],
    config: Callable[..., Path],
    people: pd.DataFrame,
) -> None:
    table = people.assign(id=range(len(people)))
    table.drop(columns="Prediction").to_csv("data.csv", index=False)
    spoil(table[["id", "Prediction"]]).to_csv("said.csv", index=False)
    result = bdt(config(headers=None), "--data", "data.csv", "--predictions", "said.csv", *options, "--out", "out")
    assert result.exit_code == 2
    assert told in result.stderr


def test_ranges_and_questions_stand_in_the_report(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    assert bdt(config(), "--data", "data.csv", "--out", "out").exit_code == 0
    for report in (Path("out/report.md").read_text(), Path("out/report.html").read_text()):
        assert "range: −1 to +1" in report
        assert "range: 0 or more" in report
        assert "range: any number" in report
        assert "Questions to begin with" in report
    lines = [one for one in Path("out/report.md").read_text().splitlines() if "?" in one and one.startswith("|")]
    asked = [re.search(r"\| (CI|DPL|AD|DAR|RD)\b", one) for one in lines]
    assert [one and one[1] for one in asked] == ["CI", "DPL", "AD", "DAR", "RD"]
    assert "compare it with its share" in lines[0]
    assert "no: d is worse off" in lines[1]
    assert "no: d is better off" in lines[2]


def test_what_is_farther_from_no_bias_than_in_the_baseline_is_a_violation(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    bdt(config(), "--data", "data.csv", "--out", "out")
    earlier = json.loads(Path("out/analysis.json").read_text())
    now = values(Path("out"))
    then = {**now, "DPL": now["DPL"] - 0.001, "CI": -2 * now["CI"], "DI": now["DI"] + 0.5, "TE": "Infinity", "RD": None}
    for section in ("pre_training_bias_metrics", "post_training_bias_metrics"):
        for one in earlier[section]["facets"]["Sex"][0]["metrics"]:
            one["value"] = then[one["name"]]
    Path("earlier.json").write_text(json.dumps(earlier))
    result = bdt(config(), "--data", "data.csv", "--baseline", "earlier.json", "--out", "drift")
    assert result.exit_code == 0, result.stderr
    said = "Against the baseline: 2 of 19 metrics are farther from no bias; of 1 of these the interval holds"
    assert said in " ".join(result.stdout.split())
    written = json.loads(Path("drift/constraint_violations.json").read_text())
    assert written == {
        "version": "1.0",
        "violations": [
            {
                "facet": "Sex",
                "facet_value": "Female",
                "metric_name": name,
                "constraint_check_type": "bias_drift_check",
                "description": f"Value {now[name]} does not meet the constraint requirement",
            }
            for name in ("DPL", "DI")
        ],
    }
    assert {one.name for one in Path("drift").iterdir()} == FILES | {"constraint_violations.json"}
    assert "yes; the interval holds the earlier value" in Path("drift/report.html").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not valid JSON"),
        ("[]", "has no bias metrics"),
        ('{"pre_training_bias_metrics": {"facets": {"Sex": [{"metrics": 1}]}}}', "has no bias metrics"),
        (
            '{"pre_training_bias_metrics": {"facets": {"Age": [{"value_or_threshold": "40", "metrics": '
            '[{"name": "CI", "value": 0.1}]}]}}}',
            "has no metric of these facets",
        ),
        (None, "cannot be read"),
    ],
)
def test_a_baseline_that_cannot_be_compared_is_refused(
    content: str | None, said: str, bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    if content is not None:
        Path("earlier.json").write_text(content)
    result = bdt(config(), "--data", "data.csv", "--baseline", "earlier.json", "--out", "out")
    assert result.exit_code == 2
    assert said in result.stderr
    assert not Path("out").exists()


Write = Callable[[pd.DataFrame], dict[str, Any]]


def with_header(people: pd.DataFrame) -> dict[str, Any]:
    people.to_csv("data.csv", index=False)
    return {"headers": None}


def with_the_same_header(people: pd.DataFrame) -> dict[str, Any]:
    people.to_csv("data.csv", index=False)
    return {}


def with_another_header(people: pd.DataFrame) -> dict[str, Any]:
    people.set_axis(list("abcd"), axis=1).to_csv("data.csv", index=False)
    return {}


def by_position(people: pd.DataFrame) -> dict[str, Any]:
    people.to_csv("data.csv", index=False, header=False)
    facet = [{"name_or_index": 1, "value_or_threshold": ["Female"]}]
    return {"headers": None, "label": 0, "facet": facet, "group_variable": 2, "predicted_label": 3}


def parquet(people: pd.DataFrame) -> dict[str, Any]:
    people.to_parquet("data.parquet")
    return {"headers": None, "dataset_type": "application/x-parquet"}


def flat_json_lines(people: pd.DataFrame) -> dict[str, Any]:
    people.to_json("data.jsonl", orient="records", lines=True)
    return {"headers": None, "dataset_type": "application/jsonlines"}


def dense_json_lines(people: pd.DataFrame) -> dict[str, Any]:
    with Path("data.jsonl").open("w") as file:
        for one in people.to_dict("records"):
            inner = {"values": [one["Sex"], one["Dept"]]}
            file.write(json.dumps({"features": inner, "label": one["Target"], "guess": one["Prediction"]}) + "\n")
    return {
        "dataset_type": "application/jsonlines",
        "features": "features.values",
        "headers": ["Sex", "Dept", "Truth", "Guess"],
        "label": "label",
        "predicted_label": "guess",
    }


def records_in_json(people: pd.DataFrame) -> dict[str, Any]:
    people.to_json("data.json", orient="records")
    return {"headers": None, "dataset_type": "application/json"}


def nested_json(people: pd.DataFrame) -> dict[str, Any]:
    records = [{"about": {"f": [one["Sex"], one["Dept"]]}, "truth": one["Target"], "said": {"guess": one["Prediction"]}}
               for one in people.to_dict("records")]  # fmt: skip
    Path("data.json").write_text(json.dumps({"people": records}))
    return {
        "dataset_type": "application/json",
        "features": "people[*].about.f",
        "headers": ["Sex", "Dept", "Truth", "Guess"],
        "label": "people[*].truth",
        "predicted_label": "people[].said.guess",
    }


def chosen_json(people: pd.DataFrame) -> dict[str, Any]:
    people.to_json("data.json", orient="records")
    return {
        "headers": None,
        "dataset_type": "application/json",
        "features": "[*].[Sex, Dept]",
        "label": "[*].Target",
        "predicted_label": "[*].Prediction",
    }


def chosen_json_lines(people: pd.DataFrame) -> dict[str, Any]:
    people.to_json("data.jsonl", orient="records", lines=True)
    return {"headers": None, "dataset_type": "application/jsonlines", "features": "[Sex, Dept]"}


def words(people: pd.DataFrame) -> dict[str, Any]:
    said = {0: "<=50K", 1: ">50K"}
    table = people.assign(Target=people["Target"].map(said), Prediction=people["Prediction"].map(said))
    table.to_csv("data.csv", index=False, header=False)
    return {"label_values_or_threshold": [">50K"]}


def probabilities(people: pd.DataFrame) -> dict[str, Any]:
    people.assign(Prediction=0.2 + 0.45 * people["Prediction"]).to_csv("data.csv", index=False, header=False)
    return {"probability_threshold": 0.6}


def truth_values(people: pd.DataFrame) -> dict[str, Any]:
    people.assign(Target=people["Target"] == 1).to_csv("data.csv", index=False, header=False)
    return {"label_values_or_threshold": ["True"]}


@pytest.mark.parametrize(
    "write",
    [with_header, with_the_same_header, with_another_header, by_position, parquet, flat_json_lines, dense_json_lines,
     chosen_json_lines, records_in_json, nested_json, chosen_json, words, probabilities, truth_values],
)  # fmt: skip
def test_every_form_of_the_data_gives_the_same_figures(
    write: Write, bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("plain.csv", index=False, header=False)
    assert bdt(config(), "--data", "plain.csv", "--out", "wanted").exit_code == 0
    changes = write(people)
    (data,) = (path for path in Path().glob("data.*"))
    result = bdt(config(**changes), "--data", data, "--out", "found")
    assert result.exit_code == 0, result.stderr
    facet = "column_1" if write is by_position else "Sex"
    assert values(Path("found"), facet) == pytest.approx(values(Path("wanted")), abs=1e-12)
    assert values(Path("wanted"))["CDDL"] is not None


def test_a_favourable_label_of_0_makes_low_probabilities_favourable(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("labels.csv", index=False, header=False)
    people.assign(Prediction=0.2 + 0.6 * people["Prediction"]).to_csv("scores.csv", index=False, header=False)
    for data in ("labels", "scores"):
        bdt(config(label_values_or_threshold=[0], probability_threshold=0.5), "--data", f"{data}.csv", "--out", data)
    assert values(Path("scores")) == values(Path("labels"))
    assert values(Path("scores"))["DI"] > 1


def test_every_key_that_is_not_used_is_named(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    odd = {
        "lable": "Target",
        "predictor": {"model_name": "m"},
        "predicted_label_dataset_uri": "s3://bucket/predictions.csv",
        "dataset_uri": "s3://bucket/data.csv",
        "methods": {**CONFIG["methods"], "shap": {"num_samples": 5}, "report": {"name": "report"}},
    }
    result = bdt(config(**odd), "--data", "data.csv", "--out", "out")
    assert result.exit_code == 0
    for name in ("lable", "predictor", "predicted_label_dataset_uri", "methods.shap", "dataset_uri"):
        assert f"Note: {name}: " in result.stderr
    assert 'Did you mean "label"?' in result.stderr
    report = Path("out/report.html").read_text()
    assert all(one in report for one in ("lable: unknown", "predictor: not supported", "methods.shap"))
    assert "Note: report" not in result.stderr


def test_notes_are_said_before_an_error(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.drop(columns="Prediction").to_csv("data.csv", index=False)
    odd = {"headers": None, "predicted_label_dataset_uri": "s3://bucket/predictions.csv"}
    result = bdt(config(**odd), "--data", "data.csv", "--out", "out")
    assert result.exit_code == 2
    assert result.stderr.index("name the file with --predictions") < result.stderr.index(
        'predicted_label: there is no column "Pred'
    )
    assert not Path("out").exists()


def test_dataset_uri_names_a_file_beside_the_configuration(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "jobs").mkdir()
    people.to_csv(tmp_path / "jobs" / "my data.csv", index=False, header=False)
    for place, uri in enumerate(("my data.csv", (tmp_path / "jobs" / "my data.csv").as_uri())):
        path = config(dataset_uri=uri).replace(tmp_path / "jobs" / "config.json")
        assert bdt(path, "--out", f"out-{place}").exit_code == 0
    assert bdt(path).exit_code == 0
    assert {one.name for one in Path("bdt-reports/clarify-my data-1").iterdir()} == FILES


def test_signs_of_the_flip_test(bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame) -> None:
    people.assign(Age=range(len(people))).to_csv("data.csv", index=False)
    for signs in ("paper", "smclarify"):
        assert bdt(config(headers=None), "--data", "data.csv", "--signs", signs, "--out", signs).exit_code == 0
    one, two = values(Path("paper")), values(Path("smclarify"))
    assert one.pop("FT") == -two.pop("FT") != 0
    assert one == two
    assert "opposite of its guide" in Path("smclarify/report.md").read_text()


def test_a_threshold_on_whole_numbers_is_declared(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.assign(Age=20 + people.index % 50)
    table.to_csv("data.csv", index=False)
    given = config(headers=None, facet=[{"name_or_index": "Age", "value_or_threshold": [40]}])
    result = bdt(given, "--data", "data.csv", "--out", "value")
    assert "--continuous Age" in result.stderr
    assert "--continuous Age" not in bdt(given, "--data", "data.csv", "--out", "cut", "--continuous", "Age").stderr
    older = (table["Age"] > 40).mean()
    assert values(Path("cut"), "Age")["CI"] == pytest.approx(1 - 2 * older)
    assert values(Path("value"), "Age")["CI"] == pytest.approx(1 - 2 * (table["Age"] == 40).mean())


def test_one_facet_twice_and_every_value_against_the_rest(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    twice = [{"name_or_index": "Sex", "value_or_threshold": ["Male"]}, {"name_or_index": 1}]
    assert bdt(config(facet=twice), "--data", "data.csv", "--out", "out").exit_code == 0
    entries = json.loads(Path("out/analysis.json").read_text())["pre_training_bias_metrics"]["facets"]["Sex"]
    assert [one["value_or_threshold"] for one in entries] == ["Male", "Female", "Male"]
    assert entries[0]["metrics"] == entries[2]["metrics"]
    assert entries[1]["metrics"][1]["value"] == -entries[2]["metrics"][1]["value"]


def test_infinite_values_and_identifiers(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.assign(Name=[f"person {i}" for i in people.index], Key=range(len(people)))
    table.loc[(table["Sex"] == "Female") & (table["Target"] == 1), "Target"] = 0
    table.to_csv("data.csv", index=False)
    changes = {"headers": None, "joinsource_name_or_index": "Key", "excluded_columns": "Dept", "group_variable": None}
    result = bdt(config(**changes), "--data", "data.csv", "--out", "out")
    found = metrics(Path("out"))
    assert found["KL"]["value"] == "Infinity"
    assert found["RD"]["value"] is None
    assert "positive label in d" in found["RD"]["error"]
    assert found["FT"]["value"] is None  # all other columns have another role
    assert "different texts and is left out of the flip test" in result.stderr
    assert "infinite" in Path("out/report.md").read_text()


class Page(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") or "http" in (value or "") for name, value in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_names_from_the_data_are_shown_as_they_are(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    odd = "<script>alert(1)</script>[x](y)|\u202e"
    people.assign(Sex=people["Sex"].replace("Female", odd)).to_csv("data.csv", index=False, header=False)
    result = bdt(config(facet=[{"name_or_index": "Sex"}]), "--data", "data.csv", "--out", "out")
    assert result.exit_code == 0
    page = Page()
    page.feed(Path("out/report.html").read_text())
    assert {"table", "section"} <= page.tags
    assert "script" not in page.tags
    shown = odd.replace("\u202e", "\ufffd")
    assert any(shown in one for one in page.texts)
    report = Path("out/report.md").read_text()
    assert not re.search(r"(?<!\\)<script>", report)
    assert "\u202e" not in report + result.stdout


def test_many_groups_fit_on_the_page(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.assign(Sex=[f"g{i % 60}" for i in people.index])
    table.loc[:3, "Sex"] = "tiny"
    table.to_csv("data.csv", index=False, header=False)
    result = bdt(config(facet=[{"name_or_index": "Sex"}]), "--data", "data.csv", "--out", "out")
    assert "57 more groups" in result.stdout
    report = Path("out/report.html").read_text()
    assert "41 smaller groups stand in metrics.csv" in report
    assert len(json.loads(Path("out/analysis.json").read_text())["pre_training_bias_metrics"]["facets"]["Sex"]) == 61
    assert "tiny" in Path("out/metrics.csv").read_text()


def test_rates_of_few_rows_are_not_printed(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    table = people.copy()
    table.loc[:3, "Sex"] = "other"
    table.to_csv("data.csv", index=False, header=False)
    bdt(config(), "--data", "data.csv", "--out", "out")
    lines = [one for one in Path("out/report.md").read_text().splitlines() if one.startswith("| other")]
    assert len(lines) == 2  # of rates, and of right and wrong predictions
    for line in lines:
        assert line.startswith("| other (fewer than 30 rows: not printed) | 4 | –")
        assert "%" not in line


def test_metrics_are_drawn_and_predictions_counted_by_group(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    assert bdt(config(), "--data", "data.csv", "--out", "out").exit_code == 0
    page = Path("out/report.html").read_text()
    found = values(Path("out"))
    metric_map = page[page.index('<svg viewBox="') : page.index("</svg>")]
    for name in set(found) - {"GE"}:
        assert f">{name}</text>" in metric_map
        assert found[name] is None or f">{found[name]:+.4f}".replace("-", "−").lstrip(">+") in metric_map.replace(
            "+", ""
        )
    counted = re.compile(r"^\| (Female|Male) \| [\d,]+((?: \| [\d,]+ \(\d+\.\d %\)){4}) \|$", re.MULTILINE)
    rows = {one[1]: one[2] for one in counted.finditer(Path("out/report.md").read_text())}
    for sex, group in people.groupby("Sex"):
        counts = [
            ((group["Prediction"] == prediction) & (group["Target"] == label)).sum()
            for prediction, label in ((1, 1), (1, 0), (0, 0), (0, 1))
        ]
        assert [int(one.replace(",", "")) for one in re.findall(r"\| ([\d,]+)", rows[str(sex)])] == counts
    assert Path("out/report.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_input_gives_the_same_bytes(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    bdt(config(), "--data", "data.csv", "--out", "one")
    people.sample(frac=1.0, random_state=1).to_csv("data.csv", index=False, header=False)
    bdt(config(), "--data", "data.csv", "--out", "two")
    for name in FILES:
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()


def test_the_demonstration_data_and_an_empty_folder(bdt: Callable[..., Result], config: Callable[..., Path]) -> None:
    given = config(
        headers=None, label="over_50k", predicted_label="probability", group_variable="education_num",
        facet=[{"name_or_index": "sex"}, {"name_or_index": "race", "value_or_threshold": ["Black"]}],
        excluded_columns=["predicted_over_50k"],
        methods={"pre_training_bias": {"methods": "all"}, "post_training_bias": {"methods": ["DI", "RD"]}},
    )  # fmt: skip
    Path("out").mkdir()
    result = bdt(given, "--data", "demo:adult", "--out", "out")
    assert result.exit_code == 0, result.stderr
    assert {one.name for one in Path("out").iterdir()} == FILES
    assert list(metrics(Path("out"), "race")) == ["CDDL", "CI", "DPL", "JS", "KL", "KS", "LP", "TVD", "DI", "RD"]
    assert 0 < values(Path("out"), "sex")["DI"] < 1  # women come first
    assert "no probability_threshold is given: .5 is taken" in result.stderr


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no label": ({"label": None}, "lacks label"),
    "label of another kind": ({"label": [1]}, "label must be the name of a column"),
    "label is true": ({"label": True}, "label must be the name of a column"),
    "unknown label": ({"label": "Targte"}, 'label: there is no column "Targte". Did you mean "Target"?'),
    "no favourable values": ({"label_values_or_threshold": []}, "label_values_or_threshold is empty"),
    "nested values": ({"label_values_or_threshold": [[1]]}, "label_values_or_threshold must list values"),
    "text for a number": ({"label_values_or_threshold": ["yes"]}, '"Target" is numeric; expected a number'),
    "infinity for a number": ({"label_values_or_threshold": [float("inf")]}, 'Target" is numeric; expected a finite'),
    "no facet": ({"facet": []}, "facet is empty"),
    "facet without a name": ({"facet": [{"name": "Sex"}]}, "name_or_index"),
    "unknown facet": ({"facet": [{"name_or_index": "Sexx"}]}, 'facet.name_or_index: there is no column "Sexx"'),
    "threshold wanted": ({"facet": [{"name_or_index": "Share"}]}, '"Share" is continuous and needs a threshold'),
    "two thresholds": (
        {"facet": [{"name_or_index": "Share", "value_or_threshold": [0.1, 0.2]}]},
        '"Share" is continuous and needs one threshold; found 2 values',
    ),
    "facet beyond the columns": ({"facet": [{"name_or_index": 5}]}, "there is no column 5: the data has 5"),
    "unknown group": ({"group_variable": "Depp"}, 'group_variable: there is no column "Depp". Did you mean "Dept"?'),
    "unknown prediction": ({"predicted_label": "p"}, 'predicted_label: there is no column "p"'),
    "unknown exclusion": ({"excluded_columns": ["Age"]}, 'excluded_columns: there is no column "Age"'),
    "unknown identifier": ({"joinsource_name_or_index": 9}, "joinsource_name_or_index: there is no column 9"),
    "threshold as text": ({"probability_threshold": "0.5"}, "probability_threshold must be a number"),
    "too few headers": ({"headers": ["Target", "Sex"]}, "headers names 2 columns; data.csv has 5"),
    "headers twice": ({"headers": ["Target", "Sex", "Sex", "Prediction"]}, 'headers names "Sex" more than once'),
    "headers as text": ({"headers": "Target"}, "headers must list"),
    "empty methods": ({"methods": {}}, "neither pre_training_bias nor post_training_bias"),
    "segments without values": ({"segment_config": [{"name_or_index": "Dept"}]}, "needs name_or_index and segments"),
    "segments that overlap": (
        {"segment_config": [{"name_or_index": "Share", "segments": [["[0.5, 0.6]"], ["[0.55, 0.7]"]]}]},
        'in more than one segment of "Share"',
    ),
    "segments of text": (
        {"segment_config": [{"name_or_index": "Share", "segments": [["low"]]}]},
        'such as "(2, 5]", found "low"',
    ),
    "too many aliases": (
        {"segment_config": [{"name_or_index": "Dept", "segments": [["x"]], "display_aliases": ["a", "b", "c"]}]},
        "display_aliases has 3 entries for 1 segments",
    ),
    "methods as a list": ({"methods": ["pre_training_bias"]}, '"methods" must be a mapping'),
    "method of another kind": ({"methods": {"pre_training_bias": "all"}}, "methods.pre_training_bias must be a"),
    "only other methods": ({"methods": {"shap": {}}}, "neither pre_training_bias nor post_training_bias"),
    "unknown metric": ({"methods": {"pre_training_bias": {"methods": ["DPX"]}}}, 'no metric "DPX"'),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_configuration_is_refused_by_name(
    case: str, bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame
) -> None:
    people.assign(Share=0.5 + people.index / 1e4).to_csv("data.csv", index=False, header=False)
    changes, told = BAD[case]
    headers = [*CONFIG["headers"], "Share"]
    result = bdt(config(**{"headers": headers, **changes}), "--data", "data.csv", "--out", "out")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert told in result.stderr
    assert "Traceback" not in result.output + result.stderr
    assert not Path("out").exists()


LINES: dict[str, tuple[str, dict[str, Any], str]] = {
    "empty": ("", {}, "is empty"),
    "header only": ("Target,Sex,Dept,Prediction\n", {}, "has a header but no rows"),
    "ragged": ("1,Female,x,1\n0,Male,y,0,7\n", {}, "data.txt, line 2: 5 columns where 4 are expected"),
    "not UTF-8": ("1,Fémale,x,1\n", {}, "data.txt, line 1: not valid UTF-8"),
    "no JSON": ('{"a": 1}\n{"a"\n', {"dataset_type": "application/jsonlines"}, "line 2: no valid JSON"),
    "no object": ("[1, 2]\n", {"dataset_type": "application/jsonlines"}, "line 1: expected a JSON object"),
    "nested": ('{"f": [1], "Target": 1}\n', {"dataset_type": "application/jsonlines"}, 'such as "features": "f"'),
    "no features": (
        '{"f": [1], "Target": 1, "Prediction": 1}\n',
        {"dataset_type": "application/jsonlines", "features": "g"},
        'line 1: "g" of the key "features" is not there',
    ),
    "no label": (
        '{"f": [1], "Prediction": 1}\n',
        {"dataset_type": "application/jsonlines", "features": "f"},
        'line 1: there is no "Target"',
    ),
    "features of different length": (
        '{"f": [1], "Target": 1, "Prediction": 1}\n{"f": [1, 2], "Target": 1, "Prediction": 1}\n',
        {"dataset_type": "application/jsonlines", "features": "f"},
        "line 2: 2 features; the first line has 1",
    ),
    "path that is not understood": (
        '{"f": [1]}\n',
        {"dataset_type": "application/jsonlines", "features": "f[*]"},
        'features: "f[*]" is not understood',
    ),
    "headers that do not fit": (
        '{"f": [1], "Target": 1, "Prediction": 1}\n',
        {"dataset_type": "application/jsonlines", "features": "f"},
        "headers names 4 columns; data.txt has 1 features and 2 labels",
    ),
    "no JSON document": ('{"a": ', {"dataset_type": "application/json"}, "no valid JSON"),
    "no records": ('{"a": 1}', {"dataset_type": "application/json"}, 'such as "features": "records[*].features"'),
    "records that are not there": (
        '[{"f": [1], "Target": 1}]',
        {"dataset_type": "application/json", "features": "[*].f", "label": "[*].Target", "predicted_label": "x[*].p"},
        '"x[*].p" of the key "predicted_label" is not there',
    ),
    "a record that lacks its label": (
        '[{"f": [1], "Target": 1, "Prediction": 1}, {"f": [1], "Prediction": 1}]',
        {
            "dataset_type": "application/json",
            "features": "[*].f",
            "label": "[*].Target",
            "predicted_label": "[*].Prediction",
        },
        "record 2: not everything is there",
    ),
    "an expression that is not understood": (
        '[{"f": [1], "Target": 1}]',
        {"dataset_type": "application/json", "features": "sort(f)", "label": "[*].Target"},
        'features: "sort(f)" is not understood',
    ),
    "another type": ("1,2\n", {"dataset_type": "application/x-image"}, "is not supported. Expected one of text/csv"),
}


@pytest.mark.parametrize("case", LINES)
def test_data_that_cannot_be_read(case: str, bdt: Callable[..., Result], config: Callable[..., Path]) -> None:
    text, changes, told = LINES[case]
    name = "data.txt" if "dataset_type" not in changes else "data"
    Path(name).write_bytes(text.encode("latin-1"))
    result = bdt(config(**changes), "--data", name, "--out", "out")
    assert result.exit_code == 2
    assert told.replace("data.txt", name) in result.stderr
    assert "Unexpected" not in result.stderr
    assert not Path("out").exists()


def test_files_and_folders_that_cannot_be_used(
    bdt: Callable[..., Result], config: Callable[..., Path], people: pd.DataFrame, tmp_path: Path
) -> None:
    people.to_csv("data.csv", index=False, header=False)
    given = config()
    assert "names no data (dataset_uri)" in bdt(given).stderr
    assert "Fetch it and name the file with --data" in bdt(config(dataset_uri="s3://bucket/data.csv")).stderr
    assert 'Did you mean "data.csv"?' in bdt(config(), "--data", "dat.csv", "--out", "out").stderr
    assert "cannot be read" in bdt("none.json", "--data", "data.csv").stderr
    Path("broken.json").write_text("{")
    assert "no valid JSON" in bdt("broken.json", "--data", "data.csv").stderr
    Path("twice.json").write_text(given.read_text().replace("{", '{"label": "Other", ', 1))
    assert 'twice.json: the key "label" stands twice in one object' in bdt("twice.json", "--data", "data.csv").stderr
    Path("filled").mkdir()
    Path("filled/mine.txt").write_text("mine")
    refused = bdt(given, "--data", "data.csv", "--out", "filled")
    assert refused.exit_code == 2
    assert "filled is not empty, and nothing is overwritten" in refused.stderr
    assert [one.name for one in Path("filled").iterdir()] == ["mine.txt"]
    assert "is a file" in bdt(given, "--data", "data.csv", "--out", "data.csv").stderr
    assert bdt(given, "--data", "data.csv", "--signs", "other").exit_code == 2
    assert not (tmp_path / "bdt-reports").exists()


def test_help_has_an_example(bdt: Callable[..., Result]) -> None:
    assert "bdt clarify analysis_config.json --data" in bdt("--help").stdout
