"""The run that audits files which wait in an inbox, one after the other in one process.

Each file has a run of its own, as if nobody else had waited: its part, checks, gate, report and log. What they share is
the process, whose start costs more than a small file.

Dagster has runs over several parts at once, too. There a step fails for all parts or for none, and a check has one
result for all of them, so that one bad file would shut the gate on the others.
"""

import gc
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.resources.run_log import log

FILE, STATE = "bdt/file", "bdt/state"
"""Tags of a file's run: a file is audited once in each state."""
_AMONG, _REST_OF = "bdt/waiting_files", "bdt/rest_of"
"""Tags: the run in whose process a file is audited, and the dead run whose files a run takes up."""
_PARENT, _ROOT = "dagster/parent_run_id", "dagster/root_run_id"
_NEVER_RETRIED = {"dagster/max_retries": "0"}
"""Dagster would try a dead run again but once, however many files it had left; here a file is tried twice."""
_LOOKED_BACK = 20
_BROKE_OFF = "The process that audited this file and others has ended."


def name_of_job(audit: AuditAssets) -> str:
    """Name of the job that audits waiting files."""
    return f"{audit.spec.name}_waiting_files"


def cannot_share(audit: AuditAssets, instance: dg.DagsterInstance) -> str | None:
    """Why files cannot share a process although the specification lets them; None where they can, or need not."""
    inbox = audit.spec.inbox
    if inbox is None or inbox.at_once == 1 or not instance.run_launcher.supports_check_run_worker_health:
        return None
    return (
        f"inbox.at_once is {inbox.at_once}, and Dagster asks here for the process or container of each run, as on "
        "Kubernetes: it would take a file's run within another one for dead. Set inbox.at_once to 1."
    )


def build_waiting_files_job(audit: AuditAssets) -> dg.JobDefinition | None:
    """The job that audits waiting files; None where each file has a process of its own."""
    inbox = audit.spec.inbox
    if inbox is None or inbox.at_once == 1:
        return None

    @dg.op(
        name=audit.op("waiting_files"),
        config_schema={"files": dg.Field(dict, description="States of the files, by name.")},
        description="Audits each file in a run of its own, within this process.",
    )
    def audit_each(context: dg.OpExecutionContext) -> None:
        from bdt_pipeline.resources.kept_records import kept_open  # what Dagster records with takes a second to import

        with kept_open(context.instance) as instance, _loaded_passed_over() as all_is_loaded:
            for name, state in context.op_config["files"].items():
                _refuse_if_ended(context)
                before = _runs_of(instance, audit, name, state)
                if any(one.is_finished or not _is_dead(context, one) for one in before[:1]) or len(before) > 1:
                    continue
                for broken in before:
                    instance.report_run_failed(broken, _BROKE_OFF)
                run = _run_of(context, instance, audit, name, state, before)
                job = context.repository_def.get_job(audit.job)
                ended = execute_run(InMemoryJob(job), run, instance)
                all_is_loaded()
                log(context, f"{name}: {'audited' if ended.success else 'failed'} in run {run.run_id}.")

    @dg.job(
        name=name_of_job(audit),
        executor_def=dg.in_process_executor,
        description=f"Audits files that wait in {inbox.folder}, one after the other in one process.",
    )
    def waiting_files() -> None:
        audit_each()

    return waiting_files


def request(audit: AuditAssets, files: Mapping[str, str], rest_of: str | None = None) -> dg.RunRequest:
    """The request of a run that audits files, whose states it is given by name."""
    known = json.dumps([rest_of, files])
    return dg.RunRequest(
        run_key=hashlib.sha256(known.encode()).hexdigest(),  # the same for the same files, and short
        job_name=name_of_job(audit),
        run_config={"ops": {audit.op("waiting_files"): {"config": {"files": dict(files)}}}},
        tags={**_NEVER_RETRIED, **({} if rest_of is None else {_REST_OF: rest_of})},
    )


