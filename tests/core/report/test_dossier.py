"""Forms of regulators and registers: every field in its state, every pointer in the schema, no English in the Dutch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import jsonschema
import numpy as np
import pandas as pd
import pytest
from referencing import Registry, Resource

from bdt_core.derivations import Derivation
from bdt_core.errors import SpecError
from bdt_core.report import for_publication, render_html
from bdt_core.report.dossier import FORMS, build_dossier, card, dossier_markdown, dossier_pdf
from bdt_core.report.dossier.catalogue import fields, form, resolve, words_of
from bdt_core.report.dossier.tables import _TABLES
from bdt_core.report.dossier.writing import Writer
from bdt_core.spec import LANGUAGES, json_schema
from bdt_core.spec.about import About, Publication, Status
from bdt_core.spec.gate import KINDS_OF_LIMIT
from bdt_core.verdict import Verdict
from tests.core.joined.made_tables import quick_audit
from tests.core.report.described import document_schema

GOLDENS = Path(__file__).parents[2] / "goldens"
_SCHEMAS = Path("shared") / "data" / "schemas"
SCHEMAS = next((one / _SCHEMAS for one in Path(__file__).parents if (one / _SCHEMAS).exists()), None)

ABOUT: dict[str, Any] = {
    "system": "Leningen", "version": "2.1", "provider": "Maker BV", "owner": "Gemeente Voorbeeld",
    "model_file": "model.pkl", "purpose": "Aanvragen beoordelen", "domain": "Financiën",
    "description": "Schat of een lening wordt terugbetaald.", "status": "in_use", "decision": "Toekennen of niet",
    "affected": "Aanvragers", "how_often": "Dagelijks", "in_use_since": "2025-04", "in_use_until": "2027-12",
    "distribution_date": "2025-04-01", "tested_on": "2026-01-31", "tester": "A. Toets", "reviewer": "B. Lees",
    "independence": "Niet betrokken bij de bouw", "signed_by": "C. Teken", "data_source": "Eigen administratie",
    "data_period": "2024", "data_collection": "Bij de aanvraag", "data_original_purpose": "De aanvraag zelf",
    "data_legal_basis": "Overeenkomst", "label_meaning": "Terugbetaald", "labelled_by": "De administratie",
    "why_groups": "Bij wet genoemd", "hazards": {"f": "Onterechte afwijzing"}, "why_metrics": "Gelijke kansen",
    "limits_set_by": "De directie", "limits_set_on": "2025-12-01", "aim": "Verantwoord lenen",
    "suitable": "Voorspelt terugbetaling", "necessary": "Milder lukt niet", "proportionate": "Weegt op",
    "alternatives": "Loting", "considerations": "Kosten en baten", "measures": ["Drempels", "Uitleg"],
    "special_why": "Om te toetsen", "special_alternatives": "Postcodes", "special_access": "De toetser",
    "special_deletion": "Na een jaar", "residual_risk": "Klein", "accepted_by": "De directie",
    "conditions": "Altijd een mens erbij", "human_oversight": "Bezwaar", "risk_management": "Per kwartaal",
    "monitoring": "Maandelijks", "review_trigger": "Een nieuw model", "next_review": "2027-01-31",
    "contact": "info@voorbeeld.nl", "complaints": "Via de site", "heard": "De cliëntenraad",
    "public_page": "https://voorbeeld.nl", "publication": "impactful_algorithm", "legal_basis": "Wet op het lenen",
    "impact_assessments": ["DPIA"], "technical_working": "Een boom",
}  # fmt: skip


def loans(rows: int = 1_500) -> pd.DataFrame:
    """Women are granted less often; men of the north fare worse in errors."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m", None], rows, p=[0.45, 0.5, 0.05]),
            "region": rng.choice(["north", "south"], rows),
            "age": rng.integers(20, 70, rows),
            "repaid": rng.integers(0, 2, rows),
        }
    )
    odd = (frame.sex == "m") & (frame.region == "north")
    wrong = rng.random(rows) < np.where(odd, 0.5, 0.15)
    frame["granted"] = np.where(wrong, 1 - frame.repaid, frame.repaid)
    frame.loc[frame.sex == "f", "granted"] &= rng.integers(0, 2, int((frame.sex == "f").sum()))
    frame["wrong"] = wrong.astype(int)
    return frame


