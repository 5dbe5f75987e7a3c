"""The batch of a gate in the history of its audit, as the asset ``bias_history`` records it."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from bdt_core.errors import SpecError
from bdt_core.findings import AuditFindings
from bdt_core.spec import AuditSpec, HistorySection

if TYPE_CHECKING:
    from upath import UPath

    from bdt_core.fairness.declared_groups import GroupCounts

_FORMS = {"hourly": "%Y-%m-%d-%H:%M"}
_DAY = "%Y-%m-%d"


def record_batch(findings: AuditFindings, spec: AuditSpec, storage: str | None) -> str | None:
    """Keep the counts of an audit's declared groups in the history, where there is a storage for it.

    A verdict is about this table alone: a history that cannot be written changes nothing of it, as the asset
    ``bias_history`` stops no gate in Dagster.

    Parameters
    ----------
    findings : AuditFindings
    spec : AuditSpec
    storage : str, optional
        A folder or a URL. Default: ``BDT_STORAGE``, else the storage of the Dagster instance at ``DAGSTER_HOME``.

    Returns
    -------
    str or None
        What became of it; None where nobody asked for a history and no storage is named.
    """
    from bdt_pipeline.resources.storage import STORAGE_VARIABLE, storage_named

    is_asked_for = storage is not None or spec.history != HistorySection()
    if findings.group_counts is None:
        return "Nothing is recorded in the history: it follows declared groups, and none are." if is_asked_for else None
    try:
        root = storage_named(storage)
        if root is None:
            return (
                f"Nothing is recorded in the history: name the audits' storage with --storage or {STORAGE_VARIABLE}, "
                "or set DAGSTER_HOME."
                if is_asked_for
                else None
            )
        return _recorded(findings.group_counts, findings.test.fingerprint, spec, root)
    except Exception as error:  # file systems elsewhere, and Dagster's instance, raise whatever they like
        return f"The batch is not recorded in the history, and the verdict stands: {error}"


def _recorded(counts: GroupCounts, fingerprint: str, spec: AuditSpec, root: UPath) -> str:
    from bdt_core.history import batch_of
    from bdt_pipeline.resources.history_store import HistoryStore, name_of_content

    now, part = datetime.datetime.now(datetime.UTC), spec.source.partition
    start = None if part is None else start_of_part(spec, part)
    name = name_of_content(fingerprint, counts) if part is None else part
    store = HistoryStore(root, spec.name)
    batch = batch_of(counts, id=name, time=start or now, counted=now if spec.history.labels_after else None)
    changed = store.record(batch, keep_time=start is None)
    was = "is recorded" if changed else "was there already"
    return f"Batch {name} {was} in {store.folder}. All batches together: bdt history {spec.name} --storage {root}"


def start_of_part(spec: AuditSpec, part: str) -> datetime.datetime | None:
    """Where a part begins in time, by its name; None where parts are not made by time.

    Raises
    ------
    SpecError
        It is the name of no such part.

    Examples
    --------
    >>> spec = AuditSpec(
    ...     name="a",
    ...     source={"path": "{partition}.csv"},
    ...     bias_variable={"column": "y"},
    ...     partition_by={"time": "daily", "start": "2026-01-01"},
    ... )
    >>> start_of_part(spec, "2026-01-31").isoformat()
    '2026-01-31T00:00:00+00:00'
    """
    by = spec.partition_by
    if by is None or by.time is None:
        return None
    form = _FORMS.get(by.time, _DAY)
    try:
        return datetime.datetime.strptime(part, form).replace(tzinfo=datetime.UTC)
    except ValueError:
        example = datetime.datetime(2026, 1, 31, 14, tzinfo=datetime.UTC).strftime(form)
        raise SpecError(
            f'the part "{part}" has no place in time: partition_by.time is {by.time}, so --partition names its start, '
            f"such as {example}."
        ) from None
