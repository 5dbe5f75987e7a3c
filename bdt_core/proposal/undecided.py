"""Roles of columns that nobody has decided: the proposal's, for whoever names an outcome and no more."""

from __future__ import annotations

from typing import Any

from bdt_core.errors import DataError
from bdt_core.proposal.measured import chosen
from bdt_core.proposal.proposal import Proposal, Role, look_at, proposed
from bdt_core.spec import AuditSpec, Features, Source
from bdt_core.table.frames import AnyTable, handed_over
from bdt_core.table.stacking import stacked_by_source


def with_proposed_roles(spec: AuditSpec, table: Source | AnyTable) -> tuple[AuditSpec, Proposal | None]:
    """Fill in what a specification leaves open as `bdt init` would, so that every way in gives the same answer.

    Parameters
    ----------
    spec : AuditSpec
        As somebody gave it by keywords or options. Whoever lists ``features.include`` has decided.
    table : Source, DataFrame, Arrow table or dict of columns

    Returns
    -------
    spec : AuditSpec
        With protected columns where it names none, columns that are left out, kinds, and what few rows need.
    proposal : Proposal or None
        What it was filled in from; None where nothing was.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core.spec import spec_of_keywords
    >>> table = pd.DataFrame({"nr": range(60), "sex": ["m", "f"] * 30, "x": [1, 2, 4] * 20, "fined": [0, 1, 1, 1] * 15})
    >>> spec, proposal = with_proposed_roles(spec_of_keywords({"outcome": "fined"}), table)
    >>> spec.protected, spec.features.exclude, spec.split.test_size
    (['sex'], ['nr'], 0.5)
    >>> with_proposed_roles(spec_of_keywords({"outcome": "fined", "columns": ["x"]}), table)[1] is None
    True
    """
    if spec.features.include is not None:
        return spec, None
    said: dict[str, Role] = dict.fromkeys(spec.features.exclude, "left out")
    if "protected" in spec.model_fields_set:
        said |= dict.fromkeys(spec.protected, "protected")
    try:
        bias = spec.bias_variable
        measured = (bias.column, bias.label, bias.prediction, bias.query)
        also = [*said, *(name for name in measured if name is not None)]
        if spec.source.stacked is not None and not isinstance(table, Source):
            table = stacked_by_source(handed_over(table), spec.source.stacked, spec.source.described)
        seen = look_at(table, also, spec.features.at_most)
        known = {name: role for name, role in said.items() if name in seen.columns}
        if any(name not in seen.columns for name in measured if name is not None):
            return spec, None  # the audit names the key, and what is called alike
        proposal = proposed(seen, chosen(spec.bias_variable), known, spec.features.at_most)
    except DataError:
        return spec, None  # the audit says what is wrong with the table, by the keys that were given
    return _filled_in(spec, proposal), proposal


def _filled_in(spec: AuditSpec, proposal: Proposal) -> AuditSpec:
    used = _used_elsewhere(spec)
    free = [one for one in proposal.columns if one.name not in used]
    features = Features(
        exclude=list(dict.fromkeys([*spec.features.exclude, *(one.name for one in free if one.is_excluded)])),
        leaks=list(dict.fromkeys([*spec.features.leaks, *(one.name for one in free if one.is_leak)])),
        at_most=spec.features.at_most,
        kinds={**{one.name: one.kind for one in free if one.kind}, **spec.features.kinds},
    )
    changed: dict[str, Any] = {"features": features}
    if "protected" not in spec.model_fields_set:
        changed["protected"] = [one.name for one in free if one.role == "protected"]
    for key, of_few_rows in proposal.settings.items():
        section = getattr(spec, key)
        if not of_few_rows.keys() & section.model_fields_set:
            changed[key] = section.model_copy(update=of_few_rows)
    return spec.model_copy(update=changed)


def _used_elsewhere(spec: AuditSpec) -> set[str]:
    """Columns of which a key says what they are for."""
    groups, local = spec.groups, spec.local_bias
    named = [
        *spec.carried, *spec.declared_columns, *spec.scores, *spec.features.exclude, *groups.similar_by,
        *groups.thresholds, groups.stratum, groups.label, groups.prediction, spec.split.key,
        spec.bias_variable.query,
        local.texts if local else None,
    ]  # fmt: skip
    return {one for one in named if one is not None} - set(spec.protected)
