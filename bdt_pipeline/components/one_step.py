"""The audit as one asset, the report, which one step makes with all of its checks.

It does what the chain of assets does, by the same functions and in the same order. The results pass from hand to hand
there, and are not stored: for a small audit, storing them and starting a step for each takes longer than the method.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.history import followed
from bdt_pipeline.assets.large_tables import source_rows
from bdt_pipeline.assets.report import as_report, reported, results_in_report
from bdt_pipeline.assets.results import carried_out
from bdt_pipeline.assets.tables import read_source, upstream, validated
from bdt_pipeline.checks.gate import gate_spec, judged_gate
from bdt_pipeline.checks.history import history_specs, judged_history
from bdt_pipeline.checks.limits import judged_limits, limit_specs
from bdt_pipeline.checks.quality import quality_specs, raw_quality, validated_quality
from bdt_pipeline.resources.config import clear_failures


def report_in_one_step(audit: AuditAssets) -> dg.AssetsDefinition:
    """The report with every check of the audit.

    Where a blocking check on the quality of the table fails, the step ends there, as the chain does.
    """
    history = history_specs(audit) if audit.has_groups else []

    @audit.asset(
        "bias_report",
        takes=upstream(audit),
        check_specs=[*quality_specs(audit), *limit_specs(audit), *history, gate_spec(audit)],
        output_required=False,
        pool=audit.spec.pool,
        **as_report(audit),
    )
    def asset(
        context: dg.AssetExecutionContext, **inputs: Any
    ) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
        with clear_failures(audit.quarantine(context)):
            spec = audit.spec_of_run(context)
            raw, _ = read_source(context, audit, spec, inputs)
        may_go_on = True
        for check in raw_quality(context, audit, spec, raw):
            may_go_on = may_go_on and (check.passed or check.severity is not dg.AssetCheckSeverity.ERROR)
            yield check
        if not may_go_on:
            return
        with clear_failures(audit.quarantine(context)):
            table = validated(context, audit, spec, raw)
        yield from validated_quality(context, audit, spec, table)
        with clear_failures():
            train, test = audit.stages.split_rows(table, spec.split)
            of_part = spec.model_copy(update={"source": table.spec.source})
            results = {"table": table, "train": train, "test": test}
            if any("source" in stage.takes for stage in audit.asked):
                results["source"] = source_rows(raw, table, of_part)
            for stage in audit.asked:
                results[stage.result] = carried_out(context, audit, stage, results, of_part)
        yield from judged_limits(context, audit, spec, results)
        if audit.has_groups:
            with clear_failures():
                counted, *_ = followed(context, audit, spec, results["group_counts"], table)
            yield from judged_history(context, audit, counted)
        with clear_failures():
            report = reported(context, audit, spec, {result: results[result] for result in results_in_report(audit)})
        yield report
        yield judged_gate(context, audit, report.value)

    return asset
