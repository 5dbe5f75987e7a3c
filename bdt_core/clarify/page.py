"""The report of a Clarify analysis: how its metrics are read, its words and tables, and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.clarify.analysis import ClarifyAnalysis
from bdt_core.clarify.drift import MetricDrift, constraint_violations
from bdt_core.clarify.figures import metrics_map, title_of
from bdt_core.clarify.reading import GROUPS_SHOWN, Side, figure, largest, meaning, side_of, span, who
from bdt_core.fairness.flips import Sign
from bdt_core.fairness.metric_results import BiasMetrics, Metric, group_name
from bdt_core.harmless import harmless_cell
from bdt_core.metrics import CLARIFY
from bdt_core.report.blocks import (
    Block,
    Bullets,
    Cell,
    ColumnHead,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
    Tone,
    cells,
    columns,
)
from bdt_core.report.plots import groups_svg
from bdt_core.report.wording import whole
from bdt_core.report.write import Draw, write_forms

if TYPE_CHECKING:
    from markupsafe import Markup

_TABLES = (
    ("Labels, before training", ("CI", "DPL", "CDDL", "KL", "JS", "LP", "TVD", "KS")),
    ("Who gets favourable predictions", ("DPPL", "DI", "CDDPL", "FT")),
    ("How well predictions fit", ("AD", "RD", "DCA", "DAR", "SD", "DCR", "DRR", "TE", "GE")),
)
_SIDES: dict[Side, str] = {
    "worse": "worse off by",
    "better": "better off by",
    "untold": "not certain:",
    "undefined": "undefined:",
}
_SIDE_BY_SIDE = 4
_MAPS = 12
"""Maps of metrics on a page, about; each is a sixth of a sheet of HTML and a whole one of paper."""
_MIN_ROWS = 30
_RATES = {
    "prevalence": "Favourable labels",
    "selection_rate": "Favourable predictions",
    "true_positive_rate": "Recall",
    "false_positive_rate": "False positive rate",
    "positive_predictive_value": "Precision",
    "accuracy": "Accuracy",
}
_TONES: dict[str, Tone] = {"worse": "harm", "better": "good", "undefined": "muted"}
QUESTIONS = {
    "CI": "Does the share of the group in the data reflect the real world?",
    "DPL": "Do both groups have favourable labels equally often?",
    "AD": "Is the model as accurate for one group as for the other?",
    "DAR": "Of those who are selected, do equally many deserve it (precision)?",
    "RD": "Of those who deserve it, are equally many selected (recall)?",
}
"""The questions with which Clarify's authors have one begin, by the metric that answers each."""
_ANSWERS: dict[Side, str] = {
    "worse": "no: d is worse off",
    "better": "no: d is better off",
    "untold": "these rows show no certain difference",
    "undefined": "cannot be computed",
}
_CAUTION = (
    "A metric says that a group fares differently. Whether that is justified, and what causes it, it cannot say. Each "
    "interval holds for itself: of many intervals some miss by chance alone."
)


@dataclass(frozen=True)
class ClarifyPage:
    """The report in words, tables and figures, not escaped.

    Attributes
    ----------
    name, subtitle : str
    summary : Bullets
    caution : str
    remarks : tuple of str
    sections : tuple of Section
    figures : dict of str to str
        SVG by the names of the sections' figures.
    """

    name: str
    subtitle: str
    summary: Bullets
    caution: str
    remarks: tuple[str, ...]
    sections: tuple[Section, ...]
    figures: dict[str, str]


