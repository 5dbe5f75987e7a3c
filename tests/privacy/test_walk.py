"""Everything that the four published forms say is walked over: no rare level, single value, file or exact count."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pypdf
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.report import for_publication, render_html, render_markdown
from bdt_core.report.dossier import FORMS, Dossier, build_dossier
from bdt_core.report.figures import figure_names
from bdt_core.spec import parse_spec
from bdt_pipeline.commands.run_dossier import data_of, drawn_of
from tests.core.report.described import described

MINIMUM = 30
MARKS = ("zzrare", "zzplace", "zzjob", "zzlabel", "zzperson", "zzfolder", "zzpeople", "zzcolumn", "zzdrop", "zzaddress")
EXTREMES = ("987654", "876543", "765432")
NO_COUNTS = {
    # what the form itself, the specification and the method are: none is made of rows
    "schema_version", "schema_minor", "base", "minimum", "rates_from", "findings_left_out", "min_rows", "permutations",
    "deviation", "guessed", "guessed_of_ten",
    "random_state", "test_size",
    "confidence", "alpha", "min_share", "limit", "maximum", "searches", "groups_before", "positive", "robustness",
    "overlap", "min_cluster_rows", "thresholds", "small_share",
    # how many groups, intersections or places a limit was held against
    "groups_judged", "slices_tested", "clusters_tested",
    # the only cluster and node: everybody
    "cluster", "id", "label",
    # rounded above two digits, or the next of three numbers
    "p_value", "low", "high", "explained_low",
}  # fmt: skip
OF_SCOPES = {("scope", "tested"), ("scope", "conditions")}  # how many clusters or conditions a limit is about
RATES = {
    "ruled_out_from", "estimate", "share", "mean_inside", "mean_outside", "difference", "remaining", "explained",
    "train_mean", "test_mean", "mean", "std", "train_gap", "overall", "rate", "ratio", "impact_ratio",
}  # fmt: skip


def _table() -> pd.DataFrame:
    random = np.random.default_rng(7)
    rows = 1_500
    race = random.choice(["white", "black", "asian"], rows, p=[0.6, 0.28, 0.12]).astype(object)
    town = random.choice(["north", "south", "east"], rows).astype(object)
    job = random.choice(["office", "works"], rows).astype(object)
    race[:8], town[8:14], job[20:31] = "zzrare", "zzplace", "zzjob"
    income = random.integers(100, 4_000, rows).astype(float)
    income[[40, 41, 42]] = 987654.25, -876543.5, 765432.75
    age = random.integers(18, 80, rows)
    hit = (age < 35) & (town == "north")
    repaid = (random.random(rows) < 0.5).astype(int)
    score = np.clip(repaid * 0.3 + random.random(rows) * 0.7, 0, 1)
    wrong = random.random(rows) < 0.1 + 0.5 * hit + 0.15 * (race == "black")
    frame = pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], rows),
            "race": race,
            "town": town,
            "job": job,
            "income": income,
            "age": age,
            "zzcolumn": [f"zzperson{i}" for i in range(rows)],
            "repaid": repaid,
            "granted": np.where(wrong, 1 - repaid, repaid),
            "score": score,
        }
    )
    frame.loc[60:66, "repaid"] = np.nan
    return frame


def _spec(folder: Path) -> dict[str, Any]:
    limits: list[dict[str, Any]] = [
        {"check": one, "max_difference": 0.05} for one in ("worst_cluster", "any_cluster", "worst_group", "worst_slice")
    ]
    return {
        "name": "walked",
        "source": {"path": str(folder / "zzpeople.csv")},
        "bias_variable": {"label": "repaid", "prediction": "granted", "derive": "error", "better": "lower"},
        "favourable": "positive",
        "missing": "drop",
        "features": {"include": ["income", "age", "town", "job"], "exclude": ["zzcolumn"]},
        "protected": ["sex", "race"],
        "groups": {
            "facets": ["sex", "race", ["sex", "race"], ["race", "job"], "town", "age"],
            "score": "score",
            "report": ["ll144", "four_fifths"],
            "thresholds": {"age": 40},
            "reference": "white",
        },
        "slices": {"columns": ["town", "age", "race", "income"], "max_conditions": 2, "bins": 3, "min_support": 0.0125},
        "local_bias": {"group": "sex", "n_clusters": 3, "max_gap": 0.1},
        "mitigation": {"group": "race", "score": "score", "tolerance": 0.05},
        "characteristics": None,
        "split": {"repeats": 1},
        "clustering": {"stability": 0, "max_iter": 2, "n_init": 1},
        "worst_groups": {"permutations": 39},
        "notify": ["mailto://zzaddress@example.org"],
        "gate": [
            *limits,
            {"metric": "false_negative_rate", "facet": "race", "max": 0.1},
            {"metric": "demographic_parity_difference", "facet": "race", "max": 0.1},
            {"metric": "accuracy", "facet": ["race", "job"], "min": 0.9, "rule": "point"},
        ],
    }


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditResult, dict[str, Path]]:
    folder = tmp_path_factory.mktemp("privacy") / "zzfolder"
    folder.mkdir()
    _table().to_csv(folder / "zzpeople.csv", index=False)
    found = audit(None, parse_spec(_spec(folder), "the test"))
    return found, found.write(folder / "published", publication=True)


@pytest.fixture(scope="module")
def published(walked: tuple[AuditResult, dict[str, Path]]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(walked[1]["json"].read_text(encoding="utf-8"))
    return made


@pytest.fixture(scope="module")
def texts(walked: tuple[AuditResult, dict[str, Path]]) -> dict[str, str]:
    """What each form says, to a reader or to who looks into the file."""
    files = walked[1]
    page = files["html"].read_text(encoding="utf-8")
    pictures = re.findall(r"<svg .*?</svg>", page, re.DOTALL)
    assert len(pictures) >= len(figure_names(json.loads(files["json"].read_text()))) > 0
    pdf = pypdf.PdfReader(io.BytesIO(files["pdf"].read_bytes()))
    return {
        "json": files["json"].read_text(encoding="utf-8"),
        "md": files["md"].read_text(encoding="utf-8"),
        "html": re.sub(r"<svg .*?</svg>", "", page, flags=re.DOTALL),
        "pictures": "\n".join(pictures),
        "pdf": "\n".join(one.extract_text() for one in pdf.pages) + str(pdf.metadata),
    }


def test_the_form_is_made_by_the_schema_and_of_itself(walked: Any, published: dict[str, Any]) -> None:
    assert published == for_publication(walked[0].document)
    assert for_publication(published) == published
    described().validate(published)
    assert "publication" not in walked[0].document
    assert published["publication"] == {
        "base": 10, "minimum": 30, "rates_from": 100, "counted": "people", "findings_left_out": 0,
        "deviation": 7.5, "guessed": 0.59, "guessed_of_ten": 0.75,
    }  # fmt: skip


def test_all_forms_are_drawn_from_what_is_in_the_published_json(walked: Any, published: dict[str, Any]) -> None:
    assert walked[1]["html"].read_text(encoding="utf-8") == render_html(published)
    assert walked[1]["md"].read_text(encoding="utf-8") == render_markdown(published)


def test_no_rare_level_file_or_person_is_named(walked: Any, texts: dict[str, str]) -> None:
    owners = json.dumps(walked[0].document)
    assert all(one in owners for one in ("zzrare", "zzplace", "zzjob", "zzpeople", "zzcolumn"))
    named = {(form, mark) for form, text in texts.items() for mark in MARKS if mark in text}
    assert named == set()


def files_of(document: dict[str, Any], dossier: Dossier) -> dict[str, bytes]:
    """A filled-in form's files by name."""
    return {name: draw(print) for name, draw in drawn_of(dossier).items()} | data_of(document, dossier)


