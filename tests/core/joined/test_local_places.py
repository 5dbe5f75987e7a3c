"""What is asked of local bias in the specification is in the result, the report and the verdict."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader
from sklearn.metrics import roc_auc_score

from bdt_core import words
from bdt_core.audit import AuditResult
from bdt_core.errors import DataError, SpecError
from bdt_core.report.blocks import Facts
from bdt_core.report.first_page import first_page, short_parts
from bdt_core.report.html import render_html
from bdt_core.report.markdown import render_markdown
from bdt_core.report.pdf import render_pdf
from bdt_core.report.printed import printed
from tests.core.joined.made_tables import OUT_OF_CORE, quick_audit
from tests.core.verdict.against import against

ROWS = 3000
DERIVED = {"derive": "error", "label": "label", "prediction": "prediction"}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Far out in e0 people write of parcels, have other jobs, and the score tells less of women."""
    rng = np.random.default_rng(4)
    far, sex = rng.random(ROWS) < 0.5, rng.choice(["f", "m"], ROWS)
    label = rng.integers(0, 2, ROWS)
    score = rng.normal(size=ROWS) + label * np.where(far & (sex == "f"), 0.3, 2.0)
    said = np.where(far, "my parcel came late", "a loan for the house")
    return pd.DataFrame(
        {
            "e0": rng.normal(size=ROWS) + 8.0 * far,
            "e1": rng.normal(size=ROWS),
            "job": np.where(rng.random(ROWS) < 0.8, np.where(far, "driver", "clerk"), "other"),
            "age": rng.normal(40, 9, ROWS).round() + 6 * far,
            "comment": [f"{one} {number}" for number, one in enumerate(said)],
            "sex": sex,
            "score": score,
            "label": label,
            "prediction": (score > 1).astype(int),
        }
    )


def audited(frame: pd.DataFrame, local_bias: dict[str, Any], **changes: Any) -> AuditResult:
    settings = {
        "bias_variable": DERIVED,
        "protected": ["sex"],
        "features": {"exclude": ["comment", "job", "age", "score"]},
        "groups": {"facets": [], "score": "score"},
        "local_bias": {"group": "sex", "n_clusters": 2, **local_bias},
        "split": {"test_size": 0.4},
        "worst_groups": None,
    }
    return quick_audit(frame, **{**settings, **changes})


def forms(result: AuditResult) -> dict[str, str]:
    document = result.document
    pages = PdfReader(io.BytesIO(render_pdf(document))).pages
    return {
        "html": render_html(document),
        "markdown": render_markdown(document),
        "pdf": " ".join(page.extract_text() for page in pages),
    }


@pytest.mark.parametrize("large", [{}, OUT_OF_CORE], ids=["small", "large"])
def test_clusters_are_told_by_the_words_of_their_rows(frame: pd.DataFrame, large: dict[str, Any]) -> None:
    """The column is no feature, though nothing excludes it: as one it would be refused as an identifier."""
    features = {"exclude": ["job", "age", "score"]}
    result = audited(frame, {"texts": "comment"}, features=features, **large)
    found = result.local_bias
    assert found is not None
    assert {one.name: one.role for one in result.test.columns}["comment"] == "unused"
    told = {frozenset(word.word for word in one.about.words) for one in found.logan.clusters}
    assert told == {frozenset({"parcel", "came", "late"}), frozenset({"loan", "house"})}
    assert result.document["local_bias"]["settings"]["texts"] == "comment"
    if not large:
        for name, form in forms(result).items():
            assert "parcel" in form, name
            assert "my parcel came late" not in form, name
        assert "parcel" not in render_markdown(audited(frame, {}).document)


def test_rows_without_a_text_say_nothing(frame: pd.DataFrame) -> None:
    silent = frame.assign(comment=frame["comment"].where(frame["e0"] > 4))
    found = audited(silent, {"texts": "comment"}).local_bias
    assert found is not None
    assert sorted(len(one.about.words) for one in found.logan.clusters) == [0, 3]


