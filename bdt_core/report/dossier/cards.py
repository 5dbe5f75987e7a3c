"""Forms for machines: cards by the schemas of MinBZK's reporting standard, and the fields of the Dutch register."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from bdt_core import words
from bdt_core.errors import SpecError
from bdt_core.metrics import RATES
from bdt_core.report.dossier.build import Dossier, build_dossier
from bdt_core.report.dossier.catalogue import words_of

Document = Mapping[str, Any]
SCHEMA_VERSION = "0.1a10"
"""Of MinBZK/algorithm-reporting-standard."""
_LONGEST_NAME, _LONGEST_DESCRIPTION = 100, 350
_REGISTER = {
    "Naam": "system",
    "Omschrijving": "description",
    "Organisatie": "owner",
    "Thema": "domain",
    "Status": "status",
    "Begindatum": "in_use_since",
    "Einddatum": "in_use_until",
    "Contactgegevens": "contact",
    "Publiekspagina": "public_page",
    "Publicatiecategorie": "publication",
    "Doel": "purpose",
    "Afwegingen": "considerations",
    "Menselijke tussenkomst": "human_oversight",
    "Risicobeheer": "risk_management",
    "Wettelijke grondslag": "legal_basis",
    "Impacttoetsen": "impact_assessments",
    "Gegevens": "data_source",
    "Technische werking": "technical_working",
}
"""The register's fields, and the keys of ``about`` that fill them."""
_REGISTER_WORDS = {
    "in_development": "In ontwikkeling",
    "in_use": "In gebruik",
    "out_of_use": "Buiten gebruik",
    "high_risk_ai_system": "Hoog-risico AI-systemen",
    "impactful_algorithm": "Impactvolle algoritmes",
    "other_algorithm": "Overige algoritmes",
}


def card(document: dict[str, Any], dossier: Dossier) -> dict[str, Any] | None:
    """A filled-in form as data; None for forms that no machine reads.

    Parameters
    ----------
    document : dict
        The report as data.
    dossier : Dossier
        The form, filled in from it.

    Returns
    -------
    dict or None
        A system card or a model card that keep MinBZK's schemas, or the fields of the register. What is not given is
        not there, or said to be not given where the schema wants a text.

    Raises
    ------
    SpecError
        The register takes no text as long as the one that is given.
    """
    plain: dict[str, Any] = words.printable(document)
    match dossier.form:
        case "system-card":
            return _system_card(plain, dossier.language)
        case "model-card":
            return _model_card(plain, dossier.language)
        case "register":
            return _register(plain)
    return None


def _system_card(document: Document, language: str) -> dict[str, Any]:
    about, not_given = _about(document), words_of(language)["not_given"]
    made = {
        "schema_version": SCHEMA_VERSION,
        "name": about.get("system") or document["name"],
        "provenance": _provenance(document),
        "owners": _owners(about),
        "description": about.get("description"),
        "status": _word(about.get("status"), language),
        "begin_date": _first_day(about.get("in_use_since")),
        "end_date": _first_day(about.get("in_use_until")),
        "goal_and_impact": about.get("purpose"),
        "considerations": about.get("considerations"),
        "risk_management": about.get("risk_management"),
        "human_intervention": about.get("human_oversight"),
        "legal_base": [{"name": about["legal_basis"]}] if about.get("legal_basis") else None,
        "used_data": about.get("data_source"),
        "technical_design": about.get("technical_working"),
        "external_providers": _provider(about),
        "references": [{"name": "public page", "link": about["public_page"]}] if about.get("public_page") else None,
        "measures": [{"urn": not_given, "state": not_given, "value": one} for one in about.get("measures") or ()],
        "models": [_model_card(document, language)],
        "assessments": list(_assessments(document, language)),
    }
    return {key: one for key, one in made.items() if one not in (None, [], {})}


