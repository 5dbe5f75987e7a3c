"""The parts of the report on intersections, local bias and mitigation: texts, tables and figures, in every form."""

import copy
import html.parser
import json
import re
import time
import xml.etree.ElementTree as ET

import jsonschema
import pytest

from bdt_core import words
from bdt_core.audit import audit
from bdt_core.groups.slices.search import IN_SAMPLE
from bdt_core.report import (
    canonical_json,
    figure_svg,
    render_html,
    render_markdown,
    render_notebook,
    render_pdf,
)
from bdt_core.report.blocks import Bullets, Figure, Folded, Paragraph, Table
from bdt_core.report.figure_axis import scale
from bdt_core.report.figures import figure_names
from bdt_core.report.page import build_page
from bdt_core.report.printed import printed, printed_once
from tests.core.report.described import described, described_and_nothing_else
from tests.core.report.drawn import figures_of, html_of, pdf_of, pdf_words
from tests.core.report.sample_depth import (
    CONDITIONS,
    DEEP,
    PARTS,
    SMALL_GROUP,
    deep,
    gap_summary,
    in_sample,
    nothing_found,
    of_values,
)
from tests.core.report.sample_document import DOCUMENTS, HOSTILE, fail, untested

FIGURES = ("slices", "slices_lattice", "local_bias", "mitigation")
TITLES = ("Intersections", "Local bias", "Mitigation")
SEEN = words.printable(HOSTILE)
every_sample = pytest.mark.parametrize("name", list(DEEP))


def section(document, name):
    return next((one for one in build_page(document).sections if one.name == name), None)


def blocks(document, kind, name):
    def inside(several):
        for one in several:
            if isinstance(one, kind):
                yield one
            if isinstance(one, Folded):
                yield from inside(one.blocks)

    return list(inside(section(document, name).blocks))


def table(document, caption, name):
    return next(one for one in blocks(document, Table, name) if one.caption.startswith(caption))


def told(document, name):
    return " ".join(one.text for one in blocks(document, Paragraph, name))


def numbers(x):
    """Every number of the document, those within its texts included."""
    if isinstance(x, dict):
        for one in x.values():
            yield from numbers(one)
    elif isinstance(x, list):
        for one in x:
            yield from numbers(one)
    elif (isinstance(x, int | float) and not isinstance(x, bool)) or x in ("Infinity", "-Infinity"):
        yield x
    elif isinstance(x, str):
        yield from map(float, re.findall(r"\d+(?:\.\d+)?", x))


def svg_texts(document, figure):
    """The texts of a figure, drawn as texts."""
    from bdt_core.report import figures
    from bdt_core.report.sheet import settings

    with settings():
        svg = figures.sheet_of(printed(document), figure).svg()
    return [" ".join(one.itertext()) for one in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def words_of(page):
    class Words(html.parser.HTMLParser):
        found, style = "", False

        def handle_starttag(self, tag, attrs):
            self.style = tag in ("style", "script")

        def handle_data(self, data):
            self.found += "" if self.style else data

    reader = Words()
    reader.feed(page)
    return reader.found


@every_sample
def test_the_samples_are_what_the_schema_describes(name):
    document = DEEP[name]()
    described_and_nothing_else().validate(document)
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("slices", "slices", 0, "test_rows"), -1),
        (("slices", "in_sample"), "no"),
        (("slices", "lattice", 0, "conditions", 0, "kind"), "range"),
        (("local_bias", "logan", "clusters", 0, "held_out", "status"), "maybe"),
        (("local_bias", "kmeans", "train", "within_clusters", "p_bcr"), "small"),
        (("mitigation", "status"), "tried"),
        (("mitigation", "thresholds", "groups", 0, "mixture"), [[1.0]]),
        (("mitigation", "recommendations", 0, "keeps_limit"), "perhaps"),
    ],
)
def test_the_schema_refuses_what_is_wrong(path, wrong):
    document = deep()
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = wrong
    with pytest.raises(jsonschema.ValidationError):
        described().validate(document)


