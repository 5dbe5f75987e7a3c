"""What of a document is printed: texts that are safe, and of declared groups the largest."""

from __future__ import annotations

from typing import Any

from bdt_core import words

Document = dict[str, Any]
GROUPS_KEPT = 60


class Printed(dict[str, Any]):
    """A document that is safe to print already: made once for all that is drawn from it."""

    has_outlines: bool | None = None
    """Whether its texts can be drawn as outlines, once somebody has looked."""


def printed(document: Document) -> Printed:
    """The document with every text made safe to print, and with the largest declared groups first.

    Of a grouping with very many groups the largest `GROUPS_KEPT` stay; each grouping says in ``groups_total`` how
    many there are.

    Examples
    --------
    >>> groups = [{"group": "a", "rows": 2}, {"group": "b\\n", "rows": 9}]
    >>> facet = {"groups": groups, "against_reference": [], "clarify": []}
    >>> printed({"groups": {"facets": [facet]}})["groups"]["facets"][0]["groups"]
    [{'group': 'b ', 'rows': 9}, {'group': 'a', 'rows': 2}]
    """
    if isinstance(document, Printed):
        return document
    groups = document.get("groups")
    if groups is not None:
        groups = {**groups, "facets": [_largest_first(one) for one in groups["facets"]]}
    return Printed(words.printable({**document, "groups": groups}))


def _largest_first(facet: dict[str, Any]) -> dict[str, Any]:
    groups = facet["groups"]
    kept = sorted(range(len(groups)), key=lambda i: -groups[i]["rows"])[:GROUPS_KEPT]

    def of_kept(metric: dict[str, Any]) -> dict[str, Any]:
        values = metric["values"]
        # A metric of all groups together has one value, of no group.
        return metric if len(values) != len(groups) else {**metric, "values": [values[i] for i in kept]}

    return {
        **facet,
        "groups": [groups[i] for i in kept],
        "groups_total": len(groups),
        "against_reference": [of_kept(one) for one in facet["against_reference"]],
        "clarify": [of_kept(one) for one in facet["clarify"]],
    }
