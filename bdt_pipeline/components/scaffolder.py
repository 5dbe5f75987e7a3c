"""Scaffold of ``dg scaffold defs bdt_pipeline.BiasAudit``: the specification that a table seems to need."""

from __future__ import annotations

import os
import pprint
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest
from pydantic import BaseModel, Field

from bdt_core.errors import BDTError
from bdt_core.harmless import harmless
from bdt_core.spec import UNANSWERED

if TYPE_CHECKING:
    from bdt_core.proposal import Proposal

_SHOWN_BY_DAGSTER = """\

# What Dagster shows of the assets, and a prefix of their keys:
# translation: {group_name: GROUP, owners: ["team:TEAM"], tags: {KEY: VALUE}, key_prefix: [PREFIX]}
# One asset and one step instead of one per stage, for small tables:
# assets: report
# When it runs, on which part of the data, and who is told:
# schedule: "0 6 * * *"
# partition_by: {time: daily, start: "2026-01-01"}
# notify: ["json://HOST/PATH"]
"""
_SKELETON = """\
# A bias audit. Fill in what is in capitals, or let the table be looked at, which fills in all of it:
#   dg scaffold defs {type} {name} --file TABLE
# Every key, with its meaning: bdt schema
name: {name}

# A table: .csv, .parquet, .xlsx, an object store or a database; or an asset of this project that returns one:
source: {{path: TABLE.csv}}
# source: {{asset: ASSET_KEY}}

# What is measured per person: an outcome made of what really happened and what the algorithm said,
bias_variable:
  derive: error  # or false_positive_rate, false_negative_rate, positive_prediction, ... (bdt schema lists them)
  label: COLUMN_WITH_WHAT_HAPPENED
  prediction: COLUMN_WITH_WHAT_THE_ALGORITHM_SAID
  better: lower  # is a lower or a higher value better for people?
# or a numeric column as it stands:
# bias_variable: {{column: COLUMN, better: lower}}

# Columns that say which groups people belong to, and columns that are no features, such as identifiers:
protected: []  # e.g. [race, sex]
features: {{exclude: []}}

# How much worse than everybody else may any group fare that a few conditions describe? (0.05: five percentage points)
gate:
  - {{check: worst_group}}
"""
_PYTHON = """\
import dagster as dg
from {module} import {kind}


@dg.component_instance
def load(context: dg.ComponentLoadContext) -> {kind}:
    return {kind}.model_validate(
{values}
    )
"""
_LEAST = {
    "name": "NAME",
    "source": {"path": "TABLE.csv"},
    "bias_variable": {"derive": "error", "label": "WHAT_HAPPENED", "prediction": "WHAT_THE_ALGORITHM_SAID"},
    "protected": [],
    "gate": [{"check": "worst_group"}],
}


class ScaffoldedAudit(BaseModel):
    """What can be given when an audit is scaffolded."""

    file: str | None = Field(None, description="A table, in which is looked for what the audit needs.")


class BiasAuditScaffolder(Scaffolder[ScaffoldedAudit]):
    """Writes an audit that passes `dg check` at once; without a table a skeleton that says what to fill in."""

    @classmethod
    def get_scaffold_params(cls) -> type[ScaffoldedAudit]:
        """The options of the command."""
        return ScaffoldedAudit

    def scaffold(self, request: ScaffoldRequest[ScaffoldedAudit]) -> None:
        """Write the file.

        Raises
        ------
        ClickException
            The table cannot be read, or nothing in it can be audited: nothing is left then.
        """
        try:
            proposal = _proposal(request.params.file)
        except BDTError as error:
            with suppress(OSError):  # made for us, and empty; with it the next attempt would be refused
                request.target_path.rmdir()
            raise click.ClickException(harmless(str(error))) from None
        in_python = request.scaffold_format == "python"
        file = request.target_path
        if not request.append:
            file /= "component.py" if in_python else "defs.yaml"
        text = _python(request, file.parent, proposal) if in_python else _yaml(request, file.parent, proposal)
        with file.open("a" if request.append else "w", encoding="utf-8") as opened:
            opened.write("---\n" * request.append + text)
        if proposal is not None:
            from bdt_pipeline.proposed.proposal_in_words import proposal_in_words

            click.echo(harmless("\n".join(proposal_in_words(proposal))))


def _proposal(file: str | None) -> Proposal | None:
    """What the table seems to be about; None without one."""
    if file is None:
        return None
    from bdt_core.proposal import propose
    from bdt_pipeline.proposed.named_table import source_of

    return propose(source_of(file))


def _yaml(request: ScaffoldRequest[ScaffoldedAudit], folder: Path, proposal: Proposal | None) -> str:
    from bdt_pipeline.proposed.init_spec import spec_text
    from bdt_pipeline.proposed.named_table import name_of

    name = name_of(folder.name)
    if proposal is None:
        text = _SKELETON.format(type=request.type_name, name=name)
    else:
        text = spec_text(proposal, name, _seen_from(folder, request))
    return f"type: {request.type_name}\nattributes:\n{textwrap.indent(text + _SHOWN_BY_DAGSTER, '  ')}"


def _python(request: ScaffoldRequest[ScaffoldedAudit], folder: Path, proposal: Proposal | None) -> str:
    from bdt_pipeline.proposed.named_table import name_of

    module, _, kind = request.type_name.rpartition(".")
    name = name_of(folder.name)
    attributes: dict[str, Any] = dict(_LEAST)
    if proposal is not None:
        attributes = proposal.specification(name, {"path": _seen_from(folder, request)})
        bias = proposal.measured.settings
        attributes["bias_variable"]["better"] = bias.better if proposal.measured.is_better_sure else UNANSWERED
    values = pprint.pformat({**attributes, "name": name}, sort_dicts=False, width=100)
    return _PYTHON.format(module=module, kind=kind, values=textwrap.indent(values, " " * 8))


def _seen_from(folder: Path, request: ScaffoldRequest[ScaffoldedAudit]) -> str:
    """The table as seen from the audit's folder where it lies in the project, so that both can be moved together."""
    given, root = str(request.params.file), request.project_root
    if ":" in given.split("/")[0]:
        return given
    file = Path(os.path.abspath(given))  # noqa: PTH100 - a link stays the name that was given
    if root is None or not file.is_relative_to(Path(root).absolute()):
        return str(file)
    return Path(os.path.relpath(file, folder)).as_posix()
