"""The templates for CI systems: their steps are run as a runner runs them, in the environment that they make."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.pipeline.conftest import loans_spec

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {one["name"]: one for one in ACTION["runs"]["steps"]}
GITLAB = yaml.safe_load((ROOT / "docs" / "gitlab-bias-gate.yml").read_text())[".bias-gate"]
WORKFLOW = yaml.safe_load((ROOT / "docs" / "bias-gate-workflow.yml").read_text())
HARM = {"check": "worst_cluster", "max_difference": 0.05}
PARITY = {"metric": "demographic_parity_difference", "facet": "sex", "max": 0.5}
CANNOT_TELL = {"metric": "false_positive_rate_difference", "facet": "sex", "max": 0.0001}
DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}
ORCHESTRATION = ("dagster", "dagster-webserver", "great-expectations", "starlette", "uvicorn")
SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def files_of(requirements: list[str]) -> dict[str, Path]:
    """What is installed here of these distributions and all that they need: the top of each, by its name."""
    found: dict[str, Path] = {}
    seen: set[tuple[str, str]] = set()
    todo = [(Requirement(one), "") for one in requirements]
    while todo:
        wanted, extra = todo.pop()
        if (wanted.marker and not wanted.marker.evaluate({"extra": extra})) or (str(wanted), extra) in seen:
            continue
        seen.add((str(wanted), extra))
        installed = metadata.distribution(wanted.name)
        tops = {one.parts[0] for one in installed.files or [] if one.parts[0] not in ("..", "__pycache__")}
        found |= {top: Path(str(installed.locate_file(top))) for top in tops}
        for more in installed.requires or []:
            todo += [(Requirement(more), one) for one in ("", *sorted(wanted.extras))]
    return found


def linked(folder: Path, requirements: list[str]) -> Path:
    """A folder for sys.path in which those distributions are, and no other."""
    folder.mkdir()
    for name, place in files_of(requirements).items():
        (folder / name).symlink_to(place)
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gate's distribution, built as pip builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT / "gate"),
    ]
    subprocess.run([sys.executable, *command], check=True)
    (made,) = folder.iterdir()
    return made


def requirements_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith("/METADATA")]
        required = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist", [])
    return [one for one in required if "extra ==" not in one]


@pytest.fixture(scope="session")
def runner_temp(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner's folder, in which the action's own steps have made its environment.

    Nothing is downloaded: what the gate's distribution asks for is linked from here, and nothing else is. The sources
    are those of this folder, so that their kernels need not be compiled anew.
    """
    temp = tmp_path_factory.mktemp("runner")
    tools = linked(temp / "tools", ["hatchling"])
    offline = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": str(tools)}
    first = Runner(
        temp, temp, {}, only=("Find a Python", "Name the environment", "Take the environment from the cache", "Install")
    )
    assert first.run(offline) == 0, first.log
    assert first.outcomes["Install"] == "success"
    environment = temp / "bdt-gate"
    site = subprocess.run([environment / "bin" / "python", "-c", SITE], capture_output=True, text=True, check=True)
    needed = linked(temp / "needed", requirements_of(wheel))
    line = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(needed)!r}]\n"
    Path(site.stdout.strip(), "linked.pth").write_text(line)
    if "NUMBA_CACHE_DIR" in os.environ:
        (environment / "numba").symlink_to(os.environ["NUMBA_CACHE_DIR"])
    return temp


def repository(folder: Path, loans: pd.DataFrame) -> Path:
    """A repository with a specification that has a space in its name."""
    loans.to_csv(folder / "loans.csv", index=False)
    spec = loans_spec("loans.csv", bias_variable=DERIVED).to_dict()
    for name, limits in {"harm": [HARM], "parity": [PARITY], "cannot tell": [CANNOT_TELL]}.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(spec | {"gate": limits}))
    return folder


@pytest.fixture
def folder(tmp_path: Path, loans: pd.DataFrame) -> Path:
    return repository(tmp_path, loans)


