"""One report says one thing: in Markdown, HTML, the terminal and Dagster alike, whatever was audited."""

from __future__ import annotations

import io
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.report import render_html, render_markdown
from bdt_core.report.blocks import Facts
from bdt_core.report.first_page import short_parts
from bdt_core.report.printed import printed
from bdt_pipeline.assets import views
from bdt_pipeline.commands import console
from tests.core.report.contradictions import contradictions, plain

QUICK = {"stability": 4, "n_init": 2, "max_iter": 4}
FEW = {"permutations": 39}
COMPAS = {
    "bias_variable": {"derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"},
    "features": {"include": ["age", "priors_count", "c_charge_degree"]},
    "protected": ["race", "sex"],
}


def people(harm: float, *, rows: int = 2400, seed: int = 3) -> pd.DataFrame:
    """Those far out, more often women, have the outcome more often; some of them have no income."""
    rng = np.random.default_rng(seed)
    far = np.arange(rows) % 4 == 0
    sex = np.where(rng.random(rows) < np.where(far, 0.8, 0.45), "f", "m")
    income = np.where(rng.random(rows) < 0.15, np.nan, rng.normal(40, 9, rows).round())
    frame = pd.DataFrame({"x": rng.normal(size=rows) + 7.0 * far, "income": income, "sex": sex})
    label = (rng.random(rows) < 0.4).astype(int)
    wrong = rng.random(rows) < 0.2 + harm * far * np.where(sex == "f", 1.5, 0.5)
    return frame.assign(label=label, said=np.where(wrong, 1 - label, label), y=wrong.astype(int))


ERRORS = {
    "bias_variable": {"derive": "error", "label": "label", "prediction": "said"},
    "protected": ["sex"],
    "features": {"exclude": ["y"]},
}
COLUMN = {"bias_variable": {"column": "y"}, "protected": ["sex"], "features": {"exclude": ["label", "said"]}}
GOOD = {**COLUMN, "bias_variable": {"column": "y", "better": "higher"}}
SLICES = [{"check": "worst_slice", "max_difference": 0.05}, {"check": "any_cluster", "max_difference": 0.05}]
AUDITS: dict[str, tuple[Any, dict[str, Any]]] = {
    "compas": ("demo:compas", {**COMPAS, "local_bias": {"group": "race"}}),
    "compas, good when selected": (
        "demo:compas",
        {**COMPAS, "bias_variable": {**COMPAS["bias_variable"], "derive": "positive_prediction", "better": "higher"}},
    ),
    "harm": (people(0.3), {**ERRORS, "local_bias": {"group": "sex", "n_clusters": 4}, "gate": SLICES}),
    "weak harm": (people(0.09), {**COLUMN, "gate": [{"check": "worst_cluster"}, *SLICES]}),
    "none": (people(0.0), {**COLUMN, "gate": [{"check": "worst_cluster"}, *SLICES]}),
    "higher is better": (
        people(0.3).assign(y=lambda x: 1 - x.y),
        {**GOOD, "gate": [{"check": "worst_cluster"}, *SLICES]},
    ),
    "more are better off": (people(0.3), {**GOOD, "gate": [{"check": "worst_cluster"}]}),
    "several splits": (people(0.1, seed=5), {**COLUMN, "split": {"repeats": 3}}),
    "not corrected": (people(0.1, seed=6), {**COLUMN, "significance": {"correction": "none"}}),
    "false discoveries": (people(0.12, seed=7), {**COLUMN, "significance": {"correction": "bh"}}),
}


@pytest.fixture(scope="module", params=AUDITS)
def found(request: pytest.FixtureRequest) -> AuditResult:
    data, spec = AUDITS[request.param]
    return audit(data, {"name": "one_report", "worst_groups": FEW, "clustering": QUICK, **spec})


@pytest.fixture(scope="module")
def drawn(found: AuditResult) -> dict[str, str]:
    """All forms of it."""
    return forms(found)


def forms(found: AuditResult) -> dict[str, str]:
    shown = io.StringIO()
    real = console.Console
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(console, "Console", lambda **how: real(**{**how, "file": shown, "width": 10_000}))
        console.show_result(found.document, [])
    dagster = [
        views.clusters(found.clusters, "rate"),
        views.significance(found.significance),
        views.differences(found.differences),
        views.report(found.document, {}),
    ]
    return {
        "markdown": render_markdown(found.document),
        "html": render_html(found.document),
        "terminal": shown.getvalue(),
        "dagster": " ".join(_texts(dagster)),
    }


def _texts(x: Any) -> list[str]:
    """Every text in metadata."""
    match x:
        case dg.TableMetadataValue():
            return [str(cell) for row in x.records for cell in row.data.values()]
        case dg.MetadataValue():
            return [str(x.value)]
        case dict():
            return [text for one in x.values() for text in _texts(one)]
        case list():
            return [text for one in x for text in _texts(one)]
    return [str(x)]


