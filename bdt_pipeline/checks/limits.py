"""One check per limit, on the asset it is about: it says what is wrong where it is; only the gate stops anything."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import dagster as dg

from bdt_core.said import joined, of_ours
from bdt_core.spec import AuditSpec, GateLimit
from bdt_core.spec.gate import KINDS_OF_LIMIT, check_names
from bdt_core.words import Unit
from bdt_pipeline.assets.common import AuditAssets, Context
from bdt_pipeline.assets.results import assets_of
from bdt_pipeline.assets.views import limit_metadata
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.run_log import in_check


@dataclass(frozen=True)
class _Judged:
    """An asset whose limits are checked.

    Attributes
    ----------
    asset : str
    takes : tuple of str
        Results of stages that the judges are given, as far as there are any.
    kinds : tuple of type
        Kinds of limit that are about it.
    """

    asset: str
    takes: tuple[str, ...]
    kinds: tuple[type[GateLimit], ...]

    def limits(self, spec: AuditSpec) -> dict[str, GateLimit]:
        """Limits by the names of their checks, in the order of the gate; without one on a search that was made, the
        default."""
        names = {one.kind for one in self.kinds}
        limits = [limit for limit in spec.limits if limit.kind in names]
        held = {limit.kind for limit in limits}
        defaults = [one.unasked(spec) for one in self.kinds if one.kind not in held]
        return check_names([*limits, *(limit for limit in defaults if limit is not None)])


def _judged(audit: AuditAssets) -> Iterator[_Judged]:
    """The assets that are made and have limits, each kind of limit on the asset of the first result it is judged by."""
    asset_of = {one.result: one.asset for one in audit.asked}
    by_asset: dict[str, list[type[GateLimit]]] = {}
    for kind in KINDS_OF_LIMIT.values():
        if kind.results[0] in asset_of:
            by_asset.setdefault(asset_of[kind.results[0]], []).append(kind)
    for asset, kinds in by_asset.items():
        takes = tuple(dict.fromkeys(result for kind in kinds for result in kind.results))
        judged = _Judged(asset, takes, tuple(kinds))
        if judged.limits(audit.spec):
            yield judged


def limit_checks(audit: AuditAssets) -> list[dg.AssetChecksDefinition]:
    """A check per limit, as the gate judges it: ERROR where a limit fails, WARN where nobody can tell.

    Intersections and local bias are held against the default limit when the gate has none on them.
    """
    return [_checks(audit, judged) for judged in _judged(audit)]


def limit_specs(audit: AuditAssets) -> list[dg.AssetCheckSpec]:
    """What Dagster knows of the checks of all limits."""
    return [one for judged in _judged(audit) for one in _specs(audit, judged)]


def judged_limits(
    context: Context, audit: AuditAssets, spec: AuditSpec, results: Mapping[str, Any]
) -> Iterator[dg.AssetCheckResult]:
    """All limits, held against all results of an audit."""
    for judged in _judged(audit):
        taken = _results_of(audit, judged)
        yield from _judgements(context, audit, judged, spec, {result: results[result] for result in taken})


def held_by_gate(audit: AuditAssets) -> frozenset[dg.AssetCheckKey]:
    """The checks of limits that the gate on the report holds as well: all but those of defaults."""
    return frozenset(
        dg.AssetCheckKey(audit.key_of_checks(judged.asset), name)
        for judged in _judged(audit)
        for name, limit in judged.limits(audit.spec).items()
        if limit in audit.spec.limits
    )


def _results_of(audit: AuditAssets, judged: _Judged) -> list[str]:
    """The results that the limits on an asset are held against."""
    results = [one.result for one in audit.asked if one.result in judged.takes]
    if "outcome" in judged.takes and "significance" not in results:
        results.append("test")  # which then says what the bias variable is like
    return results


def _specs(audit: AuditAssets, judged: _Judged, others: Sequence[dg.AssetKey] = ()) -> list[dg.AssetCheckSpec]:
    return [
        dg.AssetCheckSpec(
            name,
            asset=audit.key_of_checks(judged.asset),
            blocking=False,
            description=audit.say(_description(one, audit.spec)),
            additional_deps=others,
            partitions_def=audit.partitions,
        )
        for name, one in judged.limits(audit.spec).items()
    ]


def _checks(audit: AuditAssets, judged: _Judged) -> dg.AssetChecksDefinition:
    taken = assets_of(_results_of(audit, judged), audit.asked)
    others = [audit.key(one) for one in taken.values() if one != judged.asset]

    @dg.multi_asset_check(
        name=audit.op(f"{judged.asset}_limits"),
        specs=_specs(audit, judged, others),
        can_subset=True,
        required_resource_keys={audit.settings},
        ins=audit.inputs(*taken.values()),
    )
    def check(context: dg.AssetCheckExecutionContext, **values: Any) -> Iterator[dg.AssetCheckResult]:
        with clear_failures():
            spec = audit.spec_of_run(context, *values)
        yield from _judgements(context, audit, judged, spec, {result: values[one] for result, one in taken.items()})

    return check


def _judgements(
    context: Context, audit: AuditAssets, judged: _Judged, spec: AuditSpec, results: Mapping[str, Any]
) -> Iterator[dg.AssetCheckResult]:
    """The limits on an asset, under the specification of a run."""
    asset, of_run = audit.key_of_checks(judged.asset), judged.limits(spec)
    for name, default in judged.limits(audit.spec).items():
        if dg.AssetCheckKey(asset, name) not in context.op_execution_context.selected_asset_check_keys:
            continue
        with clear_failures():
            gate, unit = _verdict(of_run.get(name, default), results)
        yield dg.AssetCheckResult(
            asset_key=asset,
            check_name=name,
            passed=gate.verdict == "pass",
            severity=dg.AssetCheckSeverity.ERROR if gate.verdict == "fail" else dg.AssetCheckSeverity.WARN,
            **in_check(gate.sentence, limit_metadata(gate, unit), audit.say),
        )


def _verdict(limit: GateLimit, results: Mapping[str, Any]) -> tuple[Any, Unit]:
    """What the gate says of the limit, and the unit of the bias variable, where the limit asks for it."""
    from bdt_core.table.measured import MeasuredOutcome
    from bdt_core.verdict import judge_limit

    members: dict[str, Any] = {**dict.fromkeys(_RESULTS), **results}
    if members["significance"] is not None:
        members["outcome"] = members["significance"].outcome
    elif members["test"] is not None:
        members["outcome"] = MeasuredOutcome.of(members["test"])
    unit: Unit = "value" if members["outcome"] is None else members["outcome"].unit
    return judge_limit(limit, SimpleNamespace(**members)), unit


_RESULTS = (
    "significance", "group_metrics", "group_scores", "numeric_metrics", "selection_rules", "worst_groups", "slices",
    "local_bias", "ranked", "blanks", "declared", "test", "outcome", "calibration",
)  # fmt: skip
_STOPS = "Reports only; the gate on bias_report stops."


def _description(limit: GateLimit, spec: AuditSpec) -> str:
    return joined([of_ours(limit.question(spec)), of_ours(_STOPS)], " ")
