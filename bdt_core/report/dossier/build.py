"""A form filled in from a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from bdt_core import words
from bdt_core.report.blocks import Block, Bullets, Cell, Paragraph, Section, Table, cells, columns
from bdt_core.report.catalogue import say_in
from bdt_core.report.dossier.catalogue import Field, Where, fields, form, resolve
from bdt_core.report.dossier.tables import tables_of
from bdt_core.report.dossier.writing import Writer
from bdt_core.report.printed import printed
from bdt_core.sentences import with_sentences

State = Literal["given", "partly", "open"]
_NOTHING: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Answer:
    """What a field's source says.

    Attributes
    ----------
    called : str
        What it is called beside others; empty where there is no other.
    told : str
        Empty where it is not given, and where it is in tables.
    tables : tuple of Table
    where : Where
    given : bool
    """

    called: str
    told: str
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
        wanted = [one for one in self.answers if not one.where.optional]
        missing = sum(not one.given for one in wanted)
        if not wanted or missing == len(wanted):
            return "given" if wanted == [] and any(one.given for one in self.answers) else "open"
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
    """

    form: str
    language: str
    title: str
    subtitle: str
    parts: tuple[tuple[str, tuple[FilledField, ...]], ...]
    sections: tuple[Section, ...]
    words: dict[str, Any]

    @property
    def fields(self) -> dict[str, FilledField]:
        """All fields by name."""
        return {one.field.name: one for _, several in self.parts for one in several}


def build_dossier(document: dict[str, Any], name: str, language: str | None = None) -> Dossier:
    """Fill in a form.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json.
    name : str
        One of `bdt_core.report.dossier.FORMS`.
    language : str, optional
        By default that of the specification.

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
            tuple(_filled(fields()[one], articles, plain, write) for one, articles in several.items()),
        )
        for part, several in asked.items()
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
        sections=tuple(_sections(parts, write)),
        words=write.words,
    )


def _filled(field: Field, articles: list[str], document: dict[str, Any], write: Writer) -> FilledField:
    return FilledField(
        field=field,
        label=write.words["fields"][field.name],
        articles=tuple(map(write.article, articles)),
        answers=tuple(_answer(one, document, write) for one in field.sources),
    )


def _answer(where: Where, document: dict[str, Any], write: Writer) -> Answer:
    found = resolve(document, where.at)
    called = write.words["called"][where.called] if where.called else ""
    is_there = found not in _NOTHING or (where.kind in ("number_of", "total") and found is not None)
    if not is_there or found is None:
        return Answer(called, "", (), where, given=False)
    if where.table:
        tables = tuple(tables_of(where.table, found, document, write))
        # What the audit looked for and did not find is an answer, too, where somebody asks for it.
        given = bool(tables) or not where.optional
        return Answer(called, "" if tables else str(write.words["nothing"]), tables, where, given=given)
    return Answer(called, str(getattr(write, where.kind)(found)), (), where, given=True)


def _sections(parts: tuple[tuple[str, tuple[FilledField, ...]], ...], write: Writer) -> Iterator[Section]:
    told = write.words
    all_fields = [one for _, several in parts for one in several]
    given = sum(one.state == "given" for one in all_fields)
    partly = sum(one.state == "partly" for one in all_fields)
    summary = told["given"].format(
        given=write.count(given), all=write.count(len(all_fields)), partly=write.count(partly)
    )
    yield Section("intro", "", (Paragraph(told["intro"].strip()), Paragraph(summary)))
    for title, several in parts:
        rows = tuple(cells(Cell(one.label, note=", ".join(one.articles)), *_answer_cells(one, told)) for one in several)
        blocks: list[Block] = [Table("", columns(told["field"], told["answer"]), rows)]
        blocks += [table for one in several for answer in one.answers for table in answer.tables]
        yield Section(title, title, tuple(blocks))
    yield Section("open", told["open"], tuple(_open(all_fields, told)))


def _answer_cells(one: FilledField, told: dict[str, Any]) -> Iterator[Cell]:
    parts, places = [], []
    for answer in one.answers:
        if not answer.given:
            if not answer.where.optional:
                parts.append(_called(answer.called, told["not_given"]))
            continue
        captions = "; ".join(table.caption for table in answer.tables)
        parts.append(_called(answer.called, answer.told or captions))
        places.append(answer.where.at)
    note = f"→ {', '.join(dict.fromkeys(places))}" if places else ""
    yield Cell("; ".join(parts) or told["not_given"], note=note, tone="" if places else "muted")


def _called(called: str, told: str) -> str:
    return f"{called}: {told}" if called else told


def _open(several: list[FilledField], told: dict[str, Any]) -> Iterator[Block]:
    rows = []
    for one in several:
        if not one.answers:
            rows.append(cells(one.label, told["who"][one.field.who], told["in_history"]))
        for answer in one.answers:
            if answer.given or answer.where.optional:
                continue
            label = f"{one.label}: {answer.called}" if answer.called else one.label
            rows.append(cells(label, told["who"][one.field.who], answer.where.about or answer.where.key))
    if not rows:
        yield Bullets((told["nothing_open"],))
        return
    yield Paragraph(told["open_intro"])
    yield Table("", columns(told["field"], told["who_could"], told["where"]), tuple(rows))
