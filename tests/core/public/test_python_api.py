"""What a data scientist holds in a notebook: keywords, tables, pictures, members, a few lines of each."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bdt_core import audit, bias_metrics, find_slices, find_worst_groups
from bdt_core.audit import AuditResult
from bdt_core.errors import DataError, SpecError
from bdt_core.report.figure_words import figure_words
from bdt_core.report.printed import printed
from bdt_core.spec import AuditSpec
from bdt_core.verdict import judge_gate

KEYS: dict[str, Any] = {"clustering": {"stability": 0}, "worst_groups": {"permutations": 39}}
PARTS = ("findings", "clusters", "groups", "slices", "worst_groups")


def people(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    """People with a number that is a code, a truth value and a date; the rows have an index of their own."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "zone": rng.integers(1, 5, rows),
            "flag": rng.random(rows) < 0.4,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, rows), unit="D"),
            "sex": rng.choice(["f", "m"], rows),
        }
    )
    harmed = (frame.zone == 2) & frame.flag
    frame["label"] = rng.integers(0, 2, rows)
    frame["prediction"] = np.where(rng.random(rows) < np.where(harmed, 0.5, 0.1), 1 - frame.label, frame.label)
    return frame.set_index(np.arange(rows)[::-1] * 7)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return audit(
        people(),
        label="label",
        prediction="prediction",
        protected=["sex"],
        features={"kinds": {"zone": "categorical"}},
        gate=[{"check": "worst_cluster"}, {"metric": "equalized_odds_difference", "facet": "sex", "max": 0.2}],
        **KEYS,
    )


def test_keywords_make_the_specification_that_a_file_would() -> None:
    frame = people().assign(error=lambda one: (one.label != one.prediction).astype(int))
    short = audit(
        frame, outcome="error", better="lower", columns=["zone", "flag"], protected=["sex"], alpha=0.1, **KEYS
    )
    whole = audit(
        frame,
        {
            "name": "audit",
            "bias_variable": {"column": "error", "better": "lower"},
            "features": {"include": ["zone", "flag"]},
            "protected": ["sex"],
            "significance": {"alpha": 0.1},
            **KEYS,
        },
    )
    assert short.document == whole.document
    assert short.findings == whole.findings


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"outcome": "label", "protcted": ["sex"]}, 'no keyword protcted; did you mean "protected"?'),
        ({"outcom": "label"}, 'no keyword outcom; did you mean "outcome"?'),
        ({"outcome": "label", "better": "less"}, "bias_variable.better: input should be 'lower' or 'higher'"),
        ({"outcome": "label", "split": {"test_sze": 0.5}}, 'split.test_sze: unknown key; did you mean "test_size"?'),
        ({"outcome": "label", "key": "id", "split": {"key": "id"}}, '"key" is short for split: {key: ...}'),
        ({"protected": ["sex"]}, "What shall be measured?"),
        ({"outcome": "labl"}, 'names the column "labl", which the table does not have. Did you mean "label"'),
    ],
)
def test_mistakes_are_named_with_a_suggestion(keys, message) -> None:
    with pytest.raises((SpecError, DataError)) as error:
        audit(people(100), **keys)
    assert message in str(error.value)


def test_every_short_word_reaches_its_key() -> None:
    from bdt_core.spec import SHORT, spec_of_keywords

    other = {
        "outcome": "x", "derive": "false_positive", "label": "x", "prediction": "x", "quantile": 0.9, "k": 5,
        "query": "q", "ranked": "lowest_first", "positive": "yes", "better": "higher", "columns": ["a"], "key": "id",
        "test_size": 0.4, "random_state": 7, "alpha": 0.01, "min_rows": 50,
    }  # fmt: skip
    assert other.keys() == SHORT.keys()
    for name, (section, key) in SHORT.items():
        beside = {} if section == "bias_variable" and name in ("outcome",) else {"label": "l", "prediction": "p"}
        loss = {"derive": "pinball_loss"} if name == "quantile" else {}
        if name in ("k", "query", "ranked"):
            beside, loss = {"prediction": "p"}, {"derive": "top_k"}
        spec = spec_of_keywords({**beside, **loss, name: other[name]})
        assert getattr(getattr(spec, section), key) == other[name]
    assert set(AuditSpec.model_fields).isdisjoint(SHORT)


def test_a_specification_and_keywords_do_not_go_together() -> None:
    with pytest.raises(SpecError, match="has a specification and the keywords protected"):
        audit(people(100), {"name": "a", "bias_variable": {"column": "label"}}, protected=["sex"])


@pytest.mark.parametrize("part", [*PARTS, "gate", "warnings"])
def test_every_part_is_a_table_and_at_most_ten_lines(result: AuditResult, part: str) -> None:
    held = getattr(result, part)
    frame = held.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(repr(held).splitlines()) <= 10
    page = held._repr_html_()
    assert page.startswith("<p>")
    if len(frame):
        assert page.count("<tr") == min(len(frame), 20) + 1
    assert len(repr(result).splitlines()) <= 10
    assert f".{part} (" in repr(result) or part == "worst_groups"


