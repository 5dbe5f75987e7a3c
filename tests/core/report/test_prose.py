"""Sections are made of templates: every kind of block, and values that try to be Markdown."""

from __future__ import annotations

import copy
from importlib import resources

import pytest
import yaml

from bdt_core.report import prose
from bdt_core.report.blocks import (
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
)
from bdt_core.report.page import ANNEX, BODY, PUBLISHED_ANNEX, PUBLISHED_BODY, build_page
from bdt_core.report.printed import printed
from tests.core.report.sample_depth import deep
from tests.core.report.sample_document import fail

TEMPLATE = """
# Title of {{ name }}

Two lines
are one paragraph of {{ name }}.

- {{ name }}
- other

### Smaller

- **First {{ name }}**: told
- **Second**: {{ name }}

![seen {{ name }}](tree)
The caption of
{{ name }}.

Table: About {{ name }}

| Name | {{ name }} |
|---|---:|
| {{ name }} *small {{ name }}* `tag` | [{{ name }}](harm) |

## Depth

    {{ name }}

---
After it.
"""
ATTACKS = (
    "x", "# x", "- x", "| x |", "*x*", "`x`", "[x](good)", "![x](y)", "    x", "1. x", "---", "Table: x", "\\", "a\nb",
    "\ue0000\ue001", "\ue00099\ue001", "{{ name }}", "{% raw %}", "<b>x</b>", "&amp;",
)  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_every_kind_of_block_with_whatever_name(name):
    read = prose.read("example", prose.environment().from_string(TEMPLATE), name=name)
    assert read == Section(
        "example",
        f"Title of {name}",
        (
            Paragraph(f"Two lines are one paragraph of {name}."),
            Bullets((name, "other")),
            Subheading("Smaller"),
            Facts(((f"First {name}", "told"), ("Second", name))),
            Figure("tree", f"The caption of {name}.", f"seen {name}"),
            Table(
                f"About {name}",
                (ColumnHead("Name"), ColumnHead(name, number=True)),
                ((Cell(name, note=f"small {name}", tag="tag"), Cell(name, tone="harm")),),
            ),
            Folded("Depth", (Code(name),)),
            Paragraph("After it."),
        ),
    )


def test_a_template_that_says_nothing_is_no_section():
    assert prose.read("example", prose.environment().from_string("{% if name %}# Title{% endif %}"), name="") is None


def test_a_figure_within_a_sentence_is_a_mistake_of_the_template():
    template = prose.environment().from_string("# Title\n\nSee this.\n![what is seen](first_page)\n")
    with pytest.raises(AssertionError, match="begins a paragraph"):
        prose.read("made_up", template)


def test_every_template_is_a_section():
    folder = resources.files("bdt_core.report").joinpath("templates", "sections")
    others = ("first_page", "opened", "picture", "words", "scope", "forms", "changes", "looks", "overview")
    templates = {one.name for one in folder.iterdir() if one.name.endswith(".md.j2")}
    sections = (*BODY, *ANNEX, *PUBLISHED_BODY, *PUBLISHED_ANNEX)
    assert templates == {f"{name}.md.j2" for name in (*sections, *others)}


def test_a_specification_cannot_take_the_place_of_a_value():
    document = copy.deepcopy(deep())
    document["spec"]["source"]["path"] = "\ue0000\ue001"
    folded = prose.section("repeat", printed(document)).blocks[1]
    assert yaml.safe_load(folded.blocks[0].text)["source"]["path"] == "\ue0000\ue001"


def test_sections_that_nobody_asked_for_are_left_out():
    page = build_page({**fail(), "groups": None, "proxies": []})
    body, annex = ([one.name for one in part] for part in (page.body, page.annex))
    assert page.sections == (*page.body, *page.annex)
    assert not {"groups", "rates", "proxies", "slices", "local_bias", "mitigation"} & {*body, *annex}
    assert body == [one for one in BODY if one in body]
    assert annex == [one for one in ANNEX if one in annex]
    assert {"gate", "trust"} <= set(body)
    assert {"clusters", "differences", "tree", "data", "method", "repeat"} <= set(annex)
    assert not set(BODY) & set(ANNEX)