def test_clusters_of_embeddings_are_described_by_columns_of_the_table(frame: pd.DataFrame, tmp_path: Path) -> None:
    columns = {"embeddings": ["e0", "e1"]}
    named = audited(frame, {**columns, "describe_by": ["job", "age"]})
    path = tmp_path / "places.npy"
    np.save(path, frame[["e0", "e1"]].to_numpy())
    in_file = {"embeddings": str(path)}
    by_feature = {"features": {"include": ["age"]}}
    for result, wanted in (
        (named, {"job", "age"}),
        (audited(frame, columns), {"e0", "e1"}),
        (audited(frame, {**in_file, "describe_by": ["job"]}, **by_feature), {"job"}),
        (audited(frame, in_file, **by_feature), {"age"}),
    ):
        found = result.local_bias
        assert found is not None
        for one in found.logan.clusters:
            assert {feature.column for feature in one.about.features} == wanted
            assert bool(one.about.nearest_rows) == (found.settings.embeddings == str(path))
    (job,) = (one for one in found_first(named).about.features if one.column == "job")
    test = named.test.audited  # type: ignore[attr-defined]
    far = (test["e0"] > 4).to_numpy()
    share = (test["job"][far] == job.level).mean()
    assert share in (pytest.approx(job.inside), pytest.approx(job.outside))
    for name, form in forms(named).items():
        assert f"job is {job.level}" in form, name
    with pytest.raises(DataError, match='no column "jobs".*Did you mean "job"'):
        audited(frame, {"describe_by": ["jobs"]})


def found_first(result: AuditResult) -> Any:
    assert result.local_bias is not None
    return result.local_bias.logan.clusters[0]


def test_areas_under_the_curve_are_compared_and_limited(frame: pd.DataFrame) -> None:
    result = audited(frame, {"metric": "auc", "max_gap": 0.06}, gate=[])
    found = result.local_bias
    assert found is not None
    test = result.test.audited  # type: ignore[attr-defined]
    for one in found.everywhere.test:
        mine = test[test["sex"] == one.group]
        assert one.value == pytest.approx(roc_auc_score(mine["label"], mine["score"]))
    first = found.logan.clusters[0]
    assert first.held_out.confirmed
    assert (first.held_out.higher, first.held_out.test) == ("m", "DeLong")
    (limit,) = result.document["gate"]
    assert (limit["verdict"], limit["metric"], limit["cluster"]) == ("fail", "auc", first.label)
    assert f"AUC of m is higher than that of f by {words.number(limit['difference'])} [" in limit["sentence"]
    assert "at most 0.06 is allowed" in limit["sentence"]
    assert "point" not in limit["sentence"]
    told = forms(result)
    for name, form in told.items():
        assert "area under the curve" in " ".join(form.split()), name
    assert f"| at most 0.06 | {words.signed(limit['difference'], 'value')} (" in told["markdown"]
    (since,) = against(result.document, result.document).limits
    assert f"{words.signed(limit['difference'], 'value')} now against" in since.sentence
    accuracy = audited(frame, {"max_gap": 0.06}, gate=[]).document["gate"][0]
    assert "points" in accuracy["sentence"]


def test_areas_need_a_score_and_no_prediction(frame: pd.DataFrame) -> None:
    wanted: dict[str, Any] = {"metric": "auc"}
    column = {"bias_variable": {"column": "prediction"}}
    groups = {"facets": [], "label": "label", "score": "score"}
    found = audited(frame, wanted, groups=groups, **column).local_bias
    assert found is not None
    assert found.settings.metric == "auc"
    with pytest.raises(SpecError, match='"local_bias.metric: auc" needs a label and a score'):
        audited(frame, wanted, groups={"facets": []})
    with pytest.raises(SpecError, match='"local_bias" needs a label and a prediction'):
        audited(frame, {}, groups=groups, **column)
    in_words = frame.assign(score=np.where(frame["score"] > 1, "high", "low"))
    with pytest.raises(DataError, match='Column "score".*does not hold numbers'):
        audited(in_words, wanted)
    lacking = frame.assign(score=frame["score"].where(frame.index >= 30))
    found = audited(lacking, wanted).local_bias
    assert found is not None
    assert found.left_out == {"without y_score": 30}


