"""What is printed: names from data do nothing, every terminal can show it, and a reader may go away."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bdt_core.errors import SourceError
from bdt_core.harmless import harmless
from bdt_pipeline.cli import app
from bdt_pipeline.commands.printing import fitting

ROOT = Path(__file__).parents[2]
EVIL = "x\n::error file=a::pwned ##[error]y \x1b[2J\u202ez\x07 ##vso[task.setvariable]v"
EVIL_LEVELS = [EVIL, "::warning::b", " ::add-mask::c", "plain"]


# --- one way out ------------------------------------------------------------------------------------------------------

WAYS_OUT = {"print", "echo", "secho", "Console", "Progress", "pprint", "getLogger", "basicConfig"}
ALLOWED = {
    ("bdt_pipeline/commands/console.py", "Console"),  # with a hook that makes every text harmless
    ("bdt_pipeline/commands/console.py", "Progress"),  # on such a console
    ("bdt_pipeline/commands/run_demo.py", "getLogger"),  # to silence it
    ("bdt_pipeline/resources/expectations.py", "print"),  # into a pipe between two processes of our own
    ("bdt_pipeline/commands/beforehand.py", "print"),  # an empty line, into another
    ("bdt_pipeline/components/telemetry.py", "getLogger"),  # one sentence, of nothing but our own words
    ("bdt_core/shards/dask_engine.py", "getLogger"),  # to silence it
    ("bdt_pipeline/cli.py", "sys.stdout"),  # what is printed already goes out before the process ends at once
    ("bdt_pipeline/cli.py", "sys.stderr"),
    ("bdt_pipeline/components/scaffolder.py", "echo"),  # beside what dg itself says; made harmless in the same line
}


def ways_out(tree: ast.AST) -> Iterator[str]:
    """What a module prints or logs by, other than `put`, `console` and `log`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            of_a_console = isinstance(called, ast.Attribute) and called.attr == "print"  # which only `console` makes
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if name in WAYS_OUT and not of_a_console:
                yield name
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "sys" and node.attr.strip("_") in ("stdout", "stderr"):
                yield f"sys.{node.attr}"
            if node.value.id == "context" and node.attr == "log":
                yield "context.log"


def test_there_is_no_other_way_out() -> None:
    found = {
        (str(path.relative_to(ROOT)), way)
        for package in ("bdt_core", "bdt_pipeline")
        for path in (ROOT / package).rglob("*.py")
        if path.name not in ("printing.py", "run_log.py")
        for way in ways_out(ast.parse(path.read_text()))
    }
    assert found - ALLOWED == set()
    sample = "import sys\nprint(1)\nsys.stderr.write('x')\nclick.echo(1)\ncontext.log.info(1)"
    assert len(list(ways_out(ast.parse(sample)))) == 4  # else the search could not fail


@given(st.text(alphabet=st.sampled_from("a:#[ \t\n\r\u2028\ufeff\x1b\u202e\x00\x85\ufffe"), max_size=12))
def test_what_is_harmless_gives_no_command(text: str) -> None:
    told = harmless(text)
    assert_harmless(told)
    assert harmless(told) == told


def assert_harmless(printed: str) -> None:
    """No character that controls, no line that a runner takes for a command."""
    controls = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
    assert not re.search(controls, printed), repr(printed)
    for line in re.split("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", printed):
        assert not line.strip().strip("\u200b\ufeff").lstrip().startswith("::"), repr(line)
        assert not re.search(r"##\w*\[", line), repr(line)


