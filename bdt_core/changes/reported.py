"""Declared groups of two reports: what can be compared where the tables are not at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scipy.special import ndtri

from bdt_core.changes.comparing import EVERYBODY, ComparedTable, Followed, changes_of
from bdt_core.changes.measuring import FollowedGroup, Sides
from bdt_core.changes.results import Changes, People
from bdt_core.errors import DataError
from bdt_core.groups.conditions import GroupCondition
from bdt_core.inference.estimates import KnownMean, MeanOfGroups
from bdt_core.spec.wording import wording

Document = Mapping[str, Any]
_MEND = "Compare the two specifications, whose tables are read then."
_RATES = {
    "error": ("accuracy", True),
    "false_positive_rate": ("false_positive_rate", False),
    "false_negative_rate": ("false_negative_rate", False),
    "positive_prediction": ("selection_rate", False),
}
"""The rate of declared groups that is the mean of a bias variable, and whether it is 1 less that."""


def compare_reported_groups(
    a: ComparedTable, b: ComparedTable, documents: tuple[Document, Document], *, max_worse: float | None = None
) -> Changes:
    """Say for which declared groups B is better or worse than A, from what two reports print.

    Parameters
    ----------
    a, b : ComparedTable
        With the same bias variable.
    documents : tuple of dict
        Their reports.
    max_worse : float, optional
        As in `bdt_core.changes.comparing.compare_tables`.

    Returns
    -------
    Changes
        Its people are taken to be different ones, and so are those of two groups of a declared column: who they are,
        reports do not say. Everybody is whoever is in a group of the first column that is large enough.

    Raises
    ------
    DataError
        The reports do not hold what is measured, or have no declared group in common.
    """
    derive = a.spec.bias_variable.derive
    if derive is None or derive not in _RATES:
        raise DataError(f"Reports do not hold {wording(a.spec.bias_variable).name} of declared groups. {_MEND}")
    means = [_means(one, document, *_RATES[derive]) for one, document in zip((a, b), documents, strict=True)]
    facets = [columns for columns in means[0] if columns in means[1]]
    if not facets:
        raise DataError(f"The two reports have no declared groups in common. {_MEND}")
    followed: list[Followed] = []
    for columns in facets:
        of_a, of_b = means[0][columns], means[1][columns]
        for values in dict.fromkeys([*of_a, *of_b]):
            conditions = tuple(map(GroupCondition.of_level, columns, values))
            followed.append(Followed(FollowedGroup(conditions), _sides(of_a, values), _sides(of_b, values)))
    whole = [_together(list(one[facets[0]].values())) for one in means]
    everybody = Followed(EVERYBODY, *(Sides(one, None) for one in whole))
    if whole[0] is None or whole[1] is None:
        raise DataError(f"Too few people are in the groups of {', '.join(facets[0])} in A or in B. {_MEND}")
    people = People(None, whole[0].people, whole[1].people)
    return changes_of(a, b, people, everybody, followed, is_rate=True, max_worse=max_worse)


Means = dict[tuple[Any, ...], KnownMean | None]


def _means(compared: ComparedTable, document: Document, rate: str, complement: bool) -> dict[tuple[str, ...], Means]:
    """By declared columns and by group, each with its interval; None where too few people are in it."""
    groups, bias = document.get("groups"), compared.spec.bias_variable
    if groups is None:
        raise DataError(f"The report of {compared.name} has no declared groups. {_MEND}")
    of_groups = compared.spec.groups
    if (of_groups.label or bias.label, of_groups.prediction or bias.prediction) != (bias.label, bias.prediction):
        raise DataError(f"The groups of {compared.name} measure another label or prediction than its audit. {_MEND}")
    critical = float(-ndtri((1.0 - groups["confidence"]) / 2.0))

    def mean(group: Document) -> KnownMean | None:
        known = (group["rates"] or {}).get(rate)
        if known is None or known["estimate"] is None or known["low"] is None or not known["n"]:
            return None
        value, low, high = (float(known[key]) for key in ("estimate", "low", "high"))
        if complement:
            value, low, high = 1.0 - value, 1.0 - high, 1.0 - low
        rows = round(known["n"])
        return KnownMean(value, low, high, critical, min(rows, group.get("persons", rows)), rows)

    return {
        tuple(facet["columns"]): {tuple(one["values"]): mean(one) for one in facet["groups"]}
        for facet in groups["facets"]
    }


def _sides(means: Means, values: tuple[Any, ...]) -> Sides:
    return Sides(means.get(values), _together([one for other, one in means.items() if other != values]))


def _together(means: Sequence[KnownMean | None]) -> MeanOfGroups | None:
    known = [one for one in means if one is not None]
    return MeanOfGroups(known) if known else None
