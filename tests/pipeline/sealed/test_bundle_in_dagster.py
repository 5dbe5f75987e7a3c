"""The asset ``audit_bundle``: there where it is asked for, and made also where the gate stops the run."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster.components.testing.utils import create_defs_folder_sandbox

from bdt_core.sealed.canonical import digest_of_file
from bdt_core.spec import parse_spec
from bdt_pipeline import AuditBundle, BiasAudit, bias_audit_definitions
from tests.pipeline.sealed.conftest import SPEC, Office, bdt

BUNDLE = dg.AssetKey(["loans", "audit_bundle"])
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test(temp_dir=str(tmp_path)) as made:
        yield made


def definitions(office: Office, maximum: float, bundle: AuditBundle | None) -> dg.Definitions:
    limit = {"metric": "accuracy_equality_difference", "facet": "sex", "max": maximum}
    source = {"path": str(office.folder / "loans.csv")}
    return bias_audit_definitions(parse_spec({**SPEC, "source": source, "gate": [limit]}), bundle=bundle)


def test_nothing_changes_where_it_is_not_asked_for(office: Office) -> None:
    graph, asked = (definitions(office, 0.9, x).resolve_asset_graph() for x in (None, AuditBundle()))
    assert BUNDLE not in graph.get_all_asset_keys()
    assert asked.get_all_asset_keys() - graph.get_all_asset_keys() == {BUNDLE}
    assert asked.get(BUNDLE).parent_keys == {dg.AssetKey(["loans", "bias_report"])}
    assert asked.get(BUNDLE).group_name == "loans"


@pytest.mark.parametrize(("maximum", "verdict"), [(0.9, "pass"), (0.05, "fail")])
def test_each_report_is_bundled_and_signed(
    office: Office, instance: dg.DagsterInstance, maximum: float, verdict: str
) -> None:
    job = definitions(office, maximum, AuditBundle(key=office.key())).resolve_job_def("loans_audit")
    ran = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
    assert ran.success == (verdict == "pass")
    event = instance.get_latest_materialization_event(BUNDLE)
    assert event is not None
    assert event.run_id == ran.run_id
    shown = event.asset_materialization.metadata if event.asset_materialization else {}
    path = Path(str(shown["bundle"].value))
    assert path.name == f"{ran.run_id}.zip"
    assert shown["verdict"].value == verdict
    assert shown["sha256"].value == digest_of_file(path)
    assert str(shown["signed by"].value).startswith("SHA256:")
    options = ("--key", office.public(), "--data", office.folder / "loans.csv")
    verified = bdt("verify", path, *options)
    assert verified.exit_code == 0, verified.output
    assert "The ledger holds the look that wrote this report" in verified.stdout
    assert bdt("verify", path, *options, "--passed").exit_code == (verdict == "fail")


def test_a_component_asks_for_it_in_yaml(office: Office) -> None:
    attributes = {**SPEC, "bundle": {"key": str(office.key())}}
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=BiasAudit,
            defs_path="audit",
            defs_yaml_contents={"type": "bdt_pipeline.BiasAudit", "attributes": attributes},
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, defs):
            assert isinstance(component, BiasAudit)
            assert component.bundle == AuditBundle(key=office.key())
            assert BUNDLE in defs.resolve_asset_graph().get_all_asset_keys()