def write_clarify_report(
    analysis: ClarifyAnalysis,
    folder: str | Path,
    *,
    source: str,
    drifts: tuple[MetricDrift, ...] = (),
    notice: Callable[[str], None] | None = None,
) -> dict[str, Path]:
    """Write analysis.json, metrics.csv and the report as HTML, PDF and Markdown into a folder.

    With drifts constraint_violations.json is there, too.

    Parameters
    ----------
    analysis : ClarifyAnalysis
    folder : str or Path
        Made when it does not exist.
    source : str
        What the data are called in the report.
    drifts : tuple of MetricDrift
        Metrics then and now, of `bdt_core.clarify.drift.drift_of`.
    notice : callable, optional
        See `bdt_core.report.write_reports`.

    Returns
    -------
    dict of str to Path
        Files by name; without those that cannot be drawn.

    Raises
    ------
    OutputError
        The folder holds other such files already, or cannot be written to.
    """
    page = build_clarify_page(analysis, source, drifts)
    table = analysis.table().map(lambda one: harmless_cell(one) if isinstance(one, str) else one)
    texts = {
        "analysis.json": json.dumps(analysis.analysis, indent=4, allow_nan=False) + "\n",
        "metrics.csv": table.to_csv(index=False, lineterminator="\n"),
    }
    if drifts:
        texts["constraint_violations.json"] = json.dumps(constraint_violations(drifts), indent=4) + "\n"
    data = {name: text.encode(errors="backslashreplace") for name, text in texts.items()}
    forms: dict[str, Draw] = {
        "report.html": lambda _: clarify_html(page).encode(errors="backslashreplace"),
        "report.pdf": lambda lacks: clarify_pdf(page, lacks),
        "report.md": lambda _: clarify_markdown(page).encode(errors="backslashreplace"),
    }
    drawn = write_forms(Path(folder), forms, data, "report", str, notice)
    return {name: Path(folder) / name for name in (*data, *forms) if name.rpartition(".")[2] in drawn}


@dataclass(frozen=True)
class _Figures:
    """Figures of the page; their numbers stand in its tables."""

    by_name: dict[str, str]
    has_numbers = False

    def svg(self, figure: Figure) -> Markup:
        from markupsafe import Markup

        from bdt_core.report.inline import inline_svg

        return Markup(inline_svg(self.by_name[figure.name], figure.name, figure.alt))  # texts in it are escaped


def clarify_html(page: ClarifyPage) -> str:
    """Draw the page as one HTML file without scripts, with everything in it and every text escaped."""
    from bdt_core.report.html import html_template

    return html_template("clarify.html.jinja").render(page=page, drawn=_Figures(page.figures))


def clarify_pdf(page: ClarifyPage, notice: Callable[[str], None] | None = None) -> bytes:
    """Draw the page as PDF/UA-1; the same page gives the same bytes. `notice` as in `bdt_core.report.render_pdf`."""
    from bdt_core.report.dossier.draw import form_pdf

    remarks = (Paragraph("Please note:"), Bullets(page.remarks)) if page.remarks else ()
    glance = Section("glance", "At a glance", (page.summary, Paragraph(page.caution), *remarks))
    title = f"Bias metrics: {page.name}"
    return form_pdf(title, page.subtitle, "en", [glance, *page.sections], figures=page.figures, notice=notice)


def clarify_markdown(page: ClarifyPage) -> str:
    """Draw the page as Markdown, every name escaped."""
    from bdt_core.report.markdown import MarkdownWriter, escaped

    lines = [
        f"# Bias metrics: {escaped(page.name)}",
        escaped(page.subtitle),
        MarkdownWriter().block(Bullets(page.summary.items)),
        f"*{escaped(page.caution)}*",
        *(f"> **Note:** {escaped(one)}" for one in page.remarks),
        *(MarkdownWriter().section(one) for one in page.sections),
        "In Clarify's form: [analysis.json](analysis.json). Every number with its interval: [metrics.csv](metrics.csv)",
    ]
    return "\n\n".join(lines) + "\n"


