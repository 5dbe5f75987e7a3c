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


def test_a_number_out_of_range_is_refused_without_a_traceback() -> None:
    result = CliRunner().invoke(app, ["plan", "--rows", "2", "--base-rate", "0.1", "--difference", "0.05"])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
