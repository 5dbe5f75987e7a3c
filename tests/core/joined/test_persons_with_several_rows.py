"""``split.key`` from the specification to verdict and report: what is sure is counted in persons, not in rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from bdt_core.inference import compare_samples
from bdt_core.inference.persons import Steps, compare_persons, person_sums
from bdt_core.report import render_html
from tests.core.joined.made_tables import QUICK, harmed, quick_audit

PERSONS, EACH = 480, 5
KEYED: dict[str, Any] = {"features": {"include": ["x0", "x1"]}, "split": {"key": "person", "test_size": 0.5}}


def repeated(harm: float, *, each: int = EACH, **how: Any) -> pd.DataFrame:
    """Persons of whom a quarter is harmed, every one of them in so many rows that differ in x1 only."""
    people = harmed(PERSONS, harm, **how).assign(person=[f"p{i}" for i in range(PERSONS)])
    rows = people.loc[people.index.repeat(each)].reset_index(drop=True)
    return rows.assign(x1=np.random.default_rng(3).normal(size=len(rows)))


@pytest.fixture(scope="module")
def keyed() -> AuditResult:
    return quick_audit(repeated(0.12, seed=5), **KEYED, protected=["kind"])


def test_five_copies_of_a_person_say_what_one_row_says(keyed: AuditResult) -> None:
    """The interval of cluster 0 is as wide as from a row per person, and root five times as wide as from all rows."""
    found = keyed.document["primary_test"]["comparison"]
    rows = quick_audit(repeated(0.12, seed=5), features=KEYED["features"]).document["primary_test"]["comparison"]
    persons = found["persons"]
    assert found["n_a"] == pytest.approx(EACH * persons["a"], abs=EACH)
    assert persons["design_effect"] == pytest.approx(EACH, rel=0.1)
    rate_a, rate_b = found["mean_a"], found["mean_b"]
    one_each = np.sqrt(rate_a * (1 - rate_a) / persons["a"] + rate_b * (1 - rate_b) / persons["b"])
    assert (found["high"] - found["low"]) / 2 == pytest.approx(1.96 * one_each, rel=0.1)
    assert found["test"] == "exact mid-p of effective counts"
    assert rows["test"] == "exact mid-p"
    assert "persons" not in rows


def test_the_verdict_follows_the_persons() -> None:
    """What five rows a person make certain is open when persons are counted."""
    frame = repeated(0.2, seed=2)
    # The search for the worst group sees all rows and would decide, too.
    limited: dict[str, Any] = {"gate": [{"check": "worst_cluster", "max_difference": 0.1}], "worst_groups": None}
    of_rows = quick_audit(frame, features=KEYED["features"], split={"method": "hash", "test_size": 0.5}, **limited)
    of_persons = quick_audit(frame, **KEYED, **limited)
    assert [one.document["verdict"]["verdict"] for one in (of_rows, of_persons)] == ["fail", "inconclusive"]
    test = of_persons.document["split"]
    told = f"among {test['test_persons']} persons with {test['test_rows']:,} rows"
    assert told in of_persons.document["verdict"]["sentence"]


def test_the_report_says_how_many_persons_there_are(keyed: AuditResult) -> None:
    split, cluster = keyed.document["split"], keyed.document["clusters"][0]
    assert split["train_persons"] + split["test_persons"] == PERSONS
    assert cluster["comparison"]["persons"]["a"] * EACH == cluster["test_rows"]
    page = " ".join(render_html(keyed.document).split())
    assert f"{split['test_rows']:,} test rows of {split['test_persons']} persons" in page
    assert f"{cluster['test_rows']} test rows of {cluster['comparison']['persons']['a']} persons" in page


def test_fewer_persons_than_the_minimum_are_not_tested_however_many_rows_they_have() -> None:
    clustering = {**QUICK["clustering"], "min_cluster_size": 0.1}
    found = quick_audit(repeated(0.2), **KEYED, significance={"min_rows": 100}, clustering=clustering)
    comparison = found.document["primary_test"]["comparison"]
    assert comparison["n_a"] > 100
    assert comparison["status"] == "not_testable"
    assert "persons against" in comparison["reason"]
    assert comparison["mean_a"] is None


def test_columns_are_compared_by_persons(keyed: AuditResult) -> None:
    features = {one["column"]: one for one in keyed.document["differences"]["features"]}
    assert features["x0"]["comparison"]["persons"]["design_effect"] == pytest.approx(EACH, rel=0.15)
    assert features["x1"]["comparison"]["persons"]["design_effect"] < 2  # drawn anew in each row
    level = features["kind"]["levels"][0]["comparison"]
    assert level["persons"]["design_effect"] == pytest.approx(EACH, rel=0.15)
    assert features["kind"]["table"]["method"].endswith("of effective counts")


def test_blocks_give_what_memory_gives(tmp_path: Path) -> None:
    """Rows of a person lie in several blocks: they are shuffled."""
    frame = repeated(0.2).sample(frac=1.0, random_state=1)
    frame["amount"] = np.random.default_rng(4).normal(size=PERSONS)[frame["person"].str[1:].astype(int)]
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = {**KEYED, "bias_variable": {"column": "amount"}, "protected": ["kind"], "large_rows": 1000}

    def document(where: str) -> dict[str, Any]:
        clustering = {**QUICK["clustering"], "memory": where}
        return quick_audit(tmp_path / "people.csv", **asked, clustering=clustering).document

    memory, blocks = document("in_memory"), document("out_of_core")
    assert memory["clusters"] == blocks["clusters"]
    assert memory["differences"] == blocks["differences"]
    assert memory["clusters"][0]["comparison"]["test"] == "t with errors by person"


def test_repeated_splits_and_permuted_procedures_count_persons() -> None:
    """No effect at all, and chance patterns that five copies of each person seem to prove."""
    frame = repeated(0.0, seed=8)
    more = {"significance": {"test": "permutation", "permutations": 39}}
    keyed = quick_audit(frame, **{**KEYED, "split": {**KEYED["split"], "repeats": 3}}, **more).document["primary_test"]
    together = keyed["repeated_splits"]["together"]
    assert together["p_value"] > 0.05
    assert together["persons"]["design_effect"] > 2  # clusters of x1, which is drawn anew in each row, cut persons up
    assert keyed["permuted_procedure"]["p_value"] > 0.05


def test_intersections_count_persons(tmp_path: Path) -> None:
    """In memory and in blocks alike: tests, intervals, what is shrunken, and the limit on intersections."""
    frame = repeated(0.2, seed=2).sample(frac=1.0, random_state=1)
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = {**KEYED, "slices": {"max_difference": 0.1}, "gate": [], "worst_groups": None, "large_rows": 1000}

    def document(where: str, **more: Any) -> dict[str, Any]:
        clustering = {**QUICK["clustering"], "memory": where}
        return quick_audit(tmp_path / "people.csv", **{**asked, **more}, clustering=clustering).document

    memory, blocks = document("in_memory"), document("out_of_core")
    assert memory["slices"] == blocks["slices"]
    of_rows = document("in_memory", split={"method": "hash", "test_size": 0.5})
    assert [one["gate"][0]["verdict"] for one in (of_rows, memory)] == ["fail", "inconclusive"]
    worst = memory["slices"]["slices"][0]["comparison"]
    assert worst["persons"]["design_effect"] == pytest.approx(EACH, rel=0.3)
    assert worst["persons"]["a"] * EACH == worst["n_a"]
    assert memory["slices"]["min_train_rows"] == pytest.approx(30 * EACH, abs=1)
    assert f"of\xa0{worst['persons']['a']}\xa0persons" in render_html(memory)


def test_declared_groups_count_persons(tmp_path: Path) -> None:
    """In memory and in blocks alike: intervals, the test of all groups, the score, minimum sizes, and the limit."""
    rng = np.random.default_rng(6)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], PERSONS), "x0": rng.normal(size=PERSONS)})
    people["granted"] = (rng.random(PERSONS) < np.where(people["sex"] == "f", 0.3, 0.5)).astype(int)
    people["group"] = ["few" if i < 20 else "many" for i in range(PERSONS)]
    people["person"] = [f"p{i}" for i in range(PERSONS)]
    frame = (
        people.loc[people.index.repeat(EACH)]
        .assign(x1=rng.normal(size=PERSONS * EACH))
        .sample(frac=1.0, random_state=1)
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked: dict[str, Any] = {
        "bias_variable": {"derive": "positive_prediction", "prediction": "granted", "better": "higher"},
        "features": {"include": ["x0", "x1"]},
        "groups": {"facets": ["sex", "group"], "prediction": "granted"},
        "gate": [{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.15}],
        "large_rows": 1000,
    }

    def document(where: str, **split: Any) -> dict[str, Any]:
        clustering = {**QUICK["clustering"], "memory": where}
        split = {"test_size": 0.5, **split}
        return quick_audit(tmp_path / "people.csv", **asked, clustering=clustering, split=split).document

    memory, blocks = (document(where, key="person") for where in ("in_memory", "out_of_core"))
    assert memory["groups"] == blocks["groups"]
    of_rows = document("in_memory", method="hash")
    assert [one["gate"][0]["verdict"] for one in (of_rows, memory)] == ["fail", "inconclusive"]
    assert f"among {PERSONS} persons" in memory["gate"][0]["sentence"]
    (sex, group), (sex_of_rows, group_of_rows) = memory["groups"]["facets"], of_rows["groups"]["facets"]
    assert [one["persons"] for one in sex["groups"]] == [int((people["sex"] == one).sum()) for one in ("f", "m")]
    wide, narrow = (one["groups"][0]["rates"]["selection_rate"] for one in (sex, sex_of_rows))
    assert wide["estimate"] == narrow["estimate"]
    assert (wide["high"] - wide["low"]) / (narrow["high"] - narrow["low"]) == pytest.approx(EACH**0.5, rel=0.05)
    p_values = [next(x for x in one["ranges"] if x["metric"] == "demographic_parity_difference")["p_value"]
                for one in (sex, sex_of_rows)]  # fmt: skip
    assert p_values[0] > 100 * p_values[1]
    assert group["groups"][0]["rates"] is None  # 20 persons, in 100 rows
    assert group_of_rows["groups"][0]["rates"] is not None
    assert f"of {sex['groups'][0]['persons']} persons" in render_html(memory)


def test_gaps_of_local_bias_count_persons() -> None:
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"x0": rng.normal(size=1600) + 8.0 * (np.arange(1600) % 2)})
    people["x1"], people["sex"] = rng.normal(size=1600), rng.choice(["f", "m"], 1600)
    people["label"] = (rng.random(1600) < 0.5).astype(int)
    wrong = rng.random(1600) < np.where((people["sex"] == "f") & (people["x0"] > 4), 0.4, 0.2)
    people["said"] = np.where(wrong, 1 - people["label"], people["label"])
    people["person"] = [f"p{i}" for i in range(1600)]
    frame = people.loc[people.index.repeat(EACH)].reset_index(drop=True)
    asked: dict[str, Any] = {
        "bias_variable": {"derive": "error", "label": "label", "prediction": "said"},
        "features": {"include": ["x0", "x1"]},
        "local_bias": {"group": "sex", "n_clusters": 2, "max_gap": 0.02},
        "gate": [],
    }
    of_persons = quick_audit(frame, **asked, split=KEYED["split"]).document
    of_rows = quick_audit(frame, **asked, split={"method": "hash", "test_size": 0.5}).document
    gap, row_gap = (max((one["held_out"] for one in x["local_bias"]["logan"]["clusters"]), key=lambda one: one["gap"])
                    for x in (of_persons, of_rows))  # fmt: skip
    assert gap["persons"]["design_effect"] == pytest.approx(EACH, rel=0.1)
    assert gap["test"] == "exact mid-p of effective counts"
    assert (gap["high"] - gap["low"]) / (row_gap["high"] - row_gap["low"]) == pytest.approx(EACH**0.5, rel=0.15)
    widths = [one["gate"][0]["high"] - one["gate"][0]["low"] for one in (of_persons, of_rows)]
    assert widths[0] / widths[1] == pytest.approx(EACH**0.5, rel=0.2)
    assert "by persons" in " ".join(of_persons["local_bias"]["notes"])


def scored(persons: int = PERSONS) -> pd.DataFrame:
    """One row of each person: a score that tells one sex's label worse, and a decision by it."""
    rng = np.random.default_rng(12)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], persons), "x0": rng.normal(size=persons)})
    people["label"] = (rng.random(persons) < 0.5).astype(int)
    told = np.where(people["sex"] == "f", 0.1, 0.3) * people["label"]
    people["score"] = (0.3 + told + rng.normal(0, 0.25, persons)).clip(0, 1).round(4)
    people["said"] = (people["score"] > 0.45).astype(int)
    return people.assign(person=[f"p{i}" for i in range(persons)])