def test_the_schema_takes_documents_without_these_parts():
    for document in (fail(), {**fail(), **dict.fromkeys(PARTS)}):
        described_and_nothing_else().validate(document)


def test_a_real_audit_gives_what_the_schema_describes_and_is_drawn():
    """Small on purpose: two conditions, three clusters; what is drawn is tested on samples."""
    asked = {
        "name": "compas",
        "source": {"path": "demo:compas"},
        "bias_variable": {"derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"},
        "features": {"include": ["age", "priors_count"]},
        "protected": ["race"],
        "clustering": {"stability": 2, "max_iter": 2},
        "split": {"repeats": 1},
        "slices": {"max_conditions": 2},
        "worst_groups": {"permutations": 39},
        "local_bias": {"group": "race", "n_clusters": 3},
        "mitigation": {"group": "race", "score": "decile_score", "tolerance": 0.05},
    }
    document = json.loads(canonical_json(audit(None, asked).document))
    described_and_nothing_else().validate(document)
    assert set(FIGURES) <= set(figure_names(document))
    with printed_once(document):
        page, told = render_html(document), render_markdown(document)
    for part, title in zip(PARTS, TITLES, strict=True):
        assert f'id="{part}"' in page
        assert f"## {title}\n" in told
        assert list(_unknown_numbers(document, part)) == []


def _unknown_numbers(document, part):
    """Numbers in the tables of a part that its data do not have."""
    shown = {"0.001", "0.01"}
    for x in numbers({part: document[part]}):
        size = x if isinstance(x, str) else abs(x)
        forms = [words.number(size), words.percent(size), words.size(size, "rate"), words.p_number(size)]
        forms += [words.count(int(x))] if not isinstance(x, str) and x == int(x) else []
        shown |= {
            one.removesuffix(" %").removesuffix(" points").removeprefix("< ").lstrip(words.MINUS) for one in forms
        }
    settings = document[part].get("settings", document[part])
    shown |= {words.number(100 * (1 - settings["alpha"])), "80"}  # of intervals, of power
    pattern = re.compile(r"infinite|\d[\d,]*(?:\.\d+)?(?: × 10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?")
    for one in blocks(document, Table, part):
        for cells in one.rows:
            for cell in cells:
                for found in pattern.findall(f"{cell.text} {cell.note}".replace("\u00a0", " ")):
                    yield from () if found.rstrip(",") in shown else [(one.caption, cell, found)]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sample", ["deep", "in_sample", "of_values", "five_conditions"])
def test_every_number_in_the_tables_is_in_the_document(sample, part):
    document = DEEP[sample]()
    assert list(_unknown_numbers(document, part)) == []
    counted = sum(len(re.findall(r"\d+", cell.text)) for one in blocks(document, Table, part) for row in one.rows
                  for cell in row)  # fmt: skip
    assert counted > 12


def test_the_check_of_numbers_can_fail():
    document = deep()
    rows = table(document, "Intersections that fare", "slices").rows
    document["slices"]["slices"] = [{**one, "ratio_to_overall": None} for one in document["slices"]["slices"]]
    assert rows[0][6].text == "1.43"
    assert "1.43" not in {words.number(one) for one in numbers(document["slices"])}


@pytest.mark.parametrize("without", [{}, dict.fromkeys(PARTS)])
def test_there_is_no_section_without_the_part(without):
    document = {**fail(), **without}
    assert not set(PARTS) & {one.name for one in build_page(document).sections}
    assert not set(FIGURES) & set(figure_names(document))
    assert build_page(document) == build_page(fail())


@pytest.mark.parametrize("part", PARTS)
def test_each_part_stands_alone(part):
    document = {**deep(), **{one: None for one in PARTS if one != part}}
    assert set(PARTS) & {one.name for one in build_page(document).sections} == {part}
    assert {name for name in figure_names(document) if name in FIGURES} == {
        name for name in FIGURES if name.startswith(part)
    }
    phrase = " ".join(one.text for one in section(document, "method").blocks if isinstance(one, Paragraph))
    heads = {"slices": "Intersections are found", "local_bias": "LOGAN", "mitigation": "exact sweep"}
    assert {one for one, head in heads.items() if head in phrase} == {part}


