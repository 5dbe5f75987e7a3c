"""One table through every way in: the same verdict, limits, findings and exit code."""

from __future__ import annotations

import html
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Self
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
from bdt_core.report import render_html
from bdt_core.spec import load_spec
from bdt_pipeline import BiasAudit, build_bias_gate_checks
from bdt_pipeline.cli import app
from bdt_pipeline.commands.run_gate import exit_code
from tests.core.report.test_language import english_in
from tests.pipeline.local_page.served import opened, until

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
Answer = dict[str, Any]
VERDICTS = {"en": ("FAIL", "sex is f (2,497 people)"), "nl": ("VOLDOET NIET", "sex is f (2.497 mensen)")}


@dataclass(frozen=True)
class Through:
    """What came out of a door.

    Attributes
    ----------
    document : dict
        The report as data.
    page : str
        The report as HTML.
    code : int or None
        Exit code, where there is one.
    beside : tuple of str
        What else a reader sees, in the language of the audit.
    """

    document: dict[str, Any]
    page: str
    code: int | None = None
    beside: tuple[str, ...] = ()

    @classmethod
    def report(cls, folder: Path, code: int | None = None, beside: Sequence[str] = ()) -> Self:
        texts = [(folder / name).read_text("utf-8") for name in ("report.json", "report.html", "report.md")]
        return cls(json.loads(texts[0]), texts[1], code, (texts[2], *beside))

    @property
    def answer(self) -> Answer:
        """Without what a door may name differently, as a file holds it."""
        verdict = self.document["verdict"]
        answer = {
            "verdict": verdict,
            "limits": self.document["gate"],
            "findings": self.document["findings"],
            "exit code": exit_code(verdict) if self.code is None else self.code,
        }
        return json.loads(json.dumps(answer))  # type: ignore[no-any-return]


Door = Callable[[Path, pd.DataFrame, str], Through]


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


def bdt(*arguments: str) -> tuple[int, str]:
    """Exit code, and what is printed but for remarks on standard error."""
    ran = TyperRunner().invoke(app, list(arguments))
    return ran.exit_code, ran.stdout


def by_hand(folder: Path, **more: Any) -> Path:
    least = {"name": "people", "source": {"path": "people.csv"}, "bias_variable": {"column": "fined"}}
    file = folder / "by_hand.yaml"
    file.write_text(yaml.safe_dump({**least, "protected": ["sex"], **more}))
    return file


def through_yaml(folder: Path, _people: pd.DataFrame, language: str) -> Through:
    code, printed = bdt("gate", str(by_hand(folder, language=language)), "--report", "report")
    return Through.report(folder / "report", code, [printed, (folder / "report" / "gate.md").read_text("utf-8")])


def through_a_file(folder: Path, _people: pd.DataFrame, _language: str) -> Through:
    code, printed = bdt("audit", "people.csv", "--out", "report")
    assert code == 0
    return Through.report(folder / "report", beside=[printed])


def through_a_file_and_an_outcome(folder: Path, _people: pd.DataFrame, _language: str) -> Through:
    code, printed = bdt("audit", "people.csv", "--bias-variable", "fined", "--out", "report")
    assert code == 0
    return Through.report(folder / "report", beside=[printed])


def through_a_frame(_folder: Path, people: pd.DataFrame, language: str) -> Through:
    document = audit(people, outcome="fined", language=language).document
    return Through(document, render_html(document))


def specified(folder: Path, language: str) -> str:
    """What `bdt init` writes, in a language."""
    assert bdt("init", "people.csv")[0] == 0
    file = folder / "people.yaml"
    file.write_text(f"{file.read_text('utf-8')}\nlanguage: {language}\n", "utf-8")
    return file.name


def through_init_and_audit(folder: Path, _people: pd.DataFrame, language: str) -> Through:
    code, printed = bdt("audit", specified(folder, language), "--out", "report")
    assert code == 0
    return Through.report(folder / "report", beside=[printed])


def through_init_and_gate(folder: Path, _people: pd.DataFrame, language: str) -> Through:
    code, printed = bdt("gate", specified(folder, language), "--report", "report")
    return Through.report(folder / "report", code, [printed])


