"""The printed forms: what they say, that names cannot break them, and that the same document gives the same bytes."""

import base64
import hashlib
import html.parser
import io
import itertools
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pypdf
import pytest

from bdt_core import words
from bdt_core.report import (
    canonical_json,
    figure_png,
    figure_svg,
    figures,
    render_html,
    render_markdown,
    render_notebook,
    render_pdf,
)
from bdt_core.report.blocks import plain
from bdt_core.report.clusters import mark
from bdt_core.report.figures import figure_names
from bdt_core.report.page import build_page
from bdt_core.report.printed import printed, printed_once
from tests.core.report.drawn import html_of, pdf_of, pdf_words
from tests.core.report.sample_document import DOCUMENTS, HOSTILE, cluster, comparison, fail

every_document = pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "wide"])
SEEN = words.printable(HOSTILE)


class Reader(html.parser.HTMLParser):
    """What a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.words, self.open = [], "", []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words += data

    def all(self, tag):
        return [attrs for found, attrs in self.tags if found == tag]


def first_words(page):
    """What stands on the first page, but in its picture."""

    def said(x):
        if isinstance(x, str):
            yield x
        elif x["kind"] != "figure":
            for key, one in x.items():
                if key not in ("kind", "name"):
                    yield from (text for part in (one if isinstance(one, list) else [one]) for text in listed(part))

    def listed(part):
        return [text for one in part for text in listed(one)] if isinstance(part, list) else list(said(part))

    return [one for one in said(plain(page.first)) if one]


@every_document
def test_html_is_well_formed_says_everything_and_asks_nothing_of_the_network(name):
    document = DOCUMENTS[name]()
    page = Reader(html_of(name))
    assert page.open == []
    told = build_page(document)
    assert {tag for tag, _ in page.tags} & {"img", "link", "iframe", "object", "base", "form"} == set()
    for _, attrs in page.tags:
        assert attrs.get("href", "#").startswith("#")
        assert not [key for key in attrs if key.startswith("on") or key in ("src", "style")]
    policy = next(one["content"] for one in page.all("meta") if "http-equiv" in one)
    ours = {}
    for part in ("script", "style"):
        (text,) = re.findall(rf"<{part}>(.*?)</{part}>", html_of(name), re.DOTALL)
        ours[part] = f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert policy == (
        f"default-src 'none'; script-src {ours['script']}; style-src {ours['style']}; base-uri 'none'; "
        "form-action 'none'"
    )
    for said in first_words(told):
        assert said in page.words
    sections = [one["id"] for one in page.all("section") if "id" in one]
    assert [one for one in sections if not one.endswith("-nl")] == [one.name for one in told.sections]
    assert [one for one in sections if one.endswith("-nl")] == [f"{one.name}-nl" for one in told.body]


@every_document
def test_html_can_be_read_aloud(name):
    page = Reader(html_of(name))
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("svg")) >= 2
    assert all(one["role"] == "img" and one["aria-label"] for one in page.all("svg"))
    assert all(one.get("scope") in ("col", "row") for one in page.all("th"))
    assert len(page.all("table")) == len(page.all("caption"))
    identifiers = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_html_shows_hostile_names_as_they_are():
    drawn = html_of("hostile")
    page = Reader(drawn)
    assert drawn.count("<script") == len(page.all("script")) == 1
    assert page.words.count(SEEN) > 20
    assert "\u202e" not in drawn


def test_html_colours_have_enough_contrast():
    style = re.search(r"<style>(.*?)</style>", html_of("fail"), re.DOTALL).group(1)
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w+)", one)) for one in style.split("@media screen")[:2])
    assert light.keys() == dark.keys()

    def luminance(colour):
        colour = colour.lstrip("#")
        colour = "".join(2 * one for one in colour) if len(colour) == 3 else colour
        parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one, other):
        high, low = sorted((luminance(one), luminance(other)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    texts = [("ink", "paper"), ("grey", "paper"), ("grey", "soft"), ("link", "paper"), ("harm", "paper")]
    texts += [("good", "paper"), ("tag-ink", "tag"), ("ink", "note"), ("ink", "shade-light"), ("ink", "shade-dark")]
    texts += [("ink", "harm-tint"), ("ink", "calm-tint"), ("ink", "soft")]
    for verdict in words.VERDICT_WORDS:
        texts += [(f"{verdict}-ink", f"{verdict}-tint"), ("ink", f"{verdict}-tint"), ("paper", verdict)]
    for theme in (light, dark):
        assert min(contrast(theme[text], theme[ground]) for text, ground in texts) >= 4.5
        for drawn in ("f-harm", "f-calm", "grey"):
            assert contrast(theme[drawn], theme["paper"]) >= 3
    assert not re.findall("#[0-9a-f]{3,6}", style.split("@media screen")[1].split("\n}\n", 1)[1])  # all have names


def test_notebook_form_holds_the_page_in_a_frame_that_runs_nothing():
    (frame,) = Reader(render_notebook(fail())).all("iframe")
    assert not frame["sandbox"]  # the attribute alone: nothing is allowed
    assert frame["srcdoc"] == html_of("fail")


@pytest.mark.parametrize("name", ["fail", "hostile", "higher_is_better", "not_testable", "one_cluster"])
def test_pdf_says_the_first_page_and_every_section(name):
    document = DOCUMENTS[name]()
    assert pdf_of(name).startswith(b"%PDF")
    told = build_page(document)
    phrase = pdf_words(name)
    for said in first_words(told):
        assert said.replace(" ", "") in phrase.replace(" ", "")
    for section in told.sections:
        assert section.title in phrase


def test_pdf_carries_no_date_and_is_tagged():
    read = pypdf.PdfReader(io.BytesIO(pdf_of("fail")))
    assert "/CreationDate" not in read.metadata
    assert "/ModDate" not in read.metadata
    assert read.metadata["/Title"] == "Compas: are some people worse off?"
    assert read.trailer["/Root"]["/MarkInfo"]["/Marked"]


def test_wide_documents_can_be_drawn():
    document = DOCUMENTS["wide"]()
    drawn = render_html(document)
    assert drawn[drawn.index('<div lang="en" data-language') :].count("<svg") == 4
    for name in figure_names(document):
        size = ET.fromstring(figure_svg(document, name)).attrib
        assert float(size["height"].removesuffix("pt")) < 1100


def test_same_document_same_bytes_in_another_process_and_after_a_round_trip():
    document = DOCUMENTS["fail"]()
    forms = (render_html, render_pdf, render_markdown, canonical_json)
    here = [html_of("fail"), pdf_of("fail"), render_markdown(document), canonical_json(document)]
    again = json.loads(canonical_json(document))
    with printed_once(again):
        assert here == [form(again) for form in forms]
    program = (
        "import sys, json, hashlib; from bdt_core.report import *\n"
        "document = json.load(sys.stdin)\n"
        "for form in (render_html, render_pdf, render_markdown, canonical_json):\n"
        "    drawn = form(document)\n"
        "    print(hashlib.sha256(drawn if isinstance(drawn, bytes) else drawn.encode()).hexdigest())\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(document), capture_output=True, text=True, check=True
    ).stdout.split()
    assert told == [hashlib.sha256(one if isinstance(one, bytes) else one.encode()).hexdigest() for one in here]


@every_document
def test_figures_are_valid_svg_and_leave_settings_alone(name):
    import matplotlib as mpl

    document = DOCUMENTS[name]()
    mpl.rcParams["font.size"] = 31.0
    before = dict(mpl.rcParams)
    for figure in figure_names(document):
        drawn = figure_svg(document, figure)
        assert ET.fromstring(drawn).tag.endswith("svg")
        assert "http://e.vil" not in re.findall(r'href="([^"]*)"', drawn)
        assert drawn == figure_svg(document, figure)
    assert dict(mpl.rcParams) == before
    mpl.rcdefaults()


def test_figures_as_png():
    for figure in figure_names(fail()):
        drawn = figure_png(fail(), figure)
        assert drawn.startswith(b"\x89PNG")
        assert drawn == figure_png(fail(), figure)


def test_figure_settings_of_the_user_do_not_change_the_drawing():
    import matplotlib as mpl

    plain = figure_svg(fail(), "clusters")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30, "svg.fonttype": "none", "text.usetex": True}):
        assert figure_svg(fail(), "clusters") == plain


def test_names_that_the_font_does_not_have_stay_text():
    drawn = figure_svg(DOCUMENTS["unicode"](), "apart")
    assert "年齢" in drawn
    assert re.search("<text[^>]*>年齢", html_of("unicode"))


def test_markdown_has_verdict_tables_and_links():
    drawn = render_markdown(fail())
    assert drawn.startswith("# Compas: are some people worse off?\n")
    assert "\n## May it be used? No, not as it is\n" in drawn
    assert "two_year_recid" in drawn
    assert "| 0 | age up to 27 and priors_count from 0 (stability 0.9: stable) | 203 (812 train) | 39.9 % |" in drawn
    for form in ("html", "pdf", "json"):
        assert f"[report.{form}](report.{form})" in drawn
    widths = {}
    for block in drawn.split("\n\n"):
        if block.startswith("|"):
            rows = [re.sub(r"\\.", "", line).count("|") for line in block.splitlines()]
            widths[block] = len(set(rows))
    assert len(widths) >= 3
    assert set(widths.values()) == {1}


def test_markdown_names_call_nobody_and_link_nowhere():
    drawn = render_markdown(DOCUMENTS["hostile"]())
    assert "<script" not in drawn.replace("\\<", "")
    for dangerous in ("@team", "http://", "[l]", "*b*", "`c`", "$x"):
        assert dangerous not in re.sub(r"\\.", "", drawn)
    assert "a line and another" in drawn


def test_markdown_shows_ten_rows_at_most():
    drawn = render_markdown(DOCUMENTS["wide"]())
    assert "20 more rows stand in the other forms." in drawn  # of 30 clusters
    assert "30 more rows stand in the other forms." in drawn  # of 40 columns
    assert max(block.count("\n|") for block in drawn.split("\n\n")) == 11


def test_protected_columns_are_marked_in_every_form():
    assert "protected: kept out of the clustering" in Reader(html_of("fail")).words
    assert "protected: kept out of the clustering" in pdf_words("fail")
    assert "protected: kept out of the clustering" in render_markdown(fail())


def test_a_cluster_too_small_to_test_shows_no_rate_but_says_why():
    (row,) = [
        row
        for section in build_page(fail()).sections
        if section.name == "clusters"
        for table in section.blocks
        if hasattr(table, "rows")
        for row in table.rows
        if row[0].text == "2"
    ]
    assert [cell.text for cell in row[3:7]] == [words.NOTHING] * 4
    assert (row[7].text, row[7].note) == ("not testable", "a side has fewer than 30 rows")


def test_a_difference_that_is_not_significant_says_what_would_have_shown():
    (clusters,) = (one for one in build_page(fail()).sections if one.name == "clusters")
    row = clusters.blocks[1].rows[1]
    assert (row[7].text, row[7].note) == (
        "no significant difference",
        "13.2 points would have shown with 80 % power",  # of the corrected test
    )


def test_a_cluster_that_is_better_off_only_than_a_bad_one_is_not_called_better_off():
    document = fail()
    like_all_others = comparison((30, 300), (35, 320), 0.7)
    beside = comparison((30, 300), (135, 520), 1e-7)
    for stands_out, finding, note in (
        (False, "better off only than cluster 0", "without cluster 0: "),
        (True, "better off", "also without cluster 0: "),
    ):
        without = {"left_out": [0], "comparison": like_all_others, "stands_out": stands_out}
        document["clusters"][1] = cluster(1, beside, without=without)
        (clusters,) = (one for one in build_page(document).sections if one.name == "clusters")
        row = clusters.blocks[1].rows[1]
        size = words.difference(*(like_all_others[x] for x in ("difference", "low", "high")), confidence=0.95,
                                unit="rate")  # fmt: skip
        assert (row[7].text, row[7].note.replace("\u00a0", " ")) == (finding, note + size)
        assert "compared with everybody else without those that" in render_markdown(document)
        assert mark(printed(document).clusters[1])[0] == ("o" if stands_out else "s")
    two = cluster(1, beside, without={"left_out": [0], "comparison": None, "stands_out": False})
    document["clusters"][1] = two
    (clusters,) = (one for one in build_page(document).sections if one.name == "clusters")
    assert clusters.blocks[1].rows[1][7].note == "nobody else is left without cluster 0"


def test_harm_points_left_when_higher_is_better():
    drawn = figure_svg(DOCUMENTS["higher_is_better"](), "clusters")
    assert "← worse" in drawn
    assert "worse →" not in drawn
    assert "worse →" in figure_svg(fail(), "clusters")


def test_importing_the_package_loads_nothing_heavy():
    program = (
        "import sys, bdt_core.report, bdt_core.report.page, bdt_core.report.html, bdt_core.report.pdf, "
        "bdt_core.report.figures, bdt_core.report.tree, bdt_core.report.groups, "
        "bdt_core.report.slices, bdt_core.report.local_bias, bdt_core.report.mitigation, "
        "bdt_core.report.write\n"
        "print(sorted(set(sys.modules) & {'matplotlib', 'jinja2', 'typst', 'numpy', 'pandas', 'scipy', 'yaml'}))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_unknown_names_are_refused():
    import bdt_core.report

    with pytest.raises(AttributeError, match="no attribute 'render_word'"):
        _ = bdt_core.report.render_word


def test_forms_share_what_is_drawn(monkeypatch):
    """Within `printed_once` Dagster's form draws nothing that the page has drawn; what is changed later is seen."""
    document, drawn, draw = json.loads(canonical_json(DOCUMENTS["fail"]())), [], figures._drawn

    def watched(*args, **settings):
        drawn.append(args)
        return draw(*args, **settings)

    monkeypatch.setattr(figures, "_drawn", watched)
    apart = render_html(document), render_markdown(document, figures=True)
    of_two = len(drawn)
    with printed_once(document):
        assert (render_html(document), render_markdown(document, figures=True)) == apart
    of_one = len(drawn) - of_two
    assert of_two - of_one == apart[1].count("data:image/svg") > 2
    document["name"] = "another"
    assert render_markdown(document).startswith("# Another:")


@pytest.mark.parametrize("language", ["en", "nl"])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_notebook_is_shown_the_first_page_alone_and_where_the_rest_is(name, language):
    document = DOCUMENTS[name]()
    document = {**document, "spec": {**document["spec"], "language": language}}
    shown = render_notebook(document, first_page=True)
    assert len(shown.encode()) < 60_000
    (frame,) = Reader(shown).all("iframe")
    page = Reader(frame["srcdoc"])
    for said in first_words(build_page(document)):
        assert said.replace(" ", "") in page.words.replace(" ", "")
    assert frame["srcdoc"].count(".write(folder)") == 1
    assert not page.all("script")
    assert [one["href"] for one in page.all("a")] == ["#first"]