def test_slices_stand_in_a_table_with_everything_that_was_asked_for():
    found = table(deep(), "Intersections that fare significantly worse, on the test rows", "slices")
    assert [one.label for one in found.columns] == [
        "Intersection", "Test rows", "FPR", "Everybody else", "Difference to expect, points", "As measured",
        "Ratio to overall", "p, corrected",
    ]  # fmt: skip
    first = [(cell.text, cell.note.replace("\u00a0", " ")) for cell in found.rows[0]]
    assert first == [
        (" and ".join(CONDITIONS[:2]), ""), ("90", "11.3 %"), ("78.9 %", "71 of 90"), ("21.3 %", "150 of 703"),
        ("+50.1", "[95 % CI +49.3 to +65.6]"), ("+57.6", ""), ("1.43", ""), ("< 0.001", ""),
    ]  # fmt: skip
    assert [one[0].text for one in found.rows] == [first[0][0], CONDITIONS[1]]


def test_slices_are_told_how_they_were_searched_and_tested():
    phrase = told(deep(), "slices")
    assert "481 have at least 32 train rows" in phrase
    assert "The worst of them on the 3,170 train rows were tested for harm on the 793 test rows" in phrase
    assert "95 tests, all of them counted in the correction" in phrase
    assert "at most 10 % are expected to be so by chance" in phrase
    assert "2 fare significantly worse than everybody else. One more is significant too" in phrase
    assert "Left out, without a known outcome: 12 rows." in phrase
    assert "the mean of all that were tested, +7.1, as they differ among each other by 16.6" in phrase
    assert "allow for their choice: of those that are listed at most 5 % are expected not to hold" in phrase
    assert "permutations of the largest statistic" in told(in_sample(), "slices")
    (excluded,) = blocks(deep(), Bullets, "slices")
    assert excluded.items == ("Not searched: person_id, its values are nearly all different.",)


def test_slices_that_others_stand_for_are_folded_under_them():
    folded = {one.title: one for one in section(deep(), "slices").blocks if isinstance(one, Folded)}
    assert list(folded) == [
        "The worst intersection, condition by condition",
        "1 intersection that another stands for", "The strongest that are not significant", "What was searched",
    ]  # fmt: skip
    inside = table(deep(), f"Within {CONDITIONS[1]}", "slices")
    assert [one[0].text for one in inside.rows] == [f"{CONDITIONS[1]} and {CONDITIONS[2]}"]


def test_without_a_significant_slice_the_strongest_are_drawn_and_folded():
    document = deep()
    document["slices"]["slices"] = document["slices"]["slices"][3:]
    document["slices"]["lattice"] = []
    assert "No intersection fares significantly worse" in told(document, "slices")
    assert "no sign that all are treated alike" in told(document, "slices")
    assert not [one for one in section(document, "slices").blocks if isinstance(one, Table)]
    assert "slices" in figure_names(document)
    assert "slices_lattice" not in figure_names(document)
    assert svg_texts(document, "slices")[0].startswith("No intersection is significantly worse off")


def test_a_slice_with_few_rows_is_printed_without_values():
    document = deep()
    small = document["slices"]["slices"][1]
    small["comparison"] = {**small["comparison"], "n_a": 29, "events_a": 17, "mean_a": 17 / 29}
    document["slices"]["lattice"][0]["comparison"] = untested(11)
    rows = {row[0].text: row for one in blocks(document, Table, "slices") for row in one.rows}
    for name, reason in ((small["name"], "fewer than 30 rows"), ("age up to 25 and priors_count from 5", "30 rows")):
        assert rows[name][2].text == "not testable"
        assert reason in rows[name][2].note
        assert {cell.text for cell in rows[name][3:]} == {words.NOTHING}
    assert "58.6 %" not in " ".join(svg_texts(document, "slices"))
    assert "58.6 %" not in render_markdown(document)
    assert "too few rows" in svg_texts(document, "slices_lattice")