def through_the_light_gate(folder: Path, _people: pd.DataFrame, language: str) -> Through:
    """The same sources where neither Dagster nor Great Expectations nor a web server can be imported."""
    by_hand(folder, language=language)
    absent = "import sys; sys.modules |= dict.fromkeys(['dagster', 'great_expectations', 'starlette', 'uvicorn'])"
    program = f"{absent}; from bdt_pipeline.cli import main; main()"
    command = [sys.executable, "-c", program, "gate", "by_hand.yaml", "--report", "report", "--format", "json"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    through = Through.report(folder / "report", ran.returncode)
    said = json.loads(ran.stdout)
    verdict = through.document["verdict"]["verdict"]
    assert (said["verdict"], said["exit_code"]) == (verdict, ran.returncode), ran.stderr
    assert said["bias_variable"] == {"name": "fined", "better": "lower", "better_by": "implied"}
    return through


def through_the_page(folder: Path, _people: pd.DataFrame, language: str) -> Through:
    with opened(folder, "people.csv") as program:
        host, path = urlsplit(program.address).netloc, urlsplit(program.address).path
        connection = http.client.HTTPConnection(host)

        def ask(name: str, form: dict[str, str] | None = None) -> bytes:
            headers = {"Origin": f"http://{host}", "Content-Type": "application/x-www-form-urlencoded"}
            body = None if form is None else urlencode(form)
            method = "GET" if form is None else "POST"
            connection.request(method, path + name, body, {**headers, "Accept-Language": language})
            return connection.getresponse().read()

        def place() -> str:
            found: str = json.loads(ask("progress"))["place"]
            return found

        until(lambda: place() == "questions")
        outcome = ask("").decode().partition('name="outcome" value="')[2].partition('"')[0].replace("&#34;", '"')
        ask("answers", {"outcome": outcome, "better": "lower", "do": "start"})
        until(lambda: place() != "auditing")
        document: dict[str, Any] = json.loads(ask("report.json"))
        page, around = ask("report.html").decode(), ask("").decode()
        connection.close()
    return Through(document, page, beside=(around,))


def through_the_scaffold(folder: Path, _people: pd.DataFrame, language: str) -> Through:
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
    written = yaml.safe_load((package / "defs" / "people" / "defs.yaml").read_text())["attributes"]
    attributes = {**written, "source": {"path": str(folder / "people.csv")}, "language": language}
    with create_defs_folder_sandbox() as sandbox, dg.DagsterInstance.local_temp(str(folder)) as instance:
        place = sandbox.scaffold_component(
            component_cls=BiasAudit, defs_yaml_contents={"type": "bdt_pipeline.BiasAudit", "attributes": attributes}
        )
        with sandbox.load_component_and_build_defs(defs_path=place) as (_, defs):
            job = defs.resolve_job_def("people_audit")
            ran = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
        (gate,) = [one for one in ran.get_asset_check_evaluations() if one.check_name == "bias_gate"]
        *_, last = (one.user_message for one in instance.all_logs(ran.run_id) if not one.is_dagster_event)
        assert last.startswith(f"{VERDICTS[language][0]}: people: {VERDICTS[language][1]}")
        (stored,) = Path(instance.storage_directory()).glob("people/reports/*/report.json")
        through = Through.report(stored.parent)
    assert gate.passed is (through.document["verdict"]["verdict"] == "pass")
    return through


SPEAK: list[Door] = [
    through_yaml, through_a_frame, through_init_and_audit, through_init_and_gate, through_the_light_gate,
    through_the_page, through_the_scaffold,
]  # fmt: skip
"""Doors at which a language can be asked for."""
DOORS = [(door, "en") for door in (*SPEAK, through_a_file, through_a_file_and_an_outcome)]


@pytest.fixture(scope="module")
def wanted(people: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """The answer of a specification of three keys and the protected columns."""
    folder = tmp_path_factory.mktemp("by_hand")
    people.to_csv(folder / "people.csv", index=False)
    answer = Through(audit(None, load_spec(by_hand(folder))).document, "").answer
    assert (answer["verdict"]["verdict"], answer["exit code"]) == ("fail", 1)
    assert [one["kind"] for one in answer["limits"]] == ["worst_group"]
    return answer


@pytest.mark.parametrize(("door", "language"), [*DOORS, *((door, "nl") for door in SPEAK)])
def test_every_door_gives_the_same_answer(
    door: Door, language: str, folder: Path, people: pd.DataFrame, wanted: Answer
) -> None:
    through = door(folder, people, language)
    assert through.answer["exit code"] == wanted["exit code"]
    assert through.answer == wanted
    assert f'<html lang="{language}"' in through.page
    assert _in_one_line(VERDICTS[language][1]) in _in_one_line(through.page)
    if language != "en":
        for text in (through.page, *through.beside):
            assert english_in(_Read.texts(text), through.document) == []


class _Read(HTMLParser):
    """What is read on a page or in a text: without code, and without what says that it is in English."""

    _EMPTY = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])
    _CODE = frozenset(["code", "pre", "script", "style"])

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self._open: list[tuple[str, bool]] = []

    @classmethod
    def texts(cls, text: str) -> list[str]:
        reader = cls()
        reader.feed(re.sub(r"`[^`]*`", "", text))
        reader.close()
        assert len("".join(reader.read)) > 100, "so little is no report"
        return reader.read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._EMPTY:
            self._open.append((tag, tag in self._CODE or dict(attrs).get("lang") == "en"))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(hidden for _, hidden in self._open):
            self.read += [line for line in data.splitlines() if line.strip() and not _VERSION.fullmatch(line.strip())]


@pytest.mark.parametrize("language", VERDICTS)
def test_every_form_says_the_same_in_each_language(language: str, folder: Path, wanted: Answer) -> None:
    verdict, worst = VERDICTS[language]
    ran = TyperRunner().invoke(app, ["gate", str(by_hand(folder, language=language)), "--report", "report"])
    assert Through.report(folder / "report", ran.exit_code).answer == wanted
    said = ran.stdout.strip()
    assert said.startswith(f"{verdict}: people: {worst}")
    sentence = _in_one_line(said.partition(": people: ")[2])
    texts = {name: (folder / "report" / name).read_text("utf-8") for name in _FORMS}
    pages = pypdf.PdfReader(folder / "report" / "report.pdf").pages
    texts["report.pdf"] = " ".join(page.extract_text() for page in pages)
    told = {name: sentence in _in_one_line(text) for name, text in texts.items()}
    assert told == dict.fromkeys(told, True)


_VERSION = re.compile(r"\d+(\.\d+){2,}")
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
