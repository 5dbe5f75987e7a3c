"""The sensor that launches somebody's job where drift is certain."""

from __future__ import annotations

from typing import NamedTuple

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.checks.history import DRIFT

_EVERY = 30
_LOOKED_BACK_ON = 1_000  # runs; one that has drifted for longer is no news


def build_retraining_sensor(audit: AuditAssets) -> dg.SensorDefinition | None:
    """The sensor of the specification's ``history.retrain``, running from the start; None without it.

    It launches the job once when the check ``no_drift`` fails, which it does only where chance is ruled out, and not
    again until a batch without drift has been followed by one with it. The key of the run is that of the run in which
    the drift was seen first: however often the sensor looks, and whatever it forgets, there is one run. Its tags say
    which audit and which part of the data. The job has to be among the definitions of the code location.
    """
    job = audit.spec.history.retrain
    if job is None:
        return None
    check = dg.AssetCheckKey(audit.key_of_checks("bias_history"), DRIFT)

    @dg.sensor(
        name=f"{audit.spec.name}_retraining",
        job_name=job,
        minimum_interval_seconds=_EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Launches {job} once when drift of {audit.spec.name} is certain.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        first = _first_of_drift(context.instance, check)
        if first is None:
            return dg.SkipReason("The latest batch does not drift.")
        tags = {"bdt/audit": audit.spec.name, "bdt/drift_seen_by": first.run_id}
        if first.partition is not None:
            tags["bdt/part"] = first.partition
        return dg.RunRequest(run_key=f"drift seen by {first.run_id}", tags=tags)

    return sensor


class _Seen(NamedTuple):
    """By which run drift was seen, and in which part of the data."""

    run_id: str
    partition: str | None


def _first_of_drift(instance: dg.DagsterInstance, check: dg.AssetCheckKey) -> _Seen | None:
    """Where the drift of the latest batch was seen first; None where that does not drift."""
    first = None
    for record in instance.event_log_storage.get_asset_check_execution_history(check, limit=_LOOKED_BACK_ON):
        if record.status.value == "SUCCEEDED":
            break
        if record.status.value == "FAILED":  # and not one that is planned, or broke off
            first = _Seen(record.run_id, record.partition)
    return first