def test_places_are_told_apart_and_say_whom_is_compared() -> None:
    rng = np.random.default_rng(8)
    far, sex, label = rng.random(ROWS) < 0.5, rng.choice(["f", "m"], ROWS), rng.integers(0, 2, ROWS)
    wrong = rng.random(ROWS) < np.where((sex == "f") == far, 0.45, 0.05)  # of either, in another place
    tables = pd.DataFrame(
        {"e0": rng.normal(size=ROWS) + 8.0 * far, "e1": rng.normal(size=ROWS), "sex": sex, "label": label}
    ).assign(prediction=np.where(wrong, 1 - label, label))
    result = audited(tables, {}, features={}, groups={"facets": []}, slices=None, worst_groups=None)
    places = [one for one in result.findings if one.found_by == "local_bias"]
    assert len(places) == 2
    document = printed(result.document)
    page = first_page(document)
    told = dict(pair for block in short_parts(document)[1].blocks if isinstance(block, Facts) for pair in block.pairs)
    local = [one for one in page.groups if one.found_by == "local_bias"]
    assert {(one.column, one.more) for group in local for one in group.place} == {("e0", True), ("e0", False)}
    names = {name: words for name, words in told.items() if "a higher e0" in name or "a lower e0" in name}
    assert len(names) == len(local) == 2
    assert sorted("where sex is m," in words for words in names.values()) == [False, True]
    assert not any("everybody else" in words for words in names.values())
    assert "For groups that are compared with people like them no limit was agreed." in render_markdown(document)
    assert "also: who got a right result?" in render_markdown(document)
    assert "(accuracy) |" in render_markdown(document)
    assert "(sex is m there) |" in render_markdown(document)
    assert "sex is m there" in " ".join(result.document["summary"]["findings"])


def in_a_far_place(rows: int = ROWS) -> pd.DataFrame:
    """Far out women are judged wrongly more often."""
    rng = np.random.default_rng(12)
    far, sex, label = rng.random(rows) < 0.3, rng.choice(["f", "m"], rows), rng.integers(0, 2, rows)
    wrong = rng.random(rows) < 0.1 + 0.35 * (far & (sex == "f"))
    return pd.DataFrame(
        {
            "e0": rng.normal(size=rows) + 8.0 * far,
            "e1": rng.normal(size=rows),
            "job": np.where(rng.random(rows) < 0.8, np.where(far, "driver", "clerk"), "other"),
            "comment": np.where(far, "my parcel came late", "a loan for the house"),
            "sex": sex,
            "label": label,
            "prediction": np.where(wrong, 1 - label, label),
        }
    )


def test_a_place_among_embeddings_in_a_file_is_a_finding(tmp_path: Path) -> None:
    """How many people, what sets the place apart, and the gap; who they are only the embeddings tell."""
    table, path = in_a_far_place(), tmp_path / "places.npy"
    np.save(path, table[["e0", "e1"]].to_numpy())
    shown = {"describe_by": ["job"], "texts": "comment"}
    asked: dict[str, Any] = {"features": {"include": ["job"]}, "groups": {"facets": []}, "slices": None}
    in_file = audited(table, {"embeddings": str(path), **shown}, **asked)
    in_columns = audited(table, {"embeddings": ["e0", "e1"], **shown}, **asked)
    (place,) = (one for one in in_file.findings if one.found_by == "local_bias")
    (by_column,) = (one for one in in_columns.findings if one.found_by == "local_bias")
    far, women = (table["e0"] > 4).to_numpy(), (table["sex"] == "f").to_numpy()
    right = (table["label"] == table["prediction"]).to_numpy()
    assert place.rows == (far & women).sum()
    assert place.share == pytest.approx((far & women).mean())
    assert place.mean_inside == pytest.approx(right[far & women].mean())
    assert place.mean_outside == pytest.approx(right[far & ~women].mean())
    assert [one.column for one in place.place] == ["job"]
    assert set(place.place_words) == {"parcel", "came", "late"}
    assert place.people_harmed is None
    assert in_file.local_bias is not None
    gap = in_file.local_bias.logan.clusters[0].held_out
    assert (place.difference, place.low, place.p_value) == (
        gap.gap,
        gap.low,
        pytest.approx(gap.p_adjusted / in_file.ranked.searches["local_bias"]),  # type: ignore[operator,union-attr]
    )
    assert (by_column.rows, by_column.mean_inside) == (place.rows, place.mean_inside)
    assert (by_column.members(table) == (far & women)).all()
    with pytest.raises(DataError, match=r"among the embeddings in .*places\.npy, which no column tells"):
        place.members(table)
    named = in_file.members(table).columns.tolist()
    assert not any("local bias" in one for one in named)
    assert len(named) == 2 + len(in_file.findings) - 1


