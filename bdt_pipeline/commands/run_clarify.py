"""``bdt clarify``: Clarify's configuration in, its analysis.json and our report out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rich.padding import Padding
from rich.table import Table

from bdt_core import words
from bdt_core.clarify.analysis import ClarifyAnalysis, clarify_analysis
from bdt_core.clarify.config import ClarifyConfig, read_analysis_config
from bdt_core.clarify.data import Kind, read_clarify_data
from bdt_core.clarify.drift import MetricDrift, drift_of, read_baseline
from bdt_core.clarify.page import drift_line, summary_lines, wanted_metrics, write_clarify_report
from bdt_core.clarify.reading import figure, largest, side_of
from bdt_core.clarify.separate_files import beside
from bdt_core.errors import OutputError, SourceError
from bdt_core.fairness.flips import Distance, Sign
from bdt_core.fairness.metric_results import BiasMetrics, Metric, group_name
from bdt_pipeline.commands.console import console, report_folder, show_files, shown, tell
from bdt_pipeline.commands.printing import put

_ON_SCREEN = 4
_LINES_ON_SCREEN = 12
_COLORS = {"worse": "red", "better": "cyan"}


def run_clarify(
    config_file: Path,
    data: str | None,
    out: Path | None,
    *,
    predictions: str | None = None,
    facets: str | None = None,
    join: str | None = None,
    baseline: Path | None = None,
    signs: Sign,
    flip_distance: Distance,
    kinds: Mapping[str, Kind],
) -> bool:
    """Compute what a configuration asks for, write the files, show the metrics, and say whether all could be drawn.

    Parameters
    ----------
    config_file : Path
        An analysis_config.json.
    data : str, optional
        The data; by default what dataset_uri names, seen from the configuration's folder.
    out : Path, optional
        A new or empty folder.
    predictions, facets : str, optional
        Files of their own for predictions and facets; by default what predicted_label_dataset_uri and
        facet_dataset_uri name, as far as that is on this machine.
    join : str, optional
        Column by which rows of these files belong together, in place of joinsource_name_or_index.
    baseline : Path, optional
        An earlier analysis.json; constraint_violations.json lists what is farther from no bias now.
    signs : {"paper", "smclarify"}
        Sign of the flip test.
    flip_distance : {"standardised", "raw"}
        Its units.
    kinds : mapping of column to {"continuous", "values"}
        Columns whose value_or_threshold is a threshold, or is none.

    Raises
    ------
    BDTError
        The configuration, the data or the folder cannot be used.
    """
    config = read_analysis_config(config_file)
    earlier = None if baseline is None else read_baseline(baseline)
    if join is not None:
        config = replace(config, joinsource=join)
    said = _say_remarks(config.remarks, ())
    source = data if data is not None else _named_data(config, config_file)
    if data is not None and config.dataset_uri is not None:
        said = _say_remarks([f"dataset_uri: not used, --data names the data ({data})."], said)
    _refuse_filled(out)
    with report_folder(out, f"clarify-{Path(source.removeprefix('demo:')).stem}") as folder:
        frame, config = read_clarify_data(config, source)
        said = _say_remarks(config.remarks, said)
        given = {
            "predictions": predictions or _file_of("predicted_label_dataset_uri", "--predictions", config, config_file),
            "facets": facets or _file_of("facet_dataset_uri", "--facets", config, config_file),
        }
        frame, config = beside(frame, config, **given) if any(given.values()) else (frame, config)
        said = _say_remarks(config.remarks, said)
        analysis = clarify_analysis(config, frame, signs=signs, flip_distance=flip_distance, kinds=kinds)
        _say_remarks(analysis.remarks, said)
        drifts = () if earlier is None else drift_of(analysis, earlier)
        files = write_clarify_report(analysis, folder, source=source, drifts=drifts, notice=tell)
    _show(analysis, drifts, list(files.values()))
    return files.keys() >= {"report.html", "report.pdf", "report.md"}


def _say_remarks(remarks: Sequence[str], said: Sequence[str]) -> tuple[str, ...]:
    """Print what is new, at once: if an error follows, its cause may have been named."""
    for remark in remarks:
        if remark not in said:
            put(f"Note: {words.printable(remark)}", error=True)
    return tuple(dict.fromkeys((*said, *remarks)))


def _named_data(config: ClarifyConfig, config_file: Path) -> str:
    """The local file of dataset_uri."""
    if config.dataset_uri is None:
        raise SourceError("The configuration names no data (dataset_uri). Name the file with --data.")
    local = _local(config.dataset_uri, config_file)
    if local is None:
        raise SourceError(f"dataset_uri: {config.dataset_uri} {_ELSEWHERE.format('--data')}")
    return local


_ELSEWHERE = (
    "is not on this machine. Fetch it and name the file with {0}; {0} takes the address as well, if its file system is "
    "installed (s3fs)."
)


def _local(uri: str, config_file: Path) -> str | None:
    """The file that an address names, seen from the configuration's folder; None when it is elsewhere."""
    parts = urlsplit(uri)
    if len(parts.scheme) > 1 and parts.scheme != "file":
        return None
    local = Path(unquote(parts.path) if parts.scheme == "file" else uri).expanduser()
    return str(local if local.is_absolute() else config_file.parent / local)


