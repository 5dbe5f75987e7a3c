"""Numbers of the program, of its data and of its demonstrations, where a page says them; and those of studies.

Studies (validity, finding and the like) take hours: what they found stands in files, and the pages have it from there.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bdt_core.groups.scan.stages import PERMUTED_ROWS
from bdt_core.groups.slices.bound import FEWEST_COMBINATIONS
from bdt_core.inference.alike import Factors
from bdt_core.metrics import CLARIFY, GATE_METRICS
from bdt_core.report.dossier import FORMS
from bdt_core.spec import parse_spec
from bdt_core.table.sources import read_table
from benchmarks import tables, validity
from benchmarks.power_figure import draw_power
from tests.goldens.audits import AUDITS
from tests.statistics.test_changes_calibration import two_versions

ROOT = Path(__file__).parents[2]


@cache
def golden(name: str) -> dict[str, Any]:
    """A report that the program is held to, to the byte."""
    told: dict[str, Any] = json.loads((ROOT / "tests" / "goldens" / f"{name}.json").read_text(encoding="utf-8"))
    return told


def found(name: str, place: int) -> dict[str, Any]:
    """One of the findings of a demonstration, in the order of its report."""
    one: dict[str, Any] = golden(name)["findings"]["findings"][place]
    return one


def of_100(share: float) -> str:
    return str(round(100 * share))


def number(value: float) -> str:
    return f"{value:,}"


def default(section: str, key: str) -> str:
    """What a key of the specification is when nobody says it."""
    spec = parse_spec({"name": "a", "source": {"path": "a.csv"}, "bias_variable": {"column": "x"}})
    return f"{getattr(getattr(spec, section), key):g}"


def read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    told: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return told


def pythons() -> list[str]:
    """The first and the last version of Python that the package takes."""
    told = project()["requires-python"]
    first, after = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", told).groups()  # type: ignore[union-attr]
    return [f"3.{first}", f"3.{int(after) - 1}"]


def most_columns(conditions: int) -> int:
    """The widest table of which every combination of so many columns is counted."""
    return max(n for n in range(300) if math.comb(n, conditions) <= FEWEST_COMBINATIONS)


def shares_tested() -> list[float]:
    """Of the splits by default: each is of the rows that the ones before left to the search."""
    size = float(default("split", "test_size"))
    return [size * (1 - size) ** place for place in range(5)]


def of_compas() -> list[str]:
    """What race tells of false positives, in points: as found, and among people alike in priors and age."""
    table = read_table("demo:compas")
    two = table[(table["two_year_recid"] == 0) & table["race"].isin(["African-American", "Caucasian"])]
    factors = Factors(two[["priors_count", "age"]].to_numpy(float), (False, False), two["high_risk"].to_numpy(float))
    alike = factors.compare((two["race"] == "African-American").to_numpy())
    return [f"{100 * alike.difference:.1f}", f"{100 * alike.remaining:.1f}"]


def narrower(threshold: int) -> list[str]:
    """How many times narrower pairing makes intervals, of everybody and at least of declared groups, on COMPAS."""
    paired, apart = two_versions(threshold)
    widths = {one.who: one.change.high - one.change.low for one in apart.groups}
    declared = [one for one in paired.groups if one.found_by == "groups"]
    least = min(widths[one.who] / (one.change.high - one.change.low) for one in declared)
    assert paired.narrower is not None
    return [f"{paired.narrower:.1f}", f"{math.floor(10 * least) / 10}"]


CLAIMS: dict[str, list[tuple[str, Callable[[], list[str]]]]] = {
    "README.md": [
        (r"any of (\d+) metrics", lambda: [number(len(set(GATE_METRICS.values())))]),
        (r"Python (3\.\d+) to (3\.\d+)", pythons),
    ],
    "CONTRIBUTING.md": [
        (r"Python (3\.\d+) to (3\.\d+)", pythons),
        (r"all tests, on (\d+) processes", lambda: re.findall(r"-n (\d+)", read("pyproject.toml"))),
        (r"freezes the reports of (\d+) audits", lambda: [number(len(AUDITS))]),
    ],
    "CHANGELOG.md": [(r"(\d+) metrics with intervals", lambda: [number(len(set(GATE_METRICS.values())))])],
    "docs/methods.md": [
        (r"Clarify's (\d+) metrics", lambda: [number(len(CLARIFY))]),
        (r"tables of more than (\d+) columns", lambda: [number(most_columns(3))]),
        (r"repeated on (\d+) draws of the train rows", lambda: [default("clustering", "stability")]),
        (r"test (\d+), (\d+), (\d+), (\d+) and (\d+) % of the rows", lambda: [of_100(one) for one in shares_tested()]),
    ],
    "docs/from-clarify.md": [(r"All (\d+) metrics", lambda: [number(len(CLARIFY))])],
    "docs/worst-groups.md": [
        (r"are ([\d.]+) points more of the African-Americans than of the Caucasians, and ([\d.]+) more", of_compas),
        (r"Of more than ([\d,]+) rows so many are permuted", lambda: [number(PERMUTED_ROWS)]),
        (
            r"up to ([\d,]+) pairs \((\d+) columns\) and ([\d,]+) triples \((\d+) columns\)",
            lambda: [
                number(FEWEST_COMBINATIONS),
                number(most_columns(2)),
                number(FEWEST_COMBINATIONS),
                number(most_columns(3)),
            ],
        ),
        (r"worst_groups: \{min_share: ([\d.]+)\}      # on by default", lambda: [default("worst_groups", "min_share")]),
    ],
    "docs/compare.md": [
        (
            r"at 6 instead of 5, ([\d.]+) times for everybody and at least ([\d.]+) times for each",
            lambda: narrower(6),
        ),
        (
            r"threshold at 7, .* is ([\d.]+) times for everybody and at least ([\d.]+) times for each",
            lambda: narrower(7),
        ),
    ],
    "docs/ci.md": [(r"Python (3\.\d+) to (3\.\d+)", pythons)],
    "action.yml": [(r"runs with, (3\.\d+) to (3\.\d+)", pythons)],
    "docs/peers.md": [(r"\| this \| ([\d.]+) \|", lambda: [project()["version"]])],
    "docs/declared-groups.md": [
        (r"`significance.min_rows` people \((\d+)\)", lambda: [default("significance", "min_rows")]),
        (r"`pooled_from` people \((\d+)\)", lambda: [default("groups", "pooled_from")]),
        (r"pooled_from: (\d+)\}      # the default", lambda: [default("groups", "pooled_from")]),
    ],
    "docs/finding.md": [
        (r"audits ([\d,]+) made-up students", lambda: [number(golden("grants")["data"]["rows"])]),
        (r"among the ([\d,]+) students who", lambda: [number(golden("grants")["data"]["rows_audited"])]),
        (
            r"exactly these (\d+): (\d+) of 100 are visited in vain, of the others (\d+)\.",
            lambda: [
                number(found("grants", 0)["rows"]),
                of_100(found("grants", 0)["mean_inside"]),
                of_100(found("grants", 0)["mean_outside"]),
            ],
        ),
        (
            r"as near to their parents (\d+) more of 100, and at least (\d+)",
            lambda: [
                of_100(found("grants", 0)["remaining"]["remaining"]),
                str(math.floor(100 * found("grants", 0)["remaining"]["remaining_low"])),  # a bound is never rounded up
            ],
        ),
        (
            r"the consequence: (\d+) of 100, of the others (\d+)",
            lambda: [of_100(found("grants", 1)[one]) for one in ("mean_inside", "mean_outside")],
        ),
        (
            r"declared origin, (\d+) of 100, is not broken",
            lambda: [of_100(one["maximum"]) for one in golden("grants")["gate"] if one["verdict"] != "fail"],
        ),
    ],
    "bdt_core/data/README.md": [
        (rf"`demo:{name}` \([`a-z.]+\) \| ([\d,]+) \|", lambda name=name: [number(len(read_table(f"demo:{name}")))])
        for name in ("compas", "adult", "grants")
    ],
}


@pytest.mark.parametrize(
    ("page", "pattern", "expected"), [(page, *claim) for page, claims in CLAIMS.items() for claim in claims]
)
def test_a_number_is_what_the_program_has(page: str, pattern: str, expected: Callable[[], list[str]]) -> None:
    said = re.search(pattern, re.sub(r"(?<=\S)\n *(?=\S)", " ", (ROOT / page).read_text(encoding="utf-8")))
    assert said is not None, f"{page} says it no more"
    assert list(said.groups()) == expected()


STUDIES = sorted(file.stem for file in tables.RESULTS.glob("*.json"))
RECORDS = ("validity.md", "finding.md", "cost-of-large-audits.md", "RESULTS.md")
"""Pages that say nothing of their own but words."""
SIZES_OF_FINDING = ("1000", "5000", "50000")
IN_FILES_ALONE = {
    "contradictions": {"by_rule"},
    "cost_model": {"categorical_costs", "categorical_extrapolated"},
    "credit_limits": {"gate"},
    "finding": {
        *(f"{kind}_{size}" for kind in ("alarm", "jaccard", "listed", "seconds") for size in SIZES_OF_FINDING),
        *("found_1000", "found_50000"),
    },
    "searched": {"alarms"},
    "scanning": {"exponent_wanted", "megabytes_wanted", "small_wanted", "large_wanted", "wide_wanted"},
}
"""Rows behind figures that a page has: the page names the file, and the file has them."""


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: page.name)
def test_figures_of_studies_are_those_of_their_files(page: Path) -> None:
    told = page.read_text(encoding="utf-8")
    assert tables.filled(told) == told, "python -m benchmarks tables"
    opened = re.findall(r"<!-- ?\w+\.\w+[^>]*-->", told)
    assert len(re.findall(r"<!-- ?/ ?-->", told)) == len(opened), "a mark is not closed"
    assert not re.search(r"(?m)^ *<!-- ?\w+\.\w+[^>]*-->.", told), "Markdown takes such a line for HTML"


def test_every_figure_of_a_study_stands_on_a_page() -> None:
    shown = set().union(*(tables.marks(page.read_text(encoding="utf-8")) for page in tables.pages()))
    assert len(STUDIES) > 15
    for study in STUDIES:
        result = json.loads((tables.RESULTS / f"{study}.json").read_text(encoding="utf-8"))
        assert set(result["run"]) == {"command", "commit", "version", "day", "machine"}
        told = {name for named, name in shown if named == study} - {"run"}
        assert set(result["figures"]) - told == IN_FILES_ALONE.get(study, set())


def test_every_run_stands_on_a_page_and_its_file_is_named() -> None:
    evidence = read("docs/evidence.md")
    assert ("runs", "all") in tables.marks(evidence)
    assert "`benchmarks/results`" in evidence
    for study in STUDIES:
        run = tables.result_of(study)
        assert f"{study} {run['day']} {run['commit']}" in evidence


def test_extremes_of_a_column() -> None:
    rows = tables.table({"": "", "x": ".1%"}, [["a", 0.5], ["b", None], ["c", 0.2]])
    assert [tables._cell(rows, one, "x") for one in ("least", "most", "a")] == [0.2, 0.5, 0.5]


@pytest.mark.parametrize("page", [one for one in tables.pages() if one.name in RECORDS], ids=lambda page: page.name)
def test_no_table_of_a_record_is_written_by_hand(page: Path) -> None:
    by_hand = re.findall(r"(?m)^\|[- :|]+\|$", tables.without_figures(page.read_text(encoding="utf-8")))
    tables_of_words = {"finding.md": 1, "validity.md": 1}  # the methods; the planted groups, whose figures are marks
    assert len(by_hand) == tables_of_words.get(page.name, 0)


def test_a_figure_that_was_written_by_hand_is_found() -> None:
    page = (ROOT / "docs" / "validity.md").read_text(encoding="utf-8")
    for figure in ("<!--alarms.most_primary-->6<", "| 240 | 5 | 1 | yes | 4.7% |"):
        assert tables.filled(page.replace(figure, figure.replace("6", "5").replace("4.7", "4.6"))) == page
        assert figure in page


@pytest.mark.parametrize(
    ("figure", "form", "text"),
    [
        (0.623, "share", ".62"), (1.0, "share", "1"), (0.001, "share", "0"), (None, "share", "-"),
        ("5 / 7", ".1%", "5 / 7"), (1234.5, "times", "1,234"), (1.2345, "times", "1.23"), (0.031, ".1%", "3.1%"),
        (["a", "b"], "", "- a\n- b"),
        (tables.table({"": "", "x": "share", "y": "share", "z": "share"}, [["a", 0.5, 1.0, 0.2]], ["x", "z"]), "",
         "|  | x | y | z |\n| --- | ---: | ---: | ---: |\n| a | **.50** | 1 | .20 |"),
    ],
)  # fmt: skip
def test_figures_in_markdown(figure: Any, form: str, text: str) -> None:
    assert tables.shown(figure, form).strip() == text


def test_the_figure_of_power_is_drawn_of_what_was_found(tmp_path: Path) -> None:
    drawn = tmp_path / "power.svg"
    draw_power(tables.result_of("power")["shares"], drawn)
    lines = r'(?s)<path d="([^"]+)" clip-path="[^"]+" style="fill: none; stroke: #(?!b0b0b0)'
    old, new = (re.findall(lines, file.read_text(encoding="utf-8")) for file in (tables.POWER, drawn))
    assert old == new, "python -m benchmarks tables"
    assert len(old) == 3 * len(validity.SIZES)


def recordings(peer: str) -> list[dict[str, Any]]:
    folder = ROOT / "tests" / "core" / "fairness" / "recorded"
    return [json.loads(one.read_text(encoding="utf-8")) for one in sorted(folder.glob(f"{peer}*.json"))]


def test_what_is_said_of_other_tools_was_recorded() -> None:
    page = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    for tool in ("fairlearn", "aequitas", "aif360", "smclarify"):
        (version,) = re.findall(rf"(?im)^\| {tool} \| ([\d.]+) \| \d{{4}}-\d\d-\d\d \|", page)
        assert {one["versions"][tool] for one in recordings(tool)} == {version}
    cases = re.findall(r"`(\w+) record (\w+)`", page)
    assert len(cases) > 12
    for tool, case in cases:
        assert any(case in one["figures"] for one in recordings(tool)), f"{tool} {case}"
    methods = (ROOT / "docs" / "finding.md").read_text(encoding="utf-8")
    for tool in ("DivExplorer", "SliceLine", "AIF360"):
        (version,) = re.findall(rf"(?m)^\| {tool} \| ([\d.]+) \| \d{{4}}-", page)
        assert re.search(rf"(?m)^\| {tool} \| {re.escape(version)};", methods)


def test_what_is_said_of_all_false_alarms_follows_from_the_table() -> None:
    told = tables.result_of("alarms")
    rows = [dict(zip(told["shares"]["columns"], row, strict=True)) for row in told["shares"]["rows"]]
    assert told["all_runs"] == told["runs"] * len(rows)
    for name in ("primary", "any", "gate"):
        shares = [row[name] for row in rows]
        assert told[f"most_{name}"] == round(max(shares) * told["runs"])
        assert told[f"all_{name}"] == pytest.approx(sum(shares) / len(rows), abs=0.0005)


def test_every_form_stands_in_the_table_of_forms() -> None:
    page = (ROOT / "docs" / "for-others.md").read_text(encoding="utf-8")
    firsts = re.findall(r"(?m)^\| (`[a-z0-9-`, ]+`) \| .*\.pdf", page)
    assert sorted(name.strip("` ") for one in firsts for name in one.split(",")) == sorted(FORMS)
