"""The asset that shows all audits of an instance: one page, and the same as metrics."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.known_audits import known_audits
from bdt_pipeline.resources.run_log import log
from bdt_pipeline.resources.served_reports import address_of_reports
from bdt_pipeline.resources.storage import make_folder, replacing, storage_root


def build_overview_asset(
    *,
    name: str = "bias_audits",
    deps: Sequence[dg.AssetKey | dg.AssetsDefinition | str] = (),
    storage: str | None = None,
    language: str = "en",
) -> dg.AssetsDefinition:
    """An asset that shows all audits of an instance: last look, answer, what stands open, when the next look is due.

    Parameters
    ----------
    name : str
        Of the asset, and of the folder in the storage into which it writes ``overview.html`` and ``overview.prom``,
        metrics in the OpenMetrics format; each run replaces them.
    deps : sequence of AssetKey, AssetsDefinition or str
        What it comes after, such as the audits' reports. Their gates do not hold it up if they are not named.
    storage : str, optional
        As that of the audits.
    language : str
        Of the page: en or nl.

    Returns
    -------
    AssetsDefinition

    Examples
    --------
    >>> asset = build_overview_asset(deps=[dg.AssetKey(["loans", "bias_report"])])
    >>> asset.key.to_user_string()
    'bias_audits'
    """

    @dg.asset(
        name=name,
        deps=deps,
        kinds={"html"},
        description="All audits of this instance: last look, answer, what stands open, and when the next look is due.",
    )
    def asset(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        from bdt_core.report.openmetrics import openmetrics  # not when definitions load
        from bdt_core.report.overview import overview_as_page

        with clear_failures():
            root = storage_root(context.instance, storage)
            audits, remarks = known_audits(root)
            page = overview_as_page(audits, datetime.now(UTC), language, address_of_reports())
            make_folder(root / name)
            files = {
                "page": (root / name / "overview.html", page.html()),
                "metrics": (root / name / "overview.prom", openmetrics(audits)),
            }
            for path, content in files.values():
                with replacing(path) as file:
                    file.write(content.encode())
        for remark in remarks:
            log(context, remark, "warning")
        verdicts = {audit.name: audit.verdict for audit in audits}
        shown: dict[str, Any] = {what: dg.MetadataValue.path(str(path)) for what, (path, _) in files.items()}
        return dg.MaterializeResult(metadata={**shown, "audits": len(audits), "answers": verdicts})

    return asset