SCORED: dict[str, Any] = {
    "bias_variable": {"derive": "error", "label": "label", "prediction": "said"},
    "favourable": "positive",
    "features": {"include": ["x0"]},
    "protected": ["sex"],
    "split": {"key": "person", "test_size": 0.5},
    "gate": [],
}


def spans(parts: Any) -> list[float]:
    """Every low and high in some part of a document."""
    if isinstance(parts, dict):
        own = [parts[name] for name in ("low", "high") if isinstance(parts.get(name), float)]
        return own + [one for part in parts.values() for one in spans(part)]
    return [one for part in parts for one in spans(part)] if isinstance(parts, list) else []


def test_areas_and_flips_of_groups_count_persons(tmp_path: Path) -> None:
    """Five copies of each person make the intervals of one row each, in memory and in blocks alike."""
    people = scored()
    # As many neighbours of each row are one person: the five copies of the nearest.
    frame = people.loc[people.index.repeat(EACH)].sample(frac=1.0, random_state=1)
    asked = {**SCORED, "groups": {"facets": ["sex"], "score": "score", "similar_by": ["x0"]}, "large_rows": 3000}

    def groups(table: pd.DataFrame, where: str, **more: Any) -> dict[str, Any]:
        table.to_csv(tmp_path / "people.csv", index=False)
        clustering = {**QUICK["clustering"], "memory": where}
        found = quick_audit(tmp_path / "people.csv", **{**asked, "clustering": clustering, **more}).document
        assert "count rows" not in " ".join(found["groups"]["facets"][0]["notes"])
        return found["groups"]  # type: ignore[no-any-return]

    once, five_times = groups(people, "in_memory"), groups(frame, "in_memory")
    assert groups(frame, "out_of_core") == five_times
    areas = [[one["rates"]["auc"] for one in x["facets"][0]["groups"]] for x in (once, five_times)]
    for of_one, of_five in zip(*areas, strict=True):
        assert [of_five[name] for name in ("estimate", "low", "high")] == pytest.approx(
            [of_one[name] for name in ("estimate", "low", "high")], abs=1e-6
        )
    large = [groups(frame, where, large_rows=1000) for where in ("in_memory", "out_of_core")]
    assert large[0] == large[1]
    flips = [
        next(one for one in x["facets"][0]["clarify"] if one["metric"] == "FT")
        for x in (five_times, groups(frame, "in_memory", split={"method": "hash", "test_size": 0.5}))
    ]
    wide, narrow = (one["values"][0]["high"] - one["values"][0]["low"] for one in flips)
    assert wide / narrow == pytest.approx(EACH**0.5, rel=0.05)


