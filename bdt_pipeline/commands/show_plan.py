"""Output of ``bdt plan``."""

from __future__ import annotations

from bdt_core import words
from bdt_core.inference.plan import Plan


def plan_in_words(plan: Plan) -> str:
    """The plan as sentences and two tables: what a test shows, and which limits on the worst group are settled."""
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
    return "\n".join([*lines, "", *_limits(plan)])


def _limits(plan: Plan) -> list[str]:
    """Which limits on the worst group pass where nobody fares worse."""
    settle = f"{words.count(plan.rows)} rows settle"
    takes = f"a limit of {words.size(plan.limit_to_settle, 'rate')} takes"
    lines = [
        "A limit on the worst group looks at all rows. It passes where they rule out a larger difference of any group",
        "of at least a share of the people. Where nobody fares worse, in a table of some ten columns, about:",
        "",
        f"{'groups from':>12} {settle:>24} {takes:>32}",
    ]
    for row in plan.by_share:
        settled = "nothing" if row.settled_limit is None else words.size(row.settled_limit, "rate")
        rows = f"{words.count(row.rows_to_settle)} rows"
        lines.append(f"{row.share:>12.0%} {settled:>24} {rows:>32}")
    return lines


def _decision(plan: Plan) -> str:
    """What has to be found, where it is more than a difference of one cluster from none."""
    at_once = f" for {words.count(plan.clusters)} clusters at once" if plan.clusters > 1 else ""
    more = []
    if plan.limit > 0:
        more.append(f"to be found beyond a limit of {words.size(plan.limit, 'rate')}")
    if plan.design_effect > 1:
        more.append(f"{plan.design_effect:.3g} rows saying as much as one person")
    return at_once + "".join(f", {one}" for one in more) + ("," if more else "")
