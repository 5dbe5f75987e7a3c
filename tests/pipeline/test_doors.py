"""One table through every way in: the same verdict, limits, findings and exit code."""

from __future__ import annotations

import html
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import dagster as dg
import numpy as np
import pandas as pd
import pypdf
import pytest
import yaml
from click.testing import CliRunner
from dagster.components.testing.utils import create_defs_folder_sandbox
from dagster_dg_cli.cli import cli as dg_cli
from typer.testing import CliRunner as TyperRunner

from bdt_core.audit import audit
from bdt_core.spec import load_spec
from bdt_pipeline import BiasAudit, build_bias_gate_checks
from bdt_pipeline.cli import app
from bdt_pipeline.commands.run_gate import exit_code
from tests.pipeline.local_page.served import opened, until

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
Answer = dict[str, Any]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Women are fined 31 of 100, men 10; age and region make no difference."""
    rng = np.random.default_rng(7)
    sex = rng.choice(["f", "m"], 5000)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": rng.integers(18, 80, 5000),
            "region": rng.choice(["north", "south", "east"], 5000),
            "fined": (rng.random(5000) < np.where(sex == "f", 0.31, 0.10)).astype(int),
        }
    )


@pytest.fixture
def folder(people: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    people.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer_of(document: dict[str, Any], code: int | None = None) -> Answer:
    """What a report answers, without what a door may name differently."""
    return {
        "verdict": document["verdict"],
        "limits": document["gate"],
        "findings": document["findings"],
        "exit code": exit_code(document["verdict"]) if code is None else code,
    }


def report_in(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return document


def bdt(*arguments: str) -> int:
    return TyperRunner().invoke(app, list(arguments)).exit_code


def by_hand(folder: Path, **more: Any) -> Path:
    least = {"name": "people", "source": {"path": "people.csv"}, "bias_variable": {"column": "fined"}}
    file = folder / "by_hand.yaml"
    file.write_text(yaml.safe_dump({**least, "protected": ["sex"], **more}))
    return file


def through_yaml(folder: Path, _people: pd.DataFrame) -> Answer:
    code = bdt("gate", str(by_hand(folder)), "--report", "report")
    return answer_of(report_in(folder / "report"), code)


def through_a_file(folder: Path, _people: pd.DataFrame) -> Answer:
    assert bdt("audit", "people.csv", "--out", "report") == 0
    return answer_of(report_in(folder / "report"))


def through_a_file_and_an_outcome(folder: Path, _people: pd.DataFrame) -> Answer:
    assert bdt("audit", "people.csv", "--bias-variable", "fined", "--out", "report") == 0
    return answer_of(report_in(folder / "report"))


def through_a_frame(_folder: Path, people: pd.DataFrame) -> Answer:
    return answer_of(audit(people, outcome="fined").document)


def through_init_and_audit(folder: Path, _people: pd.DataFrame) -> Answer:
    assert bdt("init", "people.csv") == 0
    assert bdt("audit", "people.yaml", "--out", "report") == 0
    return answer_of(report_in(folder / "report"))


def through_init_and_gate(folder: Path, _people: pd.DataFrame) -> Answer:
    assert bdt("init", "people.csv") == 0
    code = bdt("gate", "people.yaml", "--report", "report")
    return answer_of(report_in(folder / "report"), code)


def through_the_light_gate(folder: Path, _people: pd.DataFrame) -> Answer:
    """The same sources where neither Dagster nor Great Expectations nor a web server can be imported."""
    by_hand(folder)
    absent = "import sys; sys.modules |= dict.fromkeys(['dagster', 'great_expectations', 'starlette', 'uvicorn'])"
    program = f"{absent}; from bdt_pipeline.cli import main; main()"
    command = [sys.executable, "-c", program, "gate", "by_hand.yaml", "--report", "report", "--format", "json"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    document = report_in(folder / "report")
    said = json.loads(ran.stdout)
    assert (said["verdict"], said["exit_code"]) == (document["verdict"]["verdict"], ran.returncode), ran.stderr
    assert said["bias_variable"] == {"name": "fined", "better": "lower", "better_by": "implied"}
    return answer_of(document, ran.returncode)


def through_the_page(folder: Path, _people: pd.DataFrame) -> Answer:
    with opened(folder, "people.csv") as program:
        host, path = urlsplit(program.address).netloc, urlsplit(program.address).path
        connection = http.client.HTTPConnection(host)

        def ask(name: str, form: dict[str, str] | None = None) -> bytes:
            headers = {"Origin": f"http://{host}", "Content-Type": "application/x-www-form-urlencoded"}
            body = None if form is None else urlencode(form)
            connection.request("GET" if form is None else "POST", path + name, body, headers)
            return connection.getresponse().read()

        def place() -> str:
            found: str = json.loads(ask("progress"))["place"]
            return found

        until(lambda: place() == "questions")
        outcome = ask("").decode().partition('name="outcome" value="')[2].partition('"')[0].replace("&#34;", '"')
        ask("answers", {"outcome": outcome, "better": "lower", "do": "start"})
        until(lambda: place() != "auditing")
        document: dict[str, Any] = json.loads(ask("report.json"))
        connection.close()
    return answer_of(document)


def through_the_scaffold(folder: Path, _people: pd.DataFrame) -> Answer:
    """`dg scaffold`, and what its job stores when it is launched."""
    package = folder / "project"
    (package / "defs").mkdir(parents=True)
    for place in (package, package / "defs"):
        (place / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "project"\n'
    )
    asked = ["scaffold", "defs", "bdt_pipeline.BiasAudit", "people", "--file", "people.csv"]
    made = CliRunner().invoke(dg_cli, asked)
    assert made.exit_code == 0, made.output
    file = package / "defs" / "people" / "defs.yaml"
    attributes = {**yaml.safe_load(file.read_text())["attributes"], "source": {"path": str(folder / "people.csv")}}
    with create_defs_folder_sandbox() as sandbox, dg.DagsterInstance.local_temp(str(folder)) as instance:
        place = sandbox.scaffold_component(
            component_cls=BiasAudit, defs_yaml_contents={"type": "bdt_pipeline.BiasAudit", "attributes": attributes}
        )
        with sandbox.load_component_and_build_defs(defs_path=place) as (_, defs):
            job = defs.resolve_job_def("people_audit")
            ran = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
        (gate,) = [one for one in ran.get_asset_check_evaluations() if one.check_name == "bias_gate"]
        (stored,) = Path(instance.storage_directory()).glob("people/reports/*/report.json")
        document = report_in(stored.parent)
    assert gate.passed is (document["verdict"]["verdict"] == "pass")
    return answer_of(document)


DOORS: list[Callable[[Path, pd.DataFrame], Answer]] = [
    through_a_file, through_a_file_and_an_outcome, through_a_frame, through_init_and_audit, through_init_and_gate,
    through_the_light_gate, through_the_page, through_the_scaffold,
]  # fmt: skip


@pytest.fixture(scope="module")
def wanted(people: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """The answer of a specification of three keys and the protected columns."""
    folder = tmp_path_factory.mktemp("by_hand")
    people.to_csv(folder / "people.csv", index=False)
    found = audit(None, load_spec(by_hand(folder))).document
    answer = answer_of(found)
    assert (answer["verdict"]["verdict"], answer["exit code"]) == ("fail", 1)
    assert [one["kind"] for one in answer["limits"]] == ["worst_group"]
    return json.loads(json.dumps(answer))  # type: ignore[no-any-return]


@pytest.mark.parametrize("door", [through_yaml, *DOORS])
def test_every_door_gives_the_same_answer(
    door: Callable[[Path, pd.DataFrame], Answer], folder: Path, people: pd.DataFrame, wanted: Answer
) -> None:
    found = json.loads(json.dumps(door(folder, people)))
    assert found["exit code"] == wanted["exit code"]
    assert found == wanted


@pytest.mark.parametrize(("language", "verdict", "worst"), [
    ("en", "FAIL", "sex is f (2,497 people)"), ("nl", "VOLDOET NIET", "sex is f (2.497 mensen)"),
])  # fmt: skip
def test_every_form_says_the_same_in_each_language(
    language: str, verdict: str, worst: str, folder: Path, wanted: Answer
) -> None:
    ran = TyperRunner().invoke(app, ["gate", str(by_hand(folder, language=language)), "--report", "report"])
    assert json.loads(json.dumps(answer_of(report_in(folder / "report"), ran.exit_code))) == wanted
    said = ran.stdout.strip()
    assert said.startswith(f"{verdict}: people: {worst}")
    sentence = _in_one_line(said.partition(": people: ")[2])
    texts = {name: (folder / "report" / name).read_text("utf-8") for name in _FORMS}
    pages = pypdf.PdfReader(folder / "report" / "report.pdf").pages
    texts["report.pdf"] = " ".join(page.extract_text() for page in pages)
    told = {name: sentence in _in_one_line(text) for name, text in texts.items()}
    assert told == dict.fromkeys(told, True)


_FORMS = ("report.html", "report.md", "gate.md", "gate.xml")


def _in_one_line(text: str) -> str:
    """Without what a form has between words: ends of lines, places where they may end, tags, the report's own marks."""
    return re.sub(r"[\s\u200b]+|&nbsp;", "", html.unescape(re.sub(r"<[^>]*>|\*\*|\\", "", text)))


def test_a_gate_on_an_asset_says_the_same(people: pd.DataFrame, wanted: Answer, folder: Path) -> None:
    @dg.asset
    def predictions() -> pd.DataFrame:
        return people

    spec = load_spec(by_hand(folder, source={"asset": "predictions"}))
    with dg.DagsterInstance.ephemeral() as instance:
        checks = build_bias_gate_checks(asset=predictions, spec=spec)
        ran = dg.materialize([predictions, *checks], instance=instance, raise_on_error=False, run_config=QUIET)
    (check,) = ran.get_asset_check_evaluations()
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert str(check.description) == wanted["verdict"]["sentence"]
