"""Profiles of findings: each feature of their people beside everybody else's, and what is not said of few."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.ranking import profiles
from bdt_core.report import for_publication
from bdt_core.report.html import render_html


def people(n: int = 3000) -> pd.DataFrame:
    """Young people are wronged more often and live elsewhere; one town has few people, one column few numbers."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 80, n)
    town = np.where(rng.random(n) < np.where(age < 36, 0.7, 0.2), "east", "west").astype(object)
    town[np.flatnonzero(age < 36)[: profiles.MIN_LEVEL_ROWS - 1]] = "hamlet"
    seldom = np.full(n, np.nan)
    seldom[np.flatnonzero(age < 36)[: profiles.MIN_LEVEL_ROWS - 1]] = 1.0
    seldom[np.flatnonzero(age >= 50)[:500]] = 2.0
    wrong = rng.random(n) < np.where(age < 36, 0.5, 0.1)
    columns = {"noise": rng.normal(size=n), "age": age, "town": town, "seldom": seldom, "wrong": wrong.astype(int)}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return audited(people())


def audited(frame: pd.DataFrame) -> AuditResult:
    quick = {"clustering": {"stability": 0, "n_init": 2, "max_iter": 3}, "worst_groups": {"permutations": 79}}
    return audit(frame, outcome="wrong", slices=None, **quick)


def test_a_profile_has_means_of_numbers_and_the_share_that_differs_most(result):
    frame, first = people(), result.findings[0]
    inside = first.members(frame)
    of_columns = {one.column: one for one in first.profile}
    for name in ("age", "noise"):
        means = frame[name][inside].mean(), frame[name][~inside].mean()
        assert (of_columns[name].inside, of_columns[name].outside) == pytest.approx(means)
        assert of_columns[name].level is None
    town = of_columns["town"]
    shares = (frame["town"] == town.level)[inside].mean(), (frame["town"] == town.level)[~inside].mean()
    assert (town.inside, town.outside) == pytest.approx(shares)
    assert [one.column for one in first.profile] == ["age", "town", "noise"]  # those that differ most stand first


def test_nothing_is_said_of_few(result):
    """The hamlet is the level that differs most relatively, and has too few people; so has the seldom number."""
    (first, *_) = result.findings
    assert "hamlet" not in [one.level for one in first.profile]
    assert "seldom" not in [one.column for one in first.profile]
    frame = people()
    more = np.flatnonzero((frame["age"] < 36) & frame["seldom"].isna())[:1]
    frame.loc[more, "seldom"] = 1.0
    assert "seldom" in [one.column for one in audited(frame).findings[0].profile]


def test_a_profile_is_the_same_whatever_the_order_of_the_rows(result):
    frame = people()
    table_order = [one.profile for one in result.findings]
    assert [one.profile for one in audited(frame.sample(frac=1.0, random_state=1)).findings] == table_order


def test_of_many_columns_those_that_differ_most_are_kept(result, monkeypatch):
    monkeypatch.setattr(profiles, "FEATURES_KEPT", 2)
    kept = audited(people()).findings[0].profile
    assert kept == result.findings[0].profile[:2]


@pytest.mark.parametrize(
    ("language", "heads"),
    [("en", ["Feature", "These people", "Everybody else"]), ("nl", ["Kenmerk", "Deze mensen", "Alle anderen"])],
)
def test_an_opened_finding_shows_its_features_in_every_language(result, language, heads):
    page = render_html(result.document | {"spec": result.document["spec"] | {"language": language}})
    opened = re.findall(r'<details id="finding-[0-9a-f]{8}">.*?</details>', page, re.DOTALL)
    table = next(one for one in re.findall("<table>.*?</table>", opened[0], re.DOTALL) if heads[1] in one)
    assert re.findall('<th scope="col"[^>]*>(.*?)</th>', table) == heads
    rows = [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", table)[1:]]
    profile = result.findings[0].profile
    assert [unescape(row[0]).split("<small>")[0] for row in rows] == [one.column for one in profile]
    town = next(one for one in profile if one.column == "town")
    said = f"{100 * town.inside:.1f} %"
    assert (said if language == "en" else said.replace(".", ",")) in [row[1] for row in rows]


def test_a_form_for_publication_has_no_profiles(result):
    assert result.document["findings"]["findings"][0]["profile"]
    assert all(not one["profile"] for one in for_publication(result.document)["findings"]["findings"])