def build_clarify_page(analysis: ClarifyAnalysis, source: str, drifts: tuple[MetricDrift, ...] = ()) -> ClarifyPage:
    """Put the analysis into words and tables.

    Parameters
    ----------
    analysis : ClarifyAnalysis
    source : str
        What the data are called.
    drifts : tuple of MetricDrift
        Metrics then and now.

    Returns
    -------
    ClarifyPage
        Texts are safe to print but not escaped: each printed form escapes in its own way.
    """
    first = next(iter(analysis.metrics.values()))
    asked = wanted_metrics(analysis)
    facts = [f"Label {first.label}, favourable: {_label_values(analysis)}."]
    if first.prediction is not None:
        facts.append(f"Prediction {first.prediction}.")
    facts.append(f"{first.confidence * 100:.4g} % intervals.")
    figures: dict[str, str] = {}
    most = max(1, min(_SIDE_BY_SIDE, _MAPS // len(analysis.metrics)))
    facets = []
    for place, (segment, measured) in enumerate(_parts(analysis), 1):
        drawn = {} if segment is not None else dict(_figures(place, measured, asked, analysis.signs, most))
        figures |= {figure.name: svg for figure, svg in drawn.items()}
        facets.append(_facet_section(place, measured, asked, analysis.signs, tuple(drawn), segment))
    page: ClarifyPage = _printable(
        ClarifyPage(
            name=source,
            subtitle=" ".join(facts),
            summary=Bullets((*summary_lines(analysis), *([drift_line(drifts)] if drifts else []))),
            caution=_CAUTION,
            remarks=analysis.remarks,
            sections=(*facets, *([_drift(drifts)] if drifts else []), _reading(analysis)),
            figures={},
        )
    )
    return replace(page, figures=figures)


def drift_line(drifts: tuple[MetricDrift, ...]) -> str:
    """How many metrics are farther from no bias than in the baseline.

    Examples
    --------
    >>> worse, better = (MetricDrift("sex", "f", "DPL", then, 0.3, 0.2, 0.4) for then in (0.1, 0.5))
    >>> drift_line((worse, better))
    'Against the baseline: 1 of 2 metrics is farther from no bias; of 0 of these the interval holds the earlier value.'
    """
    farther = [one for one in drifts if one.is_violation]
    chance = sum(bool(one.may_be_chance) for one in farther)
    return (
        f"Against the baseline: {len(farther)} of {len(drifts)} metrics {'is' if len(farther) == 1 else 'are'} farther "
        f"from no bias; of {chance} of these the interval holds the earlier value."
    )


def _drift(drifts: tuple[MetricDrift, ...]) -> Section:
    """Every metric then and now."""
    rows = []
    for drift in drifts:
        note = ""
        if drift.low is not None and drift.high is not None:
            note = whole(f"[{figure(drift.low, drift.metric)} to {figure(drift.high, drift.metric)}]")
        answer = "no"
        if drift.is_violation:
            answer = "yes" + ("; the interval holds the earlier value" if drift.may_be_chance else "")
        of = Cell(words.value_condition(drift.facet, drift.facet_value), note=drift.metric)
        now = Cell(figure(drift.now, drift.metric), note=note, tone="harm" if drift.is_violation else "")
        rows.append(cells(of, figure(drift.then, drift.metric), now, answer))
    explained = Paragraph(
        "A metric that is farther from no bias than in the baseline is a violation, as Model Monitor of SageMaker has "
        "it; constraint_violations.json lists these. Where the interval holds the earlier value, rows that were drawn "
        "anew could give as much. How exact the earlier value is, its file does not say."
    )
    heads = columns("Group and metric", "#Baseline", "#Now", "Farther from no bias")
    return Section("drift", "Against the baseline", (explained, Table("Metrics then and now", heads, tuple(rows))))


def _parts(analysis: ClarifyAnalysis) -> Iterator[tuple[str | None, BiasMetrics]]:
    """Every facet of all rows, and then of each segment with its name."""
    yield from ((None, found) for found in analysis.metrics.values())
    for name, segment in analysis.segments.items():
        yield from ((name, found) for found in segment.metrics.values())


def _reading(analysis: ClarifyAnalysis) -> Section:
    flip = "as the guide has it" if analysis.signs == "paper" else "as its open code has it, the opposite of its guide"
    units = (
        "standard deviations" if analysis.flip_distance == "standardised" else "the columns' own units, as Clarify's"
    )
    points = (
        "d are the rows with the facet value that is named, a all others with a known value. Rows without a facet "
        "value, a label or a prediction are in no metric, those without a stratum not in CDDL and CDDPL; they are "
        "counted above.",
        "A value is marked when its whole interval lies on one side of no bias: then d is worse off, or better off, "
        "than a by this metric, and chance alone is an unlikely explanation.",
        "0 divided by 0 is undefined, never 0 and never 1. A number divided by 0 is infinite.",
        "SD and DRR are d less a, as in Clarify's code and guide; Clarify's own blog prints them as a less d.",
        "Clarify's guide reads DCA and DCR the other way round than their formulas; the tables follow the formulas.",
        f"The flip test (FT) has its sign {flip}, and its neighbours are those at the least distance in {units}.",
        "A range is what the formula allows, whatever the data.",
    )
    names = wanted_metrics(analysis)
    said = tuple(
        (one, f"No bias: {CLARIFY[one].no_bias:g}; range: {span(one)}; {meaning(one, analysis.signs)}") for one in names
    )
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


def _figures(
    place: int, measured: BiasMetrics, asked: Sequence[str], signs: Sign, most: int
) -> Iterator[tuple[Figure, str]]:
    """The map of each of the largest d's, at most so many, and the rates of all groups, each with its SVG."""
    names = [one for one in asked if one != "GE"]  # which compares nobody
    groups, sizes = largest(measured), measured["CI"].n
    mapped = sorted(sorted(groups, key=lambda i: -sizes[i])[:most]) if names else []
    for i in mapped:
        figure = Figure(
            f"map-{place}-{i}",
            "Maps of the smaller groups are not drawn; their metrics stand in the tables below."
            if i == mapped[-1] and len(mapped) < len(measured["CI"].values)
            else "",
            f"{title_of(measured, names, i, signs)}. The numbers stand in the tables below.",
        )
        yield figure, metrics_map(measured, names, i, signs)
    rates = groups_svg(measured, _MIN_ROWS)
    if rates is not None:
        figure = Figure(
            f"rates-{place}", "", f"Rates of the groups by {measured.facet}. The numbers stand in the table below."
        )
        yield figure, rates


def _facet_section(
    place: int,
    measured: BiasMetrics,
    asked: Sequence[str],
    signs: Sign,
    figures: Sequence[Figure],
    segment: str | None = None,
) -> Section:
    """Everything about one facet.

    Parameters
    ----------
    place : int
        Of the facet among all, from 1.
    measured : BiasMetrics
    asked : sequence of str
        Metrics that were asked for.
    signs : {"paper", "smclarify"}
    figures : sequence of Figure
    segment : str, optional
        Whose rows they are, where not all are.
    """
    groups = largest(measured)
    blocks: list[Block] = [Facts(tuple(_counts(measured, groups)))]
    questions = [one for one in QUESTIONS if one in asked]
    if questions:
        blocks += _question_tables(questions, measured, groups, signs)
    blocks += figures
    blocks += [one for one in (_rates_table(measured), _confusion_table(measured)) if one is not None]
    for title, names in metric_tables():
        shown = [one for one in names if one in asked]
        if shown:
            blocks += _metric_tables(title, shown, measured, groups, signs)
    ranges = [one for one in measured.metrics if one.kind == "range"]
    if ranges and len(measured["selection_rate"].values) > 1:
        blocks.append(_ranges_table(ranges, measured.confidence))
    d = who(measured, 0) if len(measured["CI"].values) == 1 else f"{measured.facet}: each value"
    of = "" if segment is None else f"{segment}: "
    return Section(f"facet-{place}", f"{of}{d} against everybody else", tuple(blocks))


def _question_tables(
    names: Sequence[str], measured: BiasMetrics, groups: Sequence[int], signs: Sign
) -> Iterator[Table]:
    """The questions to begin with, and their answers for each d."""
    for i in groups:
        rows = [
            cells(QUESTIONS[name], Cell(name, note=CLARIFY[name].title), _value(name, measured[name], i, signs),
                  _answer(name, measured[name], i, signs))
            for name in names
        ]  # fmt: skip
        whose = "" if len(groups) == 1 else f": {who(measured, i)}"
        yield Table(
            f"Questions to begin with{whose}",
            columns("Question", "Metric", "#Value", "Answer"),
            tuple(rows),
        )


def _answer(name: str, metric: Metric, i: int, signs: Sign) -> str:
    value = metric.estimate[i]
    if name == "CI" and value is not None:  # the real world is not in the data
        return (
            f"d is {words.percent((1.0 - value) / 2.0)} of the rows: compare it with its share of the people concerned"
        )
    return _ANSWERS[side_of(metric, i, signs)]


def _counts(measured: BiasMetrics, groups: Sequence[int]) -> Iterator[tuple[str, str]]:
    yield "Rows", words.count(measured.rows)
    needed = (*measured.facets, measured.label, measured.prediction)
    for column, n in measured.missing.items():
        if n:
            where = "in no metric" if column in needed else "not in CDDL and CDDPL"
            yield f"Without a value of {column}", f"{words.count(n)} rows, {where}"
    names = ", ".join(group_name(measured["CI"].values[i]) for i in groups)
    yield ("d", names if len(groups) == 1 else f"each group in turn: {names}")
    yield "a", "everybody else with a known value"
    if measured.group is not None:
        yield "Strata", measured.group


def _rates_table(measured: BiasMetrics) -> Table | None:
    """Rates of every group; nothing but its size of a group with few rows."""
    sizes = measured["selection_rate" if measured.prediction is not None else "prevalence"].n
    names = [one for one in _RATES if any(x is not None for x in measured[one].estimate)]
    groups = sorted(range(len(sizes)), key=lambda i: -sizes[i])[:GROUPS_SHOWN]
    if not names or not groups:
        return None
    rows = []
    for i in groups:
        few = sizes[i] < _MIN_ROWS
        shown = [Cell(words.NOTHING, tone="muted") if few else _rate(measured[one], i) for one in names]
        note = f"fewer than {_MIN_ROWS} rows: not printed" if few else ""
        rows.append(cells(Cell(measured["selection_rate"].names[i], note=note), words.count(int(sizes[i])), *shown))
    more = len(sizes) - len(groups)
    return Table(
        f"Rates of the groups, with {measured.confidence * 100:.4g} % intervals"
        + (f"; {more} smaller groups stand in metrics.csv" if more else ""),
        (*columns("Group", "#Rows"), *(ColumnHead(_RATES[one], number=True) for one in names)),
        tuple(rows),
    )


def _confusion_table(measured: BiasMetrics) -> Table | None:
    """How many predictions of each group are right and wrong; nothing but its size of a group with few rows."""
    if measured.prediction is None or measured.label is None:
        return None
    sizes = measured["accuracy"].n
    deserving, undeserving = measured["true_positive_rate"], measured["false_positive_rate"]
    rows = []
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i])[:GROUPS_SHOWN]:
        counts = (
            deserving.events[i],
            undeserving.events[i],
            undeserving.n[i] - undeserving.events[i],
            deserving.n[i] - deserving.events[i],
        )
        few = sizes[i] < _MIN_ROWS
        shown = [
            Cell(words.NOTHING, tone="muted") if few else Cell(words.count(int(n)), note=words.percent(n / sizes[i]))
            for n in counts
        ]
        note = f"fewer than {_MIN_ROWS} rows: not printed" if few else ""
        rows.append(cells(Cell(deserving.names[i], note=note), words.count(int(sizes[i])), *shown))
    if not rows:
        return None
    heads = columns(
        "Group", "#Rows", "#Favourable, rightly (TP)", "#Favourable, wrongly (FP)", "#Unfavourable, rightly (TN)",
        "#Unfavourable, wrongly (FN)",
    )  # fmt: skip
    return Table("Predictions by group, against the labels, with shares of the group", heads, tuple(rows))