def _file_of(key: str, option: str, config: ClarifyConfig, config_file: Path) -> str | None:
    """The local file of one of the configuration's further addresses; one that is elsewhere is named and not used."""
    uri: str | None = getattr(config, key)
    local = None if uri is None else _local(uri, config_file)
    if uri is not None and local is None:
        _say_remarks([f"{key}: not used, {uri} {_ELSEWHERE.format(option)}"], ())
    return local


def _refuse_filled(out: Path | None) -> None:
    if out is not None and out.is_dir() and any(out.iterdir()):
        raise OutputError(f"{out} is not empty, and nothing is overwritten. Name a new or an empty folder with --out.")


def _show(analysis: ClarifyAnalysis, drifts: tuple[MetricDrift, ...], files: Sequence[Path]) -> None:
    to = console()
    asked = wanted_metrics(analysis)
    for measured in analysis.metrics.values():
        groups = largest(measured)[:_ON_SCREEN]
        to.print(_metrics_table(measured, asked, groups, analysis.signs))
        for reason, names in _undefined(measured, asked, groups).items():
            to.print(Padding(shown(f"{', '.join(names)}: {reason}"), (0, 0, 0, 2)))
        to.print()
    to.print("[bold]At a glance[/]")
    lines = summary_lines(analysis)
    for line in lines[:_LINES_ON_SCREEN]:
        to.print(Padding(f"- {shown(line)}", (0, 2)))
    if len(lines) > _LINES_ON_SCREEN:
        to.print(Padding(f"{len(lines) - _LINES_ON_SCREEN} more lines stand in the report.", (0, 2)))
    if drifts:
        to.print(Padding(f"- {drift_line(drifts)}", (0, 2)))
    show_files(to, "Files", files)


def _metrics_table(measured: BiasMetrics, names: Sequence[str], groups: Sequence[int], signs: Sign) -> Table:
    more = len(measured["CI"].values) - len(groups)
    table = Table(
        title=shown(f"{measured.facet}, {measured.confidence * 100:.4g} % intervals")
        + (" in the report" if len(groups) > 1 else "")
        + (f", and {more} more groups" if more else ""),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    table.add_column("metric")
    for i in groups:
        table.add_column(shown(group_name(measured["CI"].values[i])), justify="right")
    for name in names:
        table.add_row(
            name, *(_value(measured[name], 0 if name == "GE" else i, signs, alone=len(groups) == 1) for i in groups)
        )
    return table


def _value(metric: Metric, i: int, signs: Sign, *, alone: bool) -> str:
    """With its interval, or, where several d's share the line, with the side on which the interval lies."""
    value, low, high = metric.estimate[i], metric.low[i], metric.high[i]
    if value is None:
        return "[dim]undefined[/]"
    text, side = figure(value, metric.name), side_of(metric, i, signs)
    if not alone:
        text += f" {side if side in _COLORS else '':6}"
    elif low is not None and high is not None:
        text += f"  {figure(low, metric.name)} to {figure(high, metric.name)}"
    return f"[{_COLORS[side]}]{text}[/]" if side in _COLORS else text


def _undefined(measured: BiasMetrics, names: Sequence[str], groups: Sequence[int]) -> dict[str, list[str]]:
    """Metrics by the reason why they are undefined."""
    reasons: dict[str, list[str]] = {}
    for name in names:
        for i in [0] if name == "GE" else groups:
            reason = measured[name].undefined_reason[i]
            if reason is not None and name not in reasons.setdefault(reason, []):
                reasons[reason].append(name)
    return reasons
