"""Outcomes to measure, as a choice that a person reads."""

from __future__ import annotations

from bdt_core.derivations import Derivation
from bdt_core.proposal import Glance, Measured
from bdt_core.words import printable
from bdt_pipeline.local_page.language import PageLanguage

_OF_BOTH: dict[Derivation, str] = {
    "error": "How often “{prediction}” is wrong about “{label}”",
    "false_positive": "How often “{prediction}” says {yes} where “{label}” does not",
    "false_negative": "How often “{prediction}” does not say {yes} where “{label}” does",
    "false_positive_rate": "How often “{prediction}” says {yes}, among people for whom “{label}” does not",
    "false_negative_rate": "How often “{prediction}” does not say {yes}, among people for whom “{label}” does",
    "absolute_error": "How far “{prediction}” is from “{label}”",
    "squared_error": "How far “{prediction}” is from “{label}”, squared",
    "signed_error": "How much higher “{prediction}” is than “{label}”",
    "pinball_loss": "How far “{prediction}” is from “{label}”, by the pinball loss",
}


def outcome_in_words(measured: Measured, glance: Glance, spoken: PageLanguage) -> str:
    """What is measured, in a few words.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core.proposal import chosen, look_at
    >>> from bdt_core.spec import BiasVariable
    >>> from bdt_pipeline.local_page.language import language
    >>> table = pd.DataFrame({"age": [30.5, 40, 31] * 9, "fined": [0, 1, 1] * 9, "job": ["yes", "no", "no"] * 9})
    >>> seen = look_at(table)
    >>> for settings in (
    ...     {"column": "fined"},
    ...     {"column": "age"},
    ...     {"derive": "positive_prediction", "prediction": "job", "positive": "yes"},
    ...     {"derive": "false_positive_rate", "prediction": "job", "label": "fined", "positive": ["yes", 1]},
    ... ):
    ...     outcome_in_words(chosen(BiasVariable(**settings)), seen, language("en"))
    'How often “fined” is 1'
    '“age”, as it stands'
    'How often “job” is yes'
    'How often “job” says yes or 1, among people for whom “fined” does not'
    """
    bias = measured.settings
    if bias.derive in _OF_BOTH:
        names = {"prediction": printable(bias.prediction or ""), "label": printable(bias.label or "")}
        return spoken.say(_OF_BOTH[bias.derive], **names, yes=_levels(measured, glance, spoken))
    column = bias.column or bias.prediction or ""
    if bias.column is not None and not set(glance.columns[column].levels) <= {0, 1}:
        return spoken.say("“{column}”, as it stands", column=printable(column))
    levels = _levels(measured, glance, spoken)
    return spoken.say("How often “{column}” is {level}", column=printable(column), level=levels)


def _levels(measured: Measured, glance: Glance, spoken: PageLanguage) -> str:
    """What counts as yes."""
    positive = measured.settings.positive
    if positive is None:
        positive = next((one for one in (True, 1) if _has(measured, glance, one)), 1)
    values = positive if isinstance(positive, list) else [positive]
    return f" {spoken.say('or')} ".join(printable(str(one)) for one in values)


def _has(measured: Measured, glance: Glance, level: bool | int) -> bool:
    seen = glance.columns[measured.columns[-1]]
    return any(type(one) is type(level) or str(one) == str(level) for one in seen.levels)