def test_thresholds_per_group_count_persons() -> None:
    """Five copies of each person, of whom the same half is held out, say what one row each says."""
    people = scored(1200)
    frame = people.loc[people.index.repeat(EACH)].reset_index(drop=True)
    asked = {**SCORED, "mitigation": {"group": "sex", "score": "score", "tolerance": 0.05}}
    once, five_times = (quick_audit(one, **asked) for one in (people, frame))
    of_one, of_five = (one.document["mitigation"] for one in (once, five_times))
    assert of_five["test_rows"] == EACH * of_one["test_rows"]
    for part in ("thresholds", "proxies"):
        assert len(spans(of_one[part])) > (60 if part == "thresholds" else 1)
        assert spans(of_five[part]) == pytest.approx(spans(of_one[part]), abs=2e-3)
    rows = quick_audit(frame, **{**asked, "split": {"method": "hash", "test_size": 0.5}}).document["mitigation"]
    narrow, wide = (x["thresholds"]["accuracy_change"] for x in (rows, of_five))
    assert (wide["high"] - wide["low"]) > 1.8 * (narrow["high"] - narrow["low"])
    assert "count rows" not in render_html(five_times.document)
    few = quick_audit(frame, **asked, significance={"min_rows": 320}).document["mitigation"]
    assert "train persons; 320 are needed" in few["left_out"][0]["reason"]


def test_the_original_tools_t_counts_persons() -> None:
    rng = np.random.default_rng(9)
    of_person, inside = rng.normal(size=60), np.arange(60) < 20
    who = np.repeat(np.arange(60), EACH)
    one = compare_samples(of_person[inside], of_person[~inside], min_rows=5)
    sides = of_person[who][inside[who]], of_person[who][~inside[who]]
    steps = Steps.of(np.unique(of_person))
    sums = [
        person_sums(steps.count(y), who[side], 60) for y, side in zip(sides, (inside[who], ~inside[who]), strict=True)
    ]
    five = compare_persons(compare_samples(*sides, min_rows=5), *sums, steps, min_rows=5)
    assert five.welch_t == pytest.approx(one.welch_t, rel=1e-6)
    assert five.welch_t_p_value == pytest.approx(one.welch_t_p_value, rel=0.1)
    assert five.pooled_t == pytest.approx(one.pooled_t, rel=0.02)
    assert five.pooled_t_p_value == pytest.approx(one.pooled_t_p_value, rel=0.1)
