"""Sections from templates: the document is chosen from in Python, what readers are told stands in
``templates/sections`` in English, and in other languages in the catalogues of `bdt_core.report.translation`.

A template is Jinja that writes Markdown, which is made into blocks once; every printed form draws those. Of Markdown it
has:

``# Title``
    of the section;
``## Title``
    what follows, up to the next of these or a rule (``---``), is folded depth;
``### Title``
    a smaller heading;
``- item``
    a list; names and what they stand for where every item begins with ``**name**``;
``Table: caption``
    and a table below it. Columns of numbers are set to the right (``---:``); in a cell ``*small*`` is the line below,
    ```tag``` a tag behind the text, ``[text](harm)`` has a tone, and ``[text]({{ address }})`` leads to an address;
``![what is seen](name)``
    a figure, and its caption in the next line;
four spaces
    before text that machines read.

Values never become Markdown: a place is kept for each while the template is read, and whatever stands in it is put
there afterwards.

A value is data and printed as it is, but for the readers' own names of columns and levels. Numbers of the filters are
written as the language writes them, a `bdt_core.said.Said` is said in it, and so is a text that a template marks as a
sentence, ``{{ one.reason | say }}``. A level stands with its column: ``{{ one.level | level_of(one.column) }}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from bdt_core.report.blocks import (
    Block,
    Bullets,
    Cell,
    Code,
    ColumnHead,
    Facts,
    Figure,
    Folded,
    Paragraph,
    Section,
    Subheading,
    Table,
    Tone,
)
from bdt_core.report.catalogue import AS_WRITTEN, Sayings, say_in
from bdt_core.said import AsItIs, Sentence, of_ours

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.runtime import Context
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from bdt_core.report.document import Document, Printed

_PLACE = re.compile("\ue000(\\d+)\ue001")  # of a value; the template itself has none of these characters
_CAPTION = "Table: "
_SPACES = re.compile(" {2,}")
_RULES = ("table", "list", "heading", "hr", "code", "escape", "emphasis", "backticks", "link", "image", "newline")


def section(name: str, document: Printed) -> Section | None:
    """A section by the name of its template, in the document's language; None where the document has nothing for it.

    What stages have written is told in that language, too; see `bdt_core.report.catalogue`.
    """
    return read_in(language_of(document), name, say=say_in(document), document=document)


def language_of(document: Document) -> str:
    """The language of a report; English in those that do not say."""
    return str(document.spec.get("language", "en"))


def read_in(language: str, name: str, *, say: Sayings = AS_WRITTEN, **variables: Any) -> Section | None:
    """A section from a language's template of a name; None where it has no title. See `read`."""
    return read(name, environment(language).get_template(f"{name}.md.j2"), say=say, **variables)


def read(section: str, template: Template, *, say: Sayings = AS_WRITTEN, **variables: Any) -> Section | None:
    """A section from a template; None where it has no title. `say` says values in the template's language."""
    values: list[str] = []
    written = template.render(variables, values=values, say=say)
    return _Reader(values).section(section, iter(_tokens(written)))


@lru_cache(256)
def _tokens(written: str) -> tuple[Token, ...]:
    """Of what a template has written; it has no values, so that reports of a process have many of them in common."""
    return tuple(_markdown().parse(written))


@cache
def environment(language: str = "en") -> Environment:
    """What the templates of a language are compiled in, once each."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
    from markupsafe import Markup

    from bdt_core.report import chosen
    from bdt_core.report.compiled import CompiledTemplates, TranslatedTemplates
    from bdt_core.report.language import filters

    @pass_context
    def place(context: Context, x: Any) -> Any:
        """Where a value will stand; what another macro has written is Markdown already."""
        if isinstance(x, Markup):
            return x
        context["values"].append(_printed(context["say"], x))
        return Markup(f"\ue000{len(context['values']) - 1}\ue001")

    @pass_context
    def joined(context: Context, names: Sequence[str], between: str) -> AsItIs:
        """Names with a word between them, each of them as readers call it."""
        return AsItIs(between.join(map(context["say"].name, names)))

    @pass_context
    def said(context: Context, sentence: str) -> AsItIs:
        """A sentence, or a word of ours, in the language."""
        return AsItIs(context["say"](of_ours(sentence)))

    @pass_context
    def level_of(context: Context, level: str, column: str) -> AsItIs:
        """A level, as readers of its column call it."""
        return AsItIs(context["say"].level(column, level))

    made = Environment(
        loader=PackageLoader("bdt_core.report", "templates/sections"),
        extensions=[TranslatedTemplates],
        autoescape=True,  # so that macros hand over what they have written as it is
        finalize=place,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,
        bytecode_cache=CompiledTemplates(language),
    )
    made.extend(**TranslatedTemplates.settings(language))
    made.filters |= chosen.FILTERS
    made.filters |= {name: _in_its_language(one) for name, one in filters(language).items()}

    @pass_context
    def say_only(context: Context, data: str, *ours: str) -> str:
        """Data, but where it is one of the few words of ours that can stand in its place."""
        return said(context, data) if data in ours else data

    made.filters |= {"joined": joined, "say": said, "say_only": say_only, "level_of": level_of}
    made.tests |= chosen.TESTS
    made.globals |= chosen.GLOBALS
    return made


def _printed(say: Sayings, x: Any) -> str:
    """A value as it is printed: sentences and numbers in the language, data as it is."""
    if isinstance(x, Sentence | AsItIs):
        return say(x)
    is_number = isinstance(x, int | float) and not isinstance(x, bool)
    return say(str(x)) if is_number else say.name(str(x))


def _in_its_language(written: Callable[..., str]) -> Callable[..., AsItIs]:
    """A filter whose texts are in the template's language already."""
    return lambda *given: AsItIs(written(*given))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable(list(_RULES))


