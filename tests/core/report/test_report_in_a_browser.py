"""The HTML form in a real browser: what its script adds, and that all can be read without it."""

import csv
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from bdt_core.report import render_html, render_notebook
from tests.core.report.browser import chromium
from tests.core.report.sample_document import HOSTILE, fail

GOLDENS = Path(__file__).parents[2] / "goldens"
DEEP = json.loads((GOLDENS / "compas_in_depth.json").read_text(encoding="utf-8"))
RULED = (  # a cell that a spreadsheet would calculate
    ("African-American", "=1+1"),
    ("Caucasian", "+2"),
    ("Hispanic", "-3+x"),
    ("Other", "@four"),
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    ruled = json.dumps(DEEP)
    for name, instead in RULED:
        ruled = ruled.replace(name, instead)
    pages = {
        "deep": render_html(DEEP),
        "dutch": render_html({**fail(), "spec": {**fail()["spec"], "language": "nl"}}),
        "ruled": render_html(json.loads(ruled)),
        "hostile": render_html(json.loads(json.dumps(fail()).replace("African-American", json.dumps(HOSTILE)[1:-1]))),
        "notebook": f"<!DOCTYPE html><title>Notebook</title>{render_notebook(fail())}",
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


@pytest.fixture
def opened(browser, files):
    """Open a page; whatever it complains of, or asks of the network, fails the test."""
    contexts, said = [], []

    def opened(name, anchor="", *, permissions=(), **how):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | how))
        contexts.append(context)
        context.grant_permissions(permissions)
        page = context.new_page()
        page.on("console", lambda told: said.append(told.text))
        page.on("pageerror", lambda told: said.append(str(told)))
        page.on("dialog", lambda told: (said.append(told.message), told.dismiss()))
        page.on("request", lambda one: None if one.url.startswith(("file:", "blob:")) else said.append(one.url))
        page.goto(files[name] + anchor)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def large_table(page):
    page.evaluate("document.querySelectorAll('details:not([hidden])').forEach(one => { one.open = true })")
    return page.locator("table:visible").filter(has=page.locator("thead th:not(.text) button")).first


def unfolded(page):
    """The page, with its annex shown."""
    page.locator("details.annex > summary").click()
    return page


def column(table, place):
    return table.evaluate("(one, place) => [...one.tBodies[0].rows].map(row => row.cells[place].innerText)", place)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(opened, theme, width):
    from axe_playwright_python.base import AXE_SCRIPT

    page = opened("hostile", color_scheme=theme, viewport={"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details:not([hidden])').forEach(one => { one.open = true })")
    page.wait_for_function(  # what is unfolded makes itself stops for the keyboard, a moment later
        "[...document.querySelectorAll('.scroll, pre')].every(x => x.scrollWidth <= x.clientWidth || !x.tabIndex)"
    )
    page.evaluate(AXE_SCRIPT)
    # Of text in figures axe tells no contrast, and takes long: their colours have a test of their own.
    # Colours are the same in both widths.
    asked = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": width > 390}}}
    found = page.evaluate("asked => axe.run({exclude: [['svg text']]}, asked)", asked)["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # no page is wider than its window


def test_all_is_there_without_the_script(opened):
    page = opened("deep", java_script_enabled=False)
    assert page.locator("button, input").count() == 0
    page.get_by_text("De eerste bladzijde en het rapport in het Nederlands").click()
    assert page.get_by_role("heading", name="Mag het worden gebruikt?").is_visible()
    assert page.get_by_role("heading", name="Bevindingen").is_visible()
    finding = page.locator("details[id^=finding-]:not([id$=-nl])").first
    finding.locator("summary").click()
    assert finding.get_by_text("Everybody else", exact=True).first.is_visible()
    assert not page.locator("section:not([id=''])").last.is_visible()
    unfolded(page)
    assert page.locator("section:not([id=''])").last.is_visible()


def test_the_notebook_frame_shows_all_and_runs_nothing(browser, files):
    page = browser.new_page()  # a sandbox that forbids scripts says so on the console
    page.goto(files["notebook"])
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="May it be used?")).to_be_visible()
    expect(frame.locator("main > div svg").first).to_be_visible()
    assert frame.locator("button").count() == 0
    assert frame.locator("h1").first.evaluate("one => getComputedStyle(one).fontWeight") == "700"
    page.close()