def test_nothing_tested_is_told_with_its_reason():
    document = nothing_found()
    assert "No intersection was tested: no column is left." in told(document, "slices")
    assert "nothing is said about local bias here" in told(document, "local_bias")
    phrase = told(document, "mitigation")
    assert "No thresholds could be chosen. Thresholds by race need two groups with enough rows; none has." in phrase
    assert "nothing is recommended" in phrase
    assert not set(FIGURES) & set(figure_names(document))
    assert not blocks(document, Table, "mitigation")


def test_in_sample_is_said_loudly_in_every_form():
    document = in_sample()
    assert f"Intersections: {IN_SAMPLE}" in blocks(document, Bullets, "remarks")[0].items
    assert "The report begins with 2 remarks on the data." in render_markdown(document)
    assert section(document, "slices").blocks[0].text == f"Warning: {IN_SAMPLE}"
    assert words_of(html_of("in_sample")).count(IN_SAMPLE) == 2
    assert "- Intersections: The slices were searched for and tested on the same rows" in render_markdown(document)
    assert "In-sample: too large, and too sure." in " ".join(svg_texts(document, "slices"))
    for one in (*blocks(document, Table, "slices")[:2], *blocks(document, Figure, "slices")):
        assert "on the very rows that were searched" in one.caption
        assert "test rows" not in one.caption
    assert IN_SAMPLE not in " ".join(one for each in blocks(deep(), Bullets, "remarks") for one in each.items)


def test_values_of_a_number_have_no_percentages_and_harm_points_left():
    document = of_values()
    found = table(document, "Intersections that fare", "slices")
    assert [one.label for one in found.columns][2:5] == ["Income", "Everybody else", "Difference to expect"]
    assert [one.text for one in found.rows[0]][2:5] == ["1,834", "2,410", f"{words.MINUS}502"]
    assert not any("%" in cell.text for cell in found.rows[0])
    texts = svg_texts(document, "slices")
    assert "← worse" in texts
    assert "worse →" not in texts
    assert "worse →" in svg_texts(deep(), "slices")


def test_clusters_of_local_bias_have_their_gaps_and_findings():
    found = table(deep(), "Clusters by the gap in accuracy", "local_bias")
    rows = {row[0].text: row for row in found.rows}
    assert list(rows) == ["All rows", "Cluster 0", "Cluster 1", "Cluster 2", "Cluster 3"]
    assert {name: row[6].text for name, row in rows.items()} == {
        "All rows": "not confirmed", "Cluster 0": "confirmed", "Cluster 1": "not confirmed",
        "Cluster 2": "turned round", "Cluster 3": "not testable",
    }  # fmt: skip
    first = rows["Cluster 0"]
    assert first[0].note.replace("\u00a0", " ") == "907 + 112"
    assert first[1].text == "age lower (24.1 against 36.2); c_charge_degree is F (71.2 % against 45.7 %)"
    assert first[2].text == "Caucasian, African-American"
    assert first[2].note == ("train: 82.5 % of 400 against 60.0 % of 500; test: 76.7 % of 60 against 62.0 % of 50")
    assert (first[3].text, first[4].text, first[5].text) == ("+23.4", "+13.2", "0.0031")
    assert rows["Cluster 1"][6].note == "31.4 points would have shown with 80 % power"
    assert rows["Cluster 3"][6].note == "4 test rows against 50"
    assert "test: too few against 62.0 % of 50" in rows["Cluster 3"][2].note


def test_what_local_bias_found_again_is_told():
    document = deep()
    phrase = told(document, "local_bias")
    assert (
        "In 1 of 3 clusters tested the gap is confirmed: cluster 0 (higher for Caucasian than for African-American, by "
        "13.2 points). 1 could not be tested, for too few rows." in phrase
    )
    document["local_bias"]["logan"]["clusters"][0]["held_out"]["confirmed"] = False
    assert "In none of the 3 clusters tested is the gap" in told(document, "local_bias")
    assert svg_texts(document, "local_bias")[0].startswith("In none of 3 clusters")


