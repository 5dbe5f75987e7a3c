"""Every audit in the folder audits/ as Dagster definitions."""

from pathlib import Path

import dagster as dg

from bdt_pipeline import bias_audit_definitions


@dg.definitions
def defs() -> dg.Definitions:
    """A run is one pod, and stays in one process there."""
    audits = sorted((Path(__file__).parent / "audits").glob("*.yaml"))
    return dg.Definitions.merge(
        *(bias_audit_definitions(one) for one in audits),
        dg.Definitions(executor=dg.in_process_executor),
    )
