"""Two models, or two versions of one: what has become better or worse, and for whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from bdt_core.auditing import Announcer, Progress, run_stages, settled_spec, unheard
from bdt_core.changes import Changes
from bdt_core.changes.comparing import ComparedTable, compare_tables
from bdt_core.changes.reported import compare_reported_groups
from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.stages import READING, Stages, stages_for
from bdt_core.table.frames import AnyTable, handed_over

ROW_NUMBER = "(row number)"
"""Column by which rows of one table are found again, where no key names persons."""
AnySpec = AuditSpec | dict[str, Any] | str | Path


def compare(
    a: AnySpec,
    b: AnySpec,
    *,
    data_a: AnyTable | None = None,
    data_b: AnyTable | None = None,
    key: str | None = None,
    max_worse: float | None = None,
    stages: Stages | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> Changes:
    """Say for whom B is better or worse than A: for everybody, for each declared group, and for each finding of A.

    People who are in both tables are compared with themselves, which makes intervals a good deal shorter: by
    ``split.key``, by `key`, or row by row where both specifications name the same table. Else people are different
    ones.

    Parameters
    ----------
    a, b : AuditSpec, dict or path of a YAML file
        What is audited: A as it was, B as it is now. Declared groups, alpha and the smallest group are those of A;
        A's table is searched for who is worse off, and these people are followed.
    data_a, data_b : DataFrame, Arrow table or dict of columns, optional
        The tables, in place of the specifications' sources. Without `data_b` both are in `data_a`.
    key : str, optional
        Column that names the person in both tables; takes the place of ``split.key``.
    max_worse : float, optional
        How much worse anybody may be off in B, in units of the bias variable, above 0 or 0.
    stages : Stages, optional
        Replaces stages of the method, as in `bdt_core.audit`.
    progress : callable, optional
        Called with (what is done, steps done, steps).
    notice : callable, optional
        Called with a sentence for whoever waits.

    Returns
    -------
    Changes
        Differences are B less A, in units of the bias variable.

    Raises
    ------
    SpecError, SourceError, DataError
        What does not fit together, and how to mend it.

    Examples
    --------
    >>> spec = {
    ...     "name": "compas",
    ...     "source": {"path": "demo:compas"},
    ...     "bias_variable": {"derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"},
    ...     "features": {"include": ["priors_count"]},
    ...     "protected": ["sex"],
    ...     "worst_groups": None, "slices": None, "clustering": {"max_iter": 1, "stability": 0, "n_init": 1},
    ... }
    >>> found = compare(spec, spec)
    >>> found.people.paired_by, found.overall.difference, found.says
    ('row', 0.0, 'cannot_tell')
    """
    _check_limit(max_worse)
    of_a, of_b = settled_spec(a, None), settled_spec(b, None)
    _check_fit(of_a, of_b)
    frame_a = None if data_a is None else handed_over(data_a)
    frames = frame_a, frame_a if data_b is None or data_b is data_a else handed_over(data_b)
    one_table = frames[0] is frames[1] and (frames[0] is not None or of_a.source == of_b.source)
    if one_table:
        of_a, of_b = _without_measure_of(of_b, of_a), _without_measure_of(of_a, of_b)
    stages, announce, notice = stages or Stages(), Announcer(progress), notice or unheard
    announce(READING)
    by_row = one_table and key is None and of_a.split.key is None and of_b.split.key is None
    if by_row:
        frame = (stages.read_table(of_a.source) if frames[0] is None else frames[0]).reset_index(drop=True)
        _refuse_unknown_measures(frame, of_a, of_b)
        frame = frame.assign(**{ROW_NUMBER: range(len(frame))})
        frames = frame, frame
    if key is not None:
        of_a, of_b = _with_key(of_a, key), _with_key(of_b, key)
    read_a, read_b = (_with_key(one, ROW_NUMBER) if by_row else one for one in (of_a, of_b))
    name_a, name_b = names_of(of_a, of_b)
    with (
        stages.open_table(frames[0], read_a, announce.rows, notice) as opened,
        stages.open_table(frames[1], read_b, announce.rows, notice) as other,
    ):
        results = run_stages(stages_for("ranked", read_a), opened, read_a, stages, announce, notice)
        changes = compare_tables(
            ComparedTable(of_a, name_a, of_a.source.described),
            ComparedTable(of_b, name_b, of_b.source.described),
            (opened.table, other.table),
            results["test"],
            results["ranked"].findings,
            rows_are_paired=by_row,
            max_worse=max_worse,
        )
    if key is not None and changes.people.paired_by is None:
        raise DataError(
            f'Nobody is in both tables by the column "{key}". Name the column whose values are the same for a person '
            "in both, or leave the key out to compare different people."
        )
    return changes


def compare_reports(a: dict[str, Any], b: dict[str, Any], *, max_worse: float | None = None) -> Changes:
    """Say for which declared groups B is better or worse than A, from two reports; people are taken to be others.

    Parameters
    ----------
    a, b : dict
        Reports as data, fresh or read back from report.json.
    max_worse : float, optional
        As in `compare`.

    Raises
    ------
    SpecError, DataError
        What does not fit together, and how to mend it.
    """
    _check_limit(max_worse)
    for which, document in (("A", a), ("B", b)):
        if document.get("publication") is not None:
            raise DataError(
                f"{which} is a form for publication, whose numbers are rounded. Name the report.json that the audit "
                "wrote without --for publication."
            )
    specs = parse_spec(a["spec"], "The report of A"), parse_spec(b["spec"], "The report of B")
    _check_fit(*specs)
    names = names_of(*specs)
    if names == ("A", "B") and a["data"]["source"] != b["data"]["source"]:
        names = a["data"]["source"], b["data"]["source"]
    of_a, of_b = (
        ComparedTable(spec, name, document["data"]["source"])
        for spec, name, document in zip(specs, names, (a, b), strict=True)
    )
    return compare_reported_groups(of_a, of_b, (a, b), max_worse=max_worse)


def names_of(a: AuditSpec, b: AuditSpec) -> tuple[str, str]:
    """What A and B are called: by the first thing in which they differ.

    Examples
    --------
    >>> one = AuditSpec(name="loans", source={"path": "a.csv"}, bias_variable={"column": "y"})
    >>> names_of(one, one), names_of(one, one.model_copy(update={"name": "loans_2"}))
    (('A', 'B'), ('loans', 'loans_2'))
    """
    for name in (_version, _title, _measure, lambda spec: spec.source.described):
        first, other = name(a), name(b)
        if first and other and first != other:
            return first, other
    return "A", "B"


def _version(spec: AuditSpec) -> str | None:
    about = spec.about
    return None if about is None or about.version is None else f"{_title(spec)} {about.version}"


def _title(spec: AuditSpec) -> str:
    return spec.title or spec.name


def _measure(spec: AuditSpec) -> str:
    return str(spec.bias_variable.column or spec.bias_variable.prediction)


def _check_limit(max_worse: float | None) -> None:
    if max_worse is not None and not max_worse >= 0.0:
        raise SpecError(f"How much worse anybody may be off is 0 or more; found {max_worse:g}.")


def _check_fit(a: AuditSpec, b: AuditSpec) -> None:
    """Columns may have other names, as those of a new model do; what is measured, and which way is worse, must be it.

    Raises
    ------
    SpecError
    """
    for key, of_a, of_b in (
        ("bias_variable.derive", a.bias_variable.derive, b.bias_variable.derive),
        ("bias_variable.quantile", a.bias_variable.quantile, b.bias_variable.quantile),
        ("bias_variable.k", a.bias_variable.k, b.bias_variable.k),
        ("bias_variable.query", *("given" if one.bias_variable.query else "not given" for one in (a, b))),
        ("bias_variable.better", a.bias_variable.better, b.bias_variable.better),
        ("favourable", a.favourable_outcome, b.favourable_outcome),
    ):
        if of_a != of_b:
            raise SpecError(
                f"A and B do not measure the same: {key} is {of_a} in A and {of_b} in B. Write the same in both."
            )


def _refuse_unknown_measures(frame: pd.DataFrame, a: AuditSpec, b: AuditSpec) -> None:
    for which, spec in (("A", a), ("B", b)):
        name = _measure(spec)
        if name not in map(str, frame.columns):
            raise DataError(f'There is no column "{name}", which {which} measures. {did_you_mean(name, frame.columns)}')


def _without_measure_of(other: AuditSpec, spec: AuditSpec) -> AuditSpec:
    """In one table, what the other one measures is no feature of people."""
    bias, own = other.bias_variable, spec.bias_variable
    used = {
        own.column,
        own.label,
        own.prediction,
        own.query,
        *spec.protected,
        *(spec.features.include or ()),
        *spec.carried,
    }
    more = [one for one in (bias.column, bias.prediction, bias.query) if one is not None and one not in used]
    excluded = [*spec.features.exclude, *(one for one in more if one not in spec.features.exclude)]
    return spec.model_copy(update={"features": spec.features.model_copy(update={"exclude": excluded})})


def _with_key(spec: AuditSpec, key: str) -> AuditSpec:
    return spec.model_copy(update={"split": spec.split.model_copy(update={"key": key})})
