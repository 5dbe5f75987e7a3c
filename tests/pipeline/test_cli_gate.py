"""``bdt gate`` as a CI system meets it: exit codes, files, annotations, baselines; and the same gate in Dagster."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner, Result

from bdt_core.audit import audit
from bdt_core.report.annotations import Place, github_annotations, gitlab_code_quality
from bdt_core.report.comment import comment_marker, render_comment
from bdt_core.report.gate_result import build_gate_result
from bdt_core.report.junit import render_junit
from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline.cli import app
from bdt_pipeline.commands.run_gate import exit_code, verdict_in_words
from tests import forked
from tests.core.verdict.against import against

REPORT = {"report.json", "report.html", "report.pdf", "report.md"}
FORMS = {"gate.json", "gate.xml", "gate.md", "gate-codequality.json"}
HARM = {"check": "worst_cluster", "max_difference": 0.05}
PARITY = {"metric": "demographic_parity_difference", "facet": "sex", "max": 0.5}
DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs ``bdt gate`` in an empty folder without a trace of Dagster or a CI system."""
    monkeypatch.chdir(tmp_path)
    for name in ("DAGSTER_HOME", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["gate", *map(str, arguments)])


@pytest.fixture
def spec_file(loans_file: Path, make_spec: Callable[..., AuditSpec], tmp_path: Path) -> Callable[..., Path]:
    """Writes a specification, one limit per line from line 2."""

    def write(*limits: dict[str, Any], **changes: Any) -> Path:
        spec = make_spec(loans_file.name, bias_variable=DERIVED, **changes).to_dict() | {"gate": list(limits)}
        lines = ["gate:", *(f"  - {json.dumps(one)}" for one in limits)]
        path = tmp_path / "loans.yaml"
        path.write_text("\n".join(lines) + "\n" + yaml.safe_dump({k: v for k, v in spec.items() if k != "gate"}))
        return path

    return write


def test_one_audit_gives_the_report_and_every_form(
    gate: Callable[..., Result],
    spec_file: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).write_text("from a step before\n")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    result = gate(spec_file(HARM, PARITY), "--format", "github", "--report", "bias-report")
    assert result.exit_code == 1
    errors, notices = result.stdout.splitlines()
    where = f"file={tmp_path.name}/loans.yaml"
    assert errors.startswith(f"::error {where},line=2,title=Bias gate loans%3A Fail%3A worst_cluster::The error rate")
    assert notices.startswith(f"::notice {where},line=3,")
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "from a step before\nverdict=fail\nexit-code=1\n"

    folder = tmp_path / "bias-report"
    assert {one.name for one in folder.iterdir()} == REPORT | FORMS
    data = json.loads((folder / "gate.json").read_text())
    assert (data["verdict"], data["exit_code"], data["blocks"], data["baseline"]) == ("fail", 1, True, None)
    assert [one["outcome"] for one in data["limits"]] == ["stops", "holds"]

    comment = (folder / "gate.md").read_text()
    assert comment.startswith("<!-- bdt-gate:loans -->\n")
    assert "### Who is worse off?" in comment
    assert comment.count("\n| ") == 3  # head and one row per limit
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == "from a step before\n" + comment

    suite = check_junit((folder / "gate.xml").read_text())
    assert [one.find("failure") is not None for one in suite] == [True, False]
    (finding,) = json.loads((folder / "gate-codequality.json").read_text())
    assert set(finding) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert finding["location"] == {"path": f"{tmp_path.name}/loans.yaml", "lines": {"begin": 2}}
    assert finding["severity"] in {"minor", "major", "critical", "blocker"}


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"slices": {"max_difference": 0.05}}, "worst_slice"),
        ({"local_bias": {"group": "sex", "n_clusters": 2, "max_gap": 0.05}}, "local_bias"),
    ],
)
def test_a_limit_that_a_section_sets_shuts_the_gate_and_its_line_is_named(
    gate: Callable[..., Result],
    spec_file: Callable[..., Path],
    loans_file: Path,
    changes: dict[str, Any],
    check: str,
) -> None:
    frame = pd.read_csv(loans_file)
    frame.loc[frame["sex"] == "m", "approved"] = frame["repaid"]  # right about every man
    frame.to_csv(loans_file, index=False)
    path = spec_file(PARITY, groups={"facets": []}, **changes)
    result = gate(path, "--format", "github")
    assert result.exit_code == 1
    (key,) = changes[next(iter(changes))].keys() & {"max_difference", "max_gap"}
    line = next(i for i, one in enumerate(path.read_text().splitlines(), start=1) if one.strip() == f"{key}: 0.05")
    holds, fails = result.stdout.splitlines()
    assert holds.startswith("::notice")
    assert ",line=2," in holds
    assert fails.startswith("::error")
    assert f",line={line},title=Bias gate loans%3A Fail%3A {check}::" in fails


