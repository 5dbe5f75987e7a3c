"""Bad input gets one clear message on standard error, exit code 2, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from bdt_core.sealed.ledger import FILES
from bdt_pipeline.cli import app
from tests.pipeline.local_page.served import PATIENCE

COLUMN = ["--bias-variable", "error"]
LABELS = ["--label", "repaid", "--prediction", "approved"]
Case = Callable[[Path, pd.DataFrame], list[str]]


def to_csv(folder: Path, table: pd.DataFrame, name: str = "t.csv", **options: object) -> str:
    table.to_csv(folder / name, index=False, **options)  # type: ignore[call-overload]
    return str(folder / name)


def text(folder: Path, content: str | bytes, name: str = "t.csv") -> str:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return str(folder / name)


def mixed_encodings(folder: Path) -> str:
    return text(folder, "näme,error\n".encode() + "ö,1\n".encode() + "ü,0\n".encode("latin-1"))


def ids(table: pd.DataFrame) -> pd.DataFrame:
    big = pd.concat([table] * 140, ignore_index=True)
    return big.assign(person_id=[f"id-{i}" for i in range(len(big))])


def spec(folder: Path, table: pd.DataFrame, extra: str, left_out: str = "person_id") -> str:
    to_csv(folder, table)
    head = "name: loans\nsource: {path: t.csv}\nbias_variable: {column: error}\n"
    head += f"features: {{exclude: [{left_out}]}}\n"
    return text(folder, head + extra, "spec.yaml")


def existing_report(folder: Path, table: pd.DataFrame) -> list[str]:
    (folder / "out").mkdir()
    (folder / "out" / "report.json").write_text("{}")
    return [to_csv(folder, table), *COLUMN, "--exclude", "person_id", "--out", str(folder / "out")]


CASES: dict[str, tuple[Case, str]] = {
    "missing file": (lambda d, t: [str(d / "no.csv"), *COLUMN], "does not exist"),
    "missing file, near name": (lambda d, t: [to_csv(d, t, "loans.csv")[:-5] + "z.csv", *COLUMN], 'mean "loans.csv"'),
    "empty file": (lambda d, t: [text(d, ""), *COLUMN], "is empty"),
    "header only": (lambda d, t: [text(d, "a,error\n"), *COLUMN], "no rows"),
    "one column": (lambda d, t: [text(d, "error\n1\n0\n"), *COLUMN], "one column"),
    "unknown column": (lambda d, t: [to_csv(d, t), "--bias-variable", "eror"], 'Did you mean "error"?'),
    "unknown protected": (lambda d, t: [to_csv(d, t), *COLUMN, "--protected", "sexx"], 'Did you mean "sex"?'),
    "wrong separator": (
        lambda d, t: (
            [spec(d, t, "").replace("spec.yaml", "s2.yaml")]
            if (text(d, Path(spec(d, t, "")).read_text().replace("t.csv}", 't.csv, separator: ";"}'), "s2.yaml"))
            else []
        ),
        "one column only when read with the separator ';'",
    ),
    "mixed encodings": (lambda d, t: [mixed_encodings(d), *COLUMN], "mixes encodings"),
    "duplicate column names": (lambda d, t: [text(d, "a,a,error\n1,2,0\n3,4,1\n"), *COLUMN], "'a'"),
    "bias variable not numeric": (lambda d, t: [to_csv(d, t), "--bias-variable", "region"], "must be numeric"),
    "bias variable constant": (lambda d, t: [to_csv(d, t.assign(error=1)), *COLUMN], "constant"),
    "label with three values": (
        lambda d, t: [to_csv(d, t.assign(repaid=t.index % 3)), *LABELS],
        "3 values",
    ),
    "all rows missing": (lambda d, t: [to_csv(d, t.assign(error=np.nan)), *COLUMN], "missing in all"),
    "infinite bias variable": (
        lambda d, t: [to_csv(d, t.assign(error=[np.inf, *t["error"][1:]])), *COLUMN],
        "infinite",
    ),
    "infinite feature": (
        lambda d, t: [to_csv(d, t.assign(age=[-np.inf, *t["age"][1:]])), *COLUMN, "--features", "age,region"],
        "infinite",
    ),
    "too few rows for the split": (
        lambda d, t: [spec(d, t.head(40), "")],
        "Too few rows",
    ),
    "minimum cluster too large": (
        lambda d, t: [spec(d, t, "clustering: {min_cluster_size: 0.9}\n")],
        "min_cluster_size",
    ),
    "a category per row": (lambda d, t: [spec(d, ids(t), "", left_out="age")], "looks like an identifier"),
    "key with a typo": (lambda d, t: [spec(d, t, "clusterin: {max_iter: 3}\n")], 'did you mean "clustering"?'),
    "not YAML": (lambda d, t: [text(d, "name: [", "s.yaml")], "not valid YAML"),
    "empty YAML": (lambda d, t: [text(d, "", "s.yaml")], "must be a mapping"),
    "value out of range": (lambda d, t: [spec(d, t, "split: {test_size: 3}\n")], "split.test_size"),
    "nothing to measure": (
        lambda d, t: [to_csv(d, t[["person_id"]].assign(number=range(len(t))))],
        "can be audited: it takes 20 rows",
    ),
    "output folder cannot be written": (
        lambda d, t: [to_csv(d, t), *COLUMN, "--out", str(Path(text(d, "", "file")) / "out")],
        "cannot be written",
    ),
    "output folder is a file": (lambda d, t: [to_csv(d, t), *COLUMN, "--out", text(d, "", "file")], "is a file"),
    "report there already": (existing_report, "never overwritten"),
}


def error_in(said: str) -> str:
    """The message at the end: nothing stands before it but what the columns were taken for."""
    notes, starts, message = f"\n{said}".partition("\nError: ")
    assert starts
    assert notes == "" or notes.startswith("\nColumns of ")
    return message


@pytest.mark.parametrize("name", CASES)
def test_a_clear_message_and_exit_code_2(
    name: str, tmp_path: Path, loans: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, message = CASES[name]
    result = CliRunner().invoke(app, ["audit", *make(tmp_path, loans)])
    assert result.exit_code == 2
    assert message in error_in(result.stderr)
    assert "Traceback" not in result.output
    assert result.stdout == ""
    left = {path.name for path in tmp_path.glob("bdt-reports/*")}
    assert left in (set(), FILES)  # that it was tried is recorded


@pytest.mark.parametrize("command", [["audit", "no.csv", *COLUMN], ["gate", "no.yaml"], ["init", "no.csv"]])
def test_the_installed_command_too(command: list[str], tmp_path: Path) -> None:
    run = [sys.executable, "-m", "bdt_pipeline.cli", *command]
    result = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: no.")
    assert "Traceback" not in result.stderr


def test_too_little_memory_is_said(loans_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise MemoryError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bdt_core.shards.opening.divide", full)
    result = CliRunner().invoke(app, ["audit", str(loans_file), *COLUMN, "--exclude", "person_id"])
    assert result.exit_code == 2
    assert result.stderr.strip().splitlines()[-1].startswith("Error: The memory is too small for this table.")


def test_threads_of_others_do_not_change_how_a_command_that_could_not_run_ends(tmp_path: Path) -> None:
    """Native threads that still read ahead would abort Python at its end; one that never ends would be waited for."""
    code = (
        "import atexit, sys, threading; from bdt_pipeline.cli import main; atexit.register(print, 'put away'); "
        "threading.Thread(target=threading.Event().wait).start(); sys.argv = ['bdt', 'init', 'none.csv']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "put away\n")
    assert done.stderr.startswith("Error: none.csv does not exist.")


def test_an_unexpected_error_is_one_line_with_a_way_to_the_traceback(
    loans_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("a defect\nwith more")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bdt_core.shards.opening.divide", broken)
    arguments = ["audit", str(loans_file), *COLUMN, "--exclude", "person_id"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    last = result.stderr.strip().splitlines()[-1]
    assert last == "Unexpected error: ZeroDivisionError: a defect (--verbose shows where it came from)"
    verbose = CliRunner().invoke(app, [*arguments, "--verbose"])
    assert verbose.exit_code == 2
    assert "\nTraceback" in verbose.stderr
    assert "in broken" in verbose.stderr
