"""The report of a Clarify analysis, from the metrics to its files."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from bdt_core import words
from bdt_core.clarify.analysis import ClarifyAnalysis
from bdt_core.clarify.tables import facet_section
from bdt_core.clarify.wording import READINGS, meaning, summary_lines, wanted_metrics
from bdt_core.errors import OutputError
from bdt_core.report.blocks import Bullets, Facts, Section

_CAUTION = (
    "A metric says that a group fares differently. Whether that is justified, and what causes it, it cannot say. Each "
    "interval holds for itself: of many intervals some miss by chance alone."
)


@dataclass(frozen=True)
class ClarifyPage:
    """The report in words and tables, not escaped."""

    name: str
    subtitle: str
    summary: Bullets
    caution: str
    remarks: tuple[str, ...]
    sections: tuple[Section, ...]


def write_clarify_report(analysis: ClarifyAnalysis, folder: str | Path, *, source: str) -> dict[str, Path]:
    """Write analysis.json, metrics.csv, report.html and report.md into a folder.

    Parameters
    ----------
    analysis : ClarifyAnalysis
    folder : str or Path
        Made when it does not exist.
    source : str
        What the data are called in the report.

    Returns
    -------
    dict of str to Path
        Files by name.

    Raises
    ------
    OutputError
        The folder holds one of these files already, or cannot be written to.
    """
    from bdt_core.report.write import _write

    page = build_clarify_page(analysis, source)
    contents = {
        "analysis.json": json.dumps(analysis.analysis, indent=4, allow_nan=False) + "\n",
        "metrics.csv": analysis.table().to_csv(index=False, lineterminator="\n"),
        "report.html": clarify_html(page),
        "report.md": clarify_markdown(page),
    }
    files = {name: Path(folder) / name for name in contents}
    taken = [name for name, file in files.items() if file.exists()]
    if taken:
        raise OutputError(f"{folder} holds {', '.join(taken)} already. Name a new folder.")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            _write(files[name], content.encode(errors="backslashreplace"))
    except OSError as error:
        raise OutputError(
            f"The report cannot be written to {folder}: {error.strerror or error}. Name a folder that can be written."
        ) from None
    return files


def clarify_html(page: ClarifyPage) -> str:
    """Draw the page as one HTML file without scripts, with everything in it and every text escaped."""
    from bdt_core.report.html import _template

    return _template().environment.get_template("clarify.html.jinja").render(page=page)


def clarify_markdown(page: ClarifyPage) -> str:
    """Draw the page as Markdown, every name escaped."""
    from bdt_core.report.markdown import _bullets, _escaped, _section

    lines = [
        f"# Bias metrics: {_escaped(page.name)}",
        _escaped(page.subtitle),
        _bullets(page.summary.items),
        f"*{_escaped(page.caution)}*",
        *(f"> **Note:** {_escaped(one)}" for one in page.remarks),
        *(_section(one) for one in page.sections),
        "In Clarify's form: [analysis.json](analysis.json). Every number with its interval: [metrics.csv](metrics.csv)",
    ]
    return "\n\n".join(lines) + "\n"


def build_clarify_page(analysis: ClarifyAnalysis, source: str) -> ClarifyPage:
    """Put the analysis into words and tables.

    Parameters
    ----------
    analysis : ClarifyAnalysis
    source : str
        What the data are called.

    Returns
    -------
    ClarifyPage
        Texts are safe to print but not escaped: each printed form escapes in its own way.
    """
    first = next(iter(analysis.metrics.values()))
    wanted = wanted_metrics(analysis)
    told = [f"Label {first.label}, favourable: {_label_values(analysis)}."]
    if first.prediction is not None:
        told.append(f"Prediction {first.prediction}.")
    told.append(f"{first.confidence * 100:.4g} % intervals.")
    facets = [facet_section(i, found, wanted, analysis.signs) for i, found in enumerate(analysis.metrics.values(), 1)]
    page: ClarifyPage = _printable(
        ClarifyPage(
            name=source,
            subtitle=" ".join(told),
            summary=Bullets(tuple(summary_lines(analysis))),
            caution=_CAUTION,
            remarks=analysis.remarks,
            sections=(*facets, _reading(analysis)),
        )
    )
    return page


def _reading(analysis: ClarifyAnalysis) -> Section:
    flip = "as the guide has it" if analysis.signs == "paper" else "as its open code has it, the opposite of its guide"
    points = (
        "d are the rows with the facet value that is named, a all others with a known value. Rows without a facet "
        "value, a label or a prediction are in no metric; they are counted above.",
        "A value is marked when its whole interval lies on one side of no bias: then d is worse off, or better off, "
        "than a by this metric, and chance alone is an unlikely explanation.",
        "0 divided by 0 is undefined, never 0 and never 1. A number divided by 0 is infinite.",
        "SD and DRR are d less a, as in Clarify's code and guide; Clarify's own blog prints them as a less d.",
        "Clarify's guide reads DCA and DCR the other way round than their formulas; the tables follow the formulas.",
        f"The flip test (FT) has its sign {flip}.",
    )
    names = wanted_metrics(analysis)
    said = tuple((one, f"No bias: {READINGS[one].no_bias:g}; {meaning(one, analysis.signs)}") for one in names)
    return Section("reading", "How to read the metrics", (Bullets(points), Facts(said)))


def _label_values(analysis: ClarifyAnalysis) -> str:
    section = next(one for name, one in analysis.analysis.items() if name.endswith("_bias_metrics"))
    return str(section["label_value_or_threshold"])


def _printable(x: Any) -> Any:
    """The same page or block, its texts safe to print."""
    if isinstance(x, str):
        return "\u00a0".join(words.printable(x.split("\u00a0")))  # intervals are not torn apart
    if isinstance(x, tuple):
        return tuple(_printable(one) for one in x)
    if is_dataclass(x) and not isinstance(x, type):
        return type(x)(**{one.name: _printable(getattr(x, one.name)) for one in fields(x)})
    return x
