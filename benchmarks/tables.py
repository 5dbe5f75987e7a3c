"""What studies found, in ``results/NAME.json``; the pages have every such figure from there, between marks.

``python -m benchmarks tables`` writes the pages anew from these files, and ``tests/pipeline/test_docs_numbers.py``
holds that they say nothing else. ``<!-- NAME.figure -->...<!-- / -->`` is a table, a list or a number of
``results/NAME.json``; ``NAME.figure[first words of a row][column]`` is a cell of a table, ``[least][column]`` and
``[most][column]`` are the extremes of a column, and a format may follow: ``<!-- over_time.runs:, -->1,000<!-- / -->``.
``runs.all`` is the day and commit of every study. Spaces within marks may be left out.

Seeds are fixed in the source: ``run`` says with which command, commit and version a study was made, on which day and
machine. (What was measured before there were these files has the commit that brought it into the page, and its day.)
"""

from __future__ import annotations

import datetime
import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measuring import machine, markdown_table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
POWER = ROOT / "docs" / "images" / "power.svg"
_MARK = re.compile(
    r"(?P<start><!-- ?(?P<study>\w+)\.(?P<name>\w+)(?:\[(?P<row>[^\]]+)\]\[(?P<column>[^\]]+)\])?"
    r"(?::(?P<form>\S+?))? ?-->)(?P<told>.*?)(?P<end><!-- ?/ ?-->)",
    re.DOTALL,
)
_DIGITS = 6
_EXTREMES = {"least": min, "most": max}


def run() -> None:
    """Write every figure of every page anew, and draw the one that is a picture."""
    from benchmarks.power_figure import draw_power

    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    draw_power(result_of("power")["shares"], POWER)


def pages() -> list[Path]:
    """Those that may have figures of studies."""
    return [*sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "RESULTS.md"]


def table(columns: Mapping[str, str], rows: Sequence[Sequence[Any]], best: Sequence[str] = ()) -> dict[str, Any]:
    """A table as it stands in a file.

    Parameters
    ----------
    columns : dict of str to str
        Heading and format of the numbers under it: one of Python's, "share" (.62, and 0 and 1 without digits), or
        "times" (three digits at least, and none behind the point that are not among them).
    rows : sequence of sequences
        Numbers, words, or None where nothing was measured.
    best : sequence of str, optional
        Columns of which the highest number of each row is set in bold.
    """
    return {"columns": dict(columns), **({"best": list(best)} if best else {}), "rows": [list(row) for row in rows]}


def record(study: str, figures: Mapping[str, Any], keep: bool = True) -> None:
    """Print what a study found, and, unless it was a trial, write its file and the pages that tell of it.

    Parameters
    ----------
    study : str
        Name of the file.
    figures : dict
        By name: numbers, words, lists of words, and tables.
    keep : bool
        Whether it had its full size.
    """
    for name, one in figures.items():
        print(f"{name}: {shown(one)}\n")
    if not keep:
        return
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    made = {
        "command": " ".join(["python -m benchmarks", *(re.sub("=.*/.*", "=FILE", one) for one in sys.argv[1:])]),
        "commit": commit.stdout.strip() or None,
        "version": version("bdt-pipeline"),
        "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
    }
    write(study, {"run": made, "figures": dict(figures)})
    run()


def write(study: str, result: Mapping[str, Any]) -> None:
    """Write the file of a study, a line for each row of a table and for its columns."""
    text = json.dumps(_rounded(result), indent=1, ensure_ascii=False)
    text = re.sub(r"[\[{]\n[^\[\]{}]*[\]}]", lambda one: re.sub(r"(?<=[\[{])\n *|\n *(?=[\]}]$)", "", one[0]), text)
    text = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda one: re.sub(r"\n *", " ", one[0]), text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{study}.json").write_text(text + "\n", encoding="utf-8")


def result_of(study: str) -> dict[str, Any]:
    """What is known of the run of a study, and what it found."""
    if study == "runs":
        return {"all": _runs()}
    read = json.loads((RESULTS / f"{study}.json").read_text(encoding="utf-8"))
    run = read["run"]
    told = f"{run['day']}, version {run['version']}, commit {run['commit']}, {run['machine']}"
    return {"run": told, **run, **read["figures"]}


def _runs() -> str:
    """Every study with its day and commit, in one sentence."""
    runs = [(file.stem, json.loads(file.read_text(encoding="utf-8"))["run"]) for file in sorted(RESULTS.glob("*.json"))]
    return "; ".join(f"{study} {run['day']} {run['commit']}" for study, run in runs)


def filled(page: str) -> str:
    """A page with all its figures as the files have them."""

    def told(mark: re.Match[str]) -> str:
        figure, form = result_of(mark["study"])[mark["name"]], mark["form"] or ""
        if mark["row"]:
            form = form or figure["columns"][mark["column"]]
            figure = _cell(figure, mark["row"], mark["column"])
        text = shown(figure, form)
        text = f"\n\n{text.strip()}\n\n" if "\n" in text else text
        return f"{mark['start']}{text}{mark['end']}"

    return _MARK.sub(told, page)


def _cell(figure: Mapping[str, Any], row: str, column: str) -> Any:
    """A cell by the first words of its row, or the extreme of a column."""
    place = list(figure["columns"]).index(column)
    if row in _EXTREMES:
        return _EXTREMES[row](line[place] for line in figure["rows"] if isinstance(line[place], int | float))
    (cell,) = [line[place] for line in figure["rows"] if ", ".join(map(str, line)).startswith(f"{row}, ")]
    return cell


def marks(page: str) -> set[tuple[str, str]]:
    """Study and name of each figure that a page has."""
    return {(one["study"], one["name"]) for one in _MARK.finditer(page)}


def without_figures(page: str) -> str:
    """What was written by hand."""
    return _MARK.sub("", page)


def shown(figure: Any, form: str = "") -> str:
    """A figure in Markdown."""
    if isinstance(figure, dict):
        rows = [_row(row, figure) for row in figure["rows"]]
        return markdown_table(list(figure["columns"]), rows)
    if isinstance(figure, list):
        return "\n".join(f"- {one}" for one in figure) + "\n"
    if isinstance(figure, str):
        return figure
    if figure is None:
        return "-"
    if form == "share":
        return "1" if figure > 0.995 else "0" if figure < 0.005 else f"{figure:.2f}".removeprefix("0")
    if form == "times":
        return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
    return format(figure, form)


def _row(row: Sequence[Any], of: Mapping[str, Any]) -> list[str]:
    told = dict(zip(of["columns"], row, strict=True))
    highest = max([one for name in of.get("best", ()) if (one := told[name]) is not None], default=0)
    texts = []
    for name, one in told.items():
        text = shown(one, of["columns"][name])
        texts.append(f"**{text}**" if name in of.get("best", ()) and one == highest > 0 else text)
    return texts


def _rounded(figure: Any) -> Any:
    """As many digits as anybody reads; what is not a number at all is none."""
    if isinstance(figure, Mapping):
        return {name: _rounded(one) for name, one in figure.items()}
    if isinstance(figure, list):
        return [_rounded(one) for one in figure]
    if isinstance(figure, float):
        return None if math.isnan(figure) else float(f"{figure:.{_DIGITS}g}")
    return figure.item() if hasattr(figure, "item") else figure