@pytest.fixture(scope="module")
def audits() -> dict[str, dict[str, Any]]:
    """Of a column alone; a frozen one with everything but what people say; and one with all of that, too."""
    with_all = quick_audit(
        loans().drop(columns="wrong"),
        name="leningen",
        bias_variable={"derive": "error", "label": "repaid", "prediction": "granted"},
        favourable="positive",
        protected=["sex", "region"],
        groups={"report": ["ll144", "four_fifths"]},
        legitimate=["age"],
        schedule="0 6 * * *",
        gate=[
            {"check": "worst_group"},
            {"check": "four_fifths"},
            {"metric": "impact_ratio", "facet": "sex", "min": 0.8},
        ],
        mitigation=None,
        language="nl",
        about=ABOUT,
        reference={"sex": {"f": 520, "m": 480}},
    )
    return {
        "column": quick_audit(loans()[["age", "region", "wrong"]], bias_variable={"column": "wrong"}).document,
        "everything": json.loads((GOLDENS / "everything.json").read_text()),
        "about": with_all.document,
    }


MACHINE: dict[str, dict[str, str]] = {
    # field: its state in the audit of a column, in the frozen one, and in the one with all that people say
    name: dict(zip(("column", "everything", "about"), states.split(), strict=True))
    for name, states in {
        "system_name": "partly partly given",
        "data_source": "partly partly given",
        "rows": "given given given",
        "missing_values": "given given given",
        "unknown_groups": "open given given",
        "labels": "open given given",
        "quantity": "partly given given",
        "representativeness": "open open given",
        "relevant_groups": "open given given",
        "direction": "partly given given",
        "metrics": "given given given",
        "limits": "given given given",
        "method": "given given given",
        "verdict": "given given given",
        "results": "open given given",
        "findings": "given given given",
        "ruled_out": "given given given",
        "ll144_tables": "open open given",
        "four_fifths_tables": "open open given",
        "proxies": "open given given",
        "characteristics": "open given given",
        "explained": "open open given",
        "measures_tried": "open given open",
        "data_gaps": "given given given",
        "log": "open open open",
        **{name: "open open open" for name, field in fields().items() if field.by_hand},
        "profile": "given given given",
    }.items()
}


@pytest.mark.parametrize("audit", ["column", "everything", "about"])
def test_every_field_is_in_its_state(audit: str, audits: dict[str, dict[str, Any]]) -> None:
    seen = set()
    for name in FORMS:
        for field, filled in build_dossier(audits[audit], name).fields.items():
            expected = MACHINE[field][audit] if field in MACHINE else "given" if audit == "about" else "open"
            assert (field, filled.state) == (field, expected)
            seen.add(field)
    assert seen == set(fields())  # each is asked for by some form


def test_what_a_person_writes_is_asked_for_and_printed(audits: dict[str, dict[str, Any]]) -> None:
    keys = {one.about for field in fields().values() for one in field.sources if one.about}
    assert keys == {f"about.{one}" for one in About.model_fields}
    assert set(ABOUT) == set(About.model_fields)
    told = " ".join(dossier_markdown(build_dossier(audits["about"], name)) for name in FORMS)
    for key, value in ABOUT.items():
        texts = value if isinstance(value, list) else [*value.keys(), *value.values()] if key == "hazards" else [value]
        if key in ("status", "publication") or key.endswith(("_on", "_date", "next_review")):
            continue
        assert all(one.replace("://", ":\u2060//").replace("@", "@\u2060") in told for one in texts), key
    assert "31 januari 2026" in told
    assert "impactvol algoritme" in told


def test_what_is_open_names_who_could_fill_it_and_where(audits: dict[str, dict[str, Any]]) -> None:
    told = dossier_markdown(build_dossier(audits["column"], "fria"))
    assert "| What it is for<br>*FRIA a* | not given |" in told
    assert "| What it is for | who uses it and answers for it | about.purpose |" in told
    assert "| Whether the data are like the people it is used on | who looks after the data | reference |" in told
    full = build_dossier(audits["about"], "register")
    assert "Er staat niets open." in dossier_markdown(full)
    assert {one.state for one in full.fields.values()} == {"given"}


def test_answers_are_the_numbers_of_the_report(audits: dict[str, dict[str, Any]]) -> None:
    document = audits["about"]
    told = dossier_markdown(build_dossier(document, "ll144", "nl")).replace("\\", "")
    women = next(one for one in document["selection_rules"]["ll144"] if one["columns"] == ["sex"])["categories"][0]
    rate, ratio = f"{100 * women['rate']:.1f}".replace(".", ","), f"{women['impact_ratio']:.3g}".replace(".", ",")
    assert f"| f | {women['n']} | {women['selected']} | {rate} % | {ratio} |" in told
    assert "→ /selection_rules/ll144" in told
    shares = dossier_markdown(build_dossier(document, "art-10", "nl")).replace("\\", "")
    known = document["groups"]["facets"][0]["groups"]
    share = known[0]["rows"] / sum(one["rows"] for one in known)
    assert f"| f | {100 * share:.1f} % | 52,0 % |".replace(
        f"{100 * share:.1f}", f"{100 * share:.1f}".replace(".", ",")
    ) in (shares)
    assert "rijen: 1.500" in shares
    profile = dossier_markdown(build_dossier(document, "bias-profile", "nl"))
    assert "| f | Onterechte afwijzing | vier-vijfderegel | ≥ 0,8 |" in profile
    assert "| north | niet opgegeven | vier-vijfderegel | ≥ 0,8 |" in profile
    assert "| sex | niet opgegeven | Selectieverhouding naar sex | ≥ 0,8 |" in profile