# --- names from data --------------------------------------------------------------------------------------------------


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """People in groups whose names attack, in a column whose name attacks, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    rng = np.random.default_rng(3)
    group = np.repeat(EVIL_LEVELS, 250)
    return pd.DataFrame(
        {
            EVIL: rng.choice(EVIL_LEVELS, 1000),
            "group": group,
            "age": rng.integers(18, 80, 1000),
            "hired": rng.random(1000) < np.where(group == EVIL, 0.2, 0.7),
        }
    ).astype({"hired": int})


def spec_of(path: str) -> dict[str, Any]:
    return {
        "name": "hiring",
        "source": {"path": path},
        "bias_variable": {"derive": "positive_prediction", "prediction": "hired", "better": "higher"},
        "protected": ["group"],
        "clustering": {"stability": 0, "max_iter": 2},
        "gate": [{"metric": "selection_rate", "facet": "group", "min": 0.5}, {"check": "worst_slice"}],
    }


def test_names_do_nothing_in_what_commands_print(evil: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")  # so that names are broken over lines
    evil.to_csv("evil.csv", index=False)
    evil.to_csv("a\x1b[2J\n::error::b.csv", index=False)
    Path("spec.yaml").write_text(yaml.safe_dump(spec_of("evil.csv")))
    Path("typo.yaml").write_text(yaml.safe_dump({**spec_of("evil.csv"), EVIL: 1}))
    Path("lost.yaml").write_text(yaml.safe_dump({**spec_of("evil.csv"), "protected": [EVIL + "?"]}))
    config = {
        "dataset_type": "text/csv",
        "label": "hired",
        "label_values_or_threshold": [1],
        "facet": [{"name_or_index": "group", "value_or_threshold": [EVIL]}],
        "methods": {"pre_training_bias": {"methods": "all"}},
        EVIL: 1,
    }
    Path("config.json").write_text(json.dumps(config))
    commands = [
        ["audit", "spec.yaml", "--out", "report"],
        ["audit", "typo.yaml"],
        ["audit", "lost.yaml"],
        ["audit", "lost.yaml", "--verbose"],
        ["audit", "a\x1b[2J\n::error::b.csv", "--bias-variable", EVIL],
        ["audit", f"{EVIL}.csv", "--bias-variable", "hired"],
        ["init", "a\x1b[2J\n::error::b.csv"],
        ["clarify", "config.json", "--data", "evil.csv"],
        ["score", "--groups", "evil.csv"],
        ["history", EVIL, "--storage", "."],
        ["gate", "spec.yaml", "--partition", EVIL],
        ["audit", "--no-such\x1b[2J\n::error::b"],
        *(["gate", "spec.yaml", "--format", one] for one in ("text", "json")),
    ]
    for command in commands:
        result = CliRunner().invoke(app, command)
        assert result.stdout or result.stderr, command
        assert_harmless(result.stdout)
        assert_harmless(result.stderr)
    annotated = CliRunner().invoke(app, ["gate", "spec.yaml", "--format", "github"])
    assert annotated.exit_code == 1
    lines = annotated.stdout.splitlines()
    assert len(lines) == 2
    assert all(
        re.fullmatch(r"::(error|warning|notice) file=spec\.yaml,line=\d+,title=[^:,]*::.*", one) for one in lines
    )
    assert_harmless(annotated.stdout.replace("::", ""))


def test_what_others_print_passes_the_same_way(loans_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(*_: object, **__: object) -> None:
        print(EVIL)
        sys.stderr.write(EVIL)
        raise ValueError(EVIL)

    monkeypatch.setattr("bdt_pipeline.commands.run_audit.audit", noisy)
    for more in ([], ["--verbose"]):  # the traceback quotes it
        result = CliRunner().invoke(app, ["audit", str(loans_file), "--bias-variable", "error", *more])
        assert result.exit_code == 2
        assert "pwned" in result.stdout
        assert result.stderr.count("pwned") == 1 + len(more)
        assert_harmless(result.stdout)
        assert_harmless(result.stderr)


def test_messages_are_harmless_wherever_they_are_caught() -> None:
    assert_harmless(str(SourceError(f"{EVIL} cannot be read.")))


def test_names_do_nothing_in_dagster(
    evil: pd.DataFrame, instance: dg.DagsterInstance, capfd: pytest.CaptureFixture[str]
) -> None:
    """In metadata, in what checks say, and in the log of the run."""
    from bdt_core.spec import parse_spec
    from bdt_pipeline import bias_audit_definitions

    texts = (dg.TextMetadataValue, dg.MarkdownMetadataValue)
    evil.to_csv("evil.csv", index=False)
    for changes, goes_well in (({}, True), ({"protected": [EVIL + "?"]}, False)):
        spec = parse_spec({**spec_of("evil.csv"), "slices": None, "gate": spec_of("")["gate"][:1], **changes})
        run = (
            bias_audit_definitions(spec)
            .resolve_job_def("hiring_audit")
            .execute_in_process(instance=instance, raise_on_error=False)
        )
        events = [one for one in run.all_events if one.is_step_failure and "bias_gate" not in str(one.step_key)]
        assert bool(events) != goes_well
        for event in run.all_events:
            data: Any = event.event_specific_data
            told = [getattr(getattr(data, "user_failure_data", None), "description", None)]
            holder = getattr(data, "materialization", None) or data
            told.append(getattr(holder, "description", None))
            metadata = getattr(holder, "metadata", None) or {}
            told += [one.value for one in metadata.values() if isinstance(one, texts)]
            for one in filter(None, told):
                assert_harmless(str(one))
    printed = re.sub("\x1b\\[[0-9;]*m", "", "".join(capfd.readouterr()))  # Dagster's own colours
    assert "RUN_START" in printed
    for line in printed.splitlines():
        assert not line.lstrip().startswith("::"), line
        assert "\u202e" not in line, line


def test_tables_for_spreadsheets_hold_no_formula_and_no_control(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    evil = '=HYPERLINK("http://example.org")\x1b[2J'
    group = np.repeat([evil, "@SUM(A1)", "-7"], 200)
    frame = pd.DataFrame({"group": group, "age": rng.integers(18, 80, 600), "hired": rng.integers(0, 2, 600)})
    frame.to_csv("t.csv", index=False)
    config = {
        "dataset_type": "text/csv",
        "label": "hired",
        "label_values_or_threshold": [1],
        "facet": [{"name_or_index": "group"}],
        "methods": {"pre_training_bias": {"methods": "all"}},
    }
    Path("config.json").write_text(json.dumps(config))
    done = CliRunner().invoke(app, ["clarify", "config.json", "--data", "t.csv", "--out", "out"])
    assert done.exit_code == 0, done.output
    written = Path("out/metrics.csv").read_text()
    assert_harmless(written)
    values = set(pd.read_csv("out/metrics.csv", dtype=str)["value"].dropna())
    assert values == {'\'=HYPERLINK("http://example.org")\ufffd[2J', "'@SUM(A1)", "-7"}


# --- exits, readers and terminals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["audit", "gate", "init", "clarify"])
def test_verbose_does_not_turn_could_not_run_into_fail(command: str) -> None:
    result = CliRunner().invoke(app, [command, "nothing.yaml", "--verbose"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "Error: " in result.stderr.splitlines()[-1]


def piped(command: list[str], folder: Path, **env: str) -> tuple[int, str]:
    """Run a command whose reader is gone before it begins."""
    read, write = os.pipe()
    os.close(read)
    run = [sys.executable, "-m", "bdt_pipeline.cli", *command]
    with os.fdopen(write, "w") as out:
        given = {**os.environ, "PYTHONPATH": str(ROOT), **env}
        done = subprocess.run(run, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True, env=given)
    return done.returncode, done.stderr


def test_a_reader_that_goes_away_is_no_error(loans_file: Path, make_spec: Callable[..., Any], tmp_path: Path) -> None:
    assert piped(["schema"], tmp_path) == (0, "")
    spec = make_spec(loans_file.name, gate=[{"max_difference": 0.02}]).to_dict()
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(spec))
    assert piped(["gate", "loans.yaml", "--report", "out"], tmp_path) == (1, "")  # the verdict, not the pipe
    assert (tmp_path / "out" / "gate.json").exists()


BEGUN = """
import os, sys
import bdt_pipeline.commands.run_gate
from bdt_pipeline.cli import main

