"""Notebooks as pages: they are stored without output, and run from the first cell to the last as the site is built."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from generated import drawings
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


class NotebookParser(MystParser):
    """A notebook is Markdown, with what its cells show between."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Run it, and have the Markdown parsed."""
        name = Path(document["source"]).stem
        super().parse("\n\n".join(pieces(json.loads(inputstring)["cells"], name)), document)


def pieces(cells: list[dict[str, Any]], name: str) -> Iterator[str]:
    """Every cell, and what it shows, as Markdown."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            yield source
            continue
        yield fenced("python", source)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = run(source, names)
        if printed.getvalue():
            yield fenced("text", printed.getvalue())
        if value is not None:
            page = getattr(value, "_repr_html_", lambda: None)()
            yield fenced("text", repr(value)) if page is None else raw(page)
        yield from map(raw, pictures(f"{name}-{number}"))


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last line is shown, unless a semicolon ends it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return None if source.rstrip().endswith(";") else value


def pictures(name: str) -> Iterator[str]:
    """What was drawn since the last cell, its title in place of it for those who see no picture."""
    import matplotlib.pyplot as plt

    folder = drawings().parent / "notebooks"
    folder.mkdir(exist_ok=True)
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.savefig(folder / f"{name}-{number}.svg", metadata={"Date": None})
        title = " ".join(one.get_text() for one in figure.axes[0].texts[:1])
        yield f'<img src="../_static/notebooks/{name}-{number}.svg" alt="{escape(title)}" style="background: #fff">'
    plt.close("all")


def fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.strip()}\n````"


def raw(page: str) -> str:
    """HTML within a page, which scrolls where it is wider; tables as the site has them."""
    page = page.replace('border="1" class="dataframe"', 'class="docutils"')
    return f'````{{raw}} html\n<div style="overflow-x: auto">{page}</div>\n````'


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the parser known."""
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
