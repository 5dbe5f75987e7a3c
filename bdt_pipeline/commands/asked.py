"""Request of a command: specification read and table looked for before anything is imported that takes long."""

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
    storage: str | None = None
    seal: Path | None = None

    @cached_property
    def audited(self) -> AuditSpec:
        """The specification with the table and the partition of the command line."""
        spec = with_seal(load_spec(self.spec), self.seal)
        source = spec.source.model_dump(mode="json")
        if self.data is not None:
            source |= {"path": self.data, "sql": None, "database": None, "asset": None}
        if self.partition is not None:
            _refuse_no_parts(source, "--partition", "source.path (or --data)")
            source["partition"] = self.partition
        if self.data is None and self.partition is None:
            return spec
        changed = spec.to_dict() | {"source": source}
        if self.data is not None and "{partition}" not in self.data:
            changed |= {"partition_by": None, "inbox": None}  # one file is not audited part by part
        return parse_spec(changed, "The command line")


def with_seal(spec: AuditSpec, seal: Path | None) -> AuditSpec:
    """The specification with the seal of the command line, which is there.

    Raises
    ------
    SpecError
        It is not.
    """
    if seal is None:
        return spec
    if not seal.is_file():
        raise SpecError(f"--seal: {seal} does not exist. Write it before anybody has seen outcomes: bdt seal SPEC")
    return spec.model_copy(update={"seal": str(seal)})


def _refuse_no_parts(source: dict[str, Any], option: str, place: str) -> None:
    """Raise where no part of a source can be named, which has none."""
    if not _has_parts(source):
        raise SpecError(
            f"{option} names a part of the data, but the source is the same for all parts. Put {{partition}} into "
            f"{place}, or :partition into source.sql."
        )


def _has_parts(source: dict[str, Any]) -> bool:
    return "{partition}" in (source.get("path") or "") or ":partition" in (source.get("sql") or "")


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


def spec_of(target: str, changes: dict[str, Any], partition: str | None = None) -> AuditSpec:
    """The specification of a YAML file, or one made from the command line and the table, with the changes in it.

    Raises
    ------
    SpecError
        When it cannot be read, only half of what is to be measured is said, or a part is named where there are none.
    SourceError
        When a file of its table is not there.
    """
    is_spec = Path(target).suffix.lower() in _SPEC_FILES
    proposal: Proposal | None = None
    if is_spec:
        base = load_spec(target).to_dict()
    elif partition is not None:
        raise SpecError(f"--partition goes with a specification. Name the part itself in place of {target}.")
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
    if partition is not None:
        _refuse_no_parts(base["source"], "--partition", "source.path")
        changes = {**changes, "source": {"partition": partition}}
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
        sentences = [printable(one) for one in proposal.roles_in_words()]
        tell("\n".join([f"Columns of {target} were taken for this; to change it: bdt init {target}", *sentences, ""]))
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


def specs_of(
    a: Path,
    b: Path | None,
    prediction_b: str | None,
    data_b: str | None,
    partition: str | None = None,
    partition_b: str | None = None,
) -> tuple[AuditSpec, AuditSpec]:
    """The two specifications that are compared; without B it is A with another prediction, table or part.

    Raises
    ------
    SpecError, SourceError
        One of them is at fault, or a file of its table is not there.
    """
    spec_a = load_spec(a)
    spec_b = spec_a if b is None else load_spec(b)
    if b is None and prediction_b is None and data_b is None and partition_b is None:
        raise SpecError(
            "What is B? Name a second specification, or a column with the other model's predictions "
            "(--prediction-b), another table (--data-b), or another part (--partition-b)."
        )
    spec_b = _changed(spec_b, prediction_b, data_b)
    spec_a, spec_b = _in_parts(spec_a, spec_b, partition, partition_b)
    refuse_missing(spec_a.source)
    refuse_missing(spec_b.source, "source.path" if data_b is None else "--data-b")
    return spec_a, spec_b


def _in_parts(
    a: AuditSpec, b: AuditSpec, partition: str | None, partition_b: str | None
) -> tuple[AuditSpec, AuditSpec]:
    """Both with their part, if their data has any; B's is A's where it is not named."""
    sources = [one.source.model_dump(mode="json") for one in (a, b)]
    if partition is not None and not any(map(_has_parts, sources)):
        _refuse_no_parts(sources[0], "--partition", "source.path")
    if partition_b is not None:
        _refuse_no_parts(sources[1], "--partition-b", "source.path (or --data-b)")
    parts = (partition, partition if partition_b is None else partition_b)
    changed = [
        spec if part is None or not _has_parts(source) else _with_part(spec, source, part)
        for spec, source, part in zip((a, b), sources, parts, strict=True)
    ]
    return changed[0], changed[1]


def _with_part(spec: AuditSpec, source: dict[str, Any], part: str) -> AuditSpec:
    return parse_spec(spec.to_dict() | {"source": source | {"partition": part}}, "The command line")


def _changed(spec: AuditSpec, prediction: str | None, data: str | None) -> AuditSpec:
    """B's specification with the prediction and the table of the command line."""
    plain = spec.to_dict()
    if prediction is not None:
        bias = plain["bias_variable"]
        bias["prediction" if bias["column"] is None else "column"] = prediction
    if data is not None:
        plain["source"] |= {"path": data, "sql": None, "database": None, "asset": None}
    return parse_spec(plain, "The command line")
