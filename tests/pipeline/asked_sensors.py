"""A sensor of an inbox that is asked again and again, as the daemon of Dagster does."""

from __future__ import annotations

from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions


class AskedSensor:
    """The sensor of an audit with an inbox; what it asks for is recorded, and carried out by whoever has it.

    Attributes
    ----------
    runs : list of RunRequest
        All that it asked for, each once.
    skipped : str or None
        Why it asked for nothing, the last time.
    """

    def __init__(self, spec: AuditSpec, instance: dg.DagsterInstance, **how: Any) -> None:
        self.defs = bias_audit_definitions(spec, **how)
        self.spec, self.instance = spec, instance
        self.cursor: str | None = None
        self.runs: list[dg.RunRequest] = []
        self.skipped: str | None = None

    def look(self) -> list[dg.RunRequest]:
        """What it asks for that it has not asked for yet."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.defs.get_repository_def()
        )
        answer: Any = self.defs.resolve_sensor_def(f"{self.spec.name}_inbox")(context)
        if isinstance(answer, dg.SkipReason):
            self.skipped = answer.skip_message
            return []
        for request in answer.dynamic_partitions_requests:
            self.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        self.cursor = answer.cursor
        asked = {run.run_key for run in self.runs}
        new = [request for request in answer.run_requests if request.run_key not in asked]
        self.runs += new
        return new