def test_large_tables_are_sorted_and_filtered(opened):
    page = opened("deep")
    table = large_table(page)
    head = table.locator("thead th:not(.text)").first
    place = head.evaluate("one => one.cellIndex")
    before = column(table, place)

    def numbers():
        told = [re.search(r"[-−]?[\d,.]*\d", one) for one in column(table, place)]
        return [float(one[0].replace(",", "").replace("−", "-")) for one in told if one]

    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert numbers() == sorted(numbers()) != []
    head.get_by_role("button").click()
    assert numbers() == sorted(numbers(), reverse=True)
    head.get_by_role("button").click()
    assert column(table, place) == before
    first = column(table, 0)[0]
    tools = table.locator("xpath=../preceding-sibling::*[1]")
    tools.get_by_role("searchbox").fill(first.upper())
    seen = [row for row in table.locator("tbody tr").all() if row.is_visible()]
    assert 0 < len(seen) < len(before)
    assert all(word in row.inner_text().lower() for row in seen for word in first.lower().split())
    assert f"{len(seen)} / {len(before)}" in tools.get_by_role("status").inner_text()


def test_a_cluster_is_chosen(opened):
    page = unfolded(opened("deep"))
    page.locator("#tree summary").last.click()
    table = page.locator("#tree table:visible").last
    chosen = page.locator("#tree select:visible")
    assert chosen.locator("option").all_inner_texts() == ["all", *dict.fromkeys(column(table, 0))]
    chosen.select_option("1")
    seen = [row.locator("th").inner_text() for row in table.locator("tbody tr").all() if row.is_visible()]
    assert set(seen) == {"1"}
    page.emulate_media(media="print")
    assert all(row.is_visible() for row in table.locator("tbody tr").all())
    page.emulate_media(media="screen")
    chosen.select_option("all")
    assert all(row.is_visible() for row in table.locator("tbody tr").all())


def test_a_finding_is_opened_by_its_link_which_can_be_copied(opened, files):
    page = opened("deep", permissions=["clipboard-read", "clipboard-write"])
    finding = page.locator("details[id^=finding-]:not([id$=-nl])").nth(1)
    anchor = finding.get_attribute("id")
    finding.locator("summary").click()
    finding.get_by_role("button", name="Copy link").click()
    expect(finding.get_by_role("status").first).to_have_text("Link copied")  # the clipboard answers when it can
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == f"{files['deep']}#{anchor}"
    expect(page).to_have_url(link)
    other = opened("deep", f"#{anchor}")
    (found,) = other.locator("details[id^=finding-][open]:visible").all()
    assert found.get_attribute("id") == anchor
    assert other.evaluate("document.querySelector(':target').getBoundingClientRect().top") < 900
    facts = found.inner_text()
    who = DEEP["findings"]["findings"][1]["who"]
    assert who.lower() in facts.lower()
    for said in ("Everybody else", "Worse", "Train and test rows"):
        assert said in facts
    other.evaluate("location.hash = '%'")  # no link of ours, and no error


@pytest.mark.parametrize(("name", "own", "other"), [("deep", "en", "nl"), ("dutch", "nl", "en")])
def test_the_language_is_switched(opened, name, own, other):
    page = unfolded(opened(name))
    titles = {"en": "May it be used?", "nl": "Mag het worden gebruikt?"}
    bodies = {"en": "How far to trust this", "nl": "Hoe betrouwbaar is dit?"}
    buttons = {"en": "English", "nl": "Nederlands"}
    for language, hidden in ((own, other), (other, own), (own, other)):
        page.get_by_role("button", name=buttons[language]).click()
        assert page.locator("html").get_attribute("lang") == language
        assert page.get_by_role("heading", name=titles[language]).is_visible()
        assert not page.get_by_role("heading", name=titles[hidden]).is_visible()
        assert page.get_by_role("heading", name=bodies[language]).is_visible()
        assert not page.get_by_role("heading", name=bodies[hidden]).is_visible()
        # The annex is there once, which the page says where it is in another language.
        assert page.locator("#clusters").is_visible()
        told = {"en": "The annex is in the language of the audit", "nl": "De bijlage is in de taal van het onderzoek"}
        assert page.get_by_text(told[language]).is_visible() == (language != own)
        assert titles[language] in page.title()
        assert page.get_by_role("button", pressed=True).inner_text() == buttons[language]
        assert page.locator("h1:visible").count() == 1


def test_figures_are_dark_on_a_dark_screen_and_light_on_paper(opened):
    page = opened("deep", color_scheme="dark")

    def colours():
        told = page.locator("svg text").first.evaluate("one => getComputedStyle(one).fill")
        ground = page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor")
        return [sum(map(int, re.findall(r"\d+", one)[:3])) / 3 for one in (told, ground)]

    text, ground = colours()
    assert ground < 50 < 200 < text
    page.emulate_media(media="print")
    text, ground = colours()
    assert text < 50 < 200 < ground


