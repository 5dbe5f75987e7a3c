"""Dagster's own telemetry: said where audits are checked, or loaded for its web server, while nobody decided on it.

Web server and daemon are processes of Dagster that import nothing of ours, so only dagster.yaml can switch it off. The
variable DAGSTER_DISABLE_TELEMETRY keeps them from sending, but not their pages from loading a script of its makers.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from pathlib import Path
from typing import Any

import click
from dagster._core.instance.ref import InstanceRef
from dagster._serdes import deserialize_value

from bdt_pipeline.components.neighbours import CHECKED

TELEMETRY_IS_ON = (
    "Dagster's telemetry is on, since nothing here says otherwise: its web server and daemon send usage statistics to "
    "Dagster's makers, and its pages load a script of theirs. To have nothing leave this machine, write the line "
    '"telemetry: {enabled: false}" into dagster.yaml in DAGSTER_HOME or, where that is not set, in the folder in which '
    'Dagster is started, and start it again. With "enabled: true" it stays on, and this is not said again.'
)


@cache  # once per process, however many audits it loads
def say_that_telemetry_is_on() -> None:
    """Log a warning where Dagster's instance says nothing of telemetry, which then is on."""
    instance = _instance_served()
    settings: Any = {} if instance is None else instance.settings.get("telemetry", {})
    if instance is not None and "enabled" not in settings:
        logging.getLogger("dagster.bdt_pipeline").warning(TELEMETRY_IS_ON)  # of other loggers Dagster shows nothing


def _instance_served() -> InstanceRef | None:
    """The instance for which this process checks or serves audits; None in a run, a notebook, a command of ours."""
    command = click.get_current_context(silent=True)
    if command is not None and command.info_name == "grpc" and (given := command.params.get("instance_ref")):
        return deserialize_value(given, InstanceRef)  # a server that is started by itself is not told
    if os.environ.get(CHECKED):
        return InstanceRef.from_dir(str(Path(os.environ.get("DAGSTER_HOME") or Path.cwd()).expanduser()))
    return None
