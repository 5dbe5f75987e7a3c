"""An audit of declared groups alone: each search that is null, from the specification to the verdict and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core import audit
from bdt_core.errors import DataError, SpecError
from bdt_core.report import render_markdown
from bdt_core.report.page import build_page
from bdt_core.report.publication import for_publication
from bdt_core.spec import load_spec, parse_spec
from bdt_core.stages import stages_of

ALONE: dict[str, Any] = {"clustering": None, "worst_groups": None, "slices": None}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 1500), "origin": rng.choice(["a", "b"], 1500)})
    frame["fined"] = (rng.random(1500) < 0.1 + 0.2 * (frame["sex"] == "f")).astype(int)
    frame["due"] = (rng.random(1500) < 0.2).astype(int)
    return frame


def test_protected_columns_are_enough(people: pd.DataFrame, tmp_path: Path) -> None:
    result = audit(people, outcome="fined", protected=["sex", "origin"], **ALONE)
    assert (result.clusters, result.significance, result.differences) == (None, None, None)
    assert result.declared is not None
    assert [one.who for one in result.findings] == ["sex is f"]
    assert result.findings[0].mean_inside == people["fined"][people["sex"] == "f"].mean()
    assert result.members(people).columns.tolist() == ["audited", "finding 1: sex is f"]
    assert ".clusters (not asked for)" in repr(result)
    files = result.write(tmp_path / "report")
    assert json.loads(files["json"].read_text()) == result.document
    assert {one.suffix for one in files.values()} == {".json", ".html", ".pdf", ".md"}


def test_the_bias_variable_is_told_as_where_clusters_are_searched(people: pd.DataFrame) -> None:
    with_age = people.assign(age=np.arange(len(people)) % 60)
    keys: dict[str, Any] = {"outcome": "fined", "protected": ["sex"], "worst_groups": None, "slices": None}
    without = audit(with_age, clustering=None, **keys).document
    searched = audit(with_age, clustering={"stability": 0, "n_init": 1, "max_iter": 1}, **keys).document
    for part in ("bias_variable", "split", "data", "declared_outcomes"):
        assert without[part] == searched[part]
    assert (without["search"], without["stability"], without["proxies"]) == (None, None, [])
    assert [one["comparison"]["status"] for one in without["clusters"]] == ["not_testable"]


def test_a_limit_on_a_metric_is_judged_without_any_search(people: pd.DataFrame) -> None:
    derived = {"derive": "positive_prediction", "prediction": "fined"}
    for most, verdict in ((0.05, "fail"), (0.5, "pass")):
        limit = {"metric": "demographic_parity_difference", "facet": "sex", "max": most}
        result = audit(people, bias_variable=derived, protected=["sex"], gate=[limit], **ALONE)
        assert result.verdict == verdict


@pytest.mark.parametrize(
    ("language", "page", "trust"),
    [
        ("en", "no search looked for others", "clusters, groups of conditions and intersections"),
        ("nl", "is niet naar andere gezocht", "clusters, groepen van voorwaarden en combinaties"),
    ],
)
def test_the_report_says_what_was_not_searched(people: pd.DataFrame, language: str, page: str, trust: str) -> None:
    spec: dict[str, Any] = {"outcome": "fined", "protected": ["sex"], "language": language}
    alone = audit(people, **spec, **ALONE).document
    told = render_markdown(alone)
    assert page in told
    assert trust.replace(" and ", ", ").replace(" en ", ", ") in told or trust in told
    names = [one.name for one in (*build_page(alone).body, *build_page(alone).annex)]
    assert {"clusters", "differences", "tree", "original", "proxies"}.isdisjoint(names)
    with_slices = render_markdown(audit(people, **spec, clustering=None, worst_groups=None).document)
    assert page not in with_slices
    assert render_markdown(for_publication(alone))


def test_each_search_is_left_out_by_itself(people: pd.DataFrame) -> None:
    spec = {"name": "a", "source": {"path": "a.csv"}, "bias_variable": {"column": "fined"}, "protected": ["sex"]}
    stages = [one.result for one in stages_of(parse_spec({**spec, **ALONE}))]
    assert stages == ["declared", "pooled_groups", "ranked", "blanks"]
    assert parse_spec({**spec, **ALONE}).search_shares == {"groups": 1.0}
    only = parse_spec({**spec, "clustering": None})
    assert set(only.search_shares) == {"worst_groups", "groups", "slices"}


def test_yaml_may_say_null(people: pd.DataFrame, tmp_path: Path) -> None:
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.yaml").write_text(
        f"name: people\nsource: {{path: {tmp_path / 'people.csv'}}}\nbias_variable: {{column: fined}}\n"
        "features: {exclude: [due]}\nprotected: [sex, origin]\nclustering: null\nworst_groups: null\nslices: null\n"
    )
    spec = load_spec(tmp_path / "people.yaml")
    assert (spec.clustering, [one.check for one in spec.gate]) == (None, ["declared_group"])
    result = audit(None, spec)
    assert [one.who for one in result.findings] == ["sex is f"]
    assert (result.verdict, result.document["gate"][0]["check"]) == ("fail", "declared_group")


@pytest.mark.parametrize("check", ["worst_cluster", "any_cluster"])
def test_a_limit_on_clusters_that_are_not_searched_is_refused(people: pd.DataFrame, check: str) -> None:
    with pytest.raises(SpecError, match=rf'"gate" limits "{check}".*"clustering: null"'):
        audit(people, outcome="fined", protected=["sex"], gate=[{"check": check}], **ALONE)


def test_who_has_no_features_is_told_what_to_do(people: pd.DataFrame) -> None:
    with pytest.raises(DataError, match='set "clustering: null"'):
        audit(people[["sex", "fined"]], outcome="fined", protected=["sex"])


def test_rows_that_nothing_is_tested_on_need_not_be_many(people: pd.DataFrame) -> None:
    few = people.head(100)
    assert audit(few, outcome="fined", protected=["sex"], **ALONE).declared is not None
    # A specification is taken as it is; keywords would get settings for few rows.
    asked: dict[str, Any] = {"name": "few", "bias_variable": {"column": "fined"}, "protected": ["sex"]}
    with pytest.raises(DataError, match="would be test rows"):
        audit(few.assign(age=range(100)), asked)
    with pytest.raises(DataError, match="Bring at least 60 rows"):
        audit(people.head(50), {**asked, **ALONE})
