"""Three labels of each row through the commands that follow an audit: compared, over time, bundled and verified."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from bdt_pipeline.cli import app
from tests.core.joined.test_several_labels import images, specification

LABELS = ("object 16", "object 17", "object 18")  # a model overlooks 17 more often beside women
IMAGES = 400


@pytest.fixture(scope="module")
def days() -> dict[str, pd.DataFrame]:
    return {f"2026-11-0{day}": images(IMAGES, 0.3, seed=day, objects=LABELS) for day in (1, 2)}


@pytest.fixture
def folder(days: dict[str, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for day, frame in days.items():
        frame.to_csv(f"{day}.csv", index=False)
    spec = specification(LABELS, local_bias=None)
    spec["source"]["path"] = "{partition}.csv"
    (tmp_path / "images.yaml").write_text(yaml.safe_dump(spec))
    return tmp_path


def errors(frame: pd.DataFrame, sex: str) -> float:
    of_sex = frame[frame["sex"] == sex]
    return float(np.mean([of_sex[name] != of_sex[f"{name}, said"] for name in LABELS]))


def run(*arguments: str) -> str:
    ran = CliRunner().invoke(app, list(arguments))
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_labels_are_compared_by_their_rows_and_people_by_their_images(
    folder: Path, days: dict[str, pd.DataFrame]
) -> None:
    run("compare", "images.yaml", "--partition", "2026-11-01", "--partition-b", "2026-11-02", "--out", "changes")
    found = json.loads((folder / "changes" / "comparison.json").read_text())
    assert (found["people"]["a"], found["people"]["b"]) == (IMAGES, IMAGES)
    means = {one["who"]: (one["change"]["a"], one["change"]["b"]) for one in found["groups"]}
    for sex in ("f", "m"):
        wanted = [errors(frame, sex) for frame in days.values()]
        assert means[f"sex is {sex}"] == pytest.approx(wanted, abs=1e-12)


def test_batches_of_labels_have_a_history_a_bundle_and_a_second_opinion(folder: Path) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        run("gate", "images.yaml", "--partition", day, "--report", day, "--storage", "kept")
    said = run("history", "images", "--storage", "kept")
    assert "2 batches" in said
    assert "accuracy" in said
    report = json.loads((folder / "2026-11-02" / "report.json").read_text())
    assert report["data"]["rows"] == len(LABELS) * IMAGES
    run("bundle", "2026-11-02", "--out", "day.zip")
    said = run("verify", "day.zip", "--data", "2026-11-02.csv", "--again")
    assert "The table is the one that was audited." in said
    assert "were recomputed from the table, by other code, and agree" in " ".join(said.split())