def test_a_scenario_has_an_id_that_stays_an_owner_a_state_and_its_last_run(audits: dict[str, dict[str, Any]]) -> None:
    document = audits["about"]
    forms = {language: build_dossier(document, "bias-profile", language) for language in ("en", "nl")}
    scenarios, states = forms["en"].fields["profile"].answers[0].tables
    names = [row[0].text for row in scenarios.rows]
    assert len(set(names)) == len(names) == len(states.rows) > 3
    assert [row[0].text for row in states.rows] == names
    assert [row[0].text for row in forms["nl"].fields["profile"].answers[0].tables[0].rows] == names
    findings = [one for one in names if one.startswith("finding-")]
    page = render_html(document)
    assert [one for one in findings if f'id="{one}"' not in page] == []
    assert len(findings) == len(document["findings"]["findings"])
    about = document["spec"]["about"]
    assert {row[1].text for row in states.rows} == {about["owner"]}
    assert {row[3].text for row in states.rows} == {"31 January 2026"}
    verdicts = {words_of("en")["words"][one["verdict"]] for one in document["gate"]}
    assert verdicts & {row[2].text for row in states.rows}
    assert "could not be looked up" in dossier_markdown(forms["en"])


def places(schema: dict[str, Any], root: dict[str, Any], path: list[str]) -> Iterator[dict[str, Any]]:
    """Where a pointer leads in a schema, by whichever way."""
    if "$ref" in schema:
        yield from places(root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
        return
    for way in ("anyOf", "oneOf"):
        for one in schema.get(way, ()):
            yield from places(one, root, path)
    if not path:
        yield schema
    elif path[0] == "*":
        if "items" in schema:
            yield from places(schema["items"], root, path[1:])
    elif path[0] in schema.get("properties", {}):
        yield from places(schema["properties"][path[0]], root, path[1:])


@cache
def schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the report, and of the specification."""
    return document_schema(), json_schema()


@pytest.mark.parametrize("field", fields())
def test_every_pointer_leads_somewhere(field: str) -> None:
    for one in fields()[field].sources:
        path = one.at.strip("/").split("/")
        schema, of_settings = schemas()
        if path[0] == "spec" and len(path) > 1:
            schema, path = of_settings, path[1:]
        assert list(places(schema, schema, path)), one.at
        assert one.table in ("", *_TABLES)
        assert callable(getattr(Writer, one.kind))
        if one.key:
            assert list(places(of_settings, of_settings, one.key.split("."))), one.key


def keys_of(words: Any) -> Any:
    return {key: keys_of(one) for key, one in words.items()} if isinstance(words, dict) else None


def test_languages_have_the_same_words() -> None:
    without = [{key: one for key, one in words_of(language).items() if key != "articles"} for language in LANGUAGES]
    assert len(without) > 1
    assert all(keys_of(one) == keys_of(without[0]) for one in without)
    words = without[0]
    assert set(words["fields"]) == set(fields())
    assert set(words["forms"]) == set(FORMS)
    assert set(words["parts"]) == {part for name in FORMS for part in form(name)}
    assert set(words["who"]) == {one.who for one in fields().values()}
    assert set(words["captions"]) == {*_TABLES, "states"}  # the second of the table of scenarios
    assert set(words["called"]) == {one.called for field in fields().values() for one in field.sources if one.called}
    assert set(words["checks"]) == {check for kind in KINDS_OF_LIMIT.values() for check in kind.checks()}
    fixed = (*get_args(Verdict), *get_args(Derivation), *get_args(Status), *get_args(Publication))
    assert {*fixed, "lower", "higher", "positive", "negative", "hash", "stratified"} <= set(words["words"])


ENGLISH = {
    "the", "and", "not", "given", "with", "for", "who", "what", "people", "rows", "row", "group", "groups", "share",
    "fail", "pass", "missing", "worse", "higher", "lower", "among", "difference", "everybody", "tested", "cannot",
    "than", "points", "which", "from", "their", "reported", "found", "answer", "none", "yes", "no", "nothing",
    "limit", "limits", "column", "whose", "day", "where", "by", "at", "least", "most", "left", "out", "used",
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("audit", ["everything", "about"])
def test_no_english_in_the_dutch(name: str, audit: str, audits: dict[str, dict[str, Any]]) -> None:
    told = dossier_markdown(build_dossier(audits[audit], name, "nl"))
    told = re.sub(r"\*→ .*?\*(?= \|)", "", told)  # pointers
    told = re.sub(r"\S*[./_:]\w\S*", "", told.replace("bdt history", ""))  # keys, files, metrics
    found = {one for one in re.findall(r"[a-zA-Z]+", told.lower()) if one in ENGLISH}
    assert not found


@pytest.mark.skipif(SCHEMAS is None, reason="The schemas of MinBZK are not at hand.")
@pytest.mark.parametrize("audit", ["column", "everything", "about"])
@pytest.mark.parametrize("name", ["system-card", "model-card"])
def test_cards_keep_their_schemas(name: str, audit: str, audits: dict[str, dict[str, Any]]) -> None:
    assert SCHEMAS is not None
    registry: Registry[Any] = Registry()
    schemas = {}
    for file in SCHEMAS.glob("*_schema.json"):
        schema = json.loads(file.read_text())
        schema.pop("$id")  # else it would look for the others in the net
        schemas[file.name] = schema
        registry = registry.with_resource(file.name, Resource.from_contents(schema))
    schema = schemas[f"{name.replace('-', '')}_schema.json"]
    validator = jsonschema.Draft202012Validator(schema, registry=registry, format_checker=jsonschema.FormatChecker())
    made = card(audits[audit], build_dossier(audits[audit], name))
    assert made is not None
    assert [one.message for one in validator.iter_errors(made)] == []
    models = made["models"] if name == "system-card" else [made]
    metrics = models[0]["model_index"][0]["results"][0]["metrics"]
    if audit == "about":
        women = [one for one in metrics if one["labels"][0]["value"] == "f" and one["type"] == "selection_rate"]
        assert (
            women[0]["value"]
            == audits[audit]["groups"]["facets"][0]["groups"][0]["rates"]["selection_rate"]["estimate"]
        )
    del models[0]["model_index"]
    assert list(validator.iter_errors(made))


def test_the_register_has_its_own_words_and_lengths(audits: dict[str, dict[str, Any]]) -> None:
    document = audits["about"]
    made = card(document, build_dossier(document, "register"))
    assert made is not None
    assert made["Status"] == "In gebruik"
    assert made["Publicatiecategorie"] == "Impactvolle algoritmes"
    assert (made["Begindatum"], made["Einddatum"], made["Impacttoetsen"]) == ("2025-04", "2027-12", "DPIA")
    assert None not in made.values()
    long = {**document, "spec": {**document["spec"], "about": {**ABOUT, "system": "x" * 100}}}
    with pytest.raises(SpecError, match='"about.system" has 100 characters; the register takes fewer than 100'):
        card(long, build_dossier(long, "register"))
    assert card(document, build_dossier(document, "fria")) is None


def test_markdown_and_pdf_say_what_people_wrote_and_nothing_more(audits: dict[str, dict[str, Any]]) -> None:
    document = audits["about"]
    about = {**ABOUT, "purpose": "[click](http://evil) | <b>x</b>\n# Title", "system": "#set page()"}
    hostile = build_dossier({**document, "spec": {**document["spec"], "about": about}}, "fria")
    told = dossier_markdown(hostile)
    assert "<b>" not in told.replace("\\<b>", "")
    assert "\n# Title" not in told
    assert "\\[click](http:\u2060//evil) \\|" in told
    pdf = dossier_pdf(hostile)
    assert pdf.startswith(b"%PDF")
    assert pdf == dossier_pdf(hostile)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_for_publication_fills_in_what_it_has(name: str, audits: dict[str, dict[str, Any]]) -> None:
    found = build_dossier(for_publication(audits["about"]), name)
    states = {field: one.state for field, one in found.fields.items()}
    assert set(states) == {field for part in form(name).values() for field in part}
    assert states.get("missing_values", "open") == "open"  # which are its owner's
    assert states.get("ll144_tables", "given") == "given"  # of the counts that it shows
    assert states.get("results", "given") == "given"


def test_an_old_report_says_nothing_of_people_and_an_unknown_form_is_refused() -> None:
    old = json.loads((GOLDENS / "compas.json").read_text())
    old["spec"].pop("about", None)
    old["spec"].pop("language", None)
    assert build_dossier(old, "annex-iv").fields["purpose"].state == "open"
    with pytest.raises(SpecError, match="Did you mean"):
        build_dossier(old, "fri")


def test_pointers_go_through_lists_and_over_what_is_not_there() -> None:
    assert resolve({"a": [{"b": 1}, {}]}, "/a/*/b") == [1, None]
    assert resolve({"a": None}, "/a/b/c") is None
