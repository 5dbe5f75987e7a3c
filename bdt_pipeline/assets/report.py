"""The asset at the end: the report, with the gate's verdict in it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg
from upath import UPath

from bdt_core.spec import AuditSpec
from bdt_core.table.environment import expanded
from bdt_pipeline.assets import views
from bdt_pipeline.assets.bundle import write_bundle
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.looks import look_of_run
from bdt_pipeline.assets.results import assets_of
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.run_log import log
from bdt_pipeline.resources.served_reports import address_of_reports, page_in
from bdt_pipeline.resources.storage import storage_root, write_folder

_OUTPUT = dg.Field(
    dg.Noneable(str),
    default_value=None,
    is_required=False,
    description="A new folder (or URL) for the report files. Default: a folder of the run's own in the storage.",
)
_FORM = dg.Permissive({"output": _OUTPUT})  # type: ignore[no-untyped-call]
"""Settings are let in, so that they can be answered with where they stand."""


def bias_report(audit: AuditAssets) -> dg.AssetsDefinition:
    """The report as data, and its four printed forms in a folder of the run's own."""
    taken = assets_of(results_in_report(audit), audit.asked)

    @audit.asset("bias_report", takes=list(taken.values()), **as_report(audit))
    def asset(context: dg.AssetExecutionContext, **inputs: Any) -> dg.MaterializeResult[Any]:
        with clear_failures():
            spec = audit.spec_of_run(context, *inputs)
            return reported(context, audit, spec, {result: inputs[name] for result, name in taken.items()})

    return asset


def results_in_report(audit: AuditAssets) -> list[str]:
    """The results that a report is made of."""
    results = [one.result for one in audit.asked if one.result != "group_counts"]  # the metrics hold what it says
    parts = ["test"] if audit.spec.clustering is not None else ["test", "train"]  # clusters say what of it is told
    return [*parts, *results]


def as_report(audit: AuditAssets) -> dict[str, Any]:
    """What Dagster knows of the asset, whatever it takes."""
    hours = audit.spec.freshness_hours
    return {
        "description": (
            "Everything that was found, with the gate's verdict, as JSON, HTML, PDF and Markdown. What must not happen "
            "when the gate fails goes downstream of this asset."
        ),
        "kinds": {"html", "json"},
        "made_by": tuple(AuditSpec.model_fields),
        "config_schema": _FORM,
        "freshness_policy": None if hours is None else dg.FreshnessPolicy.time_window(timedelta(hours=hours)),
    }


def reported(
    context: dg.AssetExecutionContext, audit: AuditAssets, spec: AuditSpec, results: Mapping[str, Any]
) -> dg.MaterializeResult[Any]:
    """The report on some results, whose files are written."""
    from bdt_core.findings import AuditFindings  # not when definitions load
    from bdt_core.report.printed import printed_once
    from bdt_core.report.write import report_bytes

    output = context.op_execution_context.op_config["output"]
    findings = AuditFindings.of(results)
    folder = UPath(output) if output else _own_folder(context, audit)
    served = None if output else _served(context, audit, folder, spec.report_url)
    with look_of_run(context, audit, spec) as look:
        document = audit.stages.build_document(findings, spec)
        document = look.end(document, findings.test, report_bytes)
    lacks: list[str] = []
    with printed_once(document):
        files = write_folder(folder, lambda local: audit.stages.write_reports(document, local, lacks.append))
        shown = views.report(document, files, served, lacks)
    for sentence in lacks:
        log(context, sentence, "warning")
    if audit.bundle is not None:
        write_bundle(context, audit, audit.bundle.key, files, storage_root(context.instance, audit.storage))
    return audit.made(document, shown, spec)


def _own_folder(context: dg.AssetExecutionContext, audit: AuditAssets) -> UPath:
    """A folder that no other run has; a retry within the run gets its own too."""
    retry = context.op_execution_context.retry_number
    name = context.run.run_id + (f"-{retry}" if retry else "")
    return storage_root(context.instance, audit.storage) / audit.spec.name / "reports" / name


def _served(context: dg.AssetExecutionContext, audit: AuditAssets, folder: UPath, report_url: str | None) -> str | None:
    """The address of the page in a folder of the storage; None where nobody serves that."""
    address = address_of_reports() if report_url is None else expanded(report_url, "report_url").rstrip("/")
    return None if address is None else f"{address}/{page_in(storage_root(context.instance, audit.storage), folder)}"
