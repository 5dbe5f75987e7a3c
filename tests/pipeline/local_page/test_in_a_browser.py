"""``bdt open`` as a person uses it, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from bdt_core.fairness.score_calculator import bias_score_from_rates
from bdt_pipeline.cli import app
from tests.core.report.browser import chromium
from tests.pictures import ANEW, words_in, words_of_page
from tests.pipeline.local_page.served import PATIENCE, alive, opened, processes, refusals, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTHS = (1280, 390)
WRITING = "/report-"
"""Where an audit is held while its page is looked at: before it writes the report, which has a folder so called."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    refusals().to_csv(tmp_path / "refusals.csv", index=False)
    return tmp_path / "refusals.csv"


@contextmanager
def page_of(browser: Browser, address: str, **how: Any) -> Iterator[Page]:
    """A page; whatever it complains of, or asks of others, fails the test."""
    said: list[str] = []
    context = browser.new_context(**{"viewport": {"width": WIDTHS[0], "height": 900}, "locale": "en-GB", **how})
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    here = address.rpartition("/")[0].rpartition("/")[0]
    page.on("console", lambda told: said.append(told.text))
    page.on("pageerror", lambda told: said.append(str(told)))
    page.on("request", lambda one: None if one.url.startswith((here, "blob:")) else said.append(one.url))
    page.goto(address)
    try:
        yield page
    finally:
        context.close()
    assert [one for one in said if "status of 4" not in one] == []  # which is how it tells what a test asks for


@pytest.fixture
def visited(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open the page of a new program."""
    with ExitStack() as stack:

        def visited(*arguments: str, held_at: str | None = None, **how: Any) -> Page:
            program = stack.enter_context(opened(tmp_path, *arguments, held_at=held_at))
            page = stack.enter_context(page_of(browser, program.address, **how))
            page.program = program  # type: ignore[attr-defined]
            return page

        yield visited


def place(page: Page, name: str) -> None:
    """Wait until the page stands somewhere, with its style and its script."""
    page.wait_for_selector(f"[data-place={name}]")
    page.wait_for_load_state()


def titled(page: Page, title: str) -> None:
    """Wait for a title of a page that may be fetched anew at any time."""
    from playwright.sync_api import expect

    expect(page).to_have_title(title, timeout=1000 * PATIENCE)


def goes_on(page: Page) -> None:
    """Let an audit that was held write its report."""
    page.program.hold.unlink()  # type: ignore[attr-defined]


def has_no_flaws(page: Page) -> None:
    """Axe finds nothing, and nothing is wider than the screen: wide and narrow, light and dark."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found = page.evaluate("axe.run({exclude: [['iframe']]})")["violations"]
            assert [(one["id"], [x["html"] for x in one["nodes"]]) for one in found] == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})


def drop(page: Page, where: str, file: Path) -> None:
    """Drag a file from the desktop to a place of the page, as the browser itself is told."""
    box = page.locator(where).bounding_box()
    assert box is not None
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    dragged = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, **at, "data": dragged})


def press(page: Page, name: str) -> None:
    """By the keyboard, as a click may miss what a report above it moves while it is laid out."""
    page.locator(name).first.press("Enter")


def saved(page: Page, name: str, folder: Path) -> Path:
    """What a link saves."""
    with page.expect_download() as download:
        press(page, name)
    target = folder / download.value.suggested_filename
    download.value.save_as(target)
    return target