def _rate(metric: Metric, i: int) -> Cell:
    if metric.estimate[i] is None:
        return Cell("undefined", note=metric.undefined_reason[i] or "", tone="muted")
    low, high = (words.percent(one).removesuffix(" %") for one in (metric.low[i], metric.high[i]))
    return Cell(words.percent(metric.estimate[i]), note=whole(f"[{low} to {high}]"))


def _metric_tables(
    title: str, names: Sequence[str], measured: BiasMetrics, groups: Sequence[int], signs: Sign
) -> Iterator[Table]:
    """One d with an explanation beside it; several side by side."""
    is_many = len(groups) > 1
    for start in range(0, len(groups), _SIDE_BY_SIDE):
        part = groups[start : start + _SIDE_BY_SIDE]
        heads = [ColumnHead(group_name(measured["CI"].values[i]) if is_many else "Value", number=True) for i in part]
        rows = [
            cells(
                Cell(name, note=CLARIFY[name].title),
                *(_value(name, measured[name], 0 if name == "GE" else i, signs) for i in part),
                f"{CLARIFY[name].no_bias:g}",
                *(() if is_many else (meaning(name, signs),)),
            )
            for name in names
        ]
        yield Table(
            title + (f": groups {start + 1} to {start + len(part)} of {len(groups)}" if len(groups) > _SIDE_BY_SIDE
                     else ""),
            (*columns("Metric"), *heads, *columns("#No bias"), *(() if is_many else columns("What it says"))),
            tuple(rows),
        )  # fmt: skip


