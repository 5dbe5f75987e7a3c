"""One check per limit, on the asset it is about: it says what is wrong where it is; only the gate stops anything."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from types import SimpleNamespace
from typing import Any

import dagster as dg

from bdt_core import words
from bdt_core.spec import (
    AnyLimit,
    AuditSpec,
    FourFifthsLimit,
    Limit,
    LocalBiasLimit,
    MetricLimit,
    SliceLimit,
    WorstGroupLimit,
)
from bdt_core.spec.wording import compared_with, wording
from bdt_pipeline.assets.common import AuditAssets
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
        Results of stages that the judge is given, as far as there are any.
    kinds : tuple of type
        Limits of the gate that are about it.
    """

    asset: str
    takes: tuple[str, ...]
    kinds: tuple[type, ...]

    def limits(self, spec: AuditSpec) -> dict[str, AnyLimit]:
        """Limits by the names of their checks, in the order of the gate; without one on a search that was made, the
        default."""
        limits: list[AnyLimit] = [one for one in spec.limits if isinstance(one, self.kinds)]
        if SliceLimit in self.kinds:
            held = {type(one) for one in limits}
            if spec.slices is not None and SliceLimit not in held:
                limits.append(SliceLimit())
            if spec.local_bias is not None and LocalBiasLimit not in held:
                limits.append(LocalBiasLimit())
        return check_names(limits)


_OF_PEOPLE = (WorstGroupLimit, Limit, SliceLimit, LocalBiasLimit)
"""Limits on people who were searched for: their evidence is every finding, so their asset is the list of these."""
_SEVERAL = (
    _Judged("group_metrics", ("group_metrics", "group_scores"), (MetricLimit,)),
    _Judged("selection_rules", ("selection_rules",), (FourFifthsLimit,)),
    _Judged(
        "findings", ("significance", "worst_groups", "slices", "local_bias", "blanks", "declared", "ranked"), _OF_PEOPLE
    ),
)


def limit_checks(audit: AuditAssets) -> list[dg.AssetChecksDefinition]:
    """A check per limit, as the gate judges it: ERROR where a limit fails, WARN where nobody can tell.

    Intersections and local bias are held against the default limit when the gate has none on them.
    """
    made = {one.asset for one in audit.asked}
    return [_checks(audit, one) for one in _SEVERAL if one.asset in made and one.limits(audit.spec)]


def held_by_gate(audit: AuditAssets) -> frozenset[dg.AssetCheckKey]:
    """The checks of limits that the gate on the report holds as well: all but those of defaults."""
    made = {one.asset for one in audit.asked}
    return frozenset(
        dg.AssetCheckKey(audit.key(judged.asset), name)
        for judged in _SEVERAL
        if judged.asset in made
        for name, limit in judged.limits(audit.spec).items()
        if limit in audit.spec.limits
    )


def _checks(audit: AuditAssets, judged: _Judged) -> dg.AssetChecksDefinition:
    asset, declared = audit.key(judged.asset), judged.limits(audit.spec)
    results = [one.result for one in audit.asked if one.result in judged.takes]
    if judged.kinds == _OF_PEOPLE and "significance" not in results:
        results.append("test")  # which then says what the bias variable is like
    taken = assets_of(results, audit.asked)
    others = [audit.key(one) for one in taken.values() if one != judged.asset]

    @dg.multi_asset_check(
        name=audit.op(f"{judged.asset}_limits"),
        specs=[
            dg.AssetCheckSpec(
                name,
                asset=asset,
                blocking=False,
                description=audit.say(_description(one, audit.spec)),
                additional_deps=others,
                partitions_def=audit.partitions,
            )
            for name, one in declared.items()
        ],
        can_subset=True,
        required_resource_keys={audit.settings},
        ins=audit.inputs(*taken.values()),
    )
    def check(context: dg.AssetCheckExecutionContext, **values: Any) -> Iterator[dg.AssetCheckResult]:
        with clear_failures():
            of_run = judged.limits(audit.spec_of_run(context, *values))
        for name, default in declared.items():
            if dg.AssetCheckKey(asset, name) not in context.op_execution_context.selected_asset_check_keys:
                continue
            with clear_failures():
                found = _verdict(of_run.get(name, default), {result: values[asset] for result, asset in taken.items()})
            yield dg.AssetCheckResult(
                asset_key=asset,
                check_name=name,
                passed=found.verdict == "pass",
                severity=dg.AssetCheckSeverity.ERROR if found.verdict == "fail" else dg.AssetCheckSeverity.WARN,
                **in_check(found.sentence, limit_metadata(found), audit.say),
            )

    return check


