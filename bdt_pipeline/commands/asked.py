"""What a command is asked to audit: read, and looked for, before anything is imported that takes long."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec, Source, load_spec, parse_spec, with_derivation
from bdt_core.table.named_files import refuse_missing
from bdt_core.words import printable
from bdt_pipeline.proposed.named_table import name_of, source_of

if TYPE_CHECKING:
    from bdt_core.proposal import Proposal

Format = Literal["text", "github", "gitlab", "junit", "json", "markdown"]
_SPEC_FILES = {".yaml", ".yml"}


@dataclass(frozen=True)
class Request:
    """What ``bdt gate`` is asked."""

    spec: Path
    data: str | None = None
    partition: str | None = None
    baseline: Path | None = None
    format: Format = "text"
    out: Path | None = None
    report: Path | None = None

    @cached_property
    def audited(self) -> AuditSpec:
        """The specification with the table and the partition of the command line."""
        spec = load_spec(self.spec)
        source = spec.source.model_dump(mode="json")
        if self.data is not None:
            source |= {"path": self.data, "sql": None, "database": None, "asset": None}
        if self.partition is not None:
            source["partition"] = self.partition
            if not ("{partition}" in (source["path"] or "") or ":partition" in (source["sql"] or "")):
                raise SpecError(
                    "--partition names a part of the data, but the source is the same for all parts. Put {partition} "
                    "into source.path (or --data), or :partition into source.sql."
                )
        if self.data is None and self.partition is None:
            return spec
        changed = spec.to_dict() | {"source": source}
        if self.data is not None and "{partition}" not in self.data:
            changed |= {"partition_by": None, "inbox": None}  # one file is not audited part by part
        return parse_spec(changed, "The command line")


def table_named(data: str) -> Source:
    """The source of a table that is named on the command line, and is there.

    Raises
    ------
    SpecError, SourceError
        It cannot be one, or is not there.
    """
    source = source_of(data)
    refuse_missing(source, "")
    return source


def spec_of(target: str, changes: dict[str, Any]) -> AuditSpec:
    """The specification of a YAML file, or one made from the command line and the table, with the changes in it.

    Raises
    ------
    SpecError
        When it cannot be read, or only half of what is to be measured is said.
    SourceError
        When a file of its table is not there.
    """
    is_spec = Path(target).suffix.lower() in _SPEC_FILES
    proposal: Proposal | None = None
    if is_spec:
        base = load_spec(target).to_dict()
    else:
        base = {"name": name_of(target), "source": {"path": target}}
        if {"column", "prediction"}.isdisjoint(changes.get("bias_variable", {})):
            if {"label", "derive"} & set(changes.get("bias_variable", {})):
                raise SpecError(
                    "What shall be measured? Name a numeric column with --bias-variable, or the columns with what "
                    "happened and what the algorithm said with --label and --prediction. Or write a specification "
                    f"with: bdt init {target}"
                )
            base, changes, proposal = _proposed(target, changes)
    bias = changes.get("bias_variable", {})
    replaces = {"column", "derive", "label", "prediction"} & set(bias)
    for key, value in changes.items():
        kept = {} if key == "bias_variable" and replaces else base.get(key, {})
        base[key] = {**kept, **value} if isinstance(value, dict) else value
    if replaces:
        base["bias_variable"] = with_derivation(base["bias_variable"])
    if "better" in bias:
        base["bias_variable"].pop("better_by", None)  # said now, whoever said it before
    spec = parse_spec(base, "The command line" if changes else target)
    refuse_missing(spec.source, "source.path" if is_spec else "")
    return spec if is_spec or proposal is not None else _with_roles(target, spec)


def _with_roles(target: str, spec: AuditSpec) -> AuditSpec:
    """What the options leave open, filled in from the table and told on standard error."""
    from bdt_core.proposal import with_proposed_roles
    from bdt_pipeline.commands.console import tell

    filled_in, proposal = with_proposed_roles(spec, spec.source)
    if proposal is not None:
        told = [printable(one) for one in proposal.roles_in_words()]
        tell("\n".join([f"Columns of {target} were taken for this; to change it: bdt init {target}", *told, ""]))
    return filled_in


def _proposed(target: str, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], Proposal]:
    """What a table seems to be about, told on standard error; and the changes, which leave out more and not less."""
    source = table_named(target)
    from bdt_core.proposal import propose
    from bdt_pipeline.commands.console import tell
    from bdt_pipeline.proposed.proposal_in_words import proposal_in_words

    proposal = propose(source)
    tell(
        "\n".join(
            [
                f"No specification was given. {target} was taken for this; to change it: bdt init {target}",
                *proposal_in_words(proposal),
                "",
            ]
        )
    )
    base = proposal.specification(name_of(target), {"path": target})
    left_out = changes.get("features", {}).get("exclude", [])
    base["protected"] = [name for name in base["protected"] if name not in left_out]
    if left_out:
        both = list(dict.fromkeys([*base["features"]["exclude"], *left_out]))
        changes = changes | {"features": changes["features"] | {"exclude": both}}
    return base, changes, proposal


def specs_of(a: Path, b: Path | None, prediction_b: str | None, data_b: str | None) -> tuple[AuditSpec, AuditSpec]:
    """The two specifications that are compared; without B it is A with another prediction or another table.

    Raises
    ------
    SpecError, SourceError
        One of them is at fault, or a file of its table is not there.
    """
    spec_a = load_spec(a)
    spec_b = _changed(spec_a if b is None else load_spec(b), prediction_b, data_b, is_a=b is None)
    refuse_missing(spec_a.source)
    refuse_missing(spec_b.source, "source.path" if data_b is None else "--data-b")
    return spec_a, spec_b


def _changed(spec: AuditSpec, prediction: str | None, data: str | None, *, is_a: bool) -> AuditSpec:
    """B's specification with the prediction and the table of the command line."""
    if is_a and prediction is None and data is None:
        raise SpecError(
            "What is B? Name a second specification, or a column with the other model's predictions "
            "(--prediction-b), or another table (--data-b)."
        )
    plain = spec.to_dict()
    if prediction is not None:
        bias = plain["bias_variable"]
        bias["prediction" if bias["column"] is None else "column"] = prediction
    if data is not None:
        plain["source"] |= {"path": data, "sql": None, "database": None, "asset": None}
    return parse_spec(plain, "The command line")