def test_the_keyboard_reaches_what_can_be_done_and_shows_where_it_is(opened):
    page = opened("deep")
    seen = []
    for _ in range(6):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.innerText"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert seen[:3] == ["Skip to the findings", "English", "Nederlands"]
    page.get_by_role("button", name="Nederlands").focus()
    page.keyboard.press("Enter")
    assert page.locator("html").get_attribute("lang") == "nl"
    summary = page.locator("details[id^=finding-] summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[id^=finding-][open]").count() == 1


def test_the_annex_is_folded_and_shown_by_its_links(opened):
    """Else nobody scrolls to the end of the report."""
    page = opened("deep")
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    assert not page.locator("#clusters").is_visible()
    page.locator("nav:visible a[href='#clusters']").click()
    assert page.locator("#clusters").is_visible()
    assert opened("deep", "#clusters").locator("#clusters").is_visible()
    assert opened("deep", "#clusters", java_script_enabled=False).locator("#clusters").is_visible()


@pytest.mark.parametrize("scripted", [True, False])
def test_paper_has_everything_unfolded_and_no_buttons(opened, scripted):
    page = opened("deep", java_script_enabled=scripted)
    if scripted:
        page.get_by_role("searchbox").first.fill("nothing has this")
    page.emulate_media(media="print")
    assert page.locator(":not(th) > button:visible, input:visible").count() == 0  # heads of columns are words
    assert page.locator("details.other").bounding_box() is None  # the language that was not chosen
    shown = page.evaluate("""() => {
        const heights = query => [...document.querySelectorAll(query)].map(one => one.getBoundingClientRect().height);
        return [heights("main > :not(.other) details > :last-child"), heights("main > :not(.other) tbody tr")];
    }""")
    for heights in shown:
        assert len(heights) > 20
        assert min(heights) > 0


def test_numbers_can_be_taken_along_and_harm_no_spreadsheet(opened):
    page = opened("ruled")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    figure = page.locator("figure:has(~ details.numbers)").last
    data = figure.locator("xpath=following-sibling::details[1]")
    written = []
    for button in (data.get_by_role("button"), page.get_by_role("button", name=re.compile("CSV: Rates by race"))):
        with page.expect_download() as download:
            button.first.click()
        assert download.value.suggested_filename.endswith(".csv")
        written.append(download.value.path().read_text(encoding="utf-8-sig"))
    rows = list(csv.reader(written[0].splitlines()))
    assert len(rows) == data.locator("tr").count() > 2
    assert len({len(row) for row in rows}) == 1
    assert any(re.fullmatch(r"-?\d+\.\d+", cell) for row in rows[1:] for cell in row)
    texts = [cell for text in written for row in csv.reader(text.splitlines()) for cell in row]
    assert not [one for one in texts if re.match("[=+@-]", one) and not re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", one)]
    assert [one for one in texts if one.startswith(("'=1+1", "'+2", "'-3+x", "'@four"))]


def test_numbers_of_a_dutch_figure_are_sorted_and_taken_along_as_numbers(opened):
    page = opened("dutch")
    page.evaluate("document.querySelectorAll('details:not([hidden])').forEach(one => { one.open = true })")
    table = page.locator("table[data-decimal=','] :text-matches('^-?[0-9]+,[0-9]+$')").first.locator(
        "xpath=ancestor::table"
    )
    shown = [one for one in table.locator("tbody").inner_text().split() if re.fullmatch(r"-?\d+,\d+", one)]
    with page.expect_download() as download:
        table.locator("xpath=../preceding-sibling::*[1]").get_by_role("button", name="CSV").click()
    taken = list(csv.reader(download.value.path().read_text(encoding="utf-8-sig").splitlines()))
    numbers = [cell for row in taken[1:] for cell in row if re.fullmatch(r"-?\d+\.\d+", cell)]
    assert numbers == [one.replace(",", ".") for one in shown] != []


def test_names_from_data_are_never_markup(opened):
    page = opened("hostile")
    tags = "document.querySelectorAll('script, img, iframe, a[href^=http], b, [onerror]').length"
    assert page.evaluate(tags) == 1  # our script
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.evaluate("document.querySelectorAll('button').forEach(one => one.click())")
    for box in page.get_by_role("searchbox").all():
        box.fill("<script")
    assert page.evaluate(tags) == 1