def test_no_form_says_two_things(found: AuditResult, drawn: dict[str, str]) -> None:
    for name, form in drawn.items():
        assert not contradictions(form, found.document), name


def test_all_forms_say_the_same_of_verdict_and_findings(found: AuditResult, drawn: dict[str, str]) -> None:
    answer, who, _ = short_parts(printed(found.document))
    said = [
        answer.title,
        *(text for one in who.blocks if isinstance(one, Facts) for pair in one.pairs for text in pair),
    ]
    for name, form in drawn.items():
        assert [one for one in said if " ".join(one.split()) not in plain(form)] == [], name


LIES = [
    "y of cluster 0 is 23.1 points lower (worse) than everybody else's [95 % CI +20.3 to +26.0]",
    "age up to 30: 23.1 points lower (worse) in y than everybody else [95 % CI for 5 groups at once +20.3 to +26.0]",
    "y of cluster 0 is 0.3 points higher (worse) than everybody else's [95 % CI −4.0 to +5.0]",
    "+23.1 points [95 % CI −26.0 to −20.3]",
    "Clusters: harm, counted as positive whichever way the bias variable points",
    'Cluster 0, best described by "everybody"',
]


@pytest.fixture(scope="module")
def truth() -> tuple[dict[str, Any], str]:
    """A document and its page."""
    found = audit(
        people(0.3), {"name": "one_report", "worst_groups": FEW, "clustering": {**QUICK, "stability": 0}, **GOOD}
    )
    return found.document, render_markdown(found.document)


@pytest.mark.parametrize("lie", LIES)
def test_the_reader_knows_a_contradiction(lie: str, truth: tuple[dict[str, Any], str]) -> None:
    document, page = truth
    assert not contradictions(page, document)
    assert contradictions(f"{page} {lie}", document)


def test_a_main_test_and_its_section_say_the_same() -> None:
    found = audit(
        people(0.3), {"name": "one_report", "worst_groups": FEW, "clustering": {**QUICK, "stability": 0}, **COLUMN}
    )
    page = render_markdown(found.document)
    told = "differs significantly from everybody else's"
    assert told in " ".join(page.split())
    turned = page.replace("differs significantly", "does not differ significantly")
    assert contradictions(turned, found.document)


PLUS_MINUS: dict[str, Any] = {
    "features": {"include": ["oral", "written", "place"]},
    "protected": ["race"],
    "significance": {"min_rows": 10},
    "split": {"test_size": 0.5},
}


def promoted(rows: int = 400) -> pd.DataFrame:
    """As in the Ricci case: who is promoted is 1, all others -1; two numbers together tell nearly all of it."""
    rng = np.random.default_rng(4)
    oral, written = rng.integers(0, 5, rows), rng.integers(0, 5, rows)
    race = np.where(rng.random(rows) < np.where(oral > 1, 0.3, 0.6), "b", "w")
    place = rng.choice(list("uv"), rows)
    hired = (oral > 1) & ((written > 0) | (place == "v"))
    return pd.DataFrame(
        {"oral": oral, "written": written, "place": place, "race": race, "promoted": np.where(hired, 1, -1)}
    )


@pytest.fixture(scope="module")
def of_two_numbers() -> AuditResult:
    """A bias variable of two values that is no rate, with declared groups of a label and without a prediction."""
    gate = [
        {"check": "worst_group", "max_difference": 0.1},
        {"metric": "four_fifths_ratio", "facet": "race", "min": 0.8},
    ]
    spec = {
        **PLUS_MINUS,
        "bias_variable": {"column": "promoted", "better": "higher"},
        "favourable": "positive",
        "groups": {"facets": ["race"], "label": "promoted"},
        "gate": gate,
    }
    return audit(
        promoted(), {"name": "one_report", "worst_groups": FEW, "clustering": {**QUICK, "stability": 0}, **spec}
    )


def test_numbers_of_two_values_are_nowhere_points(of_two_numbers: AuditResult) -> None:
    """The limit, its sentence, the search and the findings give one and the same number."""
    document = of_two_numbers.document
    limit = document["gate"][0]
    told = f"lower (worse) in promoted than people alike in the group found before by {limit['difference']:.3g}"
    assert limit["difference"] > 1.0
    assert f"{told} as found" in limit["sentence"]
    assert "at most 0.1 is allowed" in limit["sentence"]
    for name, form in forms(of_two_numbers).items():
        assert told in " ".join(form.replace("\u00a0", " ").split()), name
    search = render_markdown(document).split("## Search of all groups")[1].split("## Clusters")[0]
    assert " points" not in search


