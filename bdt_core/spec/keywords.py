"""A specification from keywords: its own keys, and the words that the functions for single searches have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bdt_core.errors import SpecError, nearest
from bdt_core.spec.audit_spec import AuditSpec
from bdt_core.spec.reading import parse_spec

SHORT: Mapping[str, tuple[str, str]] = {
    "outcome": ("bias_variable", "column"),
    "derive": ("bias_variable", "derive"),
    "label": ("bias_variable", "label"),
    "prediction": ("bias_variable", "prediction"),
    "quantile": ("bias_variable", "quantile"),
    "k": ("bias_variable", "k"),
    "query": ("bias_variable", "query"),
    "ranked": ("bias_variable", "ranked"),
    "positive": ("bias_variable", "positive"),
    "better": ("bias_variable", "better"),
    "columns": ("features", "include"),
    "key": ("split", "key"),
    "test_size": ("split", "test_size"),
    "random_state": ("split", "random_state"),
    "alpha": ("significance", "alpha"),
    "min_rows": ("significance", "min_rows"),
}
"""What a keyword is short for; `bdt_core.find_worst_groups` and `bdt_core.find_slices` call it the same."""
KEYWORDS = (*SHORT, *AuditSpec.model_fields)


class _NotGiven:
    """The default of a keyword: None is a value, as it leaves a search out."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN = _NotGiven()


def spec_of_keywords(given: Mapping[str, Any]) -> AuditSpec:
    """Make a specification of keywords.

    Parameters
    ----------
    given : mapping of str to value
        Keys of the specification, such as ``protected`` or ``gate``, and the short ones of `SHORT`.

    Returns
    -------
    AuditSpec
        With the defaults of every specification.

    Raises
    ------
    SpecError
        For each unknown keyword and wrong value, with a suggestion.

    Examples
    --------
    >>> spec = spec_of_keywords({"outcome": "error", "protected": ["sex"], "columns": ["age", "town"]})
    >>> spec.bias_variable.column, spec.features.include, spec.name
    ('error', ['age', 'town'], 'audit')
    >>> spec_of_keywords({"label": "repaid", "prediction": "granted"}).bias_variable.derive
    'error'
    """
    if unknown := [name for name in given if name not in KEYWORDS]:
        raise SpecError("\n".join(map(_unknown, unknown)))
    plain: dict[str, Any] = {"name": "audit"}
    plain |= {name: value for name, value in given.items() if name not in SHORT}
    plain = with_place(plain)
    for name in [one for one in SHORT if one in given]:
        section, key = SHORT[name]
        inside = plain.get(section, {})
        if not isinstance(inside, Mapping) or key in inside:
            raise SpecError(f'"{name}" is short for {section}: {{{key}: ...}}. Give one of them.')
        plain[section] = {**inside, key: given[name]}
    bias = plain.get("bias_variable")
    if not bias or (isinstance(bias, Mapping) and {"column", "label", "prediction"}.isdisjoint(bias)):
        raise SpecError(
            "What shall be measured? Name a numeric column as outcome, or the columns with what happened and what the "
            "algorithm said as label and prediction."
        )
    if isinstance(bias, Mapping):
        plain["bias_variable"] = with_derivation(bias)
    return parse_spec(plain, "What audit() was called with")


def with_place(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A specification of a table that is handed over, whose source says no place.

    Examples
    --------
    >>> with_place({"source": {"clean": True}})
    {'source': {'path': '(DataFrame)', 'clean': True}}
    """
    source = plain.get("source", {})
    if not isinstance(source, Mapping) or not {"path", "sql", "database", "asset"}.isdisjoint(source):
        return dict(plain)
    return {**plain, "source": {"path": "(DataFrame)", **source}}


def with_derivation(bias: Mapping[str, Any]) -> dict[str, Any]:
    """A bias variable of label and prediction, with what is made of them where that is not said.

    Examples
    --------
    >>> with_derivation({"prediction": "granted"})
    {'prediction': 'granted', 'derive': 'positive_prediction'}
    """
    if {"label", "prediction"}.isdisjoint(bias) or {"derive", "column"} & set(bias):
        return dict(bias)
    return {**bias, "derive": "error" if "label" in bias else "positive_prediction"}


def _unknown(name: str) -> str:
    hint = nearest(name, KEYWORDS, f"known ones: {', '.join(KEYWORDS)}.")
    return f"audit() has no keyword {name}; {hint}"