def _model_card(document: Document, language: str) -> dict[str, Any]:
    about, not_given = _about(document), words_of(language)["not_given"]
    data = document["data"]
    result = {
        "task": [{"type": "tabular-classification"}],
        "datasets": [
            {
                "type": "tabular",
                "name": data["source"],
                "features": [one["name"] for one in data["columns"] if one["role"] == "feature"],
                "revision": data["fingerprint"],
            }
        ],
        "metrics": list(_metrics(document)),
        "measurements": {"bar_plots": list(_bars(document))},
    }
    name = about.get("system") or document["name"]
    version = [{"name": "version", "dtype": "string", "value": about["version"]}] if about.get("version") else []
    made = {
        "name": name,
        "provenance": _provenance(document),
        "license": {"license_name": not_given},
        "owners": _owners(about),
        "model_index": [
            {"name": name, "model": about.get("model_file") or not_given, "parameters": version, "results": [result]}
        ],
    }
    return {key: one for key, one in made.items() if one not in (None, [], {})}


def _metrics(document: Document) -> Iterator[dict[str, Any]]:
    """Rates of every declared group that has enough rows; labels say which group."""
    for facet in (document["groups"] or {}).get("facets", ()):
        for group in facet["groups"]:
            labels = [
                {"name": column, "type": "group", "dtype": "string", "value": str(value)}
                for column, value in zip(facet["columns"], group["values"], strict=True)
            ]
            for name, rate in (group["rates"] or {}).items():
                if isinstance(rate["estimate"], int | float):
                    words_of_rate = RATES[name].words if name in RATES else name
                    yield {
                        "type": name,
                        "name": words_of_rate,
                        "dtype": "float",
                        "value": rate["estimate"],
                        "labels": labels,
                    }


def _bars(document: Document) -> Iterator[dict[str, Any]]:
    """A plot per grouping and rate that stands for all."""
    for facet in (document["groups"] or {}).get("facets", ()):
        for name in words_of("en")["rates"]:
            known = [
                {"name": one["group"], "value": one["rates"][name]["estimate"]}
                for one in facet["groups"]
                if isinstance(((one["rates"] or {}).get(name) or {}).get("estimate"), int | float)
            ]
            if known:
                yield {"type": name, "name": f"{name}: {facet['facet']}", "results": known}


def _assessments(document: dict[str, Any] | Document, language: str) -> Iterator[dict[str, Any]]:
    """The bias profile as questions and answers; a card needs the day of the audit."""
    day = _about(document).get("tested_on")
    if not day:
        return
    profile = build_dossier(dict(document), "bias-profile", language)
    answers = [
        {
            "question": one.label,
            "answer": "; ".join(
                x.text or "; ".join(table.caption for table in x.tables) for x in one.answers if x.given
            )
            or words_of(language)["not_given"],
        }
        for one in profile.fields.values()
    ]
    yield {"name": profile.title, "date": day, "contents": answers}


def _register(document: Document) -> dict[str, Any]:
    about = _about(document)
    for key, most in (("system", _LONGEST_NAME), ("description", _LONGEST_DESCRIPTION)):
        length = len(about.get(key) or "")
        if length >= most:
            raise SpecError(f'"about.{key}" has {length} characters; the register takes fewer than {most}: shorten it.')
    register = {}
    for name, key in _REGISTER.items():
        value = about.get(key)
        if isinstance(value, list):
            value = "; ".join(value)
        register[name] = _REGISTER_WORDS.get(value, value) if value else None
    return register


def _about(document: Document) -> Mapping[str, Any]:
    about: Mapping[str, Any] = document["spec"].get("about") or {}
    return about


def _provenance(document: Document) -> dict[str, str]:
    """What made the card, and when the audit was made, if anybody said so."""
    made = {"author": f"bdt {document['software'].get('bdt', '')}".strip()}
    day = _about(document).get("tested_on")
    return made | ({"timestamp": f"{day}T00:00:00Z"} if day else {})


def _owners(about: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"organization": about["owner"]}] if about.get("owner") else []


def _provider(about: Mapping[str, Any]) -> list[dict[str, str]]:
    if not about.get("provider"):
        return []
    return [{"name": about["provider"]} | ({"version": about["version"]} if about.get("version") else {})]


def _first_day(month: str | None) -> str | None:
    return None if month is None else datetime.date.fromisoformat(f"{month}-01").isoformat()


def _word(value: str | None, language: str) -> str | None:
    return None if value is None else str(words_of(language)["words"][value])
