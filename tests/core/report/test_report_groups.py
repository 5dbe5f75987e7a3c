"""The part of the report on declared groups: its limits, tables and figures, in every form."""

import copy
import html.parser
import json
import re
import time
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from bdt_core import words
from bdt_core.audit import audit
from bdt_core.metrics import CLARIFY
from bdt_core.report import figure_svg, render_html, render_markdown, render_pdf
from bdt_core.report.blocks import Bullets, Figure, Folded, Paragraph, Subheading, Table
from bdt_core.report.figure_words import figure_words
from bdt_core.report.figures import figure_names
from bdt_core.report.groups import figures_of_groups, grid, map_rate
from bdt_core.report.page import build_page
from bdt_core.report.printed import printed
from bdt_core.report.verdict import verdict_meaning
from tests.core.joined.made_tables import quick_audit
from tests.core.report.drawn import figures_of, html_of, pdf_words
from tests.core.report.sample_document import HOSTILE, fail, hostile, many
from tests.core.report.sample_groups import BOTH, MIN_ROWS, RACE, SEX, facet, groups_part, metric_limit
from tests.goldens.frozen import FOLDER

SMALL = ("Native American", "Native American & Female", "Native American & Male")
SEEN = words.printable(HOSTILE)


def section(document, name="groups"):
    return next((one for one in build_page(document).sections if one.name == name), None)


def blocks(document, kind, name="groups"):
    def inside(several):
        for one in several:
            if isinstance(one, kind):
                yield one
            if isinstance(one, Folded):
                yield from inside(one.blocks)

    return list(inside(section(document, name).blocks))


def table(document, caption, name="groups"):
    return next(one for one in blocks(document, Table, name) if one.caption.startswith(caption))


def row(document, caption, head, name="groups"):
    return next(one for one in table(document, caption, name).rows if one[0].text == head)


