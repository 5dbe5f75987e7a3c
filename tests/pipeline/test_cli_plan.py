"""``bdt plan``: the method's numbers, in words."""

from __future__ import annotations

from typer.testing import CliRunner

from bdt_core.inference.plan import plan
from bdt_pipeline.cli import app


def test_the_plan_names_the_smallest_cluster() -> None:
    result = CliRunner().invoke(app, ["plan", "--rows", "20000", "--base-rate", "0.1", "--difference", "0.05"])
    assert result.exit_code == 0
    wanted = plan(20000, base_rate=0.1, difference=0.05)
    assert f"clustering.min_cluster_size: {wanted.min_cluster_rows}" in result.output
    for row in wanted.by_share:
        assert f"{row.rows_needed:,}" in result.output


def test_the_plan_is_for_so_many_clusters_and_beyond_the_limit() -> None:
    asked = ["plan", "--rows", "20000", "--base-rate", "0.1", "--difference", "0.1", "--clusters", "8"]
    wanted = plan(20000, base_rate=0.1, difference=0.1, clusters=8, limit=0.05)
    assert wanted.min_cluster_rows is not None
    result = CliRunner().invoke(app, [*asked, "--limit", "0.05"])
    assert "level 0.05 for 8 clusters at once, to be found beyond a limit of 5.0 points, and power 80%" in result.output
    assert f"clustering.min_cluster_size: {wanted.min_cluster_rows}" in result.output
    both = CliRunner().invoke(app, [*asked, "--limit", "0.05", "--design-effect", "2"]).output.splitlines()[0]
    assert both.endswith("a limit of 5.0 points, 2 rows saying as much as one person, and power 80%.")
    without = CliRunner().invoke(app, asked)
    assert "limit" not in without.output.splitlines()[0]
    refused = CliRunner().invoke(app, [*asked, "--limit", "0.2"])
    assert refused.exit_code == 2
    assert "limit must be 0 or more and below the difference" in refused.output


def test_the_plan_says_which_limits_on_the_worst_group_are_settled_and_how_many_rows_a_limit_takes() -> None:
    asked = ["plan", "--rows", "2000", "--base-rate", "0.1", "--difference", "0.1"]
    for limit, more in ((0.1, []), (0.05, ["--limit", "0.05"])):
        wanted = plan(2000, base_rate=0.1, difference=0.1, limit=limit if more else 0.0)
        head, *rows = CliRunner().invoke(app, asked + more).output.splitlines()[-7:]
        assert head.split("  ")[-1].strip() == f"a limit of {100 * limit:.1f} points takes"
        assert "2,000 rows settle" in head
        assert [row.split()[0] for row in rows] == ["1%", "2%", "5%", "10%", "20%", "50%"]
        assert rows[0].split()[1] == "nothing"  # 20 people are too few
        for row, known in zip(rows[1:], wanted.by_share[1:], strict=True):
            assert known.settled_limit is not None
            assert f" {100 * known.settled_limit:.1f} points " in row
            assert row.endswith(f" {known.rows_to_settle:,} rows")


def test_a_number_out_of_range_is_refused_without_a_traceback() -> None:
    result = CliRunner().invoke(app, ["plan", "--rows", "2", "--base-rate", "0.1", "--difference", "0.05"])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
