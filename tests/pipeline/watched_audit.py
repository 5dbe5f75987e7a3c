"""An audit with its alert sensor, and a real web server that is told."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Sequence
from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
STRICT = [{"max_difference": 0.02}]
LENIENT = {"gate": [{"max_difference": 1.0}]}
PATIENTLY = "cto=600&rto=600"
"""Seconds that a service may take to answer."""
RAW, REPORT = ["raw_data"], ["bias_report"]
"""What a run makes where the others' results are not asked for, or stay as they are."""


class WebHook:
    """A server that keeps what it is sent; it can be told to refuse."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.status = 200
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if hook.status == 200:
                    hook.received.append(json.loads(body))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"json://127.0.0.1:{self.server.server_port}/hook?{PATIENTLY}"


class Watched:
    """An audit with its alert sensor, and whatever else stands in the project."""

    def __init__(
        self,
        spec: AuditSpec,
        instance: dg.DagsterInstance,
        *more: dg.Definitions,
        defs: dg.Definitions | None = None,
        sensor: str = "loans_alerts",
    ) -> None:
        self.defs = defs or dg.Definitions.merge(bias_audit_definitions(spec), *more)
        self.instance, self.spec, self.sensor = instance, spec, sensor
        self.cursor: str | None = None
        self.look()  # what happened before the first look is not told

    def look(self) -> None:
        sensor = self.defs.resolve_sensor_def(self.sensor)
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.defs.get_repository_def()
        )
        found = sensor(context)
        assert isinstance(found, dg.SensorResult)
        self.cursor = found.cursor

    def audit(
        self, config: dict[str, Any] | None = None, part: str | None = None, only: Sequence[str] | None = None
    ) -> None:
        """A run of the audit; ``only`` makes these assets anew, from what is stored of the others."""
        job = self.defs.resolve_job_def(f"{self.spec.name}_audit")
        run_config = {**QUIET, "resources": {f"{self.spec.name}_settings": {"config": config or {}}}}
        job.execute_in_process(
            instance=self.instance,
            partition_key=part,
            raise_on_error=False,
            run_config=run_config,
            asset_selection=None if only is None else [dg.AssetKey([self.spec.name, one]) for one in only],
        )

    def run(self, job: dg.JobDefinition, **more: Any) -> dg.ExecuteInProcessResult:
        """A run of another job, as the UI or the project starts it."""
        return job.execute_in_process(instance=self.instance, raise_on_error=False, run_config=QUIET, **more)
