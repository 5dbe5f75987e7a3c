"""The whole audit: the stages of the list in order, nothing else."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd

from bdt_core.findings import AuditFindings
from bdt_core.shards.opening import Opened
from bdt_core.spec import AuditSpec, load_spec, parse_spec
from bdt_core.stages import READING, SPLITTING, WRITING, Stage, Stages, StepProgress, stages_of
from bdt_core.verdict import Verdict

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class AuditResult(AuditFindings):
    """What an audit found, and its report.

    Attributes
    ----------
    document : dict
        The report as data.
    """

    document: dict[str, Any]

    @property
    def verdict(self) -> Verdict:
        """pass, fail, inconclusive or not_testable."""
        return cast("Verdict", self.document["verdict"]["verdict"])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-able data."""
        return self.document

    def write(self, folder: str | Path, *, publication: bool = False) -> dict[str, Path]:
        """Write report.json, report.html, report.pdf and report.md.

        Parameters
        ----------
        folder : str or Path
        publication : bool
            Write the form for others (`bdt_core.report.for_publication`), not the owner's working file.

        Raises
        ------
        OutputError
            When the folder cannot be written or holds a report already.
        """
        from bdt_core.report.publication import for_publication
        from bdt_core.report.write import write_reports

        return write_reports(for_publication(self.document) if publication else self.document, folder)

    def _repr_html_(self) -> str:
        from bdt_core.report.html import render_notebook

        return render_notebook(self.document)

    def __repr__(self) -> str:
        return f"AuditResult({self.document['name']!r}, {self.verdict}: {self.document['summary']['headline']})"


def audit(
    data: pd.DataFrame | str | Path | None,
    spec: AuditSpec | dict[str, Any] | str | Path,
    *,
    stages: Stages | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> AuditResult:
    """Audit a table.

    Parameters
    ----------
    data : DataFrame, path or None
        The table; None reads the specification's own source.
    spec : AuditSpec, dict or path of a YAML file
    stages : Stages, optional
        Replaces stages of the method: a subclass of `bdt_core.stages.Stages`.
    progress : callable, optional
        Called with (stage, steps done, steps of the stage).
    notice : callable, optional
        Called with a sentence: where the rows go, when the table is too large for memory, and what a search of a wide
        table is going to count and to leave out.

    Returns
    -------
    AuditResult

    Raises
    ------
    SpecError, SourceError, DataError
        What is wrong and how to mend it.

    Examples
    --------
    >>> result = audit(
    ...     "demo:compas",
    ...     {
    ...         "name": "compas",
    ...         "source": {"path": "demo:compas"},
    ...         "bias_variable": {
    ...             "derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"
    ...         },
    ...         "features": {"include": ["age", "priors_count", "c_charge_degree"]},
    ...         "protected": ["race", "sex"],
    ...     },
    ... )
    >>> result.verdict
    'fail'
    """
    settled = settled_spec(spec, data)
    stages = stages or Stages()
    announce = Announcer(progress)
    announce(READING)
    frame = data if isinstance(data, pd.DataFrame) else None
    with stages.open_table(frame, settled, announce.rows, notice) as opened:
        return _audit(opened, settled, stages, announce, notice or unheard)


def _audit(
    opened: Opened, spec: AuditSpec, stages: Stages, announce: Announcer, notice: Callable[[str], None]
) -> AuditResult:
    """The stages after the table is there."""
    findings = AuditFindings.of(run_stages(stages_of(spec), opened, spec, stages, announce, notice))
    announce(WRITING)
    return AuditResult(**vars(findings), document=stages.build_document(findings, spec))


def run_stages(
    several: Iterable[Stage],
    opened: Opened,
    spec: AuditSpec,
    stages: Stages,
    announce: Announcer,
    notice: Callable[[str], None],
) -> dict[str, Any]:
    """Split the rows of a table and carry some stages out, in order: all results by name."""
    announce(SPLITTING)
    train, test = stages.split_rows(opened.table, spec.split)
    found: dict[str, Any] = {"table": opened.table, "source": opened.source, "train": train, "test": test}
    for stage in several:
        announce(stage.title)
        if said := stage.said_before(stages, found, spec):
            notice(said)
        found[stage.result] = stage.run(stages, found, spec, announce.steps(stage.title))
    return found


def unheard(sentence: str) -> None:
    """Nobody listens."""


def settled_spec(spec: AuditSpec | dict[str, Any] | str | Path, data: pd.DataFrame | str | Path | None) -> AuditSpec:
    """The specification as a model; a path in ``data`` takes the place of its source."""
    if isinstance(spec, str | Path):
        spec = load_spec(spec)
    if not isinstance(data, str | Path):
        return spec if isinstance(spec, AuditSpec) else parse_spec({"source": {"path": "(DataFrame)"}, **spec})
    if isinstance(spec, AuditSpec):
        return spec.model_copy(update={"source": spec.source.model_copy(update={"path": str(data)})})
    return parse_spec({**spec, "source": {**spec.get("source", {}), "path": str(data)}})


class Announcer:
    """Tells the caller which stage runs and how far it is."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def __call__(self, title: str) -> None:
        if self._progress is not None:
            self._progress(title, 0, 1)

    def rows(self, what: str, done: int, total: int | None) -> None:
        """Of a source that is read in batches."""
        if self._progress is not None:
            self._progress(what, done, total or done)

    def steps(self, title: str) -> StepProgress | None:
        progress = self._progress
        return None if progress is None else lambda done, total: progress(title, done, total)


class _Callable(types.ModuleType):
    """This module, which is named like its function: ``from bdt_core import audit`` gives either, and both work."""

    def __call__(self, *args: Any, **kwargs: Any) -> AuditResult:
        return audit(*args, **kwargs)


__signature__ = inspect.signature(audit)  # what help and completion show
sys.modules[__name__].__class__ = _Callable