def test_from_a_file_to_the_report_and_to_the_same_verdict_again(
    visited: Callable[..., Page], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visited(held_at=WRITING)
    assert page.title() == "Are some people worse off?"
    has_no_flaws(page)
    page.set_input_files("#file", table)  # its form is sent at once
    place(page, "questions")
    assert words_in("open-questions.png") == words_of_page(page), ANEW
    assert page.is_checked("text=How often “refused” is 1")
    assert page.is_checked("text=More of it is worse")
    assert page.input_value("text=sex >> xpath=.. >> select") == "protected"
    has_no_flaws(page)
    page.get_by_label("region", exact=True).select_option("legitimate")
    page.get_by_label("person_id", exact=True).select_option("person")
    page.click("text=Start the audit")
    place(page, "auditing")
    both = "[find('.stages .now'), find('#told')].map(one => one.innerText)"  # at one time, as it goes on
    for now_at in (".stages .now", ".stages :last-child.now"):
        page.wait_for_selector(now_at)
        now, said = page.evaluate(f"(find => {both})(one => document.querySelector(one))")
        assert now == said
    has_no_flaws(page)
    goes_on(page)
    place(page, "report")
    report = page.frame_locator("iframe")
    report.locator("text=May it be used? No, not as it is").first.wait_for()
    assert words_in("open-report.png") == words_of_page(page), ANEW
    has_no_flaws(page)
    with page.expect_popup() as own:
        page.click("text=Read it in a window of its own")
    own.value.wait_for_load_state()
    assert own.value.title().startswith("Refusals: are some people worse off?")
    own.value.close()
    # What the report's script does works in its frame, and it reaches nothing around it.
    (frame,) = [one for one in page.frames if one != page.main_frame]
    assert frame.evaluate("self.origin") == "null"
    # It is as high as what it holds, so that one bar scrolls, and its links move the page around it.
    as_high = "document.documentElement.scrollHeight <= innerHeight"
    until(lambda: frame.evaluate(as_high))
    of_frame = "document.querySelector('iframe').clientHeight"
    height = page.evaluate(of_frame)
    report.locator("details:visible").first.locator("summary").first.click()
    until(lambda: page.evaluate(of_frame) > height)
    until(lambda: frame.evaluate(as_high))
    report.locator("nav a:visible").last.click()
    until(lambda: page.evaluate("scrollY > innerHeight"))
    with pytest.raises(Exception, match="cross-origin"):
        frame.evaluate("parent.document.title")
    report.get_by_role("button", name="Nederlands").click()
    report.locator("text=Mag het worden gebruikt").first.wait_for()

    kept = table.parent / "kept"
    kept.mkdir()
    files = [saved(page, f"nav >> text={form}", kept) for form in ("HTML", "PDF", "Markdown", "report.json")]
    assert [one.name for one in files] == [f"refusals-report.{form}" for form in ("html", "pdf", "md", "json")]
    press(page, "summary")
    has_no_flaws(page)
    spec = saved(page, "text=Save refusals.yaml", table.parent)
    assert spec.read_text().strip() == page.inner_text("pre >> nth=1").strip()
    monkeypatch.chdir(table.parent)
    done = CliRunner().invoke(app, ["audit", spec.name, "--out", "again"])
    assert done.exit_code == 0, done.output
    first, again = (json.loads(one.read_text()) for one in (files[3], table.parent / "again" / "report.json"))
    assert first["spec"]["legitimate"] == ["region"]
    assert first["spec"]["split"]["key"] == "person_id"
    assert first["verdict"] == again["verdict"]
    assert files[3].read_bytes() == (table.parent / "again" / "report.json").read_bytes()

    press(page, "text=Change the answers")
    place(page, "questions")
    assert page.get_by_label("region", exact=True).input_value() == "legitimate"
    press(page, "text=Take another table")
    place(page, "start")
    assert [one.name for one in page.program.temporary.glob("*/*")] == ["lock"]  # type: ignore[attr-defined]


def test_in_dutch_on_a_phone_without_a_script_by_keyboard(visited: Callable[..., Page], table: Path) -> None:
    screen = {"width": WIDTHS[1], "height": 844}
    how = {"locale": "nl-NL", "java_script_enabled": False, "viewport": screen, "color_scheme": "dark"}
    page = visited(str(table), held_at=WRITING, **how)
    place(page, "questions")  # the page asks for itself again
    assert page.get_attribute("html", "lang") == "nl"
    titled(page, "refusals.csv: klopt dit?")
    page.focus("button[value=start]")
    page.keyboard.press("Enter")
    place(page, "auditing")
    titled(page, "refusals.csv wordt onderzocht")
    goes_on(page)
    place(page, "report")
    page.frame_locator("iframe").get_by_text("Mag het worden gebruikt? Nee").wait_for()
    assert "language: nl" in page.content()
    english = re.findall(r'lang="en"', page.content())
    assert len(english) == 1  # the switch
    page.click("button[value=en]")
    titled(page, "The report on refusals.csv")


def test_another_outcome_is_looked_at_first(visited: Callable[..., Page], table: Path) -> None:
    frame = refusals().assign(approved=[1, 1, 0, 1] * 100, notes="x")
    frame.to_csv(table, index=False)
    page = visited(str(table))
    place(page, "questions")
    page.get_by_label("sex", exact=True).select_option("feature")
    first = page.locator("[name=outcome]:checked").get_attribute("value")
    value = page.locator("[name=outcome]:not(:checked)").first.get_attribute("value")
    with page.expect_navigation():
        page.locator(f"[name=outcome][value='{value}']").check()  # it alone, should the page be there anew meanwhile
    assert value != first
    assert page.locator("[name=outcome]:checked").get_attribute("value") == value
    assert page.get_by_label("sex", exact=True).input_value() == "feature"
    # Without the script it is asked at the start.
    page.click("text=Something else")
    page.select_option("#number", label="age")
    assert page.is_checked("[value=number]")  # whoever chooses a column means it
    page.click("text=Start the audit")
    page.wait_for_selector("text=You have chosen another outcome")
    page.wait_for_load_state()
    assert page.is_checked("text=“age”, as it stands")
    has_no_flaws(page)


def test_names_that_a_person_gives_are_those_of_the_report(visited: Callable[..., Page], table: Path) -> None:
    page = visited(str(table))
    place(page, "questions")
    page.click("text=Names for the report")
    has_no_flaws(page)
    page.fill("#system", "Loans at the counter")
    page.fill("#tester", "A. Jansen")
    names = table.with_name("names.csv")
    names.write_text("column,level,name\nsex,f,women\n")
    page.set_input_files("#names-file", names)
    until(lambda: "women" in page.input_value("#names"))
    page.click("text=Start the audit")
    place(page, "report")
    report = page.frame_locator("iframe")
    report.locator("text=Audited by: A. Jansen.").first.wait_for(state="attached")
    report.locator("text=Loans at the counter").first.wait_for(state="attached")
    report.locator("text=women").first.wait_for(state="attached")


def test_an_audit_can_be_stopped(visited: Callable[..., Page], table: Path) -> None:
    page = visited(str(table), held_at=WRITING)
    place(page, "questions")
    page.click("text=Start the audit")
    place(page, "auditing")
    its = processes(page.program.process.pid)  # type: ignore[attr-defined]
    assert its
    page.click("text=Stop")
    place(page, "questions")
    until(lambda: not alive(its))
    assert not list(page.program.temporary.glob("*/work-*"))  # type: ignore[attr-defined]
    assert not list(page.program.temporary.glob("*/report-*"))  # type: ignore[attr-defined]


def test_what_is_wrong_is_said_on_the_page(visited: Callable[..., Page], table: Path) -> None:
    page = visited("--max-size", "1")
    bad = table.parent / "<img src=x onerror=alert(1)>.csv"
    bad.write_text("a,b\n1,2\n3\n4,5\n")
    page.set_input_files("#file", bad)
    place(page, "unread")
    assert "line 3: 1 column where the header has 2" in page.inner_text("[role=alert]")
    assert page.locator("main img").count() == 0
    has_no_flaws(page)
    page.click("text=Take another table")
    place(page, "start")
    large = table.parent / "large.csv"
    large.write_text("a,b\n" + "1,2\n" * 300_000)
    page.set_input_files("#file", large)
    page.wait_for_selector("text=This file is larger than 1 MB")  # nothing is sent
    has_no_flaws(page)
    page.click("text=Look at it")  # as without the script
    page.wait_for_selector("text=The file is larger than the 1 MB that this page takes.")
    page.wait_for_load_state()
    drop(page, "#then", table)  # wherever on the page
    place(page, "questions")


def test_the_score_of_rates_that_somebody_types_in(visited: Callable[..., Page]) -> None:
    typed = {
        "positive_rate": ("0.60", "0.42"),
        "tpr": ("0.85", "0.70"),
        "fpr": ("0.10", "0,18"),
        "score": (".55", ".48"),
    }
    page = visited()
    place(page, "start")
    press(page, "a[href=score]")
    place(page, "score")
    has_no_flaws(page)
    for name, rates in typed.items():
        for group, rate in zip("ab", rates, strict=True):
            page.fill(f"input[name={name}_{group}]", rate)
    press(page, "button.main")
    page.wait_for_selector("#came")
    mine = bias_score_from_rates(
        true_positive_rates=(0.85, 0.70), false_positive_rates=(0.10, 0.18), selection_rates=(0.60, 0.42),
        mean_scores=(0.55, 0.48),
    )  # fmt: skip
    assert page.inner_text("#came") == f"The score is {mine.score:.3f}: {mine.severity}"
    assert "nobody can tell this score from chance" in page.inner_text("main")
    has_no_flaws(page)
    page.fill("input[name=n_a]", "900")
    page.fill("input[name=n_b]", "800")
    press(page, "button.main")
    page.get_by_text("This score is above it.").wait_for()
    page.fill("input[name=n_b]", "many")
    press(page, "button.main")
    page.get_by_text("is a whole number from 1 up").wait_for()
    assert page.input_value("input[name=tpr_b]") == "0.70"
    press(page, "a[href='./']")
    place(page, "start")


def test_the_score_in_dutch(visited: Callable[..., Page]) -> None:
    page = visited(locale="nl-NL", java_script_enabled=False)
    rates = {"positive_rate": ".5", "tpr": ".3", "fpr": ".6", "score": ".5", "n": "200"}
    asked = "&".join(f"{name}_{group}={rate}" for name, rate in rates.items() for group in "ab")
    page.goto(f"{page.url}score?{asked}&parity=0,3&odds=0,3&calibration=0,4")
    assert page.inner_text("#came") == "De score is 0,000: minimaal"
    assert "en dat is slechter dan toeval" in page.inner_text("main")
    assert len(re.findall(r'lang="en"', page.content())) == 1  # the switch
    page.goto(page.url.replace("tpr_b=.3", "tpr_b=3"))
    assert "Elk aandeel is een getal tussen 0 en 1" in page.inner_text("[role=alert]")