def test_what_is_not_there_is_not_spoken_of(of_two_numbers: AuditResult) -> None:
    """No prediction: no selection rate, no errors, nothing that is positive in it; one test is one test."""
    page = " ".join(render_html(of_two_numbers.document).split())
    for word in ("positive None", "positive prediction", "selection rate", "Errors are worse", "one of the prediction"):
        assert word not in page, word
    assert "a positive label is good for a person" in page
    assert "1 test of declared columns" in page
    assert "(lowest over highest) is not testable" in of_two_numbers.document["gate"][1]["sentence"]


def test_a_later_group_is_compared_with_the_same_people_everywhere() -> None:
    """Rates are those of the people counted; what a group is worse by among people alike is called so, everywhere."""
    rng = np.random.default_rng(8)
    n = 6000
    frame = pd.DataFrame({name: rng.choice(list("abc"), n) for name in ("town", "work", "home")})
    frame["sex"] = rng.choice(list("fm"), n)
    both = (frame["town"] == "a") & (rng.random(n) < 0.9)
    frame["work"] = np.where(both & (rng.random(n) < 0.6), "a", frame["work"])
    risk = 0.1 + 0.3 * (frame["town"] == "a") + 0.15 * (frame["work"] == "a") + 0.1 * (frame["home"] == "b")
    frame["y"] = (rng.random(n) < risk).astype(int)
    spec = {"bias_variable": {"column": "y"}, "protected": ["sex"], "gate": [{"check": "worst_group"}]}
    found = audit(frame, {"name": "one_report", "worst_groups": FEW, "clustering": {**QUICK, "stability": 0}, **spec})
    page = render_markdown(found.document)
    later = [one for one in found.document["findings"]["findings"] if one["groups_before"]]
    assert later
    search = page.split("## Search of all groups")[1].split("## Clusters")[0]
    assert "Groups after the first are compared with people alike in those before instead" in " ".join(search.split())
    for one in later:
        assert one["difference"] == pytest.approx(one["mean_inside"] - one["mean_alike"])
        (inside,) = [each for each in found.findings if each.who == one["who"]]
        others = frame["y"][~inside.members(frame)]
        assert one["mean_outside"] == pytest.approx(others.mean())
        told = f"{100 * one['mean_outside']:.1f} %"
        line = next(line for line in search.splitlines() if line.startswith(f"| {one['who'].capitalize()} |"))
        assert f"| {100 * one['difference']:.1f} points |" in line
        among = f"people alike in the group{'s' * (one['groups_before'] > 1)} found before"
        assert f"| {100 * one['mean_alike']:.1f} % ({among}) |" in line
        of_all = page.split("## Findings")[1].split("## Search of all groups")[0]
        line = next(line for line in of_all.splitlines() if line.startswith(f"| {one['who'].capitalize()} "))
        alike = f"people alike in the group{'s' * (one['groups_before'] > 1)}"
        assert f"| {told} |" in line
        assert f"among {alike} found before) |" in line
        first = next(line for line in page.splitlines() if line.startswith(f"- **{one['who'].capitalize()}**"))
        assert f"among everybody else {100 * one['mean_outside']:.0f} of 100." in first
        assert f"Among {alike} found before it is " in first
    assert "befores" not in page


def test_harm_whose_size_is_not_known_is_said_where_it_stands() -> None:
    """An intersection is significantly worse, and its interval reaches to no difference."""
    found = audit(
        people(0.09), {"name": "one_report", "worst_groups": FEW, "clustering": {**QUICK, "stability": 0}, **COLUMN}
    )
    page = " ".join(render_markdown(found.document).split())
    reaches = [
        one for one in found.document["slices"]["slices"]
        if one["significant"] and one["parent"] is None and one["low"] <= 0.0 <= one["high"]
    ]  # fmt: skip
    told = "says that harm is likely there, and its size not known"
    assert reaches
    assert told in page


def test_a_flip_test_that_was_made_is_not_said_to_lack_features() -> None:
    frame = people(0.3).assign(score=lambda x: 0.5 * x.said + 0.25)
    spec = {
        **ERRORS,
        "features": {"include": ["x", "income"]},
        "favourable": "positive",
        "groups": {"facets": ["sex"], "score": "score", "similar_by": ["x"]},
        "mitigation": {"group": "sex", "score": "score", "tolerance": 0.3},
        "gate": [{"metric": "flip_test", "facet": "sex", "max": 0.0001}],
    }
    found = audit(frame, {"name": "one_report", "worst_groups": FEW, "clustering": {**QUICK, "stability": 0}, **spec})
    page = render_markdown(found.document)
    assert "no features were named" not in page
    assert "was not measured under other thresholds: it does not come from labels and decisions alone" in page
