"""The gate on somebody else's asset: their table is audited in a check, without further assets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline.assets.config import clear_failures
from bdt_pipeline.assets.views import gate_metadata


def build_bias_gate_checks(
    *, asset: dg.AssetKey | str | Sequence[str] | dg.AssetsDefinition, spec: AuditSpec, name: str = "bias_gate"
) -> list[dg.AssetChecksDefinition]:
    """Audit an existing asset's table in a blocking check on it.

    Parameters
    ----------
    asset : AssetKey, str, sequence of str or AssetsDefinition
        Its value is the table: a DataFrame (pandas or Polars), an Arrow table, or the path of a file.
    spec : AuditSpec
        Its ``source`` says nothing here: ``{"asset": KEY}``.
    name : str
        Of the check.

    Returns
    -------
    list of AssetChecksDefinition
        One blocking check. A failed limit is an ERROR and stops what is downstream of the asset; where the data
        cannot tell, it warns.

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

    @dg.asset_check(
        name=name,
        asset=asset if isinstance(asset, dg.AssetsDefinition | dg.AssetKey | str) else dg.AssetKey(list(asset)),
        blocking=True,
        description="Does every limit of the bias audit hold? A failure stops everything downstream.",
    )
    def check(table: Any) -> dg.AssetCheckResult:
        from bdt_core.audit import audit
        from bdt_core.table.sources import as_frame

        with clear_failures():
            report = audit(as_frame(table), spec).document
        verdict = report["verdict"]
        return dg.AssetCheckResult(
            passed=bool(verdict["verdict"] == "pass"),
            severity=dg.AssetCheckSeverity.ERROR if verdict["blocks"] else dg.AssetCheckSeverity.WARN,
            description=verdict["sentence"],
            metadata=gate_metadata(report),
        )

    return [check]
