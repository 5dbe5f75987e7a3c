"""Data quality as asset checks: Great Expectations on the tables, with counts and no cell values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from bdt_core.said import Column, Numeral, joined, of_ours, say
from bdt_core.spec import AuditSpec
from bdt_pipeline.assets.common import AuditAssets, Context
from bdt_pipeline.assets.large_tables import is_large_source
from bdt_pipeline.assets.values import AuditTable, DataFrame
from bdt_pipeline.assets.views import table_of
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.run_log import in_check


@dataclass(frozen=True)
class _Check:
    """One asset check, with what to do when it does not pass; a blocking one is an ERROR and stops the audit."""

    name: str
    blocking: bool
    description: str
    advice: str


_LISTED = 5
_CORRECT = "Correct the file or table, or the columns that the specification names, and audit it again."
_RAW = (
    _Check("columns_exist", True, "Are all columns there that the specification names?", _CORRECT),
    _Check(
        "enough_rows",
        True,
        "Are there enough rows for a test part on which a comparison is possible?",
        "If the file or table is not cut short, audit longer parts of the data.",
    ),
    _Check(
        "bias_variable_usable",
        True,
        "Does the bias variable hold numbers that vary, or two values where needed?",
        _CORRECT,
    ),
    _Check(
        "bias_variable_complete",
        False,
        "Is the bias variable known for at least 95 % of the rows?",
        "Find out who has none yet: what is said holds for the others only.",
    ),
    _Check(
        "features_vary",
        False,
        "Does every feature have more than one value? Constant ones are left out.",
        "Correct the columns, or leave them out with features.exclude.",
    ),
    _Check(
        "few_duplicate_rows",
        False,
        "Do few rows repeat an earlier one? Repeats make differences look surer than they are, unless they are "
        "different people who happen to agree in few columns.",
        "If a file was joined to itself, correct it; if a person has several rows, name their column with split.key.",
    ),
)
_VALIDATED = (
    _Check(
        "few_categories",
        False,
        "Does every categorical column have few enough categories to describe a group?",
        "Group the categories, or leave the columns out with features.exclude.",
    ),
    _Check(
        "clusters_large_enough",
        False,
        "Would the smallest allowed cluster have enough test rows to be tested?",
        "Audit longer parts of the data, or raise clustering.min_size.",
    ),
    _Check(
        "no_leaks",
        False,
        "Does no feature say what the bias variable, the outcome or the prediction is?",
        "Leave the columns out with features.exclude.",
    ),
)


def quality_checks(audit: AuditAssets) -> Sequence[dg.AssetChecksDefinition]:
    """Checks on ``raw_data`` and on ``validated_data``."""
    return [_raw_quality(audit), _validated_quality(audit)]


def quality_specs(audit: AuditAssets) -> list[dg.AssetCheckSpec]:
    """What Dagster knows of these checks."""
    return [*_specs(audit, "raw_data", _RAW), *_specs(audit, "validated_data", _VALIDATED)]


def _raw_quality(audit: AuditAssets) -> dg.AssetChecksDefinition:
    @dg.multi_asset_check(
        name=audit.op("raw_data_quality"),
        specs=_specs(audit, "raw_data", _RAW),
        can_subset=True,
        required_resource_keys={audit.settings},
        ins=audit.inputs("raw_data"),
    )
    def check(context: dg.AssetCheckExecutionContext, raw_data: DataFrame) -> Iterator[dg.AssetCheckResult]:
        with clear_failures():
            spec = audit.spec_of_run(context, "raw_data")
        yield from raw_quality(context, audit, spec, raw_data)

    return check


def raw_quality(context: Context, audit: AuditAssets, spec: AuditSpec, source: Any) -> Iterator[dg.AssetCheckResult]:
    """The quality of a table as it was read; a file of an inbox that cannot be audited is put aside."""
    from bdt_pipeline.checks.rules import raw_rules, with_marks

    # Of a table that was left at its source the beginning is looked at; the rest is checked when it is read.
    table = source.beginning(spec.large_rows) if is_large_source(source) else source
    marked = with_marks(table, spec)
    rows = _evaluated(marked, list(raw_rules(marked, spec)))
    put_aside = audit.quarantine(context)
    broken = [f"{row[0]}: {row[1]}, wanted {row[2]}" for one in _RAW if one.blocking
              for row in rows.get(one.name, ()) if not row[3]]  # fmt: skip
    if broken and put_aside is not None:
        put_aside("; ".join(broken))
    yield from _results(context, audit.key_of_checks("raw_data"), _RAW, rows, audit.say)


def _validated_quality(audit: AuditAssets) -> dg.AssetChecksDefinition:
    @dg.multi_asset_check(
        name=audit.op("validated_data_quality"),
        specs=_specs(audit, "validated_data", _VALIDATED),
        can_subset=True,
        required_resource_keys={audit.settings},
        ins=audit.inputs("validated_data"),
    )
    def check(context: dg.AssetCheckExecutionContext, validated_data: AuditTable) -> Iterator[dg.AssetCheckResult]:
        with clear_failures():
            spec = audit.spec_of_run(context, "validated_data")
        yield from validated_quality(context, audit, spec, validated_data)

    return check


def validated_quality(
    context: Context, audit: AuditAssets, spec: AuditSpec, validated_data: Any
) -> Iterator[dg.AssetCheckResult]:
    """The quality of the rows and columns that are audited."""
    from bdt_core.table.leaks import find_leaks
    from bdt_core.table.summaries import rows_at_hand
    from bdt_pipeline.checks.rules import validated_rules

    table = rows_at_hand(validated_data)
    rows = _evaluated(table.audited, list(validated_rules(table, spec)))
    features = table.names("feature")
    leaks = find_leaks(table)
    rows["no_leaks"] = [
        (Column(one), of_ours(leaks.get(one, "no")), say("no leak"), one not in leaks) for one in features
    ]
    yield from _results(context, audit.key_of_checks("validated_data"), _VALIDATED, rows, audit.say)


_Row = tuple[str, str, str, bool]  # subject, found, wanted, kept


def _evaluated(frame: DataFrame, rules: Sequence[Any]) -> dict[str, list[_Row]]:
    """Verdict of every rule, by check."""
    from bdt_pipeline.resources.expectations import evaluate

    verdicts = evaluate(frame, [one.expectation for one in rules])
    result: dict[str, list[_Row]] = {}
    for rule, kept in zip(rules, verdicts, strict=True):
        result.setdefault(rule.check, []).append((rule.subject, rule.observed, rule.expected, kept))
    return result


def _specs(audit: AuditAssets, asset: str, checks: Sequence[_Check]) -> list[dg.AssetCheckSpec]:
    return [
        dg.AssetCheckSpec(
            one.name,
            asset=audit.key_of_checks(asset),
            blocking=one.blocking,
            description=audit.say(one.description),
            partitions_def=audit.partitions,
        )
        for one in checks
    ]


def _results(
    context: Context,
    asset: dg.AssetKey,
    checks: Sequence[_Check],
    rows: Mapping[str, Sequence[_Row]],
    said: Callable[[str], str],
) -> Iterator[dg.AssetCheckResult]:
    """One result per check that was asked for, the broken rules named first."""
    selected = context.op_execution_context.selected_asset_check_keys
    for check in checks:
        if dg.AssetCheckKey(asset, check.name) not in selected:
            continue
        judged = sorted(rows.get(check.name, ()), key=lambda row: row[3])
        broken = [row for row in judged if not row[3]]
        listed: list[str] = [
            say("{what}: {found}, wanted {wanted}", what=subject, found=what, wanted=due)
            for subject, what, due, _ in broken[:_LISTED]
        ]
        if len(broken) > _LISTED:
            listed.append(say("and {N} more", N=Numeral(str(len(broken) - _LISTED))))
        yield dg.AssetCheckResult(
            asset_key=asset,
            check_name=check.name,
            passed=not broken,
            severity=dg.AssetCheckSeverity.ERROR if check.blocking else dg.AssetCheckSeverity.WARN,
            **in_check(
                say("{sentence}.", sentence=joined(listed, "; ")) if broken else None,
                {
                    **({"recommendation": check.advice} if broken else {}),
                    "broken": len(broken),
                    "examined": len(judged),
                    "rules": table_of(
                        ["", "what", "found", "wanted"],
                        [["✓" if kept else "✗", subject, what, due] for subject, what, due, kept in judged],
                    ),
                },
                said,
            ),
        )