codes = []
for command in sys.argv[1:]:
    if (child := os.fork()) == 0:
        sys.argv[1:] = command.split()
        main()
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with open("codes", "w") as file:
    file.write(str(codes))
"""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_screen_that_is_closed_changes_no_exit(
    loans_file: Path, make_spec: Callable[..., Any], tmp_path: Path, closed: str
) -> None:
    """As a supervisor may start a program; 1 would say that a limit is broken.

    What is closed is so from the start of Python on; the commands are forked when all is imported.
    """
    spec = make_spec(loans_file.name, gate=[{"max_difference": 0.9}], slices=None, worst_groups=None).to_dict()
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(spec))
    (tmp_path / "begun.py").write_text(BEGUN)
    commands = "'gate nothing.yaml' 'gate loans.yaml --format json --out gate.json'"
    run = f'exec "{sys.executable}" begun.py {commands} {closed}'
    subprocess.run(["bash", "-c", run], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert (tmp_path / "codes").read_text() == "[2, 0]"
    assert json.loads((tmp_path / "gate.json").read_text())["verdict"] == "pass"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_said() -> None:
    for command in ("--version", "schema", "--help"):
        run = [sys.executable, "-m", "bdt_pipeline.cli", command]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2
        assert done.stderr == "Error: What is printed cannot be written: No space left on device.\n"


def test_a_terminal_that_is_not_utf_8_gets_what_it_can_show(loans: pd.DataFrame, tmp_path: Path) -> None:
    table = loans.rename(columns={"region": "région", "age": "âge", "error": "érreur"}).drop(columns="person_id")
    table.to_csv(tmp_path / "loans.csv", index=False)
    run = [sys.executable, "-m", "bdt_pipeline.cli", "audit", "loans.csv", "--bias-variable", "érreur"]
    run += ["--features", "âge,région"]
    for encoding in ("ascii", "latin-1"):
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, env=env)
        assert done.returncode == 0, done.stderr
        text = (done.stdout + done.stderr).decode(encoding)
        assert "Who is worse off?" in text
        assert ("érreur" if encoding == "latin-1" else "erreur") in text


def test_signs_have_a_form_in_ascii() -> None:
    assert fitting("12 × 10⁻⁵ ≤ −3 … “a” → ✓", "ascii") == '12 x 10^-5 <= -3 ... "a" -> yes'
    assert fitting("12 × 3 ≤ 4", "latin-1") == "12 × 3 <= 4"
