"""`bdt audit --members`: who is in which cluster and finding, for the owner of the data alone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from bdt_core import audit
from bdt_core.sealed.ledger import FILES
from bdt_pipeline.cli import app
from tests.core.public.test_python_api import people

ROOT = Path(__file__).parents[2]
QUICK = """
name: people
source: {{path: {path}}}
bias_variable: {{derive: error, label: label, prediction: prediction}}
protected: [sex]
features: {{kinds: {{zone: categorical}}, exclude: [person]}}
clustering: {{stability: 0, max_iter: 3{memory}}}
worst_groups: {{permutations: 39}}
{split}
"""


def test_of_several_labels_each_row_has_a_line_for_each(tmp_path: Path) -> None:
    labels = '{one: {"true": label, said: prediction}, two: {"true": label_2, said: prediction_2}}'
    path = tmp_path / "people.csv"
    frame = people(1200).reset_index(drop=True).rename_axis("person").reset_index()
    frame.assign(label_2=frame["label"], prediction_2=frame["label"]).to_csv(path, index=False)
    (tmp_path / "a.yaml").write_text(
        f"""
name: people
source: {{path: {path}, stacked: {{by: model, rows: {labels}}}}}
bias_variable: {{derive: error, label: "true", prediction: said}}
features: {{include: [model, zone], kinds: {{zone: categorical}}}}
split: {{key: person}}
clustering: null
slices: null
worst_groups: {{permutations: 39}}
"""
    )
    code, output = run(tmp_path / "a.yaml", "--out", tmp_path / "report", "--members", tmp_path / "m.csv")
    assert code == 0, output
    told = pd.read_csv(tmp_path / "m.csv", skiprows=1)
    assert told["person"].tolist() == frame["person"].repeat(2).tolist()
    assert told["model"].tolist() == ["one", "two"] * len(frame)
    (found,) = [name for name in told if name.startswith("finding 1")]
    assert "model is one" in found
    assert set(told[told[found] == 1]["model"]) == {"one"}


def written(folder: Path, *, memory: str = "", split: str = "") -> tuple[Path, pd.DataFrame]:
    frame = people(2000).reset_index(drop=True)
    frame.insert(0, "person", [f"p{one // 2}" for one in range(len(frame))])
    frame.to_csv(folder / "people.csv", index=False)
    spec = folder / "people.yaml"
    spec.write_text(QUICK.format(path=folder / "people.csv", memory=memory, split=split))
    return spec, frame


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["audit", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.mark.parametrize("memory", ["", ", memory: out_of_core"])
def test_the_file_says_of_every_row_what_python_says(tmp_path: Path, memory: str) -> None:
    spec, frame = written(tmp_path, memory=memory)
    file = tmp_path / "members.csv"
    code, output = run(spec, "--out", tmp_path / "report", "--members", file)
    assert code == 0, output
    assert str(file) in output.replace("\n", "")
    head = file.read_text().splitlines()[0]
    assert head.startswith("# Names people:")
    assert "Not for publication" in head
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    told = pd.read_csv(file, skiprows=1)
    assert told["row"].tolist() == list(range(1, len(frame) + 1))
    inside = told.filter(like="finding ")
    harmed = (frame.zone == 2) & frame.flag
    (found,) = [name for name in inside if name.endswith(": zone is 2 and flag is True")]
    assert (inside[found] == harmed).all()
    if not memory:
        in_python = audit(None, spec).members(pd.read_csv(tmp_path / "people.csv", parse_dates=["since"]))
        assert told.drop(columns="row").astype(int).equals(in_python.astype(int))


def test_people_are_named_by_the_key_where_there_is_one(tmp_path: Path) -> None:
    spec, frame = written(tmp_path, split="split: {key: person}")
    file = tmp_path / "members.csv"
    code, output = run(spec, "--out", tmp_path / "report", "--members", file)
    assert code == 0, output
    told = pd.read_csv(file, skiprows=1)
    assert told["person"].tolist() == frame["person"].tolist()
    assert "row" not in told


def test_without_the_option_there_is_no_such_file(tmp_path: Path) -> None:
    spec, _ = written(tmp_path)
    assert run(spec, "--out", tmp_path / "report")[0] == 0
    assert {one.name for one in tmp_path.iterdir()} == {"people.csv", "people.yaml", "report", *FILES}


def test_it_goes_with_no_form_for_publication(tmp_path: Path) -> None:
    spec, _ = written(tmp_path)
    code, output = run(spec, "--for", "publication", "--members", tmp_path / "members.csv")
    assert code == 2
    assert "--members names people" in output
    assert {one.name for one in tmp_path.iterdir()} == {"people.csv", "people.yaml"}


def test_nothing_is_written_over_and_nothing_is_left_behind(tmp_path: Path) -> None:
    spec, _ = written(tmp_path)
    file = tmp_path / "members.csv"
    file.write_text("mine")
    code, output = run(spec, "--members", file)
    assert code == 2
    assert "is there already" in output
    assert file.read_text() == "mine"
    spec.write_text(spec.read_text().replace("label: label", "label: lable"))
    other = tmp_path / "other.csv"
    assert run(spec, "--members", other)[0] == 2
    assert not other.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs limits of a process")
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    spec, _ = written(tmp_path)
    limited = """
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        from bdt_pipeline.cli import app
        from bdt_pipeline.commands import run_audit
        write = run_audit.write_members
        def write_members(*given):
            resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
            write(*given)
        run_audit.write_members = write_members
        app(sys.argv[1:])
    """
    run = [sys.executable, "-c", textwrap.dedent(limited), "audit", str(spec), "--members", "m.csv", "--out", "out"]
    done = subprocess.run(
        run, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.endswith("Error: --members cannot be written to m.csv: File too large. Name another file.\n")
    assert {one.name for one in tmp_path.iterdir()} == {"people.csv", "people.yaml", *FILES}


def test_help_says_that_it_names_people() -> None:
    told = " ".join(run("--help")[1].split())
    assert "--members" in told
    assert "It names people: for the owner of the data, not for publication." in told
