"""Reports under attack: of how many counts of few people an attacker with integer programming is sure.

``python -m benchmarks privacy [--tables=200] [--pairs=50] [--findings=60] [--owners=20] [--counts=1000]`` attacks every
count of people, labels and predictions that is under the minimum (so many of a report at most), in forms for
publication and in owners' reports of some of the same tables. Fewer tables are a trial, of which nothing is kept.
"""

from __future__ import annotations

from typing import Any

from benchmarks.tables import record, table


def run(tables: str = "200", pairs: str = "50", findings: str = "60", owners: str = "20", counts: str = "1000") -> None:
    """Attack, count, write down what came of it."""
    from tests.privacy.attacker import Attacked
    from tests.privacy.editions import of_findings, of_one_table, of_two_editions, recovered

    rows: list[list[Any]] = []
    for what, make, number, first in (
        ("one table", of_one_table, int(tables), 0),
        ("two editions", of_two_editions, int(pairs), 1000),
        ("a table with findings", of_findings, int(findings), 2000),
    ):
        for form, seeds in (("owner's", min(int(owners), number)), ("publication", number)):
            found: list[Attacked] = []
            for seed in range(first, first + seeds):
                found += make(seed, published=form == "publication", most=int(counts))
            widths = sorted(one.width for one in found)
            rows.append([what, form, seeds, len(found), len(recovered(found)), widths[0], widths[len(widths) // 2]])
    heads = ("number", "counts under 30", "recovered", "least width", "median width")
    attacked = table({"attacked": "", "form": ""} | dict.fromkeys(heads, ",.0f"), rows)
    record("privacy", {"attacked": attacked}, keep=(tables, pairs, findings, owners) == ("200", "50", "60", "20"))
