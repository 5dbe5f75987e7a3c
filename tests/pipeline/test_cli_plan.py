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
    without = CliRunner().invoke(app, asked)
    assert "limit" not in without.output.splitlines()[0]
    refused = CliRunner().invoke(app, [*asked, "--limit", "0.2"])
    assert refused.exit_code == 2
    assert "limit must be 0 or more and below the difference" in refused.output


def test_a_number_out_of_range_is_refused_without_a_traceback() -> None:
    result = CliRunner().invoke(app, ["plan", "--rows", "2", "--base-rate", "0.1", "--difference", "0.05"])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
