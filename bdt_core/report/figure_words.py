"""Words of a figure: its title, which is a finding, its measure, the words on it, and the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.report.blocks import Facts, FigureWords, Paragraph, Table
from bdt_core.report.catalogue import AS_WRITTEN, say_in
from bdt_core.report.first_page import first_page, measure
from bdt_core.report.prose import language_of, read_in
from bdt_core.said import AsItIs

if TYPE_CHECKING:
    from bdt_core.report.document import Printed


def figure_words(document: Printed, name: str) -> FigureWords:
    """The words of a figure by its name in `bdt_core.report.figures.FIGURES`."""
    return document.once(f"words of {name}", lambda one: _figure_words(one, name))


def _figure_words(document: Printed, name: str) -> FigureWords:
    section = read_in(
        language_of(document),
        _template(name),
        say=AS_WRITTEN if name == "first_page" else say_in(document),
        document=document,
        **({"page": first_page(document)} if name == "first_page" else {"measure": measure(document)}),
        figure=name,
    )
    assert section is not None  # it always has a title
    paragraphs = [one.text for one in section.blocks if isinstance(one, Paragraph)]
    facts = [pair for one in section.blocks if isinstance(one, Facts) for pair in one.pairs]
    *labels, data = [one for one in section.blocks if isinstance(one, Table)]
    return FigureWords(
        title=AsItIs(section.title),
        subtitle=AsItIs(paragraphs[0]),
        words={name: AsItIs(one) for name, one in facts},
        labels=labels[0].rows if labels else (),
        data=(tuple(one.label for one in data.columns), *(tuple(cell.text for cell in row) for row in data.rows)),
    )


def _template(name: str) -> str:
    if name == "first_page":
        return "picture"
    return "figures/groups" if name.startswith("groups_") else f"figures/{name}"