def drawn_text(document, figure):
    """A figure whose texts are texts."""
    from bdt_core.report.figures import sheet_of
    from bdt_core.report.sheet import settings

    with settings():
        svg = sheet_of(printed(document), figure).svg()
    return [" ".join(one.itertext()) for one in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def numbers(x):
    """Every number of the document, infinities included."""
    if isinstance(x, dict):
        for one in x.values():
            yield from numbers(one)
    elif isinstance(x, list):
        for one in x:
            yield from numbers(one)
    elif (isinstance(x, int | float) and not isinstance(x, bool)) or x in ("Infinity", "-Infinity"):
        yield x


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


def test_every_number_in_the_tables_is_in_the_document():
    document = fail()
    shown = set()
    for x in numbers({"groups": document["groups"], "gate": document["gate"]}):
        size = x if isinstance(x, str) else abs(x)
        forms = [words.number(size), words.percent(size), words.size(size, "rate"), words.p_number(size)]
        forms += [words.count(int(x))] if not isinstance(x, str) and x == int(x) else []
        shown |= {
            one.removesuffix(" %").removesuffix(" points").removeprefix("< ").lstrip(words.MINUS) for one in forms
        }
    pattern = re.compile(r"infinite|\d[\d,]*(?:\.\d+)?(?: × 10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?")
    counted = 0
    for one in [table for name in ("groups", "rates", "gate") for table in blocks(document, Table, name)]:
        for cells in one.rows:
            for cell in cells[1:] if one.caption.startswith("Clarify") else cells:
                for found in pattern.findall(f"{cell.text} {cell.note}".replace("\u00a0", " ")):
                    counted += 1
                    assert found in shown or found == "0.001", (one.caption, cell)
    assert counted > 800


@pytest.mark.parametrize("form", ["tables", "markdown"])
def test_a_small_group_keeps_its_row_count_and_nothing_else(form):
    document = fail()
    if form == "tables":
        found = {
            cells[0].text: [(cell.text, cell.note) for cell in cells[1:]]
            for one in blocks(document, Table)
            for cells in one.rows
            if cells[0].text in SMALL
        }
        heads = [column.label for one in blocks(document, Table) for column in one.columns]
        assert not set(heads) & set(SMALL)
    else:
        lines = [one for one in render_markdown(document).splitlines() if one.startswith("| Native American")]
        found = {
            cells[0]: [(cell.replace(" (fewer than 30 rows)", ""), "") for cell in cells[1:]]
            for cells in ([cell.strip() for cell in one.strip("|").split("|")] for one in lines)
        }
    counts = {" & ".join(values): sum(n) for part in (RACE, SEX, BOTH) for values, n in part.items()}
    assert set(found) == set(SMALL)
    for name, cells in found.items():
        assert cells[0][0] == str(counts[name])
        assert cells[1] == ("not printed", "fewer than 30 rows" if form == "tables" else "")
        assert {cell for cell, _ in cells[2:]} == {words.NOTHING}


def test_a_small_group_has_no_rate_in_figures_nor_in_what_is_read_aloud():
    document = fail()
    for one in blocks(document, Figure):
        assert not any(name in one.alt for name in SMALL)
    assert "Not drawn, for fewer than 30 rows: Native American." in drawn_text(document, "groups_1")
    told = drawn_text(document, "groups_3")
    assert told.count("fewer than") == told.count(f"{MIN_ROWS} rows") == 2  # Native American, women and men
    assert told.count("nobody") == 1  # Asian women


def test_a_small_group_has_no_rate_in_the_page_nor_in_print():
    page = html_of("fail")
    other, own = page.split('<div lang="en" data-language')
    in_dutch = re.findall(r"<tr><th[^>]*>Native American.*?</tr>", other, re.DOTALL)
    assert len(in_dutch) == len(SMALL)
    assert not any("%" in one for one in in_dutch)
    rows = re.findall(r"<tr><th[^>]*>Native American.*?</tr>", own, re.DOTALL)
    told = [one for one in rows if "not printed" in one]
    behind = [re.findall(r"<td[^>]*>(.*?)</td>", one) for one in rows if one not in told]  # numbers of the map
    assert (len(told), len(behind)) == (len(SMALL), 2)
    assert not any("%" in one for one in told)
    assert not any(any(numbers) for _, *numbers in behind)
    shown = r"Native American(?: & \w+)? \d+ not printed fewer than 30 rows (?:– ){4}"
    assert len(re.findall(shown, pdf_words("fail"))) == len(SMALL)


def test_there_is_no_section_without_groups():
    assert section({**fail(), "groups": None}) is None
    assert figure_names({**fail(), "groups": None}) == ("clusters", "apart", "tree")


def test_without_a_grouping_the_notes_are_told():
    document = fail()
    document["groups"]["facets"] = []
    told = section(document)
    assert [type(one) for one in told.blocks] == [Paragraph, Bullets]
    assert told.blocks[1].items == tuple(document["groups"]["notes"])


def test_a_heading_and_a_figure_for_each_facet():
    document = fail()
    assert [one.text for one in blocks(document, Subheading)] == ["By race", "By sex", "By race & sex"]
    assert [one.name for one in blocks(document, Figure)] == ["groups_1", "groups_2", "groups_3"]
    assert figure_names(document) == ("clusters", "apart", "groups_1", "groups_2", "groups_3", "tree")
    page = html_of("fail")
    assert page[page.index('<div lang="en" data-language') :].count("<svg ") == len(figure_names(document))


def test_rates_come_with_intervals_and_the_largest_group_first():
    document = fail()
    found = table(document, "Rates by race")
    assert [one.label for one in found.columns] == [
        "Group", "Rows", "Selection rate", "True positive rate", "False positive rate", "Precision (PPV)", "Accuracy",
    ]  # fmt: skip
    assert [one[0].text for one in found.rows] == ["African-American", "Caucasian", "Asian", "Native American"]
    first = found.rows[0]
    assert (first[0].note, first[1].text, first[2].text) == ("reference", "2,460", "58.5 %")
    assert re.fullmatch(r"\[\d\d\.\d to\xa0\d\d\.\d\]", first[2].note)
    undefined = found.rows[2][5]
    assert (undefined.text, undefined.note) == ("undefined", "nobody with a positive prediction")


@pytest.mark.parametrize(
    ("kept", "columns"),
    [
        (("selection_rate",), ["Selection rate"]),
        (("prevalence",), ["Prevalence"]),
        (("prevalence", "mean_score", "auc"), ["Prevalence", "AUC", "Mean score"]),
        (
            ("selection_rate", "true_positive_rate", "accuracy", "auc", "mean_score"),
            ["Selection rate", "True positive rate", "Accuracy", "AUC"],
        ),
    ],
)
def test_columns_follow_from_what_there_is(kept, columns):
    document = fail()
    for one in document["groups"]["facets"]:
        for group in one["groups"]:
            if group["rates"]:
                group["rates"] = {name: group["rates"].get(name, group["rates"]["accuracy"]) for name in kept}
        one |= {"ranges": [], "against_reference": [], "bias_score": None}
    found = table(document, "Rates by race")
    assert [one.label for one in found.columns[2:]] == columns
    for name in figure_names(document):
        assert figure_svg(document, name).endswith("</svg>\n")


def test_what_positive_means_is_said_once():
    document = fail()
    told = [one.text for one in blocks(document, Paragraph)]
    assert "a positive prediction means high_risk is 1 and a positive label means two_year_recid is 1" in told[0]
    assert "compared on all rows, train and test alike" in told[0]
    assert sum("good for a person" in one for one in told) == 1


def test_positive_values_and_thresholds():
    document = fail()
    document["groups"] |= {"positive": ["> 50000"], "label": "income", "prediction": "granted"}
    document["spec"]["groups"] |= {"thresholds": {"income": 50000.0}, "positive": ["yes", "rather"]}
    told = blocks(document, Paragraph)[0].text
    assert "a positive prediction means granted is yes or rather and a positive label means income above 50000" in told
    document["spec"]["groups"] |= {"positive": None}
    assert "a positive prediction means granted is 1 and" in blocks(document, Paragraph)[0].text


def test_missing_values_are_counted():
    told = next(one.text for one in blocks(fail(), Paragraph) if one.text.startswith("4,155"))
    assert told == "4,155 rows, 4 groups. Values are missing, and those rows are in no group: high_risk in 5."


@pytest.mark.parametrize(
    ("changes", "finding", "note"),
    [
        ({"significant": True, "low": 0.04}, "groups differ", "by 4.0 points or more"),
        ({"significant": True, "low": 0.0}, "groups differ", "the intervals cannot tell which ones"),
        ({"significant": False, "low": 0.0, "high": 0.2}, "cannot tell", "a difference of up to 20.0 points"),
        ({"significant": False, "low": 0.04}, "cannot tell", "after the correction for all criteria"),
        ({"significant": None, "low": 0.04}, "groups differ", "by 4.0 points or more"),
        ({"significant": None, "low": 0.0, "high": "Infinity"}, "cannot tell", "any difference fits"),
        ({"estimate": None, "undefined_reason": "one group"}, "not testable", ""),
    ],
)
def test_what_test_and_interval_say_of_a_criterion(changes, finding, note):
    document = fail()
    document["groups"]["facets"][0]["ranges"][0] |= changes
    found = row(document, "Are the groups of race alike?", "Demographic parity")
    assert found[5].text == finding
    assert note in found[5].note


def test_no_finding_ever_says_that_groups_are_equal():
    for one in blocks(fail(), Table):
        if one.caption.startswith("Are the groups"):
            assert {cells[5].text for cells in one.rows} <= {"groups differ", "cannot tell", "not testable"}


def test_criteria_name_the_lowest_and_highest_group_and_those_left_out():
    found = row(fail(), "Are the groups of race alike?", "Demographic parity")
    assert found[1].text.replace("\u00a0", " ") == "Asian 0.0 % to African-American 58.5 %"
    assert found[0].note == "equal selection rates; without Native American, for too few rows"
    both = row(fail(), "Are the groups of race alike?", "Equalized odds")
    assert both[1].text == words.NOTHING
    infinite = row(fail(), "Are the groups of race alike?", "Treatment equality")
    assert (infinite[2].text, infinite[2].note) == ("infinite", "[0 to\u00a0infinite]")


def test_the_score_stands_beside_what_chance_gives():
    document = fail()
    told = next(one.text for one in blocks(document, Paragraph, "rates") if one.text.startswith("The composite"))
    assert told == (
        "The composite bias score, where 0 is no bias and higher is worse, is 0.364 [95 % CI 0.273 to 0.437]: severe; "
        "without any bias, groups of these sizes have 0.0415 on average by chance, and 95 % of them up to 0.0687, "
        "which this score exceeds. Lowest for Asian and highest for African-American: selection rate, true positive "
        "rate and false positive rate. This score is without Native American, for too few rows. No score column: the "
        "calibration difference is left out."
    )
    document["groups"]["facets"][0]["bias_score"] |= {"score": 0.05, "severity": "low"}
    told = next(one.text for one in blocks(document, Paragraph, "rates") if one.text.startswith("The composite"))
    assert "so the score alone cannot tell bias from chance" in told
    document["groups"]["facets"][0]["bias_score"] |= {"score": None, "undefined_reason": "1 group", "parts": []}
    told = next(one.text for one in blocks(document, Paragraph, "rates") if one.text.startswith("The composite"))
    assert told.startswith("The composite bias score is undefined: 1 group.")


def test_clarify_has_21_metrics_with_names_and_no_bias_values():
    document = fail()
    found = {one[0].text: one for one in table(document, "Clarify's metrics by race", "rates").rows}
    assert set(found) == set(CLARIFY) - {"GE"}
    assert len(CLARIFY) == 21
    assert [one[1].text for one in found.values()].count("1") == 1
    assert found["DI"][1].text == "1"
    assert found["DI"][0].note == "Disparate impact: group over all others"
    assert "undefined: no group column was named to compare within" in found["CDDL"][0].note
    asian = [one.label for one in table(document, "Clarify's metrics by race", "rates").columns].index("Asian")
    assert found["KL"][asian].text == "infinite"
    assert found["DAR"][asian].note == "nobody with a positive prediction in d"
    entropy = [one.text for one in blocks(document, Paragraph, "rates") if one.text.startswith("Generalised entropy")]
    assert entropy[0].replace("\u00a0", " ").endswith("alike: 0.17 [0.163 to 0.177].")


def test_differences_take_the_limits_that_hold_together():
    document = fail()
    against = {one["metric"]: one["values"] for one in document["groups"]["facets"][0]["against_reference"]}
    values, ratio = against["selection_rate_difference"], against["selection_rate_ratio"][2]
    found = row(document, "Rate less that of African-American", "Selection rate", "rates")
    low, high = (words.signed(values[2][end], "rate") for end in ("together_low", "together_high"))
    assert (found[1].text, found[1].note) == (
        words.signed(values[2]["estimate"], "rate"),
        f"[{low} to\u00a0{high}]; ratio {words.number(ratio['estimate'])} "
        f"[{words.number(ratio['together_low'])} to\u00a0{words.number(ratio['together_high'])}]",
    )
    assert "hold for all groups at once" in table(document, "Rate less that of African-American", "rates").caption


def test_limits_on_clusters_and_on_metrics_in_one_table():
    document = fail()
    rows = [[(cell.text, cell.note) for cell in cells] for cells in table(document, "Limits", "gate").rows]
    assert rows[0][0] == ("Most deviating cluster", "decisive: cluster 0")
    assert rows[0][1] == ("at most 5.0 points", "")
    assert rows[1] == [
        ("Disparate impact by race", "decided by Caucasian; 1 not judged, for too few rows"),
        ("at least 0.8", ""),
        ("0.442", "[0.339 to\u00a00.568]"),
        ("Fail", "severity: high"),
        ("stops what comes after the gate", ""),
    ]
    assert rows[2][0][1] == "each group less African-American & Male; decided by Caucasian & Female"
    assert rows[2][1] == (f"{words.MINUS}0.1 to 0.1", "by the value alone")
    assert rows[2][2] == (f"{words.MINUS}0.0562", f"[{words.MINUS}infinite to\u00a00.0232]")
    assert rows[3] == [("AUC by sex", ""), ("at least 0.8", ""), (words.NOTHING, ""), ("Not testable", ""),
                       ("lets pass with a warning", "")]  # fmt: skip
    sentences = [one["sentence"] for one in document["gate"]]
    assert sentences[0] == document["verdict"]["sentence"]
    assert blocks(document, Paragraph, "gate")[0].text == f"Fail: {sentences[0]}"
    assert blocks(document, Bullets, "gate")[0].items == tuple(sentences[1:])


def test_limits_on_metrics_are_not_drawn_among_the_clusters():
    document = fail()
    clusters_alone = {**document, "gate": document["gate"][:1]}
    assert figure_svg(document, "clusters") == figure_svg(clusters_alone, "clusters")
    only_metrics = {**document, "gate": document["gate"][1:]}
    assert figure_svg(only_metrics, "clusters") != figure_svg(document, "clusters")


def test_the_meaning_of_a_verdict_fits_the_rule():
    document = fail()
    assert verdict_meaning(printed(document)) == words.VERDICT_MEANINGS["fail"]
    assert blocks(document, Paragraph, "gate")[1].text == words.VERDICT_MEANINGS["fail"]
    by_value = metric_limit(rule="point", sentence="The value is beyond it.")
    document |= {"gate": [by_value], "verdict": {**document["verdict"], "sentence": by_value["sentence"]}}
    assert verdict_meaning(printed(document)) == words.POINT_MEANINGS["fail"]
    assert "chance alone can" in words.POINT_MEANINGS["fail"]
    judged = {**document["verdict"], "verdict": "pass", "sentence": "It holds. Nothing but accuracy by sex was judged."}
    held = [metric_limit(verdict="pass"), metric_limit(verdict="pass", rule="point")]
    for gate, meaning in (
        (held[:1], words.VERDICT_MEANINGS),
        (held[1:], words.POINT_MEANINGS),
        (held, words.POINT_MEANINGS),
    ):
        assert verdict_meaning(printed({**document, "gate": gate, "verdict": judged})) == meaning["pass"]
    document["spec"]["require"] = "majority"
    assert verdict_meaning(printed({**document, "gate": held, "verdict": judged})) == words.EVERY_LIMIT_HOLDS
    one_broken = {**document, "gate": [*held, by_value], "verdict": judged}
    assert verdict_meaning(printed(one_broken)) == words.MAJORITY_MEANINGS["pass"]
    assert verdict_meaning(printed(document)) == words.MAJORITY_MEANINGS["fail"]
    assert blocks(document, Paragraph, "gate")[2].text == "Of these limits more than half must hold."


def test_hostile_names_are_names_in_every_form():
    document = hostile()
    page = html_of("hostile")
    assert page.count("<script") == 1  # ours
    assert words_of(page).count(f"{SEEN} African-American") > 5
    assert f"By {SEEN} race & sex".replace(" ", "") in pdf_words("hostile").replace(" ", "")
    drawn = render_markdown(document)
    plain = re.sub(r"\\.", "", drawn)
    for dangerous in ("<script", "@team", "http://", "[l]", "*b*", "`c`", "$x"):
        assert dangerous not in plain
    for drawn in figures_of("hostile").values():
        assert "<script" not in drawn


def test_five_thousand_groups_are_drawn_in_seconds():
    document = many()
    start = time.process_time()
    figures = {name: figure_svg(document, name) for name in figure_names(document)}
    page = words_of(render_html(document))
    drawn = render_markdown(document)
    assert time.process_time() - start < 15
    assert "The 30 largest groups are shown; 4,970 more stand in report.json." in page
    assert "The 15 largest groups; those of the others stand in report.json." in page
    rows = table(document, "Rates by post_code").rows
    assert (len(rows), rows[0][0].text) == (30, "post code 00000")
    assert "post code 00030" not in page
    assert "20 more rows stand in the other forms." in drawn
    assert "4970 smaller groups" in " ".join(drawn_text(document, "groups_1")).replace(",", "")
    assert len(render_pdf(document, figures)) < 3_000_000


def test_an_intersection_of_two_columns_is_a_map_of_the_rate_that_the_gate_limits():
    document = fail()
    both = printed(document).groups.facets[2]
    assert "of 940" in drawn_text(document, "groups_3")  # of men, black, with a negative label
    for metric, rate in (
        ("disparate_impact", "selection_rate"),
        ("demographic_parity_ratio", "selection_rate"),
        ("equal_opportunity_difference", "true_positive_rate"),
        ("equalized_odds_difference", "false_positive_rate"),
        ("accuracy", "accuracy"),
        ("true_positive_rate_ratio", "true_positive_rate"),
        ("bias_score", "false_positive_rate"),
    ):
        document["gate"] = [metric_limit(metric=metric, facet="race & sex")]
        assert map_rate(printed(document), both) == rate
    document["gate"] = []
    assert map_rate(printed(document), both) == "false_positive_rate"


def test_a_map_that_is_too_large_becomes_rows():
    document = fail()
    counts = {(f"a{i}", f"b{j}"): (40, 30, 20, 30 + i) for i in range(9) for j in range(9)}
    document["groups"] = {**groups_part(), "facets": [facet(("one", "other"), counts)]}
    assert "Selection rate, %" in drawn_text(document, "groups_1")
    assert blocks(document, Figure)[0].alt.startswith("Chart of rates")


def test_a_map_turns_so_that_the_longer_column_goes_down():
    wide = {(f"a{i}", f"b{j}"): (40, 30, 20, 30 + i + 10 * j) for i in range(2) for j in range(7)}
    long = {(b, a): n for (a, b), n in wide.items()}
    drawings = []
    for columns, counts in ((("a", "b"), wide), (("b", "a"), long)):
        document = fail()
        document["groups"] = {**groups_part(), "facets": [facet(columns, counts)]}
        drawings.append(drawn_text(document, "groups_1")[1:])  # its title names the groups
    assert [one for one in drawings[0] if "&" not in one] == [one for one in drawings[1] if "&" not in one]


def test_figures_name_numbers_for_those_who_cannot_see_them():
    rates_alt, _, map_alt = (one.alt for one in blocks(fail(), Figure))
    assert "Caucasian: selection rate 34.1 % [31.4 to\u00a036.9]" in rates_alt
    assert "positive predictive value undefined" in rates_alt
    assert "African-American & Male 47.9 % [44.3 to\u00a051.5]" in map_alt


@pytest.mark.parametrize("overall", [True, False])
def test_the_line_of_all_groups_is_drawn_where_it_is_known(overall):
    document = fail()
    if not overall:
        for one in document["groups"]["facets"]:
            del one["overall"]
    assert ("all groups together" in drawn_text(document, "groups_1")) == overall


def test_texts_of_a_figure_do_not_overlap():
    """Rows of 30 groups with long names, and a map of 8 x 7: no two texts share a place."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from bdt_core.report.figures import sheet_of
    from bdt_core.report.sheet import settings

    grid = {
        (f"a rather long level {i}", f"another long level {j}"): (40, 30, 20, 30 + i)
        for i in range(8)
        for j in range(7)
    }
    rows = {(f"a group with quite a long name, number {i}",): (40 + 100 * i, 30, 20, 30) for i in range(40)}
    for columns, counts in ((("a", "b"), grid), (("a",), rows), (("sex",), SEX), (("race",), RACE)):
        document = fail()
        document["groups"] = {**groups_part(), "facets": [facet(columns, counts)]}
        with settings():
            sheet = sheet_of(printed(document), "groups_1")
            renderer = FigureCanvasAgg(sheet.figure).get_renderer()
            boxes = [(one.get_text(), one.get_window_extent(renderer)) for one in sheet.figure.texts]
        page = sheet.figure.bbox
        for number, (phrase, box) in enumerate(boxes):
            assert page.x0 <= box.x0, phrase
            assert box.x1 <= page.x1, phrase
            for other, there in boxes[:number]:
                apart = box.x1 <= there.x0 or there.x1 <= box.x0 or box.y1 <= there.y0 + 1 or there.y1 <= box.y0 + 1
                assert apart, (phrase, other)


def test_row_order_of_groups_does_not_change_the_drawing():
    document = fail()
    turned = copy.deepcopy(document)
    for one in turned["groups"]["facets"]:
        order = range(len(one["groups"]))[::-1]
        one["groups"] = [one["groups"][i] for i in order]
        for metric in (*one["against_reference"], *one["clarify"]):
            if metric["metric"] != "GE":
                metric["values"] = [metric["values"][i] for i in order]
    assert build_page(turned) == build_page(document)
    for name in figure_names(document):
        assert figure_svg(turned, name) == figure_svg(document, name)
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("name", "written"), [("mixed", lambda x: f"{x:.0%}".replace("%", " %")), ("higher_is_better", lambda x: f"{x:g}")]
)
def test_small_groups_have_the_estimates_and_limits_of_the_report(name, written):
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    page = render_markdown(document)
    groups = [group for grouping in document["pooled_groups"]["groupings"] for group in grouping["groups"]]
    small = [group for group in groups if group["has_few_rows"]]
    assert len(small) == 3
    for group in small:
        estimate, low, high = (written(group[limit]) for limit in ("estimate", "low", "high"))
        assert f"| {group['size']} | {estimate} (\\[{low} to {high}]) | own rows and other groups |" in page


def test_a_title_of_rates_that_are_nearly_alike_says_both():
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], 20_000)
    chosen = (rng.random(20_000) < np.where(sex == "f", 0.67, 0.69)).astype(int)
    frame = pd.DataFrame({"sex": sex, "age": rng.integers(18, 80, 20_000), "chosen": chosen})
    asked = {"bias_variable": {"column": "chosen", "better": "higher"}, "groups": {"prediction": "chosen"}}
    report = printed(quick_audit(frame, protected=["sex"], **asked).document)
    (figure,) = (one for one in figure_names(report) if one.startswith("groups"))
    assert re.fullmatch(r"[FM]: .* [67]\d\.\d %, everybody else [67]\d\.\d %", figure_words(report, figure).title)


def test_classes_of_ages_stand_in_their_order_and_not_by_size():
    """In every table and figure that lists them; other groups stand by size, the largest first."""
    rng = np.random.default_rng(4)
    n = 4000
    ages = rng.choice(["over 40", "26-40", "9-17", "18-25"], n, p=[0.4, 0.3, 0.2, 0.1])
    frame = pd.DataFrame({"ages": ages, "town": rng.choice(["a", "b"], n, p=[0.3, 0.7]), "x": rng.normal(size=n)})
    frame["y"], frame["p"] = rng.integers(0, 2, n), rng.integers(0, 2, n)
    shown = audit(
        frame, label="y", prediction="p", protected=["ages", "town"],
        groups={"facets": ["ages", "town", ["ages", "town"]]}, worst_groups=None, slices=None,
        clustering={"stability": 0, "n_init": 1, "max_iter": 3},
    ).document  # fmt: skip
    of_ages, of_towns, of_both = printed(shown).groups.facets
    classes = ["9-17", "18-25", "26-40", "over 40"]
    assert [one.group for one in of_ages.groups] == classes
    assert [one.group for one in of_towns.groups] == ["b", "a"]
    assert grid(of_both)[0] == classes
    clarify = next(one for one in of_ages.clarify if one.metric == "CI")
    by_group = {one.group: one.estimate for one in clarify.values}
    facet = next(one for one in shown["groups"]["facets"] if one["facet"] == "ages")
    written = next(one for one in facet["clarify"] if one["metric"] == "CI")
    assert by_group == {one["group"]: one["estimate"] for one in written["values"]}
    (feature,) = [one for one in printed(shown).differences.features if one.column == "ages"]
    assert [one.level for one in feature.levels] == classes
    assert [one.level for one in printed(shown).proxies if one.column == "ages"] == classes
    name = next(name for name, (one, _) in figures_of_groups(printed(shown)).items() if one.facet == "ages")
    assert "in the order of the classes" in figure_svg(shown, name)
    drawn = [one for one in re.findall(">([^<>]+)</text>", figure_svg(shown, name)) if one in classes]
    assert drawn == classes