def test_a_form_goes_into_a_file_and_the_verdict_onto_the_screen(
    gate: Callable[..., Result], spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    result = gate(spec_file(PARITY), "--format", "junit", "--out", "ci/gate.xml")
    assert result.exit_code == 0
    assert result.stdout.startswith("PASS: loans: ")
    assert len(check_junit((tmp_path / "ci" / "gate.xml").read_text())) == 1
    assert {one.name for one in tmp_path.iterdir()} == {"bdt-reports", "ci", "loans.csv", "loans.yaml"}


def test_a_limit_that_blocks_when_it_cannot_tell_exits_1(
    gate: Callable[..., Result], spec_file: Callable[..., Path]
) -> None:
    cannot_tell = {"metric": "false_positive_rate_difference", "facet": "sex", "max": 0.0001}
    warns = gate(spec_file(cannot_tell), "--format", "json")
    assert (warns.exit_code, json.loads(warns.stdout)["verdict"]) == (3, "inconclusive")
    blocks = gate(spec_file({**cannot_tell, "inconclusive": "block"}), "--format", "json")
    assert (blocks.exit_code, json.loads(blocks.stdout)["limits"][0]["outcome"]) == (1, "stops")


@pytest.mark.parametrize("verdict", ["fail", "inconclusive", "not_testable"])
def test_what_blocks_never_exits_0(verdict: str) -> None:
    assert exit_code({"verdict": verdict, "blocks": True}) == 1


def test_only_a_significant_worsening_fails_against_a_baseline(
    gate: Callable[..., Result], spec_file: Callable[..., Path], loans: pd.DataFrame, tmp_path: Path
) -> None:
    spec = spec_file(HARM)
    assert gate(spec, "--report", "first").exit_code == 1
    same = gate(spec, "--baseline", "first/report.json", "--report", "second")
    assert same.exit_code == 0
    assert same.stdout.splitlines()[0].startswith("FAIL: loans: ")
    assert same.stdout.splitlines()[1].startswith("PASS against the baseline: No broken limit is significantly worse")
    assert "### Against the baseline" in (tmp_path / "second" / "gate.md").read_text()
    (case,) = check_junit((tmp_path / "second" / "gate.xml").read_text())
    assert "not significantly worse" in str(case.find("skipped").attrib["message"])

    rng = np.random.default_rng(3)
    fair = loans.assign(repaid=np.where(rng.random(len(loans)) < 0.2, 1 - loans["approved"], loans["approved"]))
    fair.to_csv(tmp_path / "fair.csv", index=False)
    assert gate(spec, "--data", "fair.csv", "--report", "fair").exit_code in (0, 3)
    worse = gate(spec, "--baseline", "fair/report.json", "--format", "json")
    data = json.loads(worse.stdout)
    assert (worse.exit_code, data["limits"][0]["change"]["change"]) == (1, "worse")
    assert data["baseline"]["verdict"] == "fail"


def test_bad_baselines_exit_2_before_anything_is_audited(
    gate: Callable[..., Result], spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text("{")
    for baseline in ("broken.json", "missing.json"):
        result = gate(spec_file(HARM), "--baseline", baseline, "--report", "report")
        assert result.exit_code == 2
        assert f"Error: The baseline {baseline}" in result.stderr
    assert not (tmp_path / "report").exists()


def test_a_part_of_the_data(gate: Callable[..., Result], spec_file: Callable[..., Path], loans: pd.DataFrame) -> None:
    loans.to_csv("day-2026-01-31.csv", index=False)
    spec = spec_file(PARITY, source={"path": "day-{partition}.csv"})
    assert gate(spec, "--partition", "2026-01-31").exit_code == 0
    assert "2026-02-01" in gate(spec, "--partition", "2026-02-01").stderr
    outside = gate(spec, "--partition", "../loans")
    assert outside.exit_code == 2
    assert "a partition is a name" in outside.stderr
    one_file = gate(spec_file(PARITY), "--partition", "2026-01-31")
    assert one_file.exit_code == 2
    assert "the same for all parts" in one_file.stderr


def test_predictions_and_labels_in_files_of_their_own(
    gate: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    loans[["age", "region", "sex"]].to_csv("validation.csv", index=False)
    np.save("predictions.npy", loans["approved"].to_numpy())
    np.save("labels.npy", loans["repaid"].to_numpy())
    spec = {
        "name": "credit",
        "source": {"path": "validation.csv", "arrays": {"prediction": "predictions.npy", "label": "labels.npy"}},
        "bias_variable": {"derive": "error", "label": "label", "prediction": "prediction"},
        "protected": ["sex"],
        "clustering": {"stability": 0},
        "gate": [{"metric": "demographic_parity_ratio", "facet": "sex", "min": 0.5}],
    }
    (tmp_path / "credit.yaml").write_text(yaml.safe_dump(spec))
    assert gate("credit.yaml").exit_code == 0
    assert gate("credit.yaml", "--data", tmp_path / "validation.csv").exit_code == 0


def test_a_minority_that_is_refused_shuts_the_gate(gate: Callable[..., Result], tmp_path: Path) -> None:
    """Refused 2.88 times as often: with every other group the ratio of refusals looks fine."""
    people = {"large": (5_800, 1_160), "other": (4_000, 800), "small": (200, 115)}
    rows = [(name, i % 50, int(i < refused)) for name, (n, refused) in people.items() for i in range(n)]
    pd.DataFrame(rows, columns=["origin", "age", "refused"]).assign(
        defaulted=lambda x: x["age"] % 2  # half of the people, in every group
    ).to_csv(tmp_path / "loans.csv", index=False)
    spec = {
        "name": "loans",
        "source": {"path": "loans.csv"},
        "bias_variable": {"derive": "error", "label": "defaulted", "prediction": "refused"},
        "protected": ["origin"],
        "clustering": {"stability": 0, "max_iter": 2},
        "slices": None,
        "gate": [{"metric": "disparate_impact", "facet": "origin", "min": 0.8}],
    }
    path = tmp_path / "loans.yaml"
    path.write_text(yaml.safe_dump(spec))
    unsaid = gate(path)
    assert unsaid.exit_code == 2
    assert '"favourable: negative"' in unsaid.stderr
    path.write_text(yaml.safe_dump({**spec, "favourable": "negative"}))
    assert gate(path, "--report", tmp_path / "out").exit_code == 1
    (limit,) = json.loads((tmp_path / "out" / "gate.json").read_text())["limits"]
    assert (limit["verdict"], limit["group"]) == ("fail", "small")
    assert "(group over all others; favourable: refused is negative) is 0.531 " in limit["sentence"]
    for name in ("gate.md", "report.md"):
        assert "favourable: refused is negative" in (tmp_path / "out" / name).read_text()


# --- names that somebody else has chosen -----------------------------------------------------------------------------

HOSTILE = ["a\n::error::injected", "b ##[set-output name=x]y", "e%0A::warning::x" + "z" * 40_000]
HOSTILE_FEW = ["</testcase><c>&\ufffe", "| d | <script> @octocat [x](//e.org) <!-- -->", "a::c,\r\n::add-mask::x"]


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    """A report on groups whose names attack; those of 20 people, of whom 17 are selected, are too few to be judged."""
    rng = np.random.default_rng(2)
    rows = [(name, 300, round(300 * rate)) for name, rate in zip(HOSTILE, (0.1, 0.2, 0.9), strict=True)]
    rows += [(name, 20, 17) for name in (*HOSTILE_FEW, "few")]
    frame = pd.DataFrame(
        [(name, int(i < selected)) for name, n, selected in rows for i in range(n)], columns=["group", "hired"]
    )
    frame["age"] = rng.integers(18, 70, len(frame))
    limits = [
        {"metric": metric, "facet": "group", **bound}
        for metric, bound in (
            ("selection_rate", {"min": 0.5}),
            ("DI", {"min": 0.8}),
            ("demographic_parity_difference", {"max": 0.1}),
            ("selection_rate_difference", {"max": 0.1}),
        )
    ]
    spec = {
        "name": "hiring",
        "source": {"path": "x.csv"},
        "bias_variable": {"derive": "positive_prediction", "prediction": "hired", "better": "higher"},
        "features": {"include": ["age"]},
        "protected": ["group"],
        "clustering": {"stability": 0, "max_iter": 2},
        "gate": limits,
    }
    return audit(frame, parse_spec(spec)).document


def forms(document: dict[str, Any], with_baseline: bool) -> dict[str, str]:
    comparison = against(document, document) if with_baseline else None
    result = build_gate_result(document, 1, comparison)
    places = [Place("a,b:c.yaml", n) for n, _ in enumerate(result["limits"], start=1)]
    return {
        "text": verdict_in_words(result),
        "github": github_annotations(result, places),
        "gitlab": gitlab_code_quality(result, places),
        "junit": render_junit(result),
        "json": json.dumps(result, ensure_ascii=False, indent=2),
        "markdown": render_comment(document, result),
    }


@pytest.mark.parametrize("with_baseline", [False, True])
def test_names_cannot_give_commands_to_the_runner(hostile: dict[str, Any], with_baseline: bool) -> None:
    drawn = forms(hostile, with_baseline)
    for form, words in drawn.items():
        assert "##[" not in words, form  # the runner's older commands, read anywhere in a line
        for line in words.splitlines():
            assert form == "github" or not line.lstrip().startswith("::"), form
    lines = drawn["github"].splitlines()
    command = re.compile(r"::(?:error|warning|notice) file=a%2Cb%3Ac\.yaml,line=\d,title=([^:,]*)::(.*)")
    assert len(lines) == len(hostile["gate"])
    for line in lines:
        matched = command.fullmatch(line)
        assert matched is not None, line
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", matched[1] + matched[2])
    assert all(any(word in line for line in lines) for word in ("injected", "add-mask", "octocat"))


@pytest.mark.parametrize("with_baseline", [False, True])
def test_names_stay_inside_their_place(hostile: dict[str, Any], with_baseline: bool) -> None:
    drawn = forms(hostile, with_baseline)
    assert len(check_junit(drawn["junit"])) == len(hostile["gate"])
    assert len(json.loads(drawn["gitlab"])) == len({one["fingerprint"] for one in json.loads(drawn["gitlab"])})
    comment = drawn["markdown"]
    assert all(word in comment for word in ("injected", "octocat", "zzz"))
    assert len(comment) < 60_000  # GitHub takes 65,536
    assert len(re.findall(r"(?<!\\)<!--", comment)) == 1
    assert comment.startswith(comment_marker("hiring"))
    assert not re.search(r"(?<!\\)<(?!!-- bdt-gate)|@octocat|(?<!\\)\[x\]|://", comment)
    rows = [line for line in comment.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(hostile["gate"])
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


@pytest.mark.parametrize("with_baseline", [False, True])
def test_groups_with_too_few_rows_are_named_without_a_rate(hostile: dict[str, Any], with_baseline: bool) -> None:
    for form, words in forms(hostile, with_baseline).items():
        assert "few" in words, form
        assert not re.search(r"0\.85\b|85\.0 %|for few\b", words), form
    assert all("few" in one["left_out"] or one["group"] is None for one in hostile["gate"])


def check_junit(xml: str) -> list[ElementTree.Element]:
    """The usual shape: counts that are true, and nothing but what JUnit's readers know."""
    root = ElementTree.fromstring(xml)
    assert root.tag == "testsuites"
    (suite,) = root
    cases = list(suite)
    assert {one.tag for one in cases} == {"testcase"}
    assert all(set(one.attrib) == {"classname", "name", "time"} for one in cases)
    assert len({one.attrib["name"] for one in cases}) == len(cases)
    parts = [[part.tag for part in one] for one in cases]
    assert all(len(one) == 1 and one[0] in {"failure", "skipped", "system-out"} for one in parts)
    for one in (root, suite):
        assert int(one.attrib["tests"]) == len(cases)
        assert int(one.attrib["failures"]) == parts.count(["failure"])
        assert int(one.attrib["skipped"]) == parts.count(["skipped"])
        assert one.attrib["errors"] == "0"
    return cases


# --- the same gate in Dagster -----------------------------------------------------------------------------------------

MODULE = """
import os
from pathlib import Path

import dagster as dg

from bdt_core.spec import load_spec
from bdt_pipeline import bias_audit_definitions

@dg.asset(deps=[dg.AssetKey(["loans", "bias_report"])])
def promote_model():
    Path(os.environ["PROMOTED"]).touch()

gate = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(["loans", "bias_report"]), "bias_gate"))
selection = dg.AssetSelection.assets(promote_model).upstream().without_checks() | gate
promote = dg.define_asset_job("promote", selection=selection, executor_def=dg.in_process_executor)
defs = dg.Definitions.merge(
    bias_audit_definitions(load_spec(os.environ["SPEC"])), dg.Definitions(assets=[promote_model], jobs=[promote])
)
"""
DAGSTER = ["dagster", "job", "execute", "-f", "jobs.py", "-j", "promote"]
DG = ["dg", "launch", "-f", "jobs.py", "--job", "promote"]


@pytest.mark.parametrize(("command", "most", "opens"), [(DG, 0.05, False), (DAGSTER, 0.9, True)])
def test_a_job_in_dagster_promotes_only_through_an_open_gate(
    command: list[str], most: float, opens: bool, spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(MODULE)
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    spec, promoted = spec_file({"check": "worst_cluster", "max_difference": most}), tmp_path / "promoted"
    scripts = Path(sys.executable).parent
    root = Path(__file__).parents[2]
    given = {"DAGSTER_HOME": home, "SPEC": spec, "PROMOTED": promoted, "PYTHONPATH": root, "OMP_NUM_THREADS": 1}
    env = {**os.environ, **{name: str(value) for name, value in given.items()}}
    done = forked.run([str(scripts / command[0]), *command[1:]], cwd=tmp_path, env=env)
    assert (done.returncode == 0) is opens, done.stderr[-3000:]
    assert promoted.exists() is opens
    assert list(home.glob("storage/loans/reports/*/report.json")), done.stderr[-3000:]  # written whatever the verdict