def files_of(audit: AuditAssets, run: dg.DagsterRun | dg.RunRequest) -> dict[str, str]:
    """States by name of the files that a run audits."""
    config: Any = run.run_config
    files: dict[str, str] = config["ops"][audit.op("waiting_files")]["config"]["files"]
    return files


def taken_up(instance: dg.DagsterInstance, audit: AuditAssets, present: Mapping[str, str]) -> Iterator[dg.RunRequest]:
    """Requests for the files of runs whose process died; those that were audited are passed over by the new run.

    A run that took up others' files and died before it began with one is not taken up: it would die again.

    Parameters
    ----------
    instance : DagsterInstance
    audit : AuditAssets
    present : mapping
        States by name of the files in the inbox.
    """
    job, failed = name_of_job(audit), [dg.DagsterRunStatus.FAILURE]
    for dead in instance.get_runs(dg.RunsFilter(job_name=job, statuses=failed), limit=_LOOKED_BACK):
        if instance.get_runs(dg.RunsFilter(job_name=job, tags={_REST_OF: dead.run_id}), limit=1):
            continue
        begun = instance.get_runs(dg.RunsFilter(job_name=audit.job, tags={_AMONG: dead.run_id}), limit=1)
        files = {name: state for name, state in files_of(audit, dead).items() if present.get(name) == state}
        if files and (begun or _REST_OF not in dead.tags):
            yield request(audit, files, dead.run_id)


@contextmanager
def _loaded_passed_over() -> Iterator[Callable[[], None]]:
    """Once what it gives is called, Python no longer looks through what is loaded for what may go.

    That is a million objects by then: to look through them takes longer than to audit a small file.
    """
    begun: list[None] = []

    def begin() -> None:
        if not begun:
            gc.freeze()
            begun.append(None)

    try:
        yield begin
    finally:
        gc.unfreeze()


def _runs_of(instance: dg.DagsterInstance, audit: AuditAssets, name: str, state: str) -> list[dg.DagsterRun]:
    """The runs of a file in a state, the newest first."""
    return list(instance.get_runs(dg.RunsFilter(job_name=audit.job, tags={FILE: name, STATE: state})))


def _is_dead(context: dg.OpExecutionContext, run: dg.DagsterRun) -> bool:
    """Whether the process of a file's run is another one, and gone."""
    others = context.instance.get_run_by_id(run.tags[_AMONG])
    return others is None or others.is_finished or others.run_id == context.run_id


def _refuse_if_ended(context: dg.OpExecutionContext) -> None:
    """Go no further where somebody has ended the run, or taken it for dead."""
    now = context.instance.get_run_by_id(context.run_id)
    if now is None or now.status is not dg.DagsterRunStatus.STARTED:
        raise dg.Failure("The run was ended; files that it had not begun stay in the inbox.", allow_retries=False)


def _run_of(
    context: dg.OpExecutionContext,
    instance: dg.DagsterInstance,
    audit: AuditAssets,
    name: str,
    state: str,
    before: Sequence[dg.DagsterRun],
) -> dg.DagsterRun:
    """The run of a file: in the UI, and where somebody launches it again, like any other."""
    job = context.repository_def.get_job(audit.job)
    origin, code = context.run.remote_job_origin, context.run.job_code_origin
    tags = {"dagster/partition": name, FILE: name, STATE: state, _AMONG: context.run_id}
    first = before[0].run_id if before else None
    again = {} if first is None else {_PARENT: first, _ROOT: first}
    return instance.create_run_for_job(
        job,
        tags={**job.run_tags, **_NEVER_RETRIED, **tags, **again},
        root_run_id=first,
        parent_run_id=first,
        remote_job_origin=None if origin is None else type(origin)(origin.repository_origin, job.name),
        job_code_origin=None if code is None else type(code)(job.name, code.repository_origin),
    )
