"""What of a document is printed: texts that are safe, and of declared groups the largest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from bdt_core import words

if TYPE_CHECKING:
    from bdt_core.report.document import Printed

GROUPS_KEPT = 60


AnyDocument: TypeAlias = "Mapping[str, Any] | Printed"
"""A report as data, fresh or read back from report.json; or what `printed` made of it."""


def printed(document: AnyDocument) -> Printed:
    """The document with every text made safe to print, and with the largest declared groups first.

    Of a grouping with very many groups the largest `GROUPS_KEPT` stay; each grouping knows how many there are in all.
    """
    from bdt_core.report.document import Printed  # with all that the stages hand on

    if isinstance(document, Printed):
        return document
    groups = document.get("groups")
    if groups is not None:
        groups = {**groups, "facets": [_largest_first(one) for one in groups["facets"]]}
    return Printed.model_validate(words.printable({**document, "groups": groups}))


def _largest_first(facet: Mapping[str, Any]) -> dict[str, Any]:
    groups = facet["groups"]
    kept = sorted(range(len(groups)), key=lambda i: -groups[i]["rows"])[:GROUPS_KEPT]

    def of_kept(metric: Mapping[str, Any]) -> Mapping[str, Any]:
        values = metric["values"]
        # A metric of all groups together has one value, of no group.
        return metric if len(values) != len(groups) else {**metric, "values": [values[i] for i in kept]}

    return {
        **facet,
        "groups": [groups[i] for i in kept],
        "groups_not_printed": len(groups) - len(kept),
        "against_reference": [of_kept(one) for one in facet["against_reference"]],
        "clarify": [of_kept(one) for one in facet["clarify"]],
    }
