"""A document made ready to print: every text is safe, and of declared groups the largest are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from bdt_core import words
from bdt_core.sentences import with_sentences

if TYPE_CHECKING:
    from bdt_core.report.document import Printed

GROUPS_KEPT = 60


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
    shortened = {
        name: {**groups, "facets": [_largest_first(one) for one in groups["facets"]]}
        for name in ("groups", "numeric_groups")
        if (groups := document.get(name)) is not None
    }
    return Printed.model_validate(words.printable({**document, **shortened}))


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
