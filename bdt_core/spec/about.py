"""Statements of a person about the system and its audit, and the words that its readers use."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from bdt_core.spec.section import Day, SpecSection
from bdt_core.spec.source import usable_address

Status = Literal["in_development", "in_use", "out_of_use"]
Publication = Literal["high_risk_ai_system", "impactful_algorithm", "other_algorithm"]
_MONTH = re.compile("[0-9]{4}-[0-9]{2}")


def _texts(x: Any) -> Any:
    """YAML reads a level such as 1 or true as no text."""
    return {str(key): one for key, one in x.items()} if isinstance(x, dict) else x


class Label(SpecSection):
    """What people call a column, and its levels."""

    name: str | None = Field(None, min_length=1, description="The column, e.g. origin for race_eth_2.")
    levels: Annotated[dict[str, str], BeforeValidator(_texts)] = Field(
        {}, description="Its levels, as the table has them: {AA: African-American, W: white}."
    )


Counts = Annotated[dict[str, Annotated[int, Field(ge=0)]], BeforeValidator(_texts)]


class About(SpecSection):
    """What a machine cannot know. All of it is optional; what is left out is printed as "not given".

    In brackets stands who asks for a field: an article of the AI Act (``Art.``) or its annex, ISO/IEC/IEEE 29119-3,
    prEN 18283, Local Law 144 (LL144), a fundamental rights impact assessment (FRIA), the Dutch Algoritmekader and
    Algoritmeregister (register), the cards of MinBZK.
    """

    system: str | None = Field(None, description="Name of the system (Annex IV 1, 29119-3, MinBZK, register).")
    version: str | None = Field(None, description="Version of the model or score (Annex IV 1-2, MinBZK, model card).")
    model_file: str | None = Field(
        None, description="File of the model or predictions, for its hash (Annex IV 1-2, model card)."
    )
    provider: str | None = Field(None, description="Who made the system (Annex IV 1, MinBZK).")
    owner: str | None = Field(None, description="Organisation that uses it and answers for it (Annex IV 1, register).")
    purpose: str | None = Field(None, description="What it is for (Annex IV 1, register, FRIA a).")
    domain: str | None = Field(None, description="Field that it works in (Annex IV 1, register: theme).")
    description: str | None = Field(None, max_length=350, description="What it does, in plain words (register).")
    status: Status | None = Field(None, description="Whether it is in use (register).")
    decision: str | None = Field(None, description="What it decides or advises on (FRIA b, register).")
    affected: str | None = Field(None, description="Who is affected by the decision (FRIA c, register).")
    how_often: str | None = Field(None, description="How often it is used (FRIA b).")
    in_use_since: str | None = Field(None, description="Since when, year and month: 2026-01 (FRIA b, register).")
    in_use_until: str | None = Field(None, description="Until when, year and month: 2027-12 (register).")
    distribution_date: Day | None = Field(None, description="Day from which this version is used (LL144).")
    tested_on: Day | None = Field(None, description="Day of the audit: 2026-01-31 (Annex IV 2(g), LL144).")
    tester: str | None = Field(None, description="Who made the audit (Annex IV 2(g), 29119-3, LL144).")
    reviewer: str | None = Field(None, description="Who looked it over (Annex IV 2(g), LL144).")
    independence: str | None = Field(None, description="What tester and reviewer have to do with the system (LL144).")
    signed_by: str | None = Field(None, description="Who signs the report (Annex IV 2(g)).")
    data_source: str | None = Field(None, description="Where the data come from (Art. 10(2)(b), LL144).")
    data_period: str | None = Field(None, description="Which time they are about (Art. 10(2)(b), LL144).")
    data_collection: str | None = Field(None, description="How they were collected (Art. 10(2)(b)).")
    data_original_purpose: str | None = Field(None, description="What they were collected for (Art. 10(2)(b)).")
    data_legal_basis: str | None = Field(None, description="On which legal basis (Art. 10(2)(b)).")
    label_meaning: str | None = Field(None, description="What the label stands for (Art. 10(2)(c)-(d)).")
    labelled_by: str | None = Field(None, description="Who gave the labels (Art. 10(2)(c)-(d)).")
    why_groups: str | None = Field(None, description="Why these groups were looked at (prEN 18283, FRIA c).")
    hazards: dict[str, str] = Field(
        {},
        description="What may happen to whom, by group: {young men: a needless check} (prEN 18283, FRIA d).",
    )
    why_metrics: str | None = Field(
        None, description="Why this is measured, and by these metrics (Annex IV 2(g), Algoritmekader 1.2)."
    )
    limits_set_by: str | None = Field(None, description="Who set the limits of the gate (prEN 18283).")
    limits_set_on: Day | None = Field(None, description="When; before the results were known? (prEN 18283)")
    aim: str | None = Field(None, description="Justification: its legitimate aim (Algoritmekader ver-03).")
    suitable: str | None = Field(None, description="Justification: why it serves the aim (Algoritmekader ver-03).")
    necessary: str | None = Field(None, description="Justification: why nothing milder does (Algoritmekader ver-03).")
    proportionate: str | None = Field(
        None, description="Justification: why the aim outweighs the harm (Algoritmekader ver-03)."
    )
    alternatives: str | None = Field(None, description="Justification: what else was weighed (Algoritmekader ver-03).")
    considerations: str | None = Field(None, description="What was weighed before it was used (register).")
    measures: list[str] = Field([], description="What was done against differences (Art. 10(2)(g), Annex IV 2(b)).")
    special_why: str | None = Field(
        None, description="Special categories of data: why they are needed (Art. 10(5), GDPR 9)."
    )
    special_alternatives: str | None = Field(
        None, description="Special categories of data: what else was tried (Art. 10(5), GDPR 9)."
    )
    special_access: str | None = Field(
        None, description="Special categories of data: who can see them (Art. 10(5), GDPR 9)."
    )
    special_deletion: str | None = Field(
        None, description="Special categories of data: when they are deleted (Art. 10(5), GDPR 9)."
    )
    residual_risk: str | None = Field(None, description="Which risk remains (Art. 9, prEN 18283).")
    accepted_by: str | None = Field(None, description="Who accepted it (Art. 9, prEN 18283).")
    conditions: str | None = Field(None, description="Conditions of use (Art. 9, prEN 18283).")
    human_oversight: str | None = Field(None, description="What people can do about a decision (Art. 14, register).")
    risk_management: str | None = Field(None, description="How risks are watched (Art. 9, register).")
    monitoring: str | None = Field(None, description="What is watched in use, and how (Art. 72, 26(5), prEN 18283).")
    review_trigger: str | None = Field(None, description="What makes a new audit due (Art. 72, prEN 18283).")
    next_review: Day | None = Field(None, description="Day of the next audit (Art. 72, prEN 18283).")
    contact: str | None = Field(None, description="Whom to ask (FRIA f, register).")
    complaints: str | None = Field(None, description="How to complain (FRIA f).")
    heard: str | None = Field(None, description="Who was heard, such as those affected (FRIA f).")
    public_page: str | None = Field(None, description="Page for the public: https://... (register).")
    publication: Publication | None = Field(None, description="Category of publication (register).")
    legal_basis: str | None = Field(None, description="Law or rule that it rests on (register).")
    impact_assessments: list[str] = Field([], description="Assessments that were made: [DPIA, FRIA] (register).")
    technical_working: str | None = Field(None, description="How it works, technically (register).")

    @field_validator("in_use_since", "in_use_until")
    @classmethod
    def _is_a_month(cls, month: str | None) -> str | None:
        if month is None or (_MONTH.fullmatch(month) and 1 <= int(month[5:]) <= 12):
            return month
        raise ValueError(f'"{month}" is no month such as 2026-01')

    @field_validator("model_file")
    @classmethod
    def _usable(cls, path: str | None) -> str | None:
        return usable_address(path)
