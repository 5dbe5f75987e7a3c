"""Definitions that workspace.yaml loads: every audit in ``defs/``."""

from pathlib import Path

import dagster as dg

from bdt_pipeline.components.neighbours import load_audits


@dg.definitions
def defs() -> dg.Definitions:
    """All audits; a run stays in one process, for a process per asset takes longer than the audit."""
    return dg.Definitions.merge(
        load_audits(Path(__file__).parent),
        dg.Definitions(executor=dg.in_process_executor),
    )