@pytest.mark.parametrize(
    ("kmeans", "test", "says", "not_says"),
    [
        (
            gap_summary(1.0, 0.055),
            gap_summary(0.8333, 0.646),
            ["gives as much", "Chance alone gives such a figure"],
            ["more than"],
        ),
        (gap_summary(0.5, 0.055), gap_summary(0.8333, 0.001), ["gives 50.0 %", "more than chance"], ["as much"]),
        (gap_summary(1.0, 0.5, bir=0.2), gap_summary(0.8, 0.05), ["gives 100.0 % and 20.0 %"], ["as much"]),
    ],
)
def test_words_say_whether_the_published_figures_mean_anything(kmeans, test, says, not_says):
    document = deep()
    document["local_bias"]["kmeans"]["train"] = kmeans
    document["local_bias"]["logan"]["test"] = test
    phrase = told(document, "local_bias")
    assert [one for one in says if one not in phrase] == []
    assert [one for one in not_says if one in phrase] == []


def test_published_figures_stand_beside_what_chance_gives():
    document = deep()
    found = table(document, "The published summary", "local_bias")
    assert "no p-value holds" in found.caption
    rows = {row[0].text: [(cell.text, cell.note.replace("\u00a0", " ")) for cell in row[1:]] for row in found.rows}
    assert len(rows) == 8
    assert rows["Biased cluster ratio (BCR), train rows"] == [
        ("100.0 %", ""), ("64.7 %", ""), ("100.0 %", ""), ("64.7 %", "p = 0.055"),
    ]  # fmt: skip
    assert rows["Biased cluster ratio (BCR), test rows"][1] == ("64.7 %", "p = 0.65")
    logan = document["local_bias"]["logan"]
    logan["train"]["whole_search"] = {**logan["train"]["within_clusters"], "bcr": 0.9123, "p_bcr": 0.44}
    found = table(document, "The published summary", "local_bias")
    assert "by the whole search repeated on shuffled groups" in found.caption
    assert [one.text for one in found.rows[0]][1:3] == ["100.0 %", "91.2 %"]
    assert found.rows[0][2].note.replace("\u00a0", " ") == "p = 0.44"


def test_a_small_group_has_no_local_metric():
    document = deep()
    rows = [row for row in table(document, "Accuracy of each group", "local_bias").rows if row[1].text == SMALL_GROUP]
    assert len(rows) == 5
    for row in rows:
        assert [cell.text for cell in row[2:]] == ["7", "too few", "2", "too few"]
    assert "42.9 %" not in words_of(render_html(document))
    assert not any(SMALL_GROUP in one.alt for one in blocks(document, Figure, "local_bias"))


def test_words_and_areas_of_local_bias():
    document = deep()
    local = document["local_bias"]
    local["settings"]["metric"] = "auc"
    for one in local["logan"]["clusters"]:
        one["about"]["words"] = [{"word": f"word{i}", "weight": 0.5, "rows": 9} for i in range(30)]
    found = table(document, "Clusters by the gap in area under the curve", "local_bias")
    assert found.rows[1][1].text.startswith("word0, word1, ")
    assert "word12" not in found.rows[1][1].text
    assert [one.label for one in found.columns][3:5] == ["Train gap", "Test gap"]
    assert found.rows[1][4].text == "+0.132"
    assert svg_texts(document, "local_bias")[1].startswith("Area under the curve (AUC), of the groups furthest apart")


def test_two_groups_keep_their_marks():
    document = deep()
    document["local_bias"]["groups"] = ["African-American", "Caucasian"]
    texts = svg_texts(document, "local_bias")
    assert "African-American" in texts
    assert "higher on the train rows" not in texts
    assert "higher on the train rows" in svg_texts(deep(), "local_bias")


