"""No name keeps a report from its readers: every form says it, or says what stands in its place."""

from __future__ import annotations

import html
import io
import json
import re
import unicodedata
from collections import Counter
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pypdf
import pytest
import typst

from bdt_core.errors import OutputError
from bdt_core.report import figure_svg, render_html, render_pdf, write_reports
from bdt_core.report.blocks import Paragraph, Section
from bdt_core.report.catalogue import sayings
from bdt_core.report.dossier.draw import form_pdf
from bdt_core.report.figures import figure_names
from bdt_core.report.letters import FURTHER, can_be_drawn, set_apart, with_code_points
from bdt_core.report.markdown import escaped_within_a_line
from bdt_core.report.pdf import LACKS, typeset
from bdt_core.report.write import write_forms
from bdt_core.words import printable
from tests.core.report.names_of_the_world import names
from tests.core.report.sample_document import fail
from tests.fonts import SCRIPTS

NAMES = names(500)
OF_READERS = (
    "उत्तर क्षत्रिय", "北京市", "العربية", "উত্তর", "東京", "ひらがな", "ਪੰਜਾਬੀ", "தமிழ்", "తెలుగు", "서울", "ગુજરાતી", "ಕನ್ನಡ",
    "മലയാളം", "ଓଡ଼ିଆ", "မြန်မာ", "กรุงเทพ", "አማርኛ", "සිංහල", "ភាសាខ្មែរ", "עִבְרִית", "ລາວ", "ᱥᱟᱱᱛᱟᱲᱤ", "ꯃꯤꯇꯩ", "𞤀𞤣𞤤𞤢𞤥", "ދިވެހި",
    "Հայերեն", "ქართული", "Ελληνικά", "Кыргызча", "Tiếng Việt", "Yorùbá ẹ́", "👨\u200d👩\u200d👧\u200d👦", "🇳🇱", "❤️",
)  # fmt: skip
MARK = b"pdfuaid"


def with_columns(several: list[str]) -> dict[str, Any]:
    """A report on columns of these names, each of which is remarked on."""
    document = fail()
    document["warnings"] = [f"c{number:03} {name}" for number, name in enumerate(several)]
    document["data"]["columns"] = [
        {"name": f"c{number:03} {name}", "role": "feature", "kind": "numeric", "missing": 0, "distinct": 9}
        for number, name in enumerate(several)
    ]
    return document


def with_levels(several: tuple[str, ...]) -> dict[str, Any]:
    """A report whose figures have these levels."""
    written = json.dumps(fail())
    known = {level["level"] for one in fail()["differences"]["features"] for level in one.get("levels", ())}
    for level, name in zip(sorted(known), several, strict=False):
        written = written.replace(f'"{level}"', json.dumps(name))
    document: dict[str, Any] = json.loads(written)
    return document


@cache
def read(pdf: bytes) -> tuple[str, str]:
    """The text of a PDF, and what it says instead of letters that change their places when they are joined."""
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    shown = "\n".join(page.extract_text() for page in reader.pages)
    instead = [
        str(operands[1]["/ActualText"])
        for page in reader.pages
        for operands, operator in pypdf.generic.ContentStream(page["/Contents"].get_object(), reader).operations
        if operator == b"BDC" and isinstance(operands[1], dict) and "/ActualText" in operands[1]
    ]
    return shown, "".join(instead)


def letters(text: str) -> Counter[str]:
    """The letters of a text that can be seen, however they are composed."""
    unseen = "\u3164\u115f\u1160"
    return Counter(
        one
        for one in unicodedata.normalize("NFKD", text)
        if not one.isspace()
        and unicodedata.category(one) != "Cf"
        and not "\ufe00" <= one <= "\ufe0f"
        and one not in unseen
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Path], list[str]]:
    """The forms of a report on 500 names, and what is said of them."""
    said: list[str] = []
    return write_reports(with_columns(NAMES), tmp_path_factory.mktemp("names") / "report", said.append), said


def test_the_data_has_every_name(written: tuple[dict[str, Path], list[str]]) -> None:
    columns = json.loads(written[0]["json"].read_text(encoding="utf-8"))["data"]["columns"]
    assert [one["name"][5:] for one in columns] == NAMES


def test_html_and_markdown_have_every_name(written: tuple[dict[str, Path], list[str]]) -> None:
    page, lines = (written[0][form].read_text(encoding="utf-8") for form in ("html", "md"))
    page = html.unescape(page)
    named = [printable(f"c{number:03} {name}").strip() for number, name in enumerate(NAMES)]
    assert [one for one in named if one not in page] == []
    assert [one for one in named if escaped_within_a_line(one) not in lines] == []


def test_print_has_every_name_or_its_code_points(written: tuple[dict[str, Path], list[str]]) -> None:
    pdf = written[0]["pdf"].read_bytes()
    shown, instead = read(pdf)
    rows = dict(re.findall(r"c(\d{3}) ?(.*?)(?=c\d{3}|$)", shown, re.DOTALL))
    lost = {
        name: missing
        for number, name in enumerate(NAMES)
        if (missing := letters(with_code_points(printable(name))) - letters(rows[f"{number:03}"]) - letters(instead))
    }
    assert lost == {}
    assert MARK not in pdf
    assert written[1] == [f"report.pdf: {LACKS}"]
    assert LACKS in " ".join(shown.replace("\u200b", "").split())


