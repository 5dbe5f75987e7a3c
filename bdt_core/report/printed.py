"""A document made ready to print: texts are safe, of declared groups the largest are kept, classes are in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from bdt_core import words
from bdt_core.sentences import with_sentences
from bdt_core.vocabulary import are_classes, class_order

if TYPE_CHECKING:
    from bdt_core.report.document import Printed

GROUPS_KEPT = 60
_CLASSES = 15
"""Classes of numbers in their order, at most: of more groups some tables show the largest alone."""


AnyDocument: TypeAlias = "Mapping[str, Any] | Printed"
"""A report as data, fresh or read back from report.json; or what `printed` made of it."""


_shared: ContextVar[tuple[Mapping[str, Any], Printed] | None] = ContextVar("shared", default=None)


@contextmanager
def printed_once(document: Mapping[str, Any]) -> Iterator[None]:
    """Within it, all forms of a document that is not changed share the page and the figures."""
    token = _shared.set((document, printed(document)))
    try:
        yield
    finally:
        _shared.reset(token)


def printed(document: AnyDocument) -> Printed:
    """The document with every text made safe to print, and with the largest declared groups first.

    Of a grouping with very many groups the largest `GROUPS_KEPT` stay; each grouping knows how many there are in all.
    Few classes of numbers, such as ages, stand in their own order, as groups and as levels.
    """
    from bdt_core.report.document import Printed  # with all that the stages hand on
    from bdt_core.verdict.kinds import kind_named

    if isinstance(document, Printed):
        return document
    for limit in document["gate"]:
        kind_named(limit["kind"])  # asked here, for what a validator of pydantic raises is wrapped
    shared = _shared.get()
    if shared is not None and shared[0] is document:
        return shared[1]
    document = with_sentences(document)
    shortened: dict[str, Any] = {
        name: {**groups, "facets": [_largest_first(one) for one in groups["facets"]]}
        for name in ("groups", "numeric_groups")
        if (groups := document.get(name)) is not None
    }
    if document.get("differences") is not None:
        features = [_levels_in_order(one) for one in document["differences"]["features"]]
        shortened["differences"] = {**document["differences"], "features": features}
    if document.get("proxies") is not None:
        by_column = groupby(document["proxies"], lambda one: one["column"])
        shortened["proxies"] = [one for _, levels in by_column for one in _in_order(list(levels))]
    return Printed.model_validate(words.printable({**document, **shortened}))


def are_ordered(groups: Sequence[Sequence[Any]]) -> bool:
    """Whether groups are classes of numbers of one column, few enough for all to be shown."""
    return len(groups) <= _CLASSES and all(len(one) == 1 for one in groups) and are_classes([one[0] for one in groups])


def _levels_in_order(feature: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**feature, "levels": _in_order(feature["levels"])} if "levels" in feature else feature


def _in_order(levels: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Levels of a column; as they were where they are no classes."""
    if not are_ordered([(one["level"],) for one in levels]):
        return levels
    return sorted(levels, key=lambda one: class_order(one["level"]))


def _largest_first(facet: Mapping[str, Any]) -> dict[str, Any]:
    groups = facet["groups"]
    kept = sorted(range(len(groups)), key=lambda i: -groups[i]["rows"])[:GROUPS_KEPT]
    if are_ordered([one["values"] for one in groups]):
        kept.sort(key=lambda i: class_order(groups[i]["values"][0] or ""))

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