def _verdict(limit: AnyLimit, results: dict[str, Any]) -> Any:
    """What the gate says of the limit."""
    from bdt_core.table.measured import MeasuredOutcome
    from bdt_core.verdict import judge_limit

    found: dict[str, Any] = {**dict.fromkeys(_RESULTS), **results}
    if found["significance"] is not None:
        found["outcome"] = found["significance"].outcome
    elif found["test"] is not None:
        found["outcome"] = MeasuredOutcome.of(found["test"])
    return judge_limit(limit, SimpleNamespace(**found))


_RESULTS = (
    "significance", "group_metrics", "group_scores", "selection_rules", "worst_groups", "slices", "local_bias",
    "ranked", "blanks", "declared", "test", "outcome",
)  # fmt: skip
_NAMES = {"local_bias": "local_gaps"}


def check_names(limits: Iterable[AnyLimit]) -> dict[str, AnyLimit]:
    """The limits by the name of their check.

    Examples
    --------
    >>> list(check_names([MetricLimit(metric="disparate_impact", facet=["race", "sex"], min=0.8), SliceLimit()]))
    ['disparate_impact_by_race_and_sex', 'worst_slice']
    """
    named: dict[str, AnyLimit] = {}
    for one in limits:
        base = one.metric if isinstance(one, MetricLimit) else _NAMES.get(one.check, one.check)
        if isinstance(one, MetricLimit | FourFifthsLimit | WorstGroupLimit) and one.facets:
            base += f"_by_{'_and_'.join(one.facets)}"
        base = re.sub(r"\W+", "_", base, flags=re.ASCII).strip("_")
        name = next(x for x in chain([base], (f"{base}_{i}" for i in count(2))) if x not in named)
        named[name] = one
    return named


_STOPS = "Reports only; the gate on bias_report stops."
_WHO = {
    "worst_group": "group that conditions describe",
    "declared_group": "declared group",
    "worst_cluster": "most deviating cluster",
    "any_cluster": "cluster",
    "worst_slice": "intersection",
}


def _description(limit: AnyLimit, spec: AuditSpec) -> str:
    match limit:
        case MetricLimit():
            allowed = " and ".join(
                f"{word} {value:g}"
                for word, value in (("at least", limit.min), ("at most", limit.max))
                if value is not None
            )
            return f"Is {limit.metric} by {' & '.join(limit.facets)} {allowed}? {_STOPS}"
        case LocalBiasLimit():
            metric = spec.local_bias.metric if spec.local_bias else None
            most = words.size(limit.max_gap, words.limit_unit("local_bias", "rate", metric))
            return f"Is no gap between two groups within a cluster larger than {most} on the test rows? {_STOPS}"
        case FourFifthsLimit():
            by = f" by {' & '.join(limit.facets)}" if limit.facets else ""
            return f"Is no group{by} selected less than 4/5 as often as the one with the highest rate? {_STOPS}"
        case _:
            most = "what is tolerated" if limit.max_difference is None else f"{limit.max_difference:g}"
            measured, than = wording(spec.bias_variable).name, "everybody else"
            if isinstance(limit, WorstGroupLimit):
                than = compared_with(limit.of, spec)
            share = getattr(limit, "min_share", None)
            who = _WHO[limit.check] + ("" if share is None else f" of at least {words.percent(share)} of the people")
            return f"Does no {who} fare worse in {measured} than {than} by more than {most}? {_STOPS}"
