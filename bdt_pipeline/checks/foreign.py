"""The gate on somebody else's asset: their table is audited in a check, without further assets."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
from upath import UPath

from bdt_core.spec import AuditSpec
from bdt_pipeline.assets.common import say_of
from bdt_pipeline.assets.views import gate_metadata
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.run_log import in_check, log_verdict
from bdt_pipeline.resources.storage import storage_root


def build_bias_gate_checks(
    *,
    asset: dg.AssetKey | str | Sequence[str] | dg.AssetsDefinition,
    spec: AuditSpec,
    name: str = "bias_gate",
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    canary: bool = False,
    storage: str | None = None,
) -> list[dg.AssetChecksDefinition]:
    """Audit an existing asset's table in a blocking check on it.

    Parameters
    ----------
    asset : AssetKey, str, sequence of str or AssetsDefinition
        Its value is the table: a DataFrame (pandas or Polars), an Arrow table, or the path of a file. A text with
        slashes is a key of several parts: ``"warehouse/scored"``.
    spec : AuditSpec
        Says how the table is audited and what the gate lets through. What it says of when and on which data is not
        honoured, because this makes a check and nothing else: ``source`` (give ``{"asset": KEY}``), ``partition_by``,
        ``inbox``, ``schedule``, ``automation``, ``freshness_hours``, ``pool`` and ``history``. For ``notify`` and
        ``notify_from``, see `build_gate_alert_sensor`.
    name : str
        Of the check.
    partitions_def : PartitionsDefinition, optional
        Partitions of the asset, needed where it is given by its key; by default those of the AssetsDefinition. The
        run of a part audits the table of this part only. Without them Dagster would hand over all parts at once, or
        raise ``DagsterExecutionLoadInputError`` where one is missing.
    canary : bool
        Whether the table is that of a new model, which must not be worse than the one in use: its limits are held
        against the newest report of the audit of the specification's name in its storage, as ``bdt gate --baseline``
        does. Where there is none yet, the limits alone decide.
    storage : str, optional
        Folder or URL in which that audit keeps its reports, as `bias_audit_definitions` has it; by default the storage
        directory of the Dagster instance.

    Returns
    -------
    list of AssetChecksDefinition
        One blocking check. A failed limit, of a canary one that is worse for certain, is an ERROR and stops what is
        downstream of the asset; where the data cannot tell, it warns.

    Examples
    --------
    >>> @dg.asset
    ... def predictions(): ...
    >>> spec = AuditSpec(
    ...     name="loans", source={"asset": "predictions"}, bias_variable={"column": "error"}
    ... )
    >>> [one.name for check in build_bias_gate_checks(asset=predictions, spec=spec) for one in check.check_specs]
    ['bias_gate']
    """
    if partitions_def is None and isinstance(asset, dg.AssetsDefinition):
        partitions_def = asset.partitions_def

    @dg.asset_check(
        name=name,
        asset=_key(asset),
        blocking=True,
        partitions_def=partitions_def,
        description=say_of(spec)("Does every limit of the bias audit hold? A failure stops everything downstream."),
    )
    def check(context: dg.AssetCheckExecutionContext, table: Any) -> dg.AssetCheckResult:
        from bdt_core.audit import audit
        from bdt_core.table.sources import as_frame

        with clear_failures():
            report = audit(as_frame(table), spec).document
            verdict = report["verdict"]
            if canary:
                verdict = _beside_the_one_in_use(report, spec, storage_root(context.instance, storage))
        log_verdict(context, spec.name, verdict, say_of(spec))
        return dg.AssetCheckResult(
            passed=verdict["verdict"] in ("pass", "no_limit"),
            severity=dg.AssetCheckSeverity.ERROR if verdict["blocks"] else dg.AssetCheckSeverity.WARN,
            **in_check(verdict["sentence"], gate_metadata(report), say_of(spec)),
        )

    return [check]


def _beside_the_one_in_use(report: dict[str, Any], spec: AuditSpec, root: UPath) -> dict[str, Any]:
    """The verdict of a new model's report: that of the limits, where no model is in use yet."""
    from bdt_core.sentences import with_sentences
    from bdt_core.verdict.baseline import compare_with_baseline
    from bdt_core.verdict.comparable import ComparableReport, baseline_of
    from bdt_pipeline.resources.known_audits import newest_report

    in_use = newest_report(root, spec.name)
    if in_use is None:
        return dict(report["verdict"])
    before = baseline_of(in_use, spec, "The newest report")
    compared = compare_with_baseline(ComparableReport.of(with_sentences(report)), before)
    return {"verdict": compared.verdict, "blocks": compared.blocks, "sentence": compared.sentence}


def _key(asset: dg.AssetKey | str | Sequence[str] | dg.AssetsDefinition) -> dg.AssetKey:
    """The key, written in any of the ways of Dagster and of ``source.asset``."""
    if isinstance(asset, dg.AssetsDefinition):
        return asset.key
    if isinstance(asset, str):
        return dg.AssetKey.from_user_string(asset)
    return asset if isinstance(asset, dg.AssetKey) else dg.AssetKey(list(asset))