def test_a_place_is_not_folded_into_a_group_that_says_nothing_of_it() -> None:
    found = audited(in_a_far_place(), {"embeddings": ["e0", "e1"]}, features={"exclude": ["comment"]}, slices=None)
    by = {one.found_by for one in found.findings}
    assert "local_bias" in by
    assert len(by) > 1
    assert not any("of local bias" in name for one in found.findings for name in one.also)


@pytest.mark.parametrize("large", [{}, OUT_OF_CORE], ids=["small", "large"])
def test_places_that_a_column_names(frame: pd.DataFrame, large: dict[str, Any]) -> None:
    """Nothing is searched: each value is a place, and its gap on the test rows is that of the rows themselves."""
    rng = np.random.default_rng(6)
    office = rng.choice([1, 2, 3], ROWS)  # numbers, which are names here
    wrong = rng.random(ROWS) < np.where((office == 2) & (frame["sex"] == "f"), 0.5, 0.1)
    label = frame["label"].to_numpy()
    table = frame.assign(office=office, prediction=np.where(wrong, 1 - label, label))
    asked = {"places": "office", "max_gap": 0.1}
    result = audited(table, asked, features={"include": ["age", "e1"]}, gate=[], **large)
    found = result.local_bias
    assert found is not None
    assert {one.name for one in found.logan.clusters} == {"1", "2", "3"}
    second = found.logan.clusters[0]
    assert second.held_out.confirmed
    assert (second.name, second.held_out.lower) == ("2", "f")
    assert found.predict(pd.DataFrame({"office": [2, 7]})).tolist() == [second.label, -1]
    (limit,) = result.document["gate"]
    assert limit["verdict"] == "fail"
    assert limit["sentence"].startswith("Cluster 2: accuracy of m is higher than that of f")
    (finding,) = (one for one in result.findings if one.who == "sex is f and office is 2")
    assert finding.found_by == "local_bias"
    assert {one.role for one in result.test.columns if one.name == "office"} == {"unused"}
    if not large:
        audit_rows = table.assign(right=~wrong)
        mine = audit_rows[(audit_rows["office"] == 2) & (audit_rows["sex"] == "f")]
        assert (finding.rows, finding.mean_inside) == (len(mine), pytest.approx(mine["right"].mean()))
        members = result.findings.members(table)
        assert members.filter(like="office is 2").to_numpy().sum() == len(mine)
        for name, form in forms(result).items():
            told = " ".join(form.split())
            assert "office is 2" in told.lower(), name
            assert "looks for such places" not in told, name
            assert "What was not looked at: office" not in told, name


def test_clusters_of_another_method_are_places(frame: pd.DataFrame) -> None:
    """Such as those of scikit-learn, which come as a column."""
    from sklearn.cluster import DBSCAN

    cloud = DBSCAN(eps=0.9, min_samples=20).fit_predict(frame[["e0", "e1"]])
    table = frame.assign(cloud=[f"cloud {one}" if one >= 0 else None for one in cloud])
    found = audited(table, {"places": "cloud", "metric": "auc"}).local_bias
    assert found is not None
    assert len(found.logan.clusters) == len(set(cloud) - {-1})
    assert sum(found.left_out.values()) == (cloud < 0).sum()
    (far,) = (one for one in found.logan.clusters if one.held_out.confirmed)
    place = frame["e0"][table["cloud"] == far.name]
    assert place.min() > 3
    assert far.held_out.lower == "f"


def test_places_are_named_or_looked_for(frame: pd.DataFrame) -> None:
    with pytest.raises(SpecError, match='"places" names the places, and "embeddings" says.*leave one out'):
        audited(frame, {"places": "job", "embeddings": ["e0"]})
    with pytest.raises(SpecError, match='"places" and "group" both name "sex"'):
        audited(frame, {"places": "sex"})
    with pytest.raises(DataError, match='no column "jobs".*Did you mean "job"'):
        audited(frame, {"places": "jobs"})
