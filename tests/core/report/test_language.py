"""The whole report in the readers' language: no English in the Dutch form, and as much said as in English."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdt_core import words
from bdt_core.report import for_publication, render_markdown
from bdt_core.report.blocks import plain
from bdt_core.report.catalogue import say_for, sayings
from bdt_core.report.document import Document
from bdt_core.report.figures import figure_names, figure_svg
from bdt_core.report.findings import finding_sentence, headline
from bdt_core.report.groups import span
from bdt_core.report.page import build_page
from bdt_core.report.sheet import Sheet
from bdt_core.report.translation import FORM, TEMPLATE, catalogue
from bdt_core.report.wording import whole
from bdt_core.sentences import with_sentences
from bdt_core.spec import AuditSpec
from bdt_core.table.sources import read_table
from bdt_core.table.validate import validate
from bdt_pipeline.commands.run_demo import demo_spec
from tests.core.table.test_sheets_and_packed_files import workbook

GOLDENS = Path(__file__).parents[2] / "goldens"
PLACE = re.compile(r"\{(\w+)\}")
ENGLISH = frozenset(
    """
    the and or to for from with without this that these those person group groups who whom more less fewer worse better
    not no nobody everybody else elsewhere such wrongly got given at least about among alike explain explains audited
    limits broken largest difference differences missing above below up others similar mostly only looked too small
    annex sure chance alone signed may be used it they their them when what which how many can cannot say do does if
    every each average row rows remark remarks by on are were been has have than its all both where there here rate
    rates share shares positive negative false true error people persons found finding findings higher lower between
    threshold thresholds points percent value values mean column columns feature fare fares would could should shown
    under search searched searches slice slices intersection intersections intervals confidence allowed required whole
    beyond within lies tested testable few significantly significance corrected correction gap gaps accuracy equal
    equality parity opportunity calibration split splits size count counts reference outcome favourable unfavourable
    prediction predictions protected declared numeric categorical unused distinct stable unstable draws again two
    """.split()  # noqa: SIM905 - many
)
ENGLISH_NUMBER = re.compile(
    r"(?<![\d.,])\d+\.\d{1,2}(?![\d.])|(?<![\d.,])0\.\d|(?<![\d.,])[1-9]\d{0,2},\d{3}(?!\d)|\d,\d{3},\d"
)


@cache
def report(name: str, case: str) -> dict[str, Any]:
    """A frozen report, told in Dutch as its demonstration is; others without words of their own."""
    document: dict[str, Any] = json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))
    told = demo_spec(case, "nl").to_dict() if case else {"language": "nl"}
    document["spec"] |= {key: told[key] for key in ("language", "title", "labels", "units", "about") if key in told}
    return document


def texts(x: Any) -> Iterator[str]:
    """What is said: without code, and names of blocks."""
    if isinstance(x, dict):
        if x.get("kind") != "code":
            yield from (one for key, part in x.items() if key not in ("kind", "name", "tone") for one in texts(part))
    elif isinstance(x, list | tuple):
        yield from (one for part in x for one in texts(part))
    elif isinstance(x, str):
        yield x


def names_in(document: dict[str, Any]) -> set[str]:
    """Words of columns, levels, files and keys of the specification."""
    names = [document["name"], document["data"]["source"], *(one["name"] for one in document["data"]["columns"])]
    names += [group["group"] for facet in (document["groups"] or {"facets": []})["facets"] for group in facet["groups"]]
    names += re.findall(r'"level": "([^"]*)"', json.dumps(document))
    names += ["missing: drop", "mitigation.group", "bdt audit --for publication", document["data"]["fingerprint"]]
    return {word for one in names for word in re.findall("[a-z]+", one.lower())}


def english_in(said: list[str], document: dict[str, Any]) -> list[str]:
    words = ENGLISH - names_in(document)
    return [
        one
        for one in dict.fromkeys(said)
        if ENGLISH_NUMBER.search(one) or any(word in words for word in re.findall(r"[^\W\d_]+", one.lower()))
    ]


@pytest.mark.parametrize(
    ("name", "case"),
    [("compas", "compas"), ("grants", "grants"), ("compas_in_depth", "compas"), ("everything", ""), ("limits", "")],
)
def test_no_english_stands_in_the_dutch_report(name: str, case: str) -> None:
    document = report(name, case)
    page = build_page(document)
    assert page.language == "nl"
    assert english_in(list(texts(plain(page))), document) == []


def test_no_english_stands_in_the_form_for_publication() -> None:
    document = report("compas_in_depth", "compas")
    page = build_page(for_publication(document))
    assert english_in(list(texts(plain(page))), document) == []


@pytest.mark.parametrize("name", sorted(one.stem for one in GOLDENS.glob("*.json") if not one.stem.endswith(".gate")))
def test_the_summary_is_said_in_dutch(name: str) -> None:
    """No form prints it: it is for whoever reads report.json, in whose language its messages put it."""
    document = report(name, "")
    read = Document.model_validate(with_sentences(document))
    unit, short = read.bias_variable.unit, read.bias_variable.short
    found = read.findings.findings if read.findings else ()
    certificate = read.worst_groups.certificate if read.worst_groups else None
    first = headline(read.findings, certificate, unit, short)
    said = [first, *(finding_sentence(one, read.findings, unit, short) for one in found if read.findings)]
    assert said == [document["summary"]["headline"], *document["summary"]["findings"]]
    published = with_sentences(for_publication(document))["summary"]
    for_others = [published["headline"], *published["findings"], published["cluster"]]
    dutch = sayings("nl")
    assert english_in([dutch(one) for one in (*said, *for_others)], document) == []


def test_what_reading_did_is_said_in_dutch(tmp_path: Path) -> None:
    """Every sentence on how a table was read, made by a table that calls for it."""
    rows = range(400)
    day = [f"{1950 + row % 40}-{1 + row % 12:02}" for row in rows]
    table = pd.DataFrame({"y": [row % 2 for row in rows], "p": [row % 3 // 2 for row in rows], "id": list(rows)})
    columns = {
        "amount": [f"€ {row}.5" for row in rows],
        "born": [f"{one}-01" for one in day],
        "begun": [f"{one}-02" for one in day],
        "ended": [f"{one}-03" for one in day],
        "month": day,
        "named": [f"3 mei {one[:4]}" for one in day],
        "day": [f"{1 + row % 28}-{1 + row % 12}-{row % 40 + 50}" for row in rows],
        "debt": [f"({row % 40})" for row in rows],
        "grade": [f"{row % 40 or 'unknown'}" for row in rows],
        "place": [("NA", "north", "north ")[row % 3] for row in rows],
        "code": [f"{row % 9:03}" for row in rows],
        "says": [f"a{row % 3}" + "\nb" * (row == 7) for row in rows],
        "zero": 0,
    }
    lines = table.assign(**columns).to_csv(index=False).rstrip().splitlines()
    (tmp_path / "t.csv").write_text("\n".join([*lines[:5], "1,2", *lines[5:]]))
    pd.DataFrame({"id": rows[:-9], "score": 1, "found": "x"}).set_index("found").to_parquet(tmp_path / "named.parquet")
    pd.DataFrame({"id": rows, "other": 1}, index=[f"{row}x" for row in rows]).to_parquet(tmp_path / "unnamed.parquet")
    zone = pa.table({"id": rows, "at": pa.array([0] * 400, pa.timestamp("s", "Mars/Phobos"))})
    pq.write_table(zone, tmp_path / "zone.parquet")
    (tmp_path / "other.csv").write_text("id,more\n1\n" + "".join(f"{row},{row % 2}\n" for row in rows))
    (tmp_path / "t.xlsx").write_bytes(
        workbook(people=[["id", "age"], *([row, f"{row}" if row else 9] for row in rows)])
    )
    ages = {"born": "2026-01-01", "begun": "ended"}
    said = set[str]()
    for clean, other in enumerate(("named.parquet", "unnamed.parquet", "zone.parquet", "other.csv", "t.xlsx")):
        join = {"path": f"{tmp_path}/{other}", "key": "id"} | ({"bad_rows": "leave_out"} if "csv" in other else {})
        spec = AuditSpec.model_validate(
            {
                "name": "a",
                "source": {"path": f"{tmp_path}/t.csv", "bad_rows": "leave_out", "clean": clean > 1, "join": join}
                | {"ages": ages if clean % 2 else {}},
                "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
                "features": {"exclude": ["id"]},
                "language": "nl",
            }
        )
        checked = validate(read_table(spec.source), spec)
        said |= {*checked.warnings, *checked.notes}
    three = {"derive": "error", "label": "y", "prediction": "p", "positive": [1]}
    both = AuditSpec.model_validate(spec.to_dict() | {"bias_variable": three})
    said |= {*validate(table.assign(y=table["id"] % 3, p=table["id"] % 5, x=table["id"] % 7), both).notes}
    copies = pd.concat([table.assign(x=table["id"] % 97)] * 2)
    said |= {*validate(copies, spec).warnings, *validate(copies, spec.model_copy(update={"large_rows": 500})).warnings}
    assert len(said) > 30
    dutch = {one: say_for(spec)(one) for one in sorted(said)}
    bare = [re.sub(r"""'[^']*'|"[^"]*"|\S*/\S*""", "", one) for one in dutch.values()]  # without names
    assert [
        one for one in bare if set(re.findall("[a-z]+", one)) & ENGLISH - {"of", "numeric", "categorical", "true"}
    ] == []
    assert [one for one, told in dutch.items() if told == one] == []


