"""``bdt demo``: the audit of a case through Dagster, in this process."""

from __future__ import annotations

import logging
import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from dagster._core.instance.ref import InstanceRef

from bdt_core.errors import BDTError, SpecError, did_you_mean
from bdt_core.spec import AuditSpec, load_spec, parse_spec
from bdt_core.stages import READING, SPLITTING, STAGES, VALIDATING, WRITING
from bdt_pipeline.commands.console import progress_bar, report_folder, show_result, show_stage
from bdt_pipeline.components.bias_audit import bias_audit_definitions
from bdt_pipeline.resources.config import reason_of

_SILENT = {"telemetry": {"enabled": False}}
"""Whatever the instance says: the demonstration tells Dagster's makers nothing."""
CASES = {"compas": "defs/compas/defs.yaml", "grants": "demos/grants.yaml"}
"""Specifications of the cases; ``demos/CASE.LANGUAGE.yaml`` has the words of another language."""
_TITLES = {
    "raw_data": READING,
    "raw_data_quality": "check the table (Great Expectations)",
    "validated_data": VALIDATING,
    "validated_data_quality": "check the audited rows",
    "train_and_test_data": SPLITTING,
    **{one.asset: one.title for one in STAGES},
    "bias_report": WRITING,
    "bias_report_bias_gate": "hold it against the gate",
}
"""What is said while a step runs, by its asset or check."""


def run_demo(case: str, language: str | None, out: Path | None, *, verbose: bool) -> None:
    """Run the demonstration audit of a case and show what it found.

    The run is recorded in the Dagster instance of ``DAGSTER_HOME`` when that is set, so that the UI shows it; else
    in one that lives as long as the run.
    """
    spec = demo_spec(case, language)
    with report_folder(out, spec.name) as folder, _instance() as instance:
        document = _execute(spec, folder, instance, verbose=verbose)
        files = sorted(folder.iterdir())
    show_result(document, files)


def demo_spec(case: str, language: str | None = None) -> AuditSpec:
    """The specification of a case, told in a language; in the case's own where none is given.

    Raises
    ------
    SpecError
        There is no such case, or no such language.
    """
    if case not in CASES:
        raise SpecError(f'There is no case "{case}". {did_you_mean(case, CASES)}')
    package = resources.files("bdt_pipeline")
    with resources.as_file(package.joinpath(CASES[case])) as file:
        spec = load_spec(file)
    if language in (None, spec.language):
        return spec
    translated = package / "demos" / f"{case}.{language}.yaml"
    said = yaml.safe_load(translated.read_text(encoding="utf-8")) if translated.is_file() else {}
    return parse_spec(spec.to_dict() | said | {"language": language}, f"bdt demo --language {language}")


def _execute(spec: AuditSpec, folder: Path, instance: dg.DagsterInstance, *, verbose: bool) -> dict[str, Any]:
    """Run the audit's job and return the report's document."""
    if not verbose:
        warnings.simplefilter("ignore", dg.BetaWarning)
        logging.getLogger("dagster").setLevel(logging.CRITICAL)
    job = bias_audit_definitions(spec).resolve_job_def(f"{spec.name}_audit")
    run_id = str(uuid.uuid4())
    report = f"{spec.name}__bias_report"
    with progress_bar(len(job.nodes)) as progress:
        begun: list[str] = []

        def listen(entry: dg.EventLogEntry) -> None:
            event = entry.dagster_event
            if event is not None and event.is_step_start and event.step_key is not None:
                begun.append(event.step_key)
                step = event.step_key.removeprefix(f"{spec.name}__")
                show_stage(progress, _TITLES.get(step, step), len(begun) - 1)

        instance.add_event_listener(run_id, listen)
        result = job.execute_in_process(
            instance=instance,
            raise_on_error=False,
            run_id=run_id,
            run_config={
                "ops": {report: {"config": {"output": str(folder.resolve())}}},
                "loggers": {"console": {"config": {"log_level": "DEBUG" if verbose else "CRITICAL"}}},
            },
        )
    broken = [one for one in result.all_events if one.is_step_failure and one.step_key != f"{report}_bias_gate"]
    if broken:
        failure: Any = broken[0].step_failure_data
        reason = reason_of(failure) or str((failure.error.cause or failure.error).message).strip()
        raise BDTError(f"{broken[0].step_key} failed: {reason}")
    document: dict[str, Any] = result.output_for_node(report)
    return document


@contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    home = os.environ.get("DAGSTER_HOME")
    if home:
        ref = InstanceRef.from_dir(str(Path(home).expanduser()), overrides=_SILENT)
        with dg.DagsterInstance.from_ref(ref) as instance:
            yield instance
        return
    with tempfile.TemporaryDirectory() as folder, dg.DagsterInstance.ephemeral(folder, settings=_SILENT) as instance:
        yield instance
