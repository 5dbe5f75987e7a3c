"""The site: every page is in it, every link leads somewhere, nothing of it is fetched from elsewhere."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer

import bdt_core
from bdt_core.report.figures import FIGURES
from bdt_core.spec import json_schema
from bdt_pipeline.cli import app

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once; any warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs/site",
        "-d",
        str(folder / "trees"),
    ]
    done = subprocess.run([*command, ".", str(folder / "html")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Addresses(HTMLParser):
    """What a page loads, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given["id"]} if "id" in given else set()
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or (
            tag == "link" and given.get("rel") not in ("canonical", "search", "index", "next", "prev")
        ):
            self.loaded.append(given.get("src") or given.get("href", ""))


def read(page: Path) -> Addresses:
    found = Addresses()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    assert [(page.name, one) for page in pages for one in read(page).loaded if re.match(r"(https?:)?//", one)] == []
    styles = "".join(one.read_text(encoding="utf-8") for one in site.rglob("*.css"))
    assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", styles)
    assert (site / "searchindex.js").stat().st_size > 50_000  # the search asks nobody


def test_every_link_leads_somewhere(site: Path) -> None:
    names = {page.resolve(): read(page) for page in site.rglob("*.html")}
    for page, found in names.items():
        for link in [*found.links, *found.loaded]:
            file, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", file):
                continue
            target = (page.parent / file.partition("?")[0]).resolve() if file else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{page.name}: {link}"
            if anchor and target in names:
                assert anchor in names[target].names, f"{page.name}: {link}"


def test_the_reference_has_every_key_command_and_name(site: Path) -> None:
    schema = json_schema()
    keys = (site / "docs/reference/specification.html").read_text(encoding="utf-8")
    for section in (schema, *schema["$defs"].values()):
        for key in section.get("properties", {}):
            assert f'<span class="pre">{key}</span>' in keys, key
    commands = read(site / "docs/reference/specification.html").names
    assert {f"bdt-{one}" for one in typer.main.get_command(app).commands} <= commands  # type: ignore[attr-defined]
    names = read(site / "docs/reference/python.html").names
    for name in set(bdt_core.__all__) - {"__version__"}:
        assert {f"bdt_core.{name}", f"bdt_core.{name}.{name}"} & names, name


def test_the_methods_show_every_kind_of_figure(site: Path) -> None:
    drawn = {one.stem for one in (site / "_static" / "figures").glob("*.svg")}
    elsewhere = {"slices_lattice", "calibration"}  # only where slices nest, and where a score is a chance
    kinds = {re.sub(r"_\d+$", "", one) for one in FIGURES} - elsewhere
    assert kinds <= {re.sub(r"_\d+$", "", one) for one in drawn}
    shown = read(site / "docs" / "methods.html").loaded
    assert {Path(one).stem for one in shown if "/figures/" in one} == drawn


def test_every_page_can_be_found(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    pages = {one.relative_to(ROOT).with_suffix("").as_posix() for one in sources}
    assert pages <= set(found["docnames"])
    listed = re.findall(r"(?m)^[\w./-]+$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed)) > 25


# Notebooks, which are run as the site is built


def shown(site: Path, notebook: str) -> str:
    """The words of its page, as a person reads them."""
    page = (site / "notebooks" / f"{notebook}.html").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def drawn(site: Path, notebook: str) -> list[Path]:
    return [
        Path(one) for one in read(site / "notebooks" / f"{notebook}.html").loaded if f"/notebooks/{notebook}" in one
    ]


def test_a_first_audit(site: Path) -> None:
    whole = shown(site, "first_audit")
    assert "AuditResult('audit'): fail." in whole
    assert "age up to 29" in whole
    assert "-> cluster 0" in whole
    assert "['report.html', 'report.json', 'report.md', 'report.pdf']" in whole
    assert len(drawn(site, "first_audit")) == 3


def test_declared_groups_and_legitimate_factors(site: Path) -> None:
    whole = shown(site, "declared_groups")
    assert re.search(
        r"race is African-American: 2\d\.\d points worse, of which 1\d\.\d remain among people alike", whole
    )
    assert "Equalized odds difference by race is" in whole
    assert len(drawn(site, "declared_groups")) == 3


def test_monitoring(site: Path) -> None:
    whole = shown(site, "monitoring")
    false, always = re.findall(r"(\d+) of \d+ weekly tests, (\d+) of \d+ always-valid", whole)[0]
    assert int(false) > 0
    assert int(always) == 0
    week = re.findall(r"found: f \(begins week 9, known after week (\d+)\)", whole)
    assert week
    assert 9 <= int(week[0]) <= 20
    assert "From refused to new" in whole
    assert len(drawn(site, "monitoring")) == 1