@pytest.mark.parametrize("language", ["en", "nl"])
def test_forms_have_every_name_and_say_what_they_lack(language: str) -> None:
    said: list[str] = []
    blocks = tuple(Paragraph(f"c{number:03} {printable(name)}") for number, name in enumerate(NAMES))
    shown, _ = read(form_pdf("Names", "", language, [Section("", "", blocks)], notice=said.append))
    assert said == [sayings(language)(LACKS)]
    assert said[0] in " ".join(shown.replace("\u200b", "").split())
    assert [number for number in range(500) if f"c{number:03}" not in shown] == []
    assert "[U+13000 U+13001]" in shown


def test_scripts_of_many_readers_are_drawn_and_keep_the_mark() -> None:
    assert [one for one in OF_READERS if not can_be_drawn(one)] == []
    said: list[str] = []
    document = with_levels(OF_READERS)
    pdf = render_pdf({**with_columns(list(OF_READERS)), "differences": document["differences"]}, notice=said.append)
    assert MARK in pdf
    assert said == []
    assert pdf == render_pdf({**with_columns(list(OF_READERS)), "differences": document["differences"]})


def test_ordinary_pages_load_no_further_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = render_pdf(fail())
    monkeypatch.setattr("bdt_core.report.pdf.FURTHER", Path("/nowhere"))
    assert render_pdf(fail()) == before


def test_names_in_figures_are_set_beside_them_where_letters_join() -> None:
    plain, joined = (figure_svg(one, "apart") for one in (fail(), with_levels(OF_READERS)))
    assert "apart" in figure_names(fail())
    assert set_apart(plain) == (plain, [])
    svg, texts = set_apart(joined)
    assert {"उत्तर क्षत्रिय", "北京市"} <= {one["text"] for one in texts}
    assert not any(one["text"] in svg for one in texts)
    assert {"x", "y", "font-size", "text-anchor", "fill"} <= texts[0].keys()


def test_two_names_without_a_font_stay_two() -> None:
    assert with_code_points("a\U00013000") == "a[U+13000]" != with_code_points("a\U00013001")
    assert with_code_points("a\ufeff") == "a[U+FEFF]"
    assert with_code_points("\u1112\u1161\u11ab") == "한"  # in parts, which are in no font


def test_a_page_that_cannot_have_the_mark_is_drawn_without_it() -> None:
    template = resources.files("bdt_core.report.dossier").joinpath("form.typ")
    page = {"title": "a\ufeffb", "subtitle": "", "sections": [], "language": "nl", "of": "van", "close": False}
    said: list[str] = []
    pdf = typeset(template, page, "nl", is_whole=True, notice=said.append)
    assert MARK not in pdf
    assert said == [sayings("nl")(LACKS)]
    with pytest.raises(typst.TypstError, match="expected boolean"):
        typeset(template, {**page, "close": 1}, "nl", is_whole=True, notice=None)


def test_a_form_that_cannot_be_drawn_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> bytes:
        raise typst.TypstError("no such glyph")

    monkeypatch.setattr("typst.Compiler", broken)
    document = {**fail(), "spec": {**fail()["spec"], "language": "nl"}}
    with pytest.warns(UserWarning, match=r"^report\.pdf: Dit bestand kon niet worden gemaakt \(TypstError\)"):
        files = write_reports(document, tmp_path / "report")
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"report.html", "report.md", "report.json"}
    assert sorted(files) == ["html", "json", "md"]
    assert files["html"].read_text(encoding="utf-8") == render_html(document)


def test_the_data_stands_when_nothing_can_be_drawn(tmp_path: Path) -> None:
    def broken(_: Any) -> bytes:
        raise KeyError

    said: list[str] = []
    files = write_forms(
        tmp_path / "new", dict.fromkeys(("a.html", "a.pdf"), broken), {"a.json": b"{}"}, "a", str, said.append
    )
    assert files == {"json": tmp_path / "new" / "a.json"}
    assert [one.partition(":")[0] for one in said] == ["a.html", "a.pdf"]
    with pytest.raises(OutputError, match="holds a report already"):
        write_forms(tmp_path / "new", {}, {"a.json": b"[]"}, "a", str, said.append)


def test_fonts_are_small_and_have_their_licences() -> None:
    fonts = sorted(FURTHER.glob("*.ttf"))
    assert {one.stem for one in fonts} == {f"NotoSans{script}" for script in SCRIPTS} | {
        "DroidSansFallback",
        "NotoEmoji",
    }
    assert sum(one.stat().st_size for one in fonts) < 5_000_000
    assert {one.name for one in FURTHER.glob("*.txt")} == {"OFL.txt", "Apache-2.0.txt"}