@pytest.mark.parametrize("form", FORMS)
def test_dossiers_that_are_filled_in_from_it_name_nobody(walked: Any, published: dict[str, Any], form: str) -> None:
    files = files_of(published, build_dossier(published, form))
    pages = pypdf.PdfReader(io.BytesIO(files.pop(f"{form}.pdf"))).pages
    texts = {name: one.decode() for name, one in files.items()} | {"pdf": "".join(one.extract_text() for one in pages)}
    assert {(name, mark) for name, text in texts.items() for mark in MARKS if mark in text} == set()
    counted = re.findall(r"(\d[\d,]*)\s(?:people|rows|persons)\b", texts[f"{form}.md"])
    assert [one for one in counted if int(one.replace(",", "")) % 10] == []
    owners = walked[0].document
    assert form not in ("annex-iv", "fria") or b"zzrare" in files_of(owners, build_dossier(owners, form))[f"{form}.md"]


def test_no_value_of_a_single_person_is_there(texts: dict[str, str]) -> None:
    plain = {form: text.replace(",", "").replace("\u202f", "") for form, text in texts.items() if form != "pictures"}
    assert {(form, one) for form, text in plain.items() for one in EXTREMES if one in text} == set()


def test_no_fingerprint_or_exact_number_of_rows(walked: Any, texts: dict[str, str]) -> None:
    data = walked[0].document["data"]
    assert data["rows"] % 10 or data["rows_audited"] % 10
    hidden = (data["fingerprint"], data["fingerprint"].rpartition(":")[2][:16], str(data["rows_audited"]))
    assert {(form, one) for form, text in texts.items() for one in hidden if one in text.replace(",", "")} == set()


def test_every_number_of_people_is_rounded_and_every_rate_whole_percents(published: dict[str, Any]) -> None:
    numbers = list(_numbers(published, ()))
    assert len(numbers) > 500
    told = [
        (path, x)
        for path, x in numbers
        if not NO_COUNTS & set(path[-2:]) and not RATES & set(path[-2:]) and path[-2:] not in OF_SCOPES
        and x % 10
    ]  # fmt: skip
    assert told == []
    uneven = [(path, x) for path, x in numbers if RATES & set(path[-2:]) and abs(x * 100 - round(x * 100)) > 1e-6]
    assert uneven == []


def test_no_group_of_few_people_is_there(walked: Any, published: dict[str, Any]) -> None:
    hidden = {
        one["group"]
        for facet in walked[0].document["groups"]["facets"]
        for one in facet["groups"]
        if one["rows"] < MINIMUM
    }
    shown = [one for facet in published["groups"]["facets"] for one in facet["groups"]]
    assert hidden
    assert not hidden & {one["group"] for one in shown}
    assert min(one["rows"] for one in shown) >= MINIMUM


@pytest.mark.parametrize("form", ["md", "html", "pdf"])
def test_whoever_is_counted_in_print_is_counted_in_tens(texts: dict[str, str], form: str) -> None:
    counted = re.findall(r"(fewer than |up to |about )?(\d[\d,]*)\s(?:people|rows|persons)\b", texts[form])
    assert len(counted) > 3
    assert [one for one in counted if int(one[1].replace(",", "")) % 10] == []


def _numbers(part: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(part, dict):
        for name, one in part.items():
            yield from _numbers(one, (*path, name))
    elif isinstance(part, list):
        for one in part:
            yield from _numbers(one, path)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield path, float(part)
