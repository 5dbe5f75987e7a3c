"""One check per limit, on the asset it is about: it says what is wrong where it is; only the gate stops anything."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import dagster as dg

from bdt_core import words
from bdt_core.spec import AnyLimit, AuditSpec, FourFifthsLimit, LocalBiasLimit, MetricLimit, SliceLimit, WorstGroupLimit
from bdt_core.spec.wording import wording
from bdt_pipeline.assets.common import AuditAssets
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
        What the judge is given.
    kind : type
        Limits of the gate that are about it.
    default : limit or None
        What it is held against when the gate has none of them.
    """

    asset: str
    takes: tuple[str, ...]
    kind: type[MetricLimit | WorstGroupLimit | SliceLimit | LocalBiasLimit | FourFifthsLimit]
    default: AnyLimit | None

    def limits(self, spec: AuditSpec) -> dict[str, AnyLimit]:
        """Limits by the names of their checks, in the order of the gate."""
        found: Sequence[AnyLimit] = [one for one in spec.limits if isinstance(one, self.kind)]
        return check_names(found or ([] if self.default is None else [self.default]))


_SEVERAL = (
    _Judged("group_metrics", ("group_metrics", "bias_score"), MetricLimit, None),
    _Judged("selection_rules", ("selection_rules",), FourFifthsLimit, None),
    _Judged("worst_groups", ("worst_groups", "test_data"), WorstGroupLimit, None),
    _Judged("bias_slices", ("bias_slices", "test_data"), SliceLimit, SliceLimit()),
    _Judged("local_bias", ("local_bias",), LocalBiasLimit, LocalBiasLimit()),
)


def limit_checks(audit: AuditAssets) -> list[dg.AssetChecksDefinition]:
    """Checks on group metrics, intersections and local bias: ERROR where a limit fails, WARN where nobody can tell.

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
        if judged.asset in made and any(isinstance(one, judged.kind) for one in audit.spec.limits)
        for name in judged.limits(audit.spec)
    )


def _checks(audit: AuditAssets, judged: _Judged) -> dg.AssetChecksDefinition:
    asset, declared = audit.key(judged.asset), judged.limits(audit.spec)
    others = [audit.key(one) for one in judged.takes if one != judged.asset]

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
        ins=audit.inputs(*judged.takes),
    )
    def check(context: dg.AssetCheckExecutionContext, **values: Any) -> Iterator[dg.AssetCheckResult]:
        with clear_failures():
            of_run = judged.limits(audit.spec_of_run(context, *values))
        for name, default in declared.items():
            if dg.AssetCheckKey(asset, name) not in context.op_execution_context.selected_asset_check_keys:
                continue
            with clear_failures():
                found = _verdict(of_run.get(name, default), values)
            yield dg.AssetCheckResult(
                asset_key=asset,
                check_name=name,
                passed=found.verdict == "pass",
                severity=dg.AssetCheckSeverity.ERROR if found.verdict == "fail" else dg.AssetCheckSeverity.WARN,
                **in_check(found.sentence, limit_metadata(found), audit.say),
            )

    return check


def _verdict(limit: AnyLimit, values: Mapping[str, Any]) -> Any:
    """What the limit says of the asset's value."""
    from bdt_core.verdict import judge_four_fifths, judge_local_bias, judge_metric, judge_slices, judge_worst_group
    from bdt_core.verdict.slices import default_limit_of

    match limit:
        case WorstGroupLimit():
            return judge_worst_group(limit, values["worst_groups"], default_limit_of(values["test_data"]))
        case SliceLimit():
            return judge_slices(limit, values["bias_slices"], default_limit_of(values["test_data"]))
        case LocalBiasLimit():
            return judge_local_bias(limit, values["local_bias"])
        case FourFifthsLimit():
            return judge_four_fifths(limit, values["selection_rules"])
        case MetricLimit():
            return judge_metric(limit, values["group_metrics"], values["bias_score"])
    raise AssertionError(limit)  # clusters are judged by the gate alone


_NAMES = {
    "worst_group": "worst_group",
    "worst_slice": "worst_slice",
    "local_bias": "local_gaps",
    "four_fifths": "four_fifths",
}


def check_names(limits: Iterable[AnyLimit]) -> dict[str, AnyLimit]:
    """The limits by the name of their check.

    Examples
    --------
    >>> list(check_names([MetricLimit(metric="disparate_impact", facet=["race", "sex"], min=0.8), SliceLimit()]))
    ['disparate_impact_by_race_and_sex', 'worst_slice']
    """
    named: dict[str, AnyLimit] = {}
    for one in limits:
        base = one.metric if isinstance(one, MetricLimit) else _NAMES[one.check]
        if isinstance(one, MetricLimit | FourFifthsLimit) and one.facets:
            base += f"_by_{'_and_'.join(one.facets)}"
        base = re.sub(r"\W+", "_", base, flags=re.ASCII).strip("_")
        name = next(x for x in chain([base], (f"{base}_{i}" for i in count(2))) if x not in named)
        named[name] = one
    return named


_STOPS = "Reports only; the gate on bias_report stops."


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
        case WorstGroupLimit():
            most = "what is tolerated" if limit.max_difference is None else f"{limit.max_difference:g}"
            difference = f"a difference in {wording(spec.bias_variable).name} of more than {most}"
            return f"Is {difference} ruled out for every group that conditions describe? {_STOPS}"
        case _:
            most = "what is tolerated" if limit.max_difference is None else f"{limit.max_difference:g}"
            measured = wording(spec.bias_variable).name
            return f"Does no intersection fare worse in {measured} than everybody else by more than {most}? {_STOPS}"
