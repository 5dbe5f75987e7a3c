"""The assets: one stage each, the same numbers as the method without Dagster, and nothing pickled."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import dagster as dg
import pytest

from bdt_core.audit import audit
from bdt_core.errors import SpecError
from bdt_core.report.page import build_page
from bdt_core.report.printed import printed
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import AuditTable
from bdt_pipeline import bias_audit_definitions
from tests.pictures import ANEW, demonstration, words_in, words_of_check, words_of_graph
from tests.pipeline.conftest import SEARCHES
from tests.pipeline.watched_audit import REPORT

ASSETS = (
    "raw_data",
    "validated_data",
    "train_data",
    "test_data",
    "hbac_clusters",
    "cluster_significance",
    "feature_differences",
    "worst_groups",
    "findings",
    "declared_outcomes",
    "pooled_groups",
    "bias_slices",
    "blanks",
    "bias_report",
)
Compas = tuple[dg.ExecuteInProcessResult, dg.DagsterInstance]


def metadata_of(instance: dg.DagsterInstance, audit_name: str, asset: str) -> dict[str, Any]:
    event = instance.get_latest_materialization_event(dg.AssetKey([audit_name, asset]))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: one.value for name, one in event.asset_materialization.metadata.items()}


def test_the_demonstration_makes_every_asset_and_fails_its_gate(compas: Compas) -> None:
    result, instance = compas
    for asset in (*ASSETS, "profiling_characteristics"):
        assert metadata_of(instance, "compas", asset)
    assert result.output_for_node("compas__bias_report")["verdict"]["verdict"] == "fail"
    failed = {one.step_key for one in result.all_events if one.is_step_failure}
    assert failed <= {"compas__bias_report_bias_gate"}


def test_dagster_and_the_plain_method_give_the_same_document(compas: Compas) -> None:
    document = compas[0].output_for_node("compas__bias_report")
    plain = audit(None, AuditSpec.model_validate(document["spec"])).document
    assert json.dumps(document, sort_keys=True) == json.dumps(plain, sort_keys=True)


def test_numbers_that_plot_over_time_are_floats(compas: Compas) -> None:
    document = compas[0].output_for_node("compas__bias_report")
    tested = metadata_of(compas[1], "compas", "cluster_significance")
    significance = compas[0].output_for_node("compas__cluster_significance")
    worst = significance.deciding or significance.clusters[0].comparison
    assert tested["difference in points"] == round(100 * worst.difference, 1)
    assert tested["low in points"] < tested["difference in points"] < tested["high in points"]
    assert isinstance(tested["p_value"], float)
    report = metadata_of(compas[1], "compas", "bias_report")
    assert report["difference in points"] == round(100 * document["gate"][0]["difference"], 1)
    assert report["limit in points"] == 5.0


def test_no_number_has_more_digits_than_the_report_says(compas: Compas) -> None:
    shown = {f"{one}: {name}": value for one in ASSETS for name, value in metadata_of(compas[1], "compas", one).items()}
    for check in compas[0].get_asset_check_evaluations():
        shown |= {f"{check.check_name}: {name}": one.value for name, one in check.metadata.items()}
    floats = {name: value for name, value in shown.items() if isinstance(value, float)}
    assert {"train_data: mean in percent", "worst_slice: limit in points", "bias_gate: p_value"} <= floats.keys()
    assert {name: x for name, x in floats.items() if x != round(x) and x != float(f"{x:.3g}")} == {}


def test_the_pictures_show_what_the_demonstration_shows(compas: Compas) -> None:
    defs = bias_audit_definitions(demonstration())
    assert words_in("asset-graph.png") == words_of_graph(defs, compas[0]), ANEW
    assert words_in("checks.png") == words_of_check(compas[0], "group_metrics"), ANEW


def test_row_counts(compas: Compas) -> None:
    rows = {one: metadata_of(compas[1], "compas", one)["dagster/row_count"] for one in ASSETS[:4]}
    assert rows["raw_data"] == 7214
    assert rows["train_data"] + rows["test_data"] == rows["validated_data"] == 3963


def test_figures_stand_in_the_metadata_themselves(compas: Compas) -> None:
    found = metadata_of(compas[1], "compas", "bias_report")
    figures = [
        one
        for one in found.values()
        if isinstance(one, str) and "data:image/svg+xml;base64," in one and "# " not in one
    ]
    assert len(figures) >= 2


def test_the_whole_report_is_read_in_the_ui(compas: Compas) -> None:
    found = metadata_of(compas[1], "compas", "bias_report")
    told = found["report"]
    document = printed(compas[0].output_for_node("compas__bias_report"))
    titles = [one.title for one in (*build_page(document).body, *build_page(document).annex)]
    assert {"Findings", "Declared groups", "Limits", "Clusters"} <= set(titles)
    assert [one for one in ("Findings", "Declared groups", "Limits", "Clusters") if f"## {one}\n" not in told] == []
    drawn = re.findall(r"!\[((?:\\.|[^\]\\])+)\]\(data:image/svg\+xml;base64,([^)]+)\)", told)
    assert len(drawn) == told.count("![") >= 4
    assert all(ElementTree.fromstring(base64.b64decode(svg)).tag.endswith("svg") for _, svg in drawn)
    assert len(told) < 400_000
    assert "address of the report" not in found


@pytest.mark.parametrize(("by", "changes"), [("REPORTS", {"report_url": "${REPORTS}"}), ("BDT_REPORTS", {})])
@pytest.mark.usefixtures("up_to_report")
def test_a_report_that_is_served_is_linked(
    by: str,
    changes: dict[str, Any],
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
    run_audit: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(by, "https://reports.example/bias/")
    run_audit(make_spec(loans_file, **changes), instance, only=REPORT)
    found = metadata_of(instance, "loans", "bias_report")
    written = Path(found["where report.html is"]).relative_to(instance.storage_directory())
    assert found["address of the report"] == f"https://reports.example/bias/{written.as_posix()}"
    in_ui = sorted(found)  # as Dagster shows them
    assert in_ui[0] == "address of the report"
    assert in_ui[-4:] == [f"where report.{form} is" for form in ("html", "json", "md", "pdf")]
    with pytest.raises(SpecError, match=r"report_url: .*no address such as https://"):
        make_spec(loans_file, report_url="the intranet")


def test_the_four_report_files_are_linked(compas: Compas) -> None:
    found = metadata_of(compas[1], "compas", "bias_report")
    paths = [Path(found[f"where report.{kind} is"]) for kind in ("html", "pdf", "json", "md")]
    assert all(path.stat().st_size > 0 for path in paths)
    assert len({path.parent for path in paths}) == 1


@pytest.mark.usefixtures("up_to_report")
def test_every_run_has_a_report_folder_of_its_own(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, run_audit: Any
) -> None:
    for _ in range(2):
        run_audit(make_spec(loans_file), instance, only=REPORT)
    folders = list((Path(instance.storage_directory()) / "loans" / "reports").iterdir())
    assert len(folders) == 2
    assert all((folder / "report.json").exists() for folder in folders)


@pytest.mark.usefixtures("up_to_report")
def test_a_report_folder_is_never_overwritten(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path
) -> None:
    config = {"output": str(tmp_path / "here")}
    run_audit(make_spec(loans_file), instance, config, only=REPORT)
    before = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}
    assert "report.json" in before
    again = run_audit(make_spec(loans_file, gate=[]), instance, config, only=REPORT)  # which passes, and is another one
    assert not again.success
    assert {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()} == before


def test_what_the_launchpad_changes_stands_in_the_report(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    other.write_bytes(loans_file.read_bytes())
    changed = {
        "source": {"path": str(other)},
        "protected": [],
        "missing": "drop",
        "features": {"include": ["age", "region"]},
        "split": {"test_size": 0.3, "random_state": 5},
        "clustering": {"max_iter": 2},
        "significance": {"alpha": 0.01},
        "gate": [{"check": "any_cluster", "max_difference": 0.9}],
    }
    result = run_audit(make_spec(loans_file), instance, changed)
    assert result.success
    spec = result.output_for_node("loans__bias_report")["spec"]
    assert spec["source"]["path"] == other.name
    assert (spec["protected"], spec["missing"], spec["features"]["include"]) == ([], "drop", ["age", "region"])
    assert (spec["split"]["test_size"], spec["split"]["random_state"]) == (0.3, 5)
    assert spec["clustering"]["max_iter"] == 2
    assert spec["significance"]["alpha"] == 0.01
    assert spec["gate"][0]["max_difference"] == 0.9


def test_a_mendable_error_is_told_in_its_own_words(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, run_audit: Any
) -> None:
    result = run_audit(make_spec(loans_file), instance, {"split": {"test_size": 1.5}})
    (failure,) = [one.step_failure_data.error for one in result.all_events if one.is_step_failure]
    assert "split.test_size" in failure.message
    assert failure.cls_name == "Failure"
    assert failure.cause is None


def test_values_are_parquet_and_json_and_nothing_is_pickled(
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
    run_audit: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dagster._core.storage.fs_io_manager import PickledObjectFilesystemIOManager

    def forbidden(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a value was pickled")

    for method in ("dump_to_path", "load_from_path"):
        monkeypatch.setattr(PickledObjectFilesystemIOManager, method, forbidden)
    run_audit(make_spec(loans_file, **SEARCHES), instance)
    folder = Path(instance.storage_directory()) / "loans"
    values = {path.name: path.read_bytes()[:4] for path in folder.iterdir() if path.is_file()}
    assert set(values) == {f"{one}.parquet" for one in ASSETS[:4]} | {f"{one}.json" for one in ASSETS[4:]}
    assert all(start in (b"PAR1",) or start.startswith(b"{") for start in values.values())


@pytest.mark.usefixtures("up_to_report")
def test_somebody_elses_asset_reads_the_values(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance
) -> None:
    from bdt_pipeline import bias_audit_definitions

    @dg.asset(
        ins={
            "table": dg.AssetIn(key=["loans", "validated_data"]),
            "report": dg.AssetIn(key=["loans", "bias_report"]),
        }
    )
    def theirs(table: Any, report: Any) -> dg.MaterializeResult[Any]:
        assert isinstance(table, AuditTable)
        return dg.MaterializeResult(metadata={"rows": len(table.frame), "verdict": report["verdict"]["verdict"]})

    spec = make_spec(loans_file, gate=[])
    defs = dg.Definitions.merge(
        bias_audit_definitions(spec),
        dg.Definitions(assets=[theirs], jobs=[dg.define_asset_job("all", executor_def=dg.in_process_executor)]),
    )
    only = [dg.AssetKey("theirs"), dg.AssetKey(["loans", "bias_report"])]
    result = defs.resolve_job_def("all").execute_in_process(instance=instance, asset_selection=only)
    assert result.success
    (event,) = result.asset_materializations_for_node("theirs")
    assert event.metadata["rows"].value == 1500