@pytest.mark.parametrize(("name", "case"), [("compas", "compas"), ("grants", "grants")])
def test_no_english_stands_on_the_dutch_figures(name: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document, drawn, text = report(name, case), [], Sheet.text

    def kept(sheet: Sheet, x: float, y: float, words: str, **more: Any) -> None:
        drawn.append(str(sheet.said(words)).replace("\n", " "))
        text(sheet, x, y, words, **more)

    monkeypatch.setattr(Sheet, "text", kept)
    for figure in figure_names(document):
        figure_svg(document, figure)
    assert len(drawn) > 200
    assert english_in(drawn, document) == []


@pytest.mark.parametrize(("name", "case"), [("compas_in_depth", "compas"), ("grants", "grants")])
def test_numbers_on_dutch_figures_have_a_comma_and_no_words_are_cut(name: str, case: str) -> None:
    document = report(name, case)
    texts = {one: re.findall(">([^<>]+)</text>", figure_svg(document, one)) for one in figure_names(document)}
    assert {"apart", "worst_groups"} <= texts.keys()
    assert [one for several in texts.values() for one in several if re.search(r"\d\.\d{1,2}(?!\d)", one)] == []
    assert [one for one in texts["worst_groups"] if "…" in one] == []
    assert any("," in one for one in texts["apart"])


def test_markdown_is_dutch_to_its_end() -> None:
    drawn = render_markdown(report("compas_in_depth", "compas"))
    assert re.search(r"Nog \d+ rijen staan in de andere bestanden\.", drawn)
    assert "more rows" not in drawn


def test_every_message_keeps_its_places() -> None:
    messages = [one for one in catalogue("nl") if one.id and one.context not in {TEMPLATE, FORM}]
    assert len(messages) > 500
    assert [one.id for one in messages if set(PLACE.findall(one.id)) != set(PLACE.findall(one.string))] == []
    assert [one.id for one in messages if not one.string] == []


@pytest.mark.parametrize(
    ("english", "dutch"),
    [
        ("1,795", "1.795"),
        ("< 0.001", "< 0,001"),
        ("−2.4", "−2,4"),
        ("1.23 × 10⁻⁵", "1,23 × 10⁻⁵"),
        ("error rate", "foutpercentage"),
        ("Error rate", "Foutpercentage"),
        ("not testable", "niet te toetsen"),
        ("What nobody ever said.", "What nobody ever said."),
        ("Native American", "Native American"),
        ("2026-01-31", "2026-01-31"),
        ("", ""),
        ("age up to 27 and race is b", "age up to 27 and race is b"),
        ("36.0 points", "36.0 points"),
    ],
)
def test_numbers_and_words_of_ours_are_said_as_they_stand_and_nothing_is_read(english: str, dutch: str) -> None:
    assert sayings("nl")(english) == dutch
    assert sayings("en")(english) == english


@pytest.mark.parametrize(
    ("said", "dutch"),
    [
        (words.size(0.36, "rate"), "36,0 procentpunt"),
        (words.size(0.0001, "rate"), "minder dan 0,1 procentpunt"),
        (words.interval(0.091, 0.253, confidence=0.95, unit="rate"), "[95 %-BI +9,1 tot +25,3]"),
        (whole(words.interval(0.1, 0.2, confidence=0.9, unit="value")), "[90\u00a0%-BI\u00a0+0,1\u00a0tot\u00a0+0,2]"),
        (span("+9.1", "+25.3"), "[+9,1 tot\u00a0+25,3]"),
        (words.p_value(0.00001), "p < 0,001"),
        (words.percent(-0.00001), "boven −0,01 %"),
    ],
)
def test_amounts_are_said_in_dutch(said: str, dutch: str) -> None:
    assert sayings("nl")(said) == dutch
    assert sayings("en")(said) == said
