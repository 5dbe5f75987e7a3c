"""The HTML form without a browser: its size, its figures, and findings that can be opened."""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import pytest

from bdt_core.report import figure_svg, render_html
from bdt_core.report.catalogue import sayings
from bdt_core.report.figures import figure_data, figure_names
from bdt_core.report.findings import on_train_rows
from bdt_core.report.inline import inline_svg
from bdt_core.report.page import build_page
from bdt_core.report.printed import printed
from bdt_core.report.tree import features_of

GOLDENS = Path(__file__).parents[2] / "goldens"


@cache
def document(name):
    return printed(json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8")))


@cache
def page(name, language="en"):
    return render_html(document(name).in_language(language))


@pytest.mark.parametrize(("name", "most"), [("compas", 260_000), ("compas_in_depth", 410_000)])
def test_a_page_is_small(name, most):
    assert len(page(name).encode()) < most  # with the body in both languages


def test_identifiers_are_unique_and_everything_that_is_referred_to_is_there():
    told = page("compas_in_depth")
    counted = Counter(re.findall(r'\bid="([^"]+)"', told))
    assert set(counted.values()) == {1}
    assert {*re.findall(r'href="#([^"]+)"', told), *re.findall(r"url\(#([^)]+)\)", told)} <= counted.keys()


@pytest.mark.parametrize("name", figure_names(document("compas_in_depth")))
def test_a_figure_in_the_page_is_the_same_picture(name):
    """Its texts, and how many lines, marks and boxes it has; colours and ground are the page's, lengths short."""
    file = ET.fromstring(figure_svg(document("compas_in_depth"), name))
    element = inline_svg(figure_svg(document("compas_in_depth"), name), name, 'an "alt"')
    drawn = ET.fromstring(element)
    assert drawn.attrib["aria-label"] == 'an "alt"'

    def parts(root):
        tags = Counter(one.tag.rpartition("}")[2] for one in root.iter())
        drawn = "".join(one.attrib["d"] for one in root.iter() if one.tag.endswith("path"))
        return [one.text for one in root.iter() if one.tag.endswith("text")], {
            **{tag: tags[tag] for tag in ("use", "text", "rect", "clipPath", "pattern")},
            **{step: len(re.findall(step, drawn, re.IGNORECASE)) for step in ("M", "C", "Q", "Z")},
            "lines": len(re.findall("[LHV]", drawn, re.IGNORECASE)),
        }

    ground = next(one for one in file.iter() if one.get("id") == "patch_1")
    ground.clear()
    assert parts(drawn) == parts(file)
    assert parts(drawn)[0]
    assert not re.findall("#[0-9a-f]{6}", element)
    assert not re.findall(r"\d\.\d{3}", re.sub(r"<text.*?</text>", "", element))


def test_numbers_behind_a_figure_stand_below_it():
    told = page("compas_in_depth")
    told = told[told.index('<div lang="en" data-language') :]  # they stand once, and not in the other language, too
    assert told.count('<details class="numbers">') == told.count("<figure>") > 10
    heads, *rows = figure_data(document("compas_in_depth"), "worst_groups")
    (table,) = [one for one in re.findall(r"<table data-decimal=.*?</table>", told, re.DOTALL) if heads[-1] in one]
    for row in rows:
        assert all(f">{cell}</t" in unescape(table) for cell in row)


def test_numbers_behind_a_dutch_figure_are_dutch():
    told = unescape(page("compas_in_depth", "nl"))
    tables = re.findall(r'<table data-decimal=",">.*?</table>', told, re.DOTALL)
    heads, first, *_ = figure_data(document("compas_in_depth").in_language("nl"), "worst_groups")
    (table,) = [one for one in tables if heads[-1] in one]
    assert {f">{cell.replace('.', ',')}</t" for cell in first} <= set(re.findall(">[^<>]*</t", table))
    assert [one for one in tables if re.search(r">-?\d+\.\d+</t", one)] == []


@pytest.mark.parametrize("language", ["en", "nl"])
def test_every_finding_can_be_opened_and_has_the_same_link_in_every_language(language):
    found = document("adult").findings.findings
    opened = re.findall(r'<details id="(finding-[0-9a-f]{8})">(.*?)</details>', page("adult", language), re.DOTALL)
    assert len(opened) == len({anchor for anchor, _ in opened}) == len(found) == 7
    english = re.findall(r'<details id="(finding-[0-9a-f]{8})">', page("adult"))
    assert [anchor for anchor, _ in opened] == english
    for one, (_, told) in zip(found, opened, strict=True):
        who = unescape(re.search("<summary>(.*?)</summary>", told)[1])
        assert who.lower() == sayings(language)(one.who).lower()
        assert sayings(language)(f"{one.rows:,}") in told


def test_an_opened_finding_says_what_train_and_test_rows_show():
    found = document("adult").findings.findings
    details = re.findall('<details id="finding-[0-9a-f]{8}">.*?</details>', page("adult"), re.DOTALL)
    opened = dict(zip((one.who for one in found), details, strict=True))
    one = next(one for one in found if one.found_by == "slices")
    assert "49.6 % of 693 rows, among which they were searched for" in opened[one.who]
    assert f"{100 * one.difference:.1f} points worse than the others; the search" in opened[one.who]
    assert "searched for among both" in opened[found[0].who]


def test_what_the_train_rows_of_a_cluster_and_of_a_local_gap_show():
    told = document("compas_in_depth")
    one = told.findings.findings[0]
    assert on_train_rows(told, one) is None
    cluster = told.clusters[1]
    in_cluster = replace(one, found_by="clusters", who=cluster.rule.text)
    assert on_train_rows(told, in_cluster) == (cluster.train_rows, cluster.train_mean)
    place = told.local_bias.logan.clusters[0]
    group = place.train[1]
    behind = replace(one.conditions[0], column="race", values=(group.group,))
    gap = replace(
        one, found_by="local_bias", described=(behind,), who=f"race is x, in place {place.label} of local bias"
    )
    assert on_train_rows(told, gap) == (group.rows, group.value)


def test_each_feature_of_a_cluster_stands_beside_everybody_else():
    told = document("compas")
    rows = {one.cluster: one.train_rows for one in told.clusters}
    means = defaultdict(set)
    for one in told.clusters:
        for each in features_of(told, one):
            if each.is_category:
                assert sum(times for _, times in each.levels_outside) == len(rows) - 1
            else:  # both together are all people, whichever cluster is chosen
                share = one.train_rows / sum(rows.values())
                means[each.column].add(round(share * each.inside + (1 - share) * each.mean_outside, 5))
    assert len(means) == len(told.clusters[0].profile) - 1
    assert {len(one) for one in means.values()} == {1}
    numbers = next(one for one in build_page(told).annex if one.name == "tree").blocks[-1].blocks[0]
    assert len(numbers.rows) == len(rows) * len(told.clusters[0].profile)
