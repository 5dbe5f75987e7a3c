"""The pictures in README and docs: ``python -m tests.pictures`` takes them anew from the program itself; ``NAME`` one.

Each holds a digest of what it shows, so that a test sees when the program shows something else. What is digested is
words, numbers and colours as the program gives them, not how a browser draws them.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from PIL import Image, PngImagePlugin

from bdt_core.fairness.declared_groups import compare_groups, count_groups
from bdt_core.history import History, batch_of, follow
from bdt_core.report.figure_history import drawn_panels, history_png
from bdt_core.report.first_page import first_section
from bdt_core.report.html import render_html
from bdt_core.report.markdown import MarkdownWriter
from bdt_core.report.printed import printed
from bdt_core.spec import AuditSpec, load_spec, parse_spec
from bdt_core.table.sources import read_table
from bdt_core.verdict.groups import MetricLimitResult, judge_metric
from tests.core.report.browser import chromium
from tests.pipeline.local_page.served import opened, refusals, until

if TYPE_CHECKING:
    import dagster as dg
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
ANEW = "the picture shows something else: python -m tests.pictures"
_KEY = "words"


def digest(told: str) -> str:
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def words_in(picture: str) -> str | None:
    """The digest that a picture was taken with."""
    with Image.open(IMAGES / picture) as opened:
        found = opened.info.get(_KEY)
    return None if found is None else str(found)


def keep(picture: str, taken: Path, words: str) -> None:
    """Put a picture where the pages have it, with the digest of its words."""
    note = PngImagePlugin.PngInfo()
    note.add_text(_KEY, words)
    with Image.open(taken) as opened:
        plain = opened.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE)
        plain.save(IMAGES / picture, pnginfo=note, optimize=True)


# --- First pages of frozen reports ------------------------------------------------------------------------------------

FIRST_PAGES = {"report.png": "compas", "grants.png": "grants"}
"""Files, and the frozen report whose first page each shows."""


def document(golden: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((ROOT / "tests" / "goldens" / f"{golden}.json").read_text(encoding="utf-8"))
    return told


def words_of_first_page(golden: str) -> str:
    """What the first page of a frozen report says."""
    return digest("\n".join(MarkdownWriter().block(one) for one in first_section(printed(document(golden))).blocks))


def take_first_page(picture: str, folder: Path) -> None:
    golden = FIRST_PAGES[picture]
    (folder / "report.html").write_text(render_html(document(golden)), encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 1500})
        page.goto(f"file://{folder}/report.html")
        page.screenshot(path=folder / "taken.png")
    keep(picture, folder / "taken.png", words_of_first_page(golden))


# --- The page for a file ----------------------------------------------------------------------------------------------


def words_of_page(page: Page) -> str:
    """What the page of ``bdt open`` says, with the first page of the report in it."""
    told = page.inner_text("body")
    for one in page.frames[1:]:
        first, follows, _ = one.inner_text("main").partition("The report follows")
        assert follows
        told += first
    return digest(re.sub(r"\s+", " ", told))


def take_page_for_a_file(folder: Path) -> None:
    """Drop a table, look at the questions, and start."""
    refusals().to_csv(folder / "refusals.csv", index=False)
    with opened(folder) as program, chromium() as browser:
        page = browser.new_page(viewport={"width": 1080, "height": 800}, locale="en-GB")
        page.goto(program.address)
        page.set_input_files("#file", folder / "refusals.csv")
        page.wait_for_selector("[data-place=questions]", timeout=120_000)
        page.screenshot(path=folder / "questions.png", full_page=True)
        keep("open-questions.png", folder / "questions.png", words_of_page(page))
        page.get_by_label("region", exact=True).select_option("legitimate")
        page.get_by_label("person_id", exact=True).select_option("person")
        page.click("text=Start the audit")
        page.wait_for_selector("[data-place=report]", timeout=120_000)
        page.set_viewport_size({"width": 1080, "height": 1471})  # all of page 1, and nothing of what follows
        page.frame_locator("iframe").locator("main").wait_for()
        page.wait_for_timeout(500)
        page.screenshot(path=folder / "report.png")
        keep("open-report.png", folder / "report.png", words_of_page(page))


# --- Thirty days of the demonstration ---------------------------------------------------------------------------------

FIRST_DAY, DAYS, HARSH, ROWS = datetime.date(2026, 10, 22), 30, 6, 2000


def days() -> Iterator[tuple[str, pd.DataFrame]]:
    """People of the demonstration, drawn anew each day, and a fair model; on the last days harsher to one group."""
    rng = np.random.default_rng(0)  # of which only `random` is drawn: others have changed with NumPy's versions
    table = read_table("demo:compas")
    table = table[table["race"].isin(["African-American", "Caucasian"])]
    table = table[["race", "sex", "age", "priors_count", "two_year_recid"]]
    for number in range(DAYS):
        frame = table.iloc[(len(table) * rng.random(ROWS)).astype(int)].reset_index(drop=True)
        harsh = (frame["race"] == "African-American") & (number >= DAYS - HARSH)
        chance = np.where(frame["two_year_recid"] == 1, 0.6, 0.25) + 0.22 * harsh
        yield (
            str(FIRST_DAY + datetime.timedelta(number)),
            frame.assign(high_risk=(rng.random(ROWS) < chance).astype(int)),
        )


def days_spec(folder: Path) -> AuditSpec:
    """The audit of a day: what matters is whom it tells to be of high risk, by race."""
    return parse_spec(
        {
            "name": "risk",
            "source": {"path": str(folder / "{partition}.csv")},
            "partition_by": {"time": "daily", "start": str(FIRST_DAY)},
            "bias_variable": {
                "derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk", "better": "lower"
            },
            "protected": ["race", "sex"],
            "groups": {"reference": "Caucasian"},
            "gate": [{"metric": "predictive_equality_difference", "facet": "race", "max": 0.15}],
            "slices": None, "worst_groups": None, "split": {"repeats": 1}, "clustering": {"stability": 0, "max_iter": 1}
        }
    )  # fmt: skip


@cache
def followed() -> tuple[History, dict[str, MetricLimitResult]]:
    """All days together, and the verdict of each alone."""
    spec, batches, judged = days_spec(Path()), [], {}
    (limit,) = spec.limits
    for day, frame in days():
        counts = count_groups(frame, spec)
        when = datetime.datetime.fromisoformat(day).replace(tzinfo=datetime.UTC)
        batches.append(batch_of(counts, id=day, time=when))
        judged[day] = judge_metric(limit, compare_groups(counts, spec.significance, frame), None)  # type: ignore[arg-type]
    return follow(batches, spec), judged


def words_of_history() -> str:
    """Titles of the panels, and what is said of each."""
    history, _ = followed()
    return digest("\n".join(f"{one.head}: {one.subhead}" for one in drawn_panels(history)))


def words_of_days() -> str:
    """The verdict and the sentence of each day."""
    return digest("\n".join(f"{day} {one.verdict}: {one.sentence}" for day, one in followed()[1].items()))


def take_history(folder: Path) -> None:
    (folder / "history.png").write_bytes(history_png(followed()[0]))
    keep("history.png", folder / "history.png", words_of_history())


def take_days(folder: Path) -> None:
    """Audit every day in Dagster, and look at the gate."""
    for day, frame in days():
        frame.to_csv(folder / f"{day}.csv", index=False)
    (folder / "days.py").write_text(
        "from pathlib import Path\n"
        "from bdt_pipeline import bias_audit_definitions\n"
        "from tests.pictures import days_spec\n"
        "defs = bias_audit_definitions(days_spec(Path(__file__).parent))\n"
    )
    from bdt_pipeline import bias_audit_definitions

    job = bias_audit_definitions(days_spec(folder)).resolve_job_def("risk_audit")
    with instance_in(folder) as instance:
        for day, _ in days():
            job.execute_in_process(instance=instance, partition_key=day, raise_on_error=False)
    first, *_, last = followed()[1]
    (*_, worst) = [day for day, one in followed()[1].items() if one.verdict == "fail" and day != last]
    with served(folder, "-f", str(folder / "days.py")) as page:
        page.set_viewport_size({"width": 1300, "height": 820})
        start = page.url
        page.get_by_text("Hide navigation").click()
        page.goto(f"{start}assets/risk/bias_report?view=checks&checkDetail=bias_gate")
        page.get_by_text("Automation history").wait_for()
        page.get_by_text("Partitions").last.click()
        page.get_by_text("Partitions Selected").wait_for()
        (days_box,) = [one for one in page.locator("input").all() if one.input_value().startswith("[")]
        days_box.fill(f"[{first}...{last}]")  # and not those that have gone by since
        days_box.press("Enter")
        page.get_by_text(worst, exact=True).first.click()
        page.wait_for_timeout(3000)
        page.screenshot(path=folder / "taken.png")
    keep("gate-by-day.png", folder / "taken.png", words_of_days())


# --- Dagster ----------------------------------------------------------------------------------------------------------


def demonstration() -> AuditSpec:
    """What `dagster dev` shows in the folder of the project."""
    return load_spec(ROOT / "bdt_pipeline" / "defs" / "compas" / "defs.yaml")


def words_of_graph(defs: dg.Definitions, result: dg.ExecuteInProcessResult) -> str:
    """The assets, what each is made of, and whether its checks pass."""
    told = [
        f"{one.key.to_user_string()} of {sorted(dep.asset_key.to_user_string() for dep in one.deps)}"
        for one in defs.resolve_all_asset_specs()
    ]
    told += [
        f"{one.asset_key.to_user_string()} {one.check_name} {one.passed}"
        for one in result.get_asset_check_evaluations()
    ]
    return digest("\n".join(sorted(told)))


def words_of_check(result: dg.ExecuteInProcessResult, asset: str) -> str:
    """What is said with a check, and its numbers to three digits."""
    (found,) = [one for one in result.get_asset_check_evaluations() if one.asset_key.path[-1] == asset]
    values = {name: one.value for name, one in sorted(found.metadata.items())}
    told = [f"{name} {one:.3g}" if isinstance(one, float) else f"{name} {one}" for name, one in values.items()]
    return digest("\n".join([found.check_name, str(found.passed), str(found.description), *told]))


@contextmanager
def instance_in(folder: Path) -> Iterator[dg.DagsterInstance]:
    """An instance on disk that asks nobody to join anything."""
    import dagster as dg

    (folder / "home").mkdir()
    (folder / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\nnux: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(folder / "home")) as instance:
        yield instance


@contextmanager
def served(folder: Path, *code: str) -> Iterator[Page]:
    """Dagster's web server on the instance, and a browser at it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "dagster_webserver", *code, "-h", "127.0.0.1", "-p", port],
        env={**os.environ, "DAGSTER_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: answers(int(port)))
        with chromium() as browser:
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{port}/")
            yield page
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def take_demonstration(folder: Path) -> None:
    """Run the demonstration, and look at its graph and at one of its checks."""
    from bdt_pipeline import bias_audit_definitions

    defs = bias_audit_definitions(demonstration())
    with instance_in(folder) as instance:
        job = defs.resolve_job_def("compas_audit")
        result = job.execute_in_process(instance=instance, raise_on_error=False)
    with served(folder, "-m", "bdt_pipeline.definitions") as page:
        start = page.url
        page.set_viewport_size({"width": 1700, "height": 1550})
        page.get_by_text("Hide navigation").click()
        page.goto(f"{start}asset-groups")
        page.get_by_text("bias_report").last.wait_for()
        page.wait_for_timeout(3000)
        page.screenshot(path=folder / "graph.png")
        keep("asset-graph.png", folder / "graph.png", words_of_graph(defs, result))
        page.set_viewport_size({"width": 1400, "height": 830})
        page.goto(f"{start}assets/compas/group_metrics?view=checks")
        page.get_by_text("smallest value that would have shown").first.wait_for()
        page.wait_for_timeout(1000)
        page.screenshot(path=folder / "check.png")
        keep("checks.png", folder / "check.png", words_of_check(result, "group_metrics"))


# ----------------------------------------------------------------------------------------------------------------------

TAKEN: dict[str, Callable[[Path], None]] = {
    **{name: (lambda folder, name=name: take_first_page(name, folder)) for name in FIRST_PAGES},  # type: ignore[misc]
    "open": take_page_for_a_file,
    "history": take_history,
    "days": take_days,
    "demonstration": take_demonstration,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or TAKEN:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            TAKEN[name](Path(folder))
        print(f"{name}: {time.monotonic() - begun:.0f} s")