def _value(name: str, metric: Metric, i: int, signs: Sign) -> Cell:
    if metric.estimate[i] is None:
        return Cell("undefined", note=metric.undefined_reason[i] or "", tone="muted")
    limits = metric.low[i], metric.high[i]
    note = "" if None in limits else whole(f"[{figure(limits[0], name)} to {figure(limits[1], name)}]")
    tone = _TONES.get(side_of(metric, i, signs), "")
    return Cell(figure(metric.estimate[i], name), note=note, tone=tone)


def _ranges_table(ranges: Sequence[Metric], confidence: float) -> Table:
    """Differences and ratios over all groups at once."""
    by_name = {one.name: one for one in ranges}
    rows = []
    for range_ in ranges:
        name = range_.name.removesuffix("_difference")
        if name == range_.name:
            continue
        ratio = by_name[f"{name}_ratio"]
        left_out = ", ".join(map(group_name, range_.excluded[:GROUPS_SHOWN]))
        note = f"without {left_out}: too few rows" if left_out else ""
        rows.append(
            cells(Cell(words.capital(name.replace("_", " ")), note=note), _over_all(range_), _over_all(ratio),
                  words.p_number(range_.p_value))
        )  # fmt: skip
    return Table(
        f"All groups together: largest difference and smallest ratio, with {confidence * 100:.4g} % intervals",
        columns("Rate", "#Difference", "#Ratio", "#p of equal rates"),
        tuple(rows),
    )


