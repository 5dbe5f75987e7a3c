"""``bdt history``: what all batches of an audit show together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from bdt_core.errors import SourceError, SpecError, did_you_mean
from bdt_core.report.catalogue import Sayings, say_for
from bdt_core.said import Column, Numeral, Text, first_of, joined, of_ours, say
from bdt_pipeline.assets.views_history import HEADER, RATIO_HEADER, ratio_row, ratios, row
from bdt_pipeline.commands.console import console, show_notes, show_verdict, shown, write_file
from bdt_pipeline.commands.printing import put

if TYPE_CHECKING:
    from rich.console import Console
    from upath import UPath

    from bdt_core.history import History

_FIGURES = (".png", ".svg")
_NARROW = 120
_WIDTH = 160  # where nobody watches, lines are kept whole


def show_history(name: str, storage: str | None, out: Path | None) -> None:
    """Print the history of an audit, and draw its figure.

    Parameters
    ----------
    name : str
        Name of the audit.
    storage : str, optional
        Folder or URL; by default ``BDT_STORAGE``, else the storage of the Dagster instance at ``DAGSTER_HOME``.
    out : Path, optional
        File for the figure, .png or .svg.

    Raises
    ------
    SourceError
        Nothing is stored there.
    SpecError
        Nobody said where to look, or the figure's ending is unknown.
    OutputError
        The figure cannot be written.
    """
    if out is not None and out.suffix.lower() not in _FIGURES:
        raise SpecError(f"The figure is written as {' or '.join(_FIGURES)}; found {out.name}.")
    history, remarks = history_of(name, _root(storage))
    _print(name, history, remarks)
    if out is not None:
        write_file(out, _drawn(history, out.suffix.lower()), called="The figure ")
        put(f"{say_for(history.spec)('Figure')}: {out}")


def history_of(name: str, root: UPath) -> tuple[History, list[Text]]:
    """The history of an audit, under the specification of its latest batch, and remarks on its files.

    Raises
    ------
    SourceError
        No batch is stored.
    """
    from bdt_pipeline.resources.history_store import FOLDER, HistoryStore

    history, remarks = HistoryStore(root, name).follow()
    if history is None:
        known = _audits(root, FOLDER)
        hint = did_you_mean(name, known) if known else "No audit has a history there."
        raise SourceError(
            f'No batch of an audit "{name}" is stored in {root}. {hint} Batches are recorded by the asset '
            f"{name}/bias_history and by bdt gate when an audit with declared groups runs; --storage names another "
            "place."
        )
    return history, remarks


def _root(storage: str | None) -> UPath:
    from bdt_pipeline.resources.storage import STORAGE_VARIABLE, storage_named

    root = storage_named(storage)
    if root is None:
        raise SpecError(
            f"Where are the batches? Name the audits' storage with --storage or {STORAGE_VARIABLE}, or set "
            "DAGSTER_HOME to the home of the Dagster instance that runs the audits."
        )
    return root


def _audits(root: UPath, folder: str) -> list[str]:
    try:
        return sorted(one.name for one in root.iterdir() if (one / folder).is_dir())
    except OSError:
        return []


def _print(name: str, history: History, remarks: list[Text]) -> None:
    from bdt_core.history import difference_finding, drift_finding, volume_finding
    from bdt_core.history.limits import number_of_batches

    to, said = console(), say_for(history.spec)
    if not to.is_terminal and "COLUMNS" not in os.environ:
        to.width = _WIDTH
    batches = said(number_of_batches(len(history.batches)))
    ends = f", {shown(history.batches[0].id)} {said('to')} {shown(history.batches[-1].id)}" if history.batches else ""
    to.print(f"\n[bold]{shown(name)}[/]: {batches}{ends}\n", soft_wrap=True)
    for grouping in history.groupings:
        by, less = say("by {name}", name=grouping.facet), say("less {reference}", reference=grouping.reference)
        table = _table((by, less, *HEADER), said)
        for stream in grouping.streams:
            latest, so_far, trend, *rest = row(stream, history)
            if to.width < _NARROW:
                trend = first_of(trend, " ")
            metric = of_ours(stream.metric.replace("_", " "))
            table.add_row(*map(shown, map(said, (metric, stream.group, latest, so_far, trend, *rest))))
        if grouping.streams:
            to.print(table, "")
    _print_ratios(to, history, said)
    if history.streams:
        level = Numeral(f"{100 * (1 - history.spec.significance.alpha):.4g}")
        legend = (
            say("In points, ratios as they are."),
            say(
                "So far: within the batches, over all of them, with the {N} % confidence sequence, which holds however "
                "often one looks.",
                N=level,
            ),
            say("Trend: the last {N} batches.", N=Numeral(str(history.look_back))),
            say("Drift: the latest batch against them; moved means that chance alone may do it."),
        )
        to.print(" ".join(map(said, legend)))
    for limit in history.limits:
        show_verdict(to, limit.verdict, said(limit.sentence), said)
    for finding in (difference_finding(history), drift_finding(history), volume_finding(history)):
        if not finding.passed:
            to.print(f"\n[yellow]{said(str(finding.severity))}[/]  {shown(said(finding.sentence))}")
            to.print(f"  {shown(said(finding.recommendation))}")
    small = [
        say("{name}: {group}", name=one.facet, group=group) for one in history.groupings for group in one.too_small
    ]
    notes = [*history.notes, *remarks]
    if small:
        notes.append(say("Too few rows to be followed: {list}.", list=joined(small, ", ")))
    show_notes(to, map(said, notes), said)


def _table(heads: Sequence[str], said: Callable[[str], str]) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        made.add_column(shown(said(head)), overflow="fold")
    return made


def _print_ratios(to: Console, history: History, said: Sayings) -> None:
    if not ratios(history):
        return
    table = _table(("ratio", "of", *RATIO_HEADER), said)
    for limit in ratios(history):
        latest, so_far, trend, *rest = ratio_row(limit)
        if to.width < _NARROW:
            trend = first_of(trend, " ")
        facet = joined([Column(column) for column in limit.facet.split(" & ")], " & ")
        ratio = say("{metric} by {name}", metric=of_ours(limit.metric.replace("_", " ")), name=facet)
        table.add_row(*map(shown, map(said, (ratio, limit.group or "", latest, so_far, trend, *rest))))
    to.print(table, "")


def _drawn(history: History, ending: str) -> bytes:
    from bdt_core.report.figure_history import history_png, history_svg

    return history_png(history) if ending == ".png" else history_svg(history).encode()