def test_mitigation_recommends_first_and_then_tells_what_was_measured():
    document = deep()
    first = section(document, "mitigation").blocks[0]
    assert first.items == (
        "Predictive equality difference by race: Thresholds by race on decile_score were measured to do this.",
    )
    phrase = told(document, "mitigation")
    assert "of those that leave true positive rates at most 5.0 points apart, the ones with the best accuracy" in phrase
    assert f"{words.MINUS}0.4 points [95 % CI {words.MINUS}2.2 to +1.5], by a comparison of the same rows" in phrase
    assert "Asian (28 train rows; 30 are needed)" in phrase
    assert "Without a value: decile_score in 11." in phrase


def test_thresholds_and_whom_they_select():
    found = table(deep(), "Thresholds on decile_score by race", "mitigation")
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in found.rows}
    assert rows == {
        "African-American": ["490", "5", "7", "0", "155"],
        "Caucasian": ["490", "5", "nobody", "0", "165"],
        "Hispanic": ["490", words.NOTHING, "4 (25.0 %) or 6 (75.0 %)", "9", "3"],
        SMALL_GROUP: ["490", "5", "everybody", "not printed", words.NOTHING],
    }
    rates = table(deep(), "On the test rows", "mitigation")
    assert SMALL_GROUP not in {row[0].text for row in rates.rows}


def test_metrics_before_and_after():
    document = deep()
    found = table(document, "Before and after", "mitigation")
    rows = {row[0].text: [(cell.text, cell.note.replace("\u00a0", " ")) for cell in row[1:]] for row in found.rows}
    assert list(rows)[:3] == ["Equal opportunity difference", "Accuracy", "Demographic parity difference"]
    assert rows["Equal opportunity difference"] == [
        ("43.6 points", "[37.5 to 49.7]"), ("8.2 points", "[2.0 to 14.3]"),
    ]  # fmt: skip
    assert rows["Treatment equality difference"][0][0] == "infinite"
    assert rows["DI"] == [("0.543", "[0.482 to 0.604]"), ("undefined", "nobody was selected")]
    assert "Equal opportunity ratio" not in rows
    assert table(document, "Smallest over largest", "mitigation").rows[0][1].text == "0.381"


def test_weights_and_proxies_stand_in_the_depth():
    document = deep()
    weights = table(document, "Weights by group and label", "mitigation")
    assert [one.text for one in weights.rows[0]] == ["African-American", "negative", "1,436", "1,619", "1.13"]
    assert weights.rows[1][4].text == words.NOTHING
    assert "no weight can correct it: African-American, 1." in told(document, "mitigation")
    proxies = table(document, "How well each feature tells", "mitigation")
    assert [one.text for one in proxies.rows[0]] == [
        "priors_count",
        "race",
        "AUC of African-American",
        "0.615",
        "0.231",
    ]
    assert (proxies.rows[2][3].text, proxies.rows[2][3].note) == ("not measured", "it has one value")
    main = {type(one) for one in section(document, "mitigation").blocks}
    assert Folded in main


def test_a_frontier_without_known_ends_is_not_drawn():
    document = deep()
    document["mitigation"]["thresholds"]["gap"]["after"]["estimate"] = None
    assert "mitigation" not in figure_names(document)
    assert not blocks(document, Figure, "mitigation")
    assert "undefined" in {cell.text for row in table(document, "Before and after", "mitigation").rows for cell in row}


def test_hostile_names_are_names_in_every_form():
    document = DEEP["hostile_depth"]()
    page = html_of("hostile_depth")
    assert page.count("<script") == 1  # ours
    assert words_of(page).count(SEEN) > 100
    assert f"{SEEN} race is African-American".replace(" ", "") in pdf_words("hostile_depth").replace(" ", "")
    plain = re.sub(r"\\.", "", render_markdown(document))
    for dangerous in ("<script", "@team", "http://", "[l]", "*b*", "`c`", "$x"):
        assert dangerous not in plain
    for name in FIGURES:
        drawn = figures_of("hostile_depth")[name]
        assert "<script" not in drawn
        assert "http://e.vil" not in re.findall(r'href="([^"]*)"', drawn)


