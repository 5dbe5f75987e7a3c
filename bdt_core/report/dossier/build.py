"""A form filled in from a report."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from bdt_core import words
from bdt_core.report.blocks import Block, Bullets, Cell, Paragraph, Section, Table, cells, columns
from bdt_core.report.catalogue import say_in
from bdt_core.report.dossier.catalogue import Field, Where, fields, form, resolve
from bdt_core.report.dossier.local_law_144 import parts_of_ll144, state_on
from bdt_core.report.dossier.tables import tables_of
from bdt_core.report.dossier.writing import Writer
from bdt_core.report.printed import printed
from bdt_core.sentences import with_sentences

State = Literal["given", "partly", "open"]
EXPIRES = "ll144"
"""The form that holds for a year."""
_NOTHING: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Answer:
    """What a field's source says.

    Attributes
    ----------
    called : str
        What it is called beside others; empty where there is no other.
    text : str
        Empty where it is not given, and where it is in tables.
    tables : tuple of Table
    where : Where
    given : bool
    """

    called: str
    text: str
    tables: tuple[Table, ...]
    where: Where
    given: bool


@dataclass(frozen=True)
class FilledField:
    """A field of the form with its answers."""

    field: Field
    label: str
    articles: tuple[str, ...]
    answers: tuple[Answer, ...]

    @property
    def state(self) -> State:
        """Whether everything that is asked for is given, or some of it."""
        required = [one for one in self.answers if not one.where.optional]
        missing = sum(not one.given for one in required)
        if not required or missing == len(required):
            return "given" if required == [] and any(one.given for one in self.answers) else "open"
        return "partly" if missing else "given"


@dataclass(frozen=True)
class Dossier:
    """A form filled in.

    Attributes
    ----------
    form, language : str
    title, subtitle : str
    parts : tuple of (str, tuple of FilledField)
    sections : tuple of Section
        The same in words and tables, as every printed form draws it.
    words : dict
        Of the language.
    banner : str
        How the first part is marked on a web page, as of a verdict; empty where it is no answer.
    """

    form: str
    language: str
    title: str
    subtitle: str
    parts: tuple[tuple[str, tuple[FilledField, ...]], ...]
    sections: tuple[Section, ...]
    words: dict[str, Any]
    banner: str = ""

    @property
    def fields(self) -> dict[str, FilledField]:
        """All fields by name."""
        return {one.field.name: one for _, filled_fields in self.parts for one in filled_fields}


def build_dossier(
    document: dict[str, Any], name: str, language: str | None = None, *, on: datetime.date | None = None
) -> Dossier:
    """Fill in a form.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json.
    name : str
        One of `bdt_core.report.dossier.FORMS`.
    language : str, optional
        By default that of the specification.
    on : date, optional
        The day on which the form is read: one that expires says whether it has.

    Returns
    -------
    Dossier
        Every answer with the place in the report that it comes from, or "not given" in the language.

    Raises
    ------
    SpecError
        There is no such form.
    """
    asked = form(name)
    plain: dict[str, Any] = words.printable(dict(with_sentences(document)))
    language = language or plain["spec"].get("language", "en")
    safe = printed(document).in_language(language)
    write = Writer(language, safe.bias_variable.unit, say_in(safe))
    parts = tuple(
        (
            write.words["parts"][part],
            tuple(_filled(fields()[one], articles, plain, write) for one, articles in names.items()),
        )
        for part, names in asked.items()
    )
    about = plain["spec"].get("about") or {}
    system = about.get("system") or plain["spec"].get("title") or plain["name"]
    subtitle = f"{write.words['audit']}: {plain['name']}"
    if about.get("tested_on"):
        subtitle += f", {write.day(about['tested_on'])}"
    return Dossier(
        form=name,
        language=language,
        title=f"{write.words['forms'][name]}: {system}",
        subtitle=subtitle,
        parts=parts,
        sections=tuple(_sections(parts, write, tuple(_own(name, about, on, write)))),
        words=write.words,
        banner=state_on(about, on) if name == EXPIRES else "",
    )


def _own(name: str, about: dict[str, Any], on: datetime.date | None, write: Writer) -> Iterator[Section]:
    """Sections that a form has and no other."""
    if name == EXPIRES:
        yield from parts_of_ll144(about, on, write)
    if name in write.words["notes"]:
        yield Section("note", "", (Paragraph(write.words["notes"][name].strip()),))


def _filled(field: Field, articles: list[str], document: dict[str, Any], write: Writer) -> FilledField:
    return FilledField(
        field=field,
        label=write.words["fields"][field.name],
        articles=tuple(map(write.article, articles)),
        answers=tuple(_answer(one, document, write) for one in field.sources),
    )


def _answer(where: Where, document: dict[str, Any], write: Writer) -> Answer:
    value = resolve(document, where.at)
    called = write.words["called"][where.called] if where.called else ""
    is_there = value not in _NOTHING or (where.kind in ("number_of", "total") and value is not None)
    if not is_there or value is None:
        return Answer(called, "", (), where, given=False)
    if where.table:
        tables = tuple(tables_of(where.table, value, document, write))
        # What the audit looked for and did not find is an answer, too, where somebody asks for it.
        given = bool(tables) or not where.optional
        return Answer(called, "" if tables else str(write.words["nothing"]), tables, where, given=given)
    return Answer(called, str(getattr(write, where.kind)(value)), (), where, given=True)


def _sections(
    parts: tuple[tuple[str, tuple[FilledField, ...]], ...], write: Writer, own: tuple[Section, ...]
) -> Iterator[Section]:
    """What the form begins with, sections that are its own, its parts, and what is open."""
    texts = write.words
    all_fields = [one for _, filled_fields in parts for one in filled_fields]
    given = sum(one.state == "given" for one in all_fields)
    partly = sum(one.state == "partly" for one in all_fields)
    summary = texts["given"].format(
        given=write.count(given), all=write.count(len(all_fields)), partly=write.count(partly)
    )
    yield Section("intro", "", (Paragraph(texts["intro"].strip()), Paragraph(summary)))
    yield from own
    for title, filled_fields in parts:
        rows = tuple(
            cells(Cell(one.label, note=", ".join(one.articles)), *_answer_cells(one, texts)) for one in filled_fields
        )
        blocks: list[Block] = [Table("", columns(texts["field"], texts["answer"]), rows)]
        blocks += [table for one in filled_fields for answer in one.answers for table in answer.tables]
        yield Section(title, title, tuple(blocks))
    yield Section("open", texts["open"], tuple(_open(all_fields, texts)))


def _answer_cells(filled: FilledField, texts: dict[str, Any]) -> Iterator[Cell]:
    parts, places = [], []
    for answer in filled.answers:
        if not answer.given:
            if not answer.where.optional:
                parts.append(_called(answer.called, texts["not_given"]))
            continue
        captions = "; ".join(table.caption for table in answer.tables)
        parts.append(_called(answer.called, answer.text or captions))
        places.append(answer.where.at)
    note = f"→ {', '.join(dict.fromkeys(places))}" if places else ""
    yield Cell("; ".join(parts) or texts["not_given"], note=note, tone="" if places else "muted")


def _called(called: str, text: str) -> str:
    return f"{called}: {text}" if called else text


def _open(filled_fields: list[FilledField], texts: dict[str, Any]) -> Iterator[Block]:
    rows = []
    for filled in filled_fields:
        if not filled.answers:
            where = texts["by_hand" if filled.field.by_hand else "in_history"]
            rows.append(cells(filled.label, texts["who"][filled.field.who], where))
        for answer in filled.answers:
            if answer.given or answer.where.optional:
                continue
            label = f"{filled.label}: {answer.called}" if answer.called else filled.label
            rows.append(cells(label, texts["who"][filled.field.who], answer.where.about or answer.where.key))
    if not rows:
        yield Bullets((texts["nothing_open"],))
        return
    yield Paragraph(texts["open_intro"])
    yield Table("", columns(texts["field"], texts["who_could"], texts["where"]), tuple(rows))
