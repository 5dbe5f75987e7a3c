"""The templates for CI systems: their shell steps are run as a runner runs them, but for what needs a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bdt_core.spec import AuditSpec

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GITLAB = yaml.safe_load((ROOT / "docs" / "gitlab-bias-gate.yml").read_text())[".bias-gate"]
WORKFLOW = yaml.safe_load((ROOT / "docs" / "bias-gate-workflow.yml").read_text())
HARM = {"check": "worst_cluster", "max_difference": 0.05}
PARITY = {"metric": "demographic_parity_difference", "facet": "sex", "max": 0.5}
CANNOT_TELL = {"metric": "false_positive_rate_difference", "facet": "sex", "max": 0.0001}


@pytest.fixture
def folder(tmp_path: Path, loans_file: Path, make_spec: Callable[..., AuditSpec]) -> Path:
    """A repository with a specification that has a space in its name, and ``bdt`` on the path."""
    derived = {"derive": "error", "label": "repaid", "prediction": "approved"}
    spec = make_spec(loans_file.name, bias_variable=derived).to_dict()
    for name, limits in {"harm": [HARM], "parity": [PARITY], "cannot tell": [CANNOT_TELL]}.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(spec | {"gate": limits}))
    (tmp_path / "bin").mkdir()
    bdt = tmp_path / "bin" / "bdt"
    bdt.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bdt_pipeline.cli "$@"\n')
    bdt.chmod(0o755)
    return tmp_path


def run_shell(shell: list[str], script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "CI_", "DAGSTER"))}
    given = clean | {"PATH": path, "PYTHONPATH": str(ROOT)} | env
    return subprocess.run([*shell, script], cwd=folder, env=given, capture_output=True, text=True, check=False)


class Runner:
    """As much of GitHub's runner as a composite action needs."""

    def __init__(self, folder: Path, inputs: dict[str, str]) -> None:
        self.folder = folder
        self.values = {f"inputs.{name}": str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        self.values |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.values["github.action_path"] = str(ROOT)
        self.log = ""

    def run(self) -> int:
        """Run the steps that need no network; the first failure ends the action."""
        for step in ACTION["runs"]["steps"]:
            if "run" not in step or step["name"] == "Install":
                continue
            outputs = self.folder / "outputs.txt"
            outputs.write_text("")
            env = {name: self.filled(text) for name, text in step.get("env", {}).items()}
            env |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
            env |= {"GITHUB_WORKSPACE": str(self.folder)}
            done = run_shell(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"], step["run"], self.folder, env)
            self.log += done.stdout + done.stderr
            for line in outputs.read_text().splitlines():
                name, _, value = line.partition("=")
                self.values[f"steps.{step.get('id')}.outputs.{name}"] = value
            if done.returncode:
                return done.returncode
        return 0

    def filled(self, words: str) -> str:
        return re.sub(r"\$\{\{\s*(\S+)\s*\}\}", lambda one: self.values.get(one[1], ""), words)

    def outputs(self) -> dict[str, str]:
        return {name: self.filled(one["value"]) for name, one in ACTION["outputs"].items()}


def test_the_action_fails_shut_with_annotations_summary_and_comment(folder: Path) -> None:
    runner = Runner(folder, {"spec": "harm.yaml"})
    assert runner.run() == 1
    assert runner.outputs() == {"verdict": "fail", "exit-code": "1", "comment": "bias-report/gate.md"}
    assert "::error file=harm.yaml,line=" in runner.log
    comment = (folder / "bias-report" / "gate.md").read_text()
    assert comment.startswith("<!-- bdt-gate:loans -->")
    assert (folder / "summary.md").read_text() == comment
    assert (folder / "bias-report" / "report.html").exists()


def test_the_action_takes_data_baseline_and_format(folder: Path) -> None:
    first = Runner(folder, {"spec": "harm.yaml", "report": "first report"})
    assert first.run() == 1
    (folder / "loans.csv").rename(folder / "other name.csv")
    (folder / "summary.md").unlink()
    again = {"spec": "harm.yaml", "data": "other name.csv", "baseline": "first report/report.json", "format": "text"}
    second = Runner(folder, again)
    assert second.run() == 0
    assert second.outputs()["verdict"] == "fail"
    assert "PASS against the baseline" in second.log
    assert "### Against the baseline" in (folder / "summary.md").read_text()


def test_the_action_warns_when_the_data_cannot_tell(folder: Path) -> None:
    runner = Runner(folder, {"spec": "cannot tell.yaml"})
    assert runner.run() == 0
    assert runner.outputs()["exit-code"] == "3"
    assert "::warning title=Bias gate::" in runner.log


def test_the_action_tells_broken_from_biased_and_runs_nothing_from_its_inputs(folder: Path) -> None:
    runner = Runner(folder, {"spec": '$(touch stolen)"; touch stolen; #.yaml'})
    assert runner.run() == 2
    assert runner.outputs() == {"verdict": "", "exit-code": "2", "comment": ""}
    assert "could not run" in runner.log
    assert not (folder / "stolen").exists()
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "inputs go through the environment, never into a script"


def test_the_action_installs_itself_and_keeps_the_report() -> None:
    steps = {one["name"]: one for one in ACTION["runs"]["steps"]}
    assert steps["Install"]["run"] == 'python -m pip install "$ACTION_FOLDER"'
    assert steps["Install"]["env"] == {"ACTION_FOLDER": "${{ github.action_path }}"}
    names = list(steps)
    assert names.index("Run the gate") < names.index("Upload the report") < names.index("Open or shut")
    assert all(one.get("shell") == "bash" for one in steps.values() if "run" in one)


def test_the_gitlab_job(folder: Path) -> None:
    env = GITLAB["variables"] | {"BIAS_SPEC": "harm.yaml", "BIAS_DATA": "loans.csv", "CI_PROJECT_DIR": str(folder)}
    (script,) = GITLAB["script"]
    done = run_shell(["sh", "-e", "-c"], script, folder, env)
    assert done.returncode == 1, done.stderr
    for file in GITLAB["artifacts"]["reports"].values():
        assert (folder / file).stat().st_size > 0
    (finding,) = json.loads((folder / GITLAB["artifacts"]["reports"]["codequality"]).read_text())
    assert finding["location"]["path"] == "harm.yaml"
    assert GITLAB["allow_failure"] == {"exit_codes": 3}  # the data cannot tell: a warning


def test_the_example_workflow_gives_the_action_what_it_knows() -> None:
    steps = WORKFLOW["jobs"]["bias-gate"]["steps"]
    (gate,) = [one for one in steps if one.get("id") == "gate"]
    assert set(gate["with"]) <= set(ACTION["inputs"])
    (comment,) = [one for one in steps if one.get("name") == "Comment"]
    assert set(re.findall(r"steps\.gate\.outputs\.([\w-]+)", str(comment))) <= set(ACTION["outputs"])
    assert "pull_request_target" not in str(WORKFLOW)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([], ["create", None]),
        ([{"id": 7, "type": "Bot", "body": "<!-- bdt-gate:loans -->\nold"}], ["update", 7]),
        ([{"id": 7, "type": "User", "body": "<!-- bdt-gate:loans -->\nsomebody's"}], ["create", None]),
        ([{"id": 7, "type": "Bot", "body": "<!-- bdt-gate:other -->"}, {"id": 8, "type": "Bot"}], ["create", None]),
    ],
)
def test_the_comment_is_written_once_and_then_updated(
    there: list[dict[str, Any]], expected: list[Any], tmp_path: Path
) -> None:
    """GitHub itself cannot run here: an object with its three calls stands in."""
    steps = WORKFLOW["jobs"]["bias-gate"]["steps"]
    script = next(one for one in steps if one.get("name") == "Comment")["with"]["script"]
    (tmp_path / "gate.md").write_text("<!-- bdt-gate:loans -->\n\n## Fail\n")
    comments = [{"id": one["id"], "user": {"type": one["type"]}, "body": one.get("body")} for one in there]
    frame = f"""
    const context = {{repo: {{owner: 'o', repo: 'r'}}, issue: {{number: 3}}}};
    const tell = (what) => (one) => console.log(JSON.stringify([what, one]));
    const github = {{
      paginate: async (call, where) => {json.dumps(comments)},
      rest: {{issues: {{listComments: null, createComment: tell('create'), updateComment: tell('update')}}}},
    }};
    (async () => {{ {script} }})();
    """
    env = os.environ | {"COMMENT": str(tmp_path / "gate.md")}
    done = subprocess.run(["node", "-e", frame], env=env, capture_output=True, text=True, check=True)
    what, sent = json.loads(done.stdout)
    assert [what, sent.get("comment_id")] == expected
    assert sent["body"].endswith("## Fail\n")
    assert (sent["owner"], sent["repo"]) == ("o", "r")
    assert what == "update" or sent["issue_number"] == 3