def test_tables_hold_what_the_report_says(result: AuditResult) -> None:
    document = result.document
    findings = result.findings.to_frame()
    assert findings["who"].tolist() == [one["who"] for one in document["findings"]["findings"]]
    assert findings["low"].tolist() == [one["low"] for one in document["findings"]["findings"]]
    clusters = result.clusters.to_frame()
    assert clusters["difference"].tolist() == [one["comparison"]["difference"] for one in document["clusters"]]
    assert clusters["train_gap"].tolist() == [one["train_gap"] for one in document["clusters"]]
    rates = {one["group"]: one["rates"] for one in document["groups"]["facets"][0]["groups"]}
    groups = result.groups.to_frame().set_index("group")
    assert {name: groups.loc[name, "accuracy"] for name in rates} == {
        name: one["accuracy"]["estimate"] for name, one in rates.items()
    }
    judged = judge_gate(result.significance.spec.limits, "all", result)
    assert result.gate == judged
    assert result.gate.to_frame()["value"].tolist() == [judged.limits[0].difference, judged.limits[1].value]
    assert list(result.warnings) == document["warnings"]


def test_members_are_the_people_that_the_report_counts(result: AuditResult) -> None:
    frame = people()
    told = result.members(frame)
    assert told.index.equals(frame.index)
    assert told["audited"].all()
    assert told["cluster"].value_counts().to_dict() == result.clusters.members(frame).sum().to_dict()
    inside = result.findings.members(frame)
    assert inside.sum().tolist() == [one.rows for one in result.findings]
    assert told.filter(like="finding ").equals(inside)
    harmed = (frame.zone == 2) & frame.flag
    assert result.findings[0].who == "zone is 2 and flag is True"
    assert (inside.iloc[:, 0] == harmed).all()
    assert (result.findings[0].members(frame) == harmed).all()  # of the table as it is, where zones are numbers
    assert result.worst_groups is not None
    assert result.worst_groups.members(frame).sum().tolist() == [one.rows for one in result.worst_groups.groups]
    slices = result.slices.members(frame)
    assert list(slices) == [one.name for one in result.slices.reported]
    assert (slices["zone is 2 and flag is True"] == harmed).all()
    assert result.groups.members(frame).sum().tolist() == result.groups.to_frame()["rows"].tolist()


def test_conditions_on_dates_hold_for_other_people_too(result: AuditResult) -> None:
    other = people(500, seed=9)
    assert result.members(other)["cluster"].tolist() == result.members(other.iloc[::-1])["cluster"].tolist()[::-1]
    one = other.iloc[[3]]  # types that come from one row are those of the audit
    assert result.members(one)["cluster"].tolist() == result.members(other)["cluster"].iloc[[3]].tolist()
    with pytest.raises(DataError, match="zone"):
        result.members(other.drop(columns="zone"))


def test_rows_that_were_not_audited_are_marked() -> None:
    frame = people()
    found = audit(frame, label="label", prediction="prediction", derive="false_positive_rate", slices=None, **KEYS)
    told = found.members(frame)
    assert (told["audited"] == (frame.label == 0)).all()
    assert told.loc[told.audited].filter(like="finding ").sum().tolist() == [one.rows for one in found.findings]


@pytest.mark.parametrize("part", PARTS)
def test_pictures_are_the_reports_own(result: AuditResult, part: str) -> None:
    name = {"findings": "first_page", "groups": "groups_1"}.get(part, part)
    said = figure_words(printed(result.document), name)
    figure, (one, other) = plt.subplots(1, 2, figsize=(12, 5))
    assert getattr(result, part).plot(ax=one) is one
    texts = " ".join(text.get_text() for text in one.texts)
    assert said.title in texts
    assert not other.texts
    alone = getattr(result, part).plot()
    width, _ = alone.figure.get_size_inches() * 72
    assert width == pytest.approx(480)
    assert [text.get_text() for text in alone.texts] == [text.get_text() for text in one.texts]
    alone.figure.canvas.draw()
    figure.canvas.draw()
    sizes = {text.get_fontsize() for text in alone.texts}
    assert max(sizes) == pytest.approx(11.0)  # titles, as in the report
    assert max(text.get_fontsize() for text in one.texts) < max(sizes)  # as large as its place
    plt.close("all")


@pytest.mark.parametrize("dpi", [100, 144, 200])
def test_long_conditions_stay_within_the_picture_and_are_whole(dpi: int) -> None:
    frame = people().rename(
        columns={"zone": "zone of the address at the time of the decision about the benefit or its refusal"}
    )
    frame = frame.assign(error=lambda one: (one.label != one.prediction).astype(int))
    columns = [next(one for one in frame if one.startswith("zone")), "flag"]
    groups = find_worst_groups(frame, outcome="error", better="lower", columns=columns, permutations=39)
    with plt.rc_context({"figure.dpi": dpi}):
        axes = groups.plot()
        axes.figure.canvas.draw()
        edge = axes.figure.bbox
        assert all(one.get_window_extent().x1 <= edge.x1 for one in axes.texts if one.get_text())
    said = " ".join(one.get_text() for one in axes.texts)
    assert said.count("or its refusal is 2 and flag is True") == 2  # the title, and the bars' name
    plt.close("all")