def test_two_hundred_slices_are_cut_in_every_form():
    start = time.process_time()
    document = DEEP["many_slices"]()
    page = words_of(html_of("many_slices"))
    assert len(table(document, "Intersections that fare", "slices").rows) == 30
    assert "170 more stand in report.json" in page
    assert "200 intersections that others stand for" in page
    assert sum(len(one.rows) for one in blocks(document, Table, "slices") if one.caption.startswith("Within")) == 5
    assert len(table(document, "Not significantly worse", "slices").rows) == 5
    title = "200 intersections are significantly worse off than everybody else. The first 20 are shown."
    assert " ".join(svg_texts(document, "slices")).startswith(title)
    assert float(ET.fromstring(figure_svg(document, "slices")).attrib["height"].removesuffix("pt")) < 800
    assert "20 more rows stand in the other forms." in render_markdown(document)
    assert time.process_time() - start < 12


@pytest.mark.parametrize("form", ["html", "pdf", "markdown", "notebook"])
def test_every_form_has_the_three_parts(form):
    document = deep()
    drawn = {
        "html": lambda: words_of(html_of("deep")),
        "pdf": lambda: pdf_words("deep"),
        "markdown": lambda: render_markdown(document),
        "notebook": lambda: words_of(html.unescape(render_notebook(document))),
    }[form]()
    for title in TITLES:
        assert title in drawn
    for phrase in ("Difference to expect, points", "not confirmed", "No longer selected", "gives as much"):
        assert phrase in drawn


def test_figures_are_told_to_those_who_cannot_see_them():
    document = deep()
    figures = {one.name: one.alt for part in PARTS for one in blocks(document, Figure, part)}
    assert tuple(figures) == FIGURES
    assert "race is African-American +17.0" in figures["slices"]
    assert f"{CONDITIONS[0]}: 28.6 % of 700" in figures["slices_lattice"]
    assert "Cluster 3: Caucasian 82.5 % (train rows)" in figures["local_bias"]
    assert "now a gap of 43.6 points at an accuracy of 65.5 %" in figures["mitigation"]


@every_sample
def test_texts_of_the_figures_do_not_overlap(name):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from bdt_core.report import figures
    from bdt_core.report.sheet import settings

    document = printed(DEEP[name]())
    for figure in (one for one in figure_names(document) if one in FIGURES):
        with settings():
            sheet = figures.sheet_of(document, figure)
            renderer = FigureCanvasAgg(sheet.figure).get_renderer()
            boxes = [(one.get_text(), one.get_window_extent(renderer)) for one in sheet.figure.texts]
        page = sheet.figure.bbox
        for number, (phrase, box) in enumerate(boxes):
            assert page.x0 <= box.x0, phrase
            assert box.x1 <= page.x1, phrase
            assert page.y0 <= box.y0, phrase
            for other, there in boxes[:number]:
                apart = box.x1 <= there.x0 or there.x1 <= box.x0 or box.y1 <= there.y0 + 1 or there.y1 <= box.y0 + 1
                assert apart, (figure, phrase, other)


def test_the_same_document_gives_the_same_bytes():
    document = deep()
    again = json.loads(canonical_json(copy.deepcopy(document)))
    for name in FIGURES:
        assert figure_svg(again, name) == figure_svg(document, name)
    assert render_html(again) == html_of("deep")
    assert render_markdown(again) == render_markdown(document)
    assert render_pdf(again) == pdf_of("deep")


@pytest.mark.parametrize(
    "values", [[0.0, 0.0], [5.0], [], [-3e-9, 4e-9], [1e12, 2e12], [-0.31, 0.02], ["Infinity", None]]
)
def test_a_scale_holds_its_values_between_round_ends(values):
    found = scale(values, 10.0, 110.0)
    known = [x for x in values if isinstance(x, float)]
    assert found.low < found.high
    assert all(found.low <= x <= found.high for x in known)
    assert 2 <= len(found.ticks) <= 8
    assert found.place(found.low) == 10.0
    assert found.place(found.high) == 110.0


def test_samples_of_other_tests_have_none_of_these_parts():
    assert not [name for name, make in DOCUMENTS.items() if set(PARTS) & set(make())]