class _Reader:
    """Markdown's tokens become blocks, and places the values that stand in them."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = values

    def section(self, name: str, tokens: Iterator[Token]) -> Section | None:
        """All blocks of a section; those behind a second heading are folded."""
        title = ""
        blocks: list[Block] = []
        folded: tuple[str, list[Block]] | None = None
        caption = ""

        def close() -> None:
            if folded is not None:
                blocks.append(Folded(folded[0], tuple(folded[1])))

        for token in tokens:
            block: Block | None = None
            match token.type:
                case "heading_open":
                    text = self._text(next(tokens))
                    if token.tag == "h1":
                        title = text
                    elif token.tag == "h2":
                        close()
                        folded = (text, [])
                    else:
                        block = Subheading(text)
                case "hr":
                    close()
                    folded = None
                case "paragraph_open":
                    inline = next(tokens)
                    text = self._text(inline)
                    if text.startswith(_CAPTION):
                        caption = text.removeprefix(_CAPTION)
                    else:
                        block = self._figure(inline) or (Paragraph(text) if text else None)
                case "bullet_list_open":
                    block = self._list(tokens)
                case "table_open":
                    block = self._table(caption, tokens)
                case "code_block":
                    block = Code(self._put(token.content.rstrip("\n")))
            if block is not None:
                (blocks if folded is None else folded[1]).append(block)
        close()
        return Section(name, title, tuple(blocks)) if title else None

    def _figure(self, inline: Token) -> Figure | None:
        children = inline.children or []
        if not any(one.type == "image" for one in children):
            return None
        assert children[0].type == "image", "a figure begins a paragraph"  # else it would be words within a sentence
        return Figure(str(children[0].attrs["src"]), self._told(children[1:]), self._told(children[0].children))

    def _list(self, tokens: Iterator[Token]) -> Bullets | Facts:
        items: list[list[Token]] = []
        for token in tokens:
            if token.type == "bullet_list_close":
                break
            if token.type == "inline":
                items.append([one for one in token.children or () if one.type != "text" or one.content])
        if not all(one and one[0].type == "strong_open" for one in items):
            return Bullets(tuple(map(self._told, items)))
        ends = [next(i for i, one in enumerate(item) if one.type == "strong_close") for item in items]
        return Facts(
            tuple(
                (self._told(item[:end]), self._told(item[end:], beginning=": "))
                for item, end in zip(items, ends, strict=True)
            )
        )

    def _table(self, caption: str, tokens: Iterator[Token]) -> Table:
        columns: list[ColumnHead] = []
        rows: list[list[Cell]] = []
        for token in tokens:
            match token.type:
                case "table_close":
                    break
                case "tbody_open":
                    rows = []
                case "tr_open":
                    rows.append([])
                case "th_open":
                    right = "right" in str(token.attrs.get("style", ""))
                    columns.append(ColumnHead(self._text(next(tokens)), number=right))
                case "td_open":
                    rows[-1].append(self._cell(next(tokens).children or []))
        return Table(caption, tuple(columns), tuple(map(tuple, rows)) if rows and rows[0] else ())

    def _cell(self, children: Sequence[Token]) -> Cell:
        """A cell's text, the smaller line, the tag, its tone, and where it leads."""
        parts: dict[str, list[Token]] = {"text": [], "note": [], "tag": []}
        tone, link, part = "", "", "text"
        for token in children:
            match token.type:
                case "em_open":
                    part = "note"
                case "em_close":
                    part = "text"
                case "link_open":
                    leads_to = unquote(str(token.attrs["href"]))  # Markdown has quoted the place of a value
                    link, tone = (self._put(leads_to), tone) if _PLACE.fullmatch(leads_to) else (link, leads_to)
                case "code_inline":
                    parts["tag"].append(token)
                case _:
                    parts[part].append(token)
        return Cell(**{name: self._told(one) for name, one in parts.items()}, tone=cast("Tone", tone), link=link)

    def _text(self, inline: Token) -> str:
        return self._told(inline.children)

    def _told(self, tokens: Sequence[Token] | None, beginning: str = "") -> str:
        """Plain text; how the template is broken into lines does not matter."""
        text = "".join(" " if one.type == "softbreak" else one.content for one in tokens or ())
        return self._put(_SPACES.sub(" ", text).removeprefix(beginning).strip(" "))

    def _put(self, text: str) -> str:
        return _PLACE.sub(lambda place: self.values[int(place[1])], text)