def test_results_of_one_search_are_drawn_alike() -> None:
    frame = people().assign(error=lambda one: (one.label != one.prediction).astype(int))
    columns = ["zone", "flag"]
    groups = find_worst_groups(frame, outcome="error", better="lower", columns=columns, permutations=39)
    slices = find_slices(frame, outcome="error", better="lower", columns=columns)
    metrics = bias_metrics(frame, facet="sex", label="label", prediction="prediction")
    told = ["Zone is 2 and flag is True", "zone is 2 and flag is True", "Selection rate, %"]
    for found, text in zip((groups, slices, metrics), told, strict=True):
        axes = found.plot()
        assert text in [one.get_text() for one in axes.texts]
        assert len(repr(found).splitlines()) <= 10
    plt.close("all")
    nobody = replace(groups, groups=())
    with pytest.raises(DataError, match="nothing to draw: no group is confirmed"):
        nobody.plot()
    assert "0 confirmed" in repr(nobody)


def test_names_from_data_do_nothing_in_a_notebook() -> None:
    frame = people().rename(columns={"zone": "<b>zone</b>\x1b[31m"})
    frame["error"] = (frame.label != frame.prediction).astype(int)
    found = find_worst_groups(
        frame, outcome="error", better="lower", columns=[frame.columns[0], "flag"], permutations=39
    )
    assert "\x1b" not in repr(found)
    assert "\x1b" not in found._repr_html_()
    assert "<b>" not in found._repr_html_()


def test_a_result_can_be_kept(result: AuditResult) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert again.findings == result.findings
    assert again.members(people()).equals(result.members(people()))
    assert "audit" not in result.clusters.to_dict()
    assert type(result.slices).from_dict(result.slices.to_dict()) == result.slices


def test_a_history_and_a_comparison_are_tables_too() -> None:
    from bdt_core import compare
    from bdt_core.history import follow
    from tests.core.history.made_batches import days, history_spec

    spec = history_spec()
    apart = {"f": (60, 30, 5, 105), "m": (60, 10, 5, 125)}
    history = follow(days(spec, [apart] * 12), spec)
    frame = history.to_frame()
    assert frame["difference"].tolist() == [one.difference for one in history.streams]
    first = next(one for one in history.streams if one.discovered)
    row = frame[(frame.metric == first.metric) & frame.discovered].iloc[0]
    assert row["since"] == history.batches[first.alarm].id
    assert len(repr(history).splitlines()) <= 10
    axes = history.plot()
    assert any("less" in one.get_text() for one in axes.texts)
    axes.figure.canvas.draw()
    plt.close("all")

    people_now = people(1500)
    old = {
        "name": "old", "source": {"path": "people.csv"}, "protected": ["sex"], "slices": None, **KEYS,
        "bias_variable": {"derive": "positive_prediction", "prediction": "prediction", "better": "lower"},
        "features": {"include": ["zone"]},
    }  # fmt: skip
    new = {**old, "name": "new", "bias_variable": {**old["bias_variable"], "prediction": "mended"}}
    both = people_now.assign(mended=np.where(people_now.sex == "f", 0, people_now.prediction))
    changes = compare(old, new, data_a=both)
    told = changes.to_frame().set_index("who")
    assert told.loc["everybody", "difference"] == pytest.approx(both.mended.mean() - both.prediction.mean(), abs=1e-12)
    assert told.loc["sex is f", "says"] == "better"
    assert repr(changes).startswith("From old to new")
    assert len(repr(changes).splitlines()) <= 10


def test_small_declared_groups_have_no_rates_in_the_table() -> None:
    frame = people()
    frame.loc[frame.index[:12], "sex"] = "x"
    found = audit(frame, label="label", prediction="prediction", protected=["sex"], slices=None, **KEYS)
    table = found.groups.to_frame().set_index("group")
    assert table.loc["x", "rows"] == 12
    assert table.loc["x"].drop(["facet", "rows"]).isna().all()
    assert table.loc["f"].drop(["facet", "rows"]).notna().any()


def test_local_bias_is_a_table_and_a_picture_in_an_audit_and_alone() -> None:
    from bdt_core.local_bias import LocalBias

    keys = {"label": "label", "prediction": "prediction", "columns": ["zone", "since"], "slices": None, **KEYS}
    found = audit(people(), **keys, local_bias={"group": "sex", "n_clusters": 3}).local_bias
    assert found is not None
    table = found.to_frame()
    assert table["gap"].tolist() == [one.held_out.gap for one in found.logan.clusters]
    assert len(repr(found).splitlines()) <= 10
    for one in (found, LocalBias.from_dict(found.to_dict())):
        axes = one.plot()
        assert "All rows" in [text.get_text() for text in axes.texts]
    plt.close("all")
