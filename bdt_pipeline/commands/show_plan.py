"""Output of ``bdt plan``."""

from __future__ import annotations

from bdt_core import words
from bdt_core.inference.plan import Plan


def plan_in_words(plan: Plan) -> str:
    """The plan as a sentence and a table."""
    gap = words.size(plan.difference, "rate")
    sentence = (
        f"{plan.rows:,} rows leave {plan.test_rows:,} for testing, at a rate of {words.percent(plan.base_rate)} among "
        f"everybody else, level {plan.alpha:g}{_decision(plan)} and power {plan.power:.0%}."
    )
    if plan.min_cluster_share is None:
        detectable = f"A difference of {gap} does not show in any group of a table of this size."
    else:
        detectable = (
            f"A difference of {gap} shows in groups of at least {words.percent(plan.min_cluster_share)} of the rows: "
            f"clustering.min_cluster_size: {plan.min_cluster_rows}"
        )
    lines = [
        sentence,
        detectable,
        "",
        f"{'group':>8} {'test rows':>10} {'shows from':>14} {'rows needed for ' + gap:>28}",
    ]
    for row in plan.by_share:
        shows = "nothing" if row.detectable is None else words.size(row.detectable, "rate")
        lines.append(f"{row.share:>8.0%} {row.test_rows:>10,} {shows:>14} {row.rows_needed:>28,}")
    return "\n".join(lines)


def _decision(plan: Plan) -> str:
    """What has to be found, where it is more than a difference of one cluster from none."""
    at_once = f" for {words.count(plan.clusters)} clusters at once" if plan.clusters > 1 else ""
    beyond = f", to be found beyond a limit of {words.size(plan.limit, 'rate')}," if plan.limit > 0 else ""
    alike = f", {plan.design_effect:.3g} rows saying as much as one person" if plan.design_effect > 1 else ""
    return at_once + beyond + alike