def _over_all(metric: Metric) -> Cell:
    estimate = metric.only
    if estimate.estimate is None:
        return Cell("undefined", note=estimate.undefined_reason or "", tone="muted")
    known = estimate.low is not None and estimate.high is not None
    note = whole(f"[{words.number(estimate.low)} to {words.number(estimate.high)}]") if known else ""
    return Cell(words.number(estimate.estimate), note=note)


def metric_tables() -> list[tuple[str, tuple[str, ...]]]:
    """Clarify's metrics as they stand together, with the title of each table."""
    listed = {name for _, names in _TABLES for name in names}
    others = tuple(name for name in CLARIFY if name not in listed)
    return [*_TABLES, *([("Others", others)] if others else [])]


def wanted_metrics(analysis: ClarifyAnalysis) -> list[str]:
    """Names of the metrics that were asked for, in the order of the report."""
    asked = {
        metric["name"]
        for section in ("pre_training_bias_metrics", "post_training_bias_metrics")
        for entries in analysis.analysis.get(section, {"facets": {}})["facets"].values()
        for entry in entries
        for metric in entry["metrics"]
    }
    return [name for _, names in metric_tables() for name in names if name in asked]


def summary_lines(analysis: ClarifyAnalysis) -> list[str]:
    """For each d: by which metrics it is worse off, interval and all, and by which better."""
    asked = wanted_metrics(analysis)
    lines = []
    for segment, measured in _parts(analysis):
        of = "" if segment is None else f"{segment}, "
        groups = largest(measured)
        for i in groups:
            answers = (
                "; ".join(_answers(measured, asked, i, analysis.signs)) or "no metric with a direction was asked for"
            )
            lines.append(f"{of}{who(measured, i)}: {answers}.")
        if len(groups) < len(measured["CI"].values):
            lines.append(f"{of}{len(measured['CI'].values) - len(groups)} smaller groups stand in metrics.csv only.")
    return lines


def _answers(measured: BiasMetrics, asked: Sequence[str], i: int, signs: Sign) -> Iterator[str]:
    sides: dict[Side, list[str]] = {side: [] for side in _SIDES}
    for name in asked:
        if name != "GE" and (CLARIFY[name].worse or measured[name].estimate[i] is None):
            sides[side_of(measured[name], i, signs)].append(name)
    for side, names in sides.items():
        if names:
            yield f"{_SIDES[side]} {', '.join(names)}"