def clean_environment() -> dict[str, str]:
    ours = ("GITHUB_", "CI_", "DAGSTER", "PYTHON", "NUMBA", "RUNNER_", "VIRTUAL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


class Runner:
    """As much of GitHub's runner as a composite action needs; other actions are stood in for."""

    def __init__(self, folder: Path, temp: Path, inputs: dict[str, str], *, only: tuple[str, ...] = ()) -> None:
        self.folder, self.temp = folder, temp
        self.steps = [one for name, one in STEPS.items() if not only or name in only]
        self.values = {f"inputs.{name}": str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        self.values |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.values["github.action_path"] = str(ROOT)
        self.values["github.token"] = "the job's"
        self.outcomes: dict[str, str] = {}
        self.used: dict[str, dict[str, str]] = {}
        self.log = ""
        self.code: int | None = None
        for file in ("env.txt", "path.txt", "summary.md"):
            (folder / file).write_text("")

    def run(self, job: dict[str, str] | None = None) -> int:
        """Run every step whose condition holds, and give the code of the last that failed."""
        code = 0
        for step in self.steps:
            wanted = self.holds(step.get("if", "success()"), failed=code != 0)
            done = None if not wanted else self.use(step) if "uses" in step else self.script(step, job or {})
            code = done or code
            self.outcomes[step["name"]] = "skipped" if done is None else "failure" if done else "success"
            self.values[f"steps.{step.get('id')}.outcome"] = self.outcomes[step["name"]]
        self.code = code
        return code

    def use(self, step: dict[str, Any]) -> int:
        given = {name: self.filled(str(value)) for name, value in step["with"].items()}
        action = step["uses"].split("@")[0]
        self.used[action] = given
        there = (self.temp / "bdt-gate").exists()
        outputs = {
            "actions/setup-python": {"python-path": sys.executable},
            "actions/cache/restore": {"cache-hit": "true" if there else ""},
        }
        for name, value in outputs.get(action, {}).items():
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return 0

    def script(self, step: dict[str, Any], job: dict[str, str]) -> int:
        outputs, script = self.temp / "outputs.txt", self.temp / "step.sh"
        outputs.write_text("")
        script.write_text(step["run"])
        env = clean_environment() | job | {name: self.filled(text) for name, text in step.get("env", {}).items()}
        env |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
        env |= {"GITHUB_ENV": str(self.folder / "env.txt"), "GITHUB_PATH": str(self.folder / "path.txt")}
        env |= {"GITHUB_WORKSPACE": str(self.folder), "RUNNER_TEMP": str(self.temp)}
        shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        done = subprocess.run(shell, cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        self.log += done.stdout + done.stderr
        for line in outputs.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step.get('id')}.outputs.{name}"] = value
        return done.returncode

    def filled(self, words: str) -> str:
        return re.sub(r"\$\{\{\s*(\S+)\s*\}\}", lambda one: self.filled(self.values.get(one[1], "")), words)

    def holds(self, condition: str, *, failed: bool) -> bool:
        said = re.sub(r"\b(?:inputs|steps|github)\.[\w.-]+", lambda one: repr(self.values.get(one[0], "")), condition)
        states = {"success": lambda: not failed, "always": lambda: True}
        if "always()" not in said and "success()" not in said:
            said = f"success() and ({said})"
        return bool(eval(said.replace("&&", "and").replace("||", "or"), {"__builtins__": {}}, states))

    def outputs(self) -> dict[str, str]:
        return {name: self.filled(one["value"]) for name, one in ACTION["outputs"].items()}


NO_VERDICT = {"verdict": "", "baseline-verdict": "", "report": "", "comment": ""}


@pytest.fixture(scope="module")
def shut(runner_temp: Path, loans: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """The action on people of whom some are harmed."""
    folder = repository(tmp_path_factory.mktemp("shut"), loans)
    runner = Runner(folder, runner_temp, {"spec": "harm.yaml"})
    runner.run()
    return runner


@pytest.fixture(scope="module")
def opened(runner_temp: Path, loans: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """The action with a limit that holds, in a job whose own modules would break every import."""
    folder = repository(tmp_path_factory.mktemp("opened"), loans)
    for name in ("json", "yaml", "numpy", "sitecustomize"):
        (folder / f"{name}.py").write_text("raise SystemExit(77)\n")
    runner = Runner(folder, runner_temp, {"spec": "parity.yaml"})
    runner.run({"PYTHONPATH": str(folder), "PYTHONHOME": str(folder), "VIRTUAL_ENV": "/of/the/job"})
    return runner


def test_the_action_fails_shut_with_annotations_summary_and_outputs(shut: Runner) -> None:
    assert shut.code == 1
    assert shut.outputs() == {
        "verdict": "fail",
        "baseline-verdict": "",
        "exit-code": "1",
        "report": "bias-report",
        "comment": "bias-report/gate.md",
    }
    assert "::error file=harm.yaml,line=" in shut.log
    comment = (shut.folder / "bias-report" / "gate.md").read_text()
    assert comment.startswith("<!-- bdt-gate:loans -->")
    assert (shut.folder / "summary.md").read_text() == comment
    assert (shut.folder / "bias-report" / "report.html").exists()
    assert shut.used["actions/upload-artifact"]["path"] == "bias-report"
    assert shut.outcomes["Comment"] == "skipped"


def test_the_action_takes_data_baseline_and_format(folder: Path, shut: Runner, runner_temp: Path) -> None:
    shutil.copytree(shut.folder / "bias-report", folder / "first report")
    (folder / "loans.csv").rename(folder / "other name.csv")
    again = {"spec": "harm.yaml", "data": "other name.csv", "baseline": "first report/report.json", "format": "text"}
    second = Runner(folder, runner_temp, {**again, "report": "second report"})
    assert second.run() == 0
    assert second.outputs()["verdict"] == "fail"
    assert second.outputs()["baseline-verdict"] == "pass"
    assert second.outputs()["report"] == "second report"
    assert (folder / "second report" / "report.json").exists()
    assert "PASS against the baseline" in second.log
    assert "### Against the baseline" in (folder / "summary.md").read_text()


def test_the_action_warns_when_the_data_cannot_tell(folder: Path, runner_temp: Path) -> None:
    runner = Runner(folder, runner_temp, {"spec": "cannot tell.yaml"})
    assert runner.run() == 0
    assert runner.outputs()["exit-code"] == "3"
    assert "::warning title=Bias gate::" in runner.log


def test_the_action_tells_broken_from_biased_and_runs_nothing_from_its_inputs(folder: Path, runner_temp: Path) -> None:
    runner = Runner(folder, runner_temp, {"spec": '$(touch stolen)"; touch stolen; #.yaml'})
    assert runner.run() == 2
    assert runner.outputs() == NO_VERDICT | {"exit-code": "2"}
    assert "could not run" in runner.log
    assert not (folder / "stolen").exists()
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "inputs go through the environment, never into a script"
        assert "run" not in step or step["shell"] == "bash"


def test_the_jobs_python_is_neither_used_nor_changed(opened: Runner) -> None:
    """Nor its PATH and its variables, at which a job looks afterwards."""
    assert opened.code == 0, opened.log
    assert (opened.folder / "env.txt").read_text() == (opened.folder / "path.txt").read_text() == ""
    assert opened.used["actions/setup-python"]["update-environment"] == "False"


@pytest.mark.parametrize("killed", ["the gate", "its step"])
def test_a_gate_that_is_killed_is_shut_and_says_so(killed: str, folder: Path, runner_temp: Path) -> None:
    """By a signal that nobody can catch, and as late as can be: it passes, and everything of it is written."""
    temp = folder / "runner"
    (temp / "bdt-gate" / "bin").mkdir(parents=True)
    python = temp / "bdt-gate" / "bin" / "python"
    whom = {"the gate": "$$", "its step": "$PPID $$"}[killed]
    python.write_text(f'#!/bin/sh\n{runner_temp}/bdt-gate/bin/python "$@"\nkill -9 {whom}\n')
    python.chmod(0o755)
    (temp / "bdt-gate" / "numba").symlink_to(runner_temp / "bdt-gate" / "numba")
    runner = Runner(folder, temp, {"spec": "parity.yaml"})
    assert runner.run() == 2
    assert json.loads((folder / "bias-report" / "gate.json").read_text())["verdict"] == "pass"
    assert runner.outputs() == NO_VERDICT | {"exit-code": "137" if killed == "the gate" else ""}
    assert "::error title=Bias gate::The audit was" in runner.log
    assert (folder / "summary.md").read_text().endswith("so the gate is shut.\n")


def test_what_cannot_be_installed_is_shut(folder: Path) -> None:
    runner = Runner(folder, folder / "nowhere", {"spec": "parity.yaml"})
    runner.temp.mkdir()
    assert runner.run({"PIP_NO_INDEX": "1"}) == 2
    assert runner.outcomes["Install"] == "failure"
    assert runner.outcomes["Run the gate"] == "skipped"
    assert "could not be installed" in runner.log


def test_an_environment_is_kept_by_what_it_is_made_of(folder: Path, opened: Runner) -> None:
    cold = Runner(
        folder, folder, {}, only=("Find a Python", "Name the environment", "Take the environment from the cache")
    )
    assert cold.run() == 0
    assert opened.code == 0
    assert opened.outcomes["Install"] == "skipped"
    assert "actions/cache/save" not in opened.used
    assert opened.used["actions/cache/restore"]["key"] == cold.used["actions/cache/restore"]["key"]
    copy = folder / "copy"
    shutil.copytree(ROOT / "gate", copy / "gate")
    keys = set()
    for content in ("one", "another"):
        (copy / "pyproject.toml").write_text(content)
        told = subprocess.run(
            [sys.executable, copy / "gate" / "environment.py"],
            env=os.environ | {"RUNNER_TEMP": "x"}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        keys.add(told.stdout.splitlines()[-1])
    assert len(keys) == 2
    names = list(STEPS)
    assert names.index("Run the gate") < names.index("Upload the report") < names.index("Open or shut")


class Server(BaseHTTPRequestHandler):
    """The API's three calls on comments; refuses to write without the job's token."""

    comments: list[dict[str, Any]]
    written: list[tuple[str, str, dict[str, str]]]

    def do_GET(self) -> None:
        assert self.path.startswith("/repos/o/r/issues/3/comments?per_page=100&page=")
        page = int(self.path.rpartition("=")[2])
        self.answer(200, self.comments[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer the job's":
            return self.answer(403, {})
        self.written.append((self.command, self.path, sent))
        return self.answer(201, {"html_url": "https://host/o/r/pull/3#comment"})

    do_PATCH = do_POST  # noqa: N815

    def answer(self, code: int, what: Any) -> None:
        body = json.dumps(what).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[type[Server]]:
    class Own(Server):
        comments: list[dict[str, Any]] = []  # noqa: RUF012 - each test has a class of its own
        written: list[tuple[str, str, dict[str, str]]] = []  # noqa: RUF012

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    Own.address = f"http://127.0.0.1:{listening.server_port}"  # type: ignore[attr-defined]
    Thread(target=listening.serve_forever, daemon=True).start()
    yield Own
    listening.shutdown()
    listening.server_close()


def told(number: int, kind: str, body: str | None) -> dict[str, Any]:
    return {"id": number, "user": {"type": kind}, "body": body}


MARKER = "<!-- bdt-gate:loans -->"
COMMENT_ONLY = ("Find a Python", "Comment")


def commenting(folder: Path, server: type[Server], inputs: dict[str, str], values: dict[str, str]) -> Runner:
    (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 3}}))
    (folder / "gate.md").write_text(f"{MARKER}\n\n## Fail\n")
    runner = Runner(folder, folder, {"spec": "harm.yaml", "comment": "true"} | inputs, only=COMMENT_ONLY)
    runner.values |= values
    address = server.address  # type: ignore[attr-defined]
    job = {"GITHUB_API_URL": address, "GITHUB_REPOSITORY": "o/r", "GITHUB_EVENT_PATH": str(folder / "event.json")}
    assert runner.run(job) == 0, runner.log
    return runner


MANY = [told(number, "User", "words") for number in range(250)]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([], ("POST", "/repos/o/r/issues/3/comments")),
        ([told(7, "Bot", f"{MARKER}\nold")], ("PATCH", "/repos/o/r/issues/comments/7")),
        ([*MANY, told(7, "Bot", f"{MARKER}\r\nold")], ("PATCH", "/repos/o/r/issues/comments/7")),
        ([told(7, "User", f"{MARKER}\nsomebody's")], ("POST", "/repos/o/r/issues/3/comments")),
        ([told(7, "Bot", "<!-- bdt-gate:other -->"), told(8, "Bot", None)], ("POST", "/repos/o/r/issues/3/comments")),
    ],
)
def test_the_comment_is_written_once_and_then_updated(
    there: list[dict[str, Any]], expected: tuple[str, str], folder: Path, server: type[Server]
) -> None:
    server.comments = there
    runner = commenting(folder, server, {}, {"steps.gate.outputs.comment": "gate.md"})
    ((method, path, sent),) = server.written
    assert (method, path) == expected
    assert sent == {"body": f"{MARKER}\n\n## Fail\n"}
    assert "Comment: https://host" in runner.log


def test_an_earlier_verdict_does_not_stand_when_the_audit_was_killed(folder: Path, server: type[Server]) -> None:
    server.comments = [told(7, "Bot", f"{MARKER}\n## Pass")]
    commenting(folder, server, {}, {"steps.end.outputs.sentence": "The audit was killed."})
    ((method, path, sent),) = server.written
    assert (method, path) == ("PATCH", "/repos/o/r/issues/comments/7")
    assert sent["body"].startswith(MARKER)
    assert sent["body"].endswith("The audit was killed.\n")


def test_a_token_that_may_not_write_warns_and_judges_nothing(folder: Path, server: type[Server]) -> None:
    runner = commenting(folder, server, {"token": "a fork's"}, {"steps.gate.outputs.comment": "gate.md"})
    assert "::warning title=Bias gate::No comment was written: the server answered 403" in runner.log
    assert "a fork's" not in runner.log.replace("a fork's token may not", "")
    assert server.written == []


def test_a_push_has_no_comment(folder: Path, server: type[Server]) -> None:
    runner = Runner(folder, folder, {"spec": "harm.yaml", "comment": "true"}, only=COMMENT_ONLY)
    (folder / "push.json").write_text("{}")
    assert runner.run({"GITHUB_EVENT_PATH": str(folder / "push.json")}) == 0
    assert "belongs to no pull request" in runner.log


def test_the_gates_distribution_is_the_whole_without_the_orchestration(wheel: Path) -> None:
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = {canonicalize_name(Requirement(one).name): Requirement(one).specifier for one in whole["dependencies"]}
    theirs = {canonicalize_name(Requirement(one).name): Requirement(one).specifier for one in requirements_of(wheel)}
    assert theirs == {name: asked for name, asked in ours.items() if name not in ORCHESTRATION}
    needed = files_of(requirements_of(wheel))
    assert not {"dagster", "great_expectations", "dagster_webserver", "starlette", "uvicorn"} & set(needed)
    assert wheel.name.startswith(f"bdt_gate-{whole['version']}-")
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in ("bdt_core", "bdt_pipeline")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        verifier = "bdt_core/sealed/recompute.py"  # stands beside the packages in the sources
        assert {one for one in archive.namelist() if ".dist-info/" not in one} == sources | {verifier}


SEVERAL = """
import json, sys
from bdt_pipeline.cli import app

codes = []
for arguments in json.loads(sys.argv[1]):
    try:
        app(arguments)
    except SystemExit as end:
        codes.append(end.code)
print(codes)
"""


def test_the_commands_run_where_there_is_no_dagster(folder: Path, runner_temp: Path) -> None:
    """Several in one process, as most of a short one is its start."""
    python = str(runner_temp / "bdt-gate" / "bin" / "python")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [python, "-I", *arguments]
        return subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)

    assert "No module named 'dagster'" in run("-c", "import dagster").stderr
    assert run("-m", "bdt_pipeline.cli", "--version").stdout.startswith("bdt ")
    commands = (
        ("init", "loans.csv", "--out", "new.yaml"),
        ("audit", "parity.yaml", "--out", "audited"),
        ("compare", "parity.yaml", "harm.yaml", "--out", "compared"),
        ("gate", "parity.yaml"),
        ("demo",),
    )
    done = run("-c", SEVERAL, json.dumps(commands))
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0, 2]", done.stdout + done.stderr
    told = json.loads((folder / "audited" / "report.json").read_text())
    assert told["software"]["bdt"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert "this needs dagster" in done.stderr
    assert "bdt-pipeline brings them" in done.stderr


def gitlab_job(folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Before and main script in one shell, as GitLab's runner joins them."""
    env = clean_environment() | GITLAB["variables"] | variables | {"CI_PROJECT_DIR": str(folder)}
    script = "\n".join((*GITLAB["before_script"], *GITLAB["script"]))
    return subprocess.run(["sh", "-ec", script], cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def gitlab_folder(folder: Path, runner_temp: Path) -> Path:
    """With the environment in its cache."""
    shutil.copytree(runner_temp / "bdt-gate", folder / ".bias-gate", symlinks=True)
    version = "import platform, sys; print(platform.python_version(), sys.base_prefix)"
    python = subprocess.run(
        ["python3", "-c", version], capture_output=True, text=True, check=True, env=clean_environment()
    )
    (folder / ".bias-gate" / "installed").write_text(f"{ROOT / 'gate'} {python.stdout}")
    return folder


def test_the_gitlab_job(gitlab_folder: Path) -> None:
    given = {"BIAS_PACKAGE": str(ROOT / "gate"), "BIAS_SPEC": "harm.yaml", "BIAS_DATA": "loans.csv"}
    done = gitlab_job(gitlab_folder, given)
    assert done.returncode == 1, done.stderr
    for file in GITLAB["artifacts"]["reports"].values():
        assert (gitlab_folder / file).stat().st_size > 0
    (finding,) = json.loads((gitlab_folder / GITLAB["artifacts"]["reports"]["codequality"]).read_text())
    assert finding["location"]["path"] == "harm.yaml"
    assert GITLAB["allow_failure"] == {"exit_codes": 3}  # the data cannot tell: a warning


def test_the_gitlab_job_that_is_killed_says_so(gitlab_folder: Path) -> None:
    python = gitlab_folder / ".bias-gate" / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\nkill -9 $$\n")
    python.chmod(0o755)
    done = gitlab_job(gitlab_folder, {"BIAS_PACKAGE": str(ROOT / "gate"), "BIAS_SPEC": "harm.yaml"})
    assert done.returncode == 137
    assert "so the gate is shut" in done.stderr


def test_another_package_is_installed_anew(gitlab_folder: Path) -> None:
    done = gitlab_job(gitlab_folder, {"BIAS_PACKAGE": "/not/there", "BIAS_SPEC": "parity.yaml"})
    assert done.returncode == 1
    assert "/not/there" in done.stderr
    assert not (gitlab_folder / ".bias-gate" / "installed").exists()


def test_the_example_workflow_gives_the_action_what_it_knows() -> None:
    steps = WORKFLOW["jobs"]["bias-gate"]["steps"]
    (gate,) = [one for one in steps if one.get("id") == "gate"]
    assert set(gate["with"]) <= set(ACTION["inputs"])
    assert gate["with"]["comment"] is True
    assert WORKFLOW["permissions"]["pull-requests"] == "write"
    assert "pull_request_target" not in str(WORKFLOW)
