"""Each door with a stopwatch, in an environment that was made for it.

``python -m benchmarks doors [--commits=HEAD] [--trial]``: every commit is installed into an environment of its own,
with nothing compiled beforehand, and every door is gone through twice, as its user would: with the command of that
environment, and over HTTP through the page. Seconds are by the clock. A door that a commit has not, or that does not
open, has no time. A trial has small tables, and nothing of it is kept.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
import pandas as pd
import yaml

from benchmarks.tables import ROOT, record, table

_EVERY = 0.02
_IMPORTS = "import dagster, great_expectations"
_NOTEBOOK = """
import pandas as pd
from bdt_core import audit
print(audit(pd.read_csv("loans.csv"), label="repaid", prediction="granted", derive="error", protected=["sex"]))
"""
_SPEC = {
    "name": "loans",
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
    "protected": ["sex"],
}
_BAD = {
    "empty.csv": b"",
    "head_only.csv": b"sex,age,refused\n",
    "broken.xlsx": b"PK\x03\x04 and nothing more",
    "no_table.csv": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "broken.parquet": bytes(range(256)) * 40,
    "utf_16.csv": "sex,age\nf".encode("utf-16") + b"\x00",
}


@dataclass(frozen=True)
class _Place:
    """An environment, and a folder with tables in it.

    Attributes
    ----------
    programs : Path
    folder : Path
    """

    programs: Path
    folder: Path

    def run(self, *command: str, ends: tuple[int, ...] = (0,), says: str = "", at: str = ".") -> float | None:
        """Seconds of a command; None where it does not end as it should, or does not say what it should."""
        begun = time.monotonic()
        ended = subprocess.run([self.programs / command[0], *command[1:]], cwd=self.folder / at, env=self.environment(),
                               stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
        seconds = time.monotonic() - begun
        if ended.returncode in ends and says in ended.stdout + ended.stderr:
            return seconds
        print(f"{' '.join(command)} ended with {ended.returncode}: {(ended.stderr or ended.stdout)[-600:]}", flush=True)
        return None

    def environment(self) -> dict[str, str]:
        """That of a newcomer, who has none of our variables."""
        kept = {name: one for name, one in os.environ.items() if name not in ("PYTHONPATH", "DAGSTER_HOME")}
        path = os.pathsep.join([str(self.programs), kept["PATH"]])
        return kept | {"NUMBA_CACHE_DIR": str(self.folder / "numba"), "PATH": path}


def run(commits: str = "HEAD", trial: bool = False) -> None:
    """Install, go through, print."""
    rows, wide = (1_000, (1_000, 39)) if trial else (20_000, (22_407, 39))
    names = [_abbreviated(one) for one in commits.split(",")]
    measured: dict[str, dict[str, list[float | None]]] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "work")
            folder.mkdir()
            _write_tables(folder, rows, wide)
            place = _Place(Path(scratch, "environment", "bin"), folder)
            measured[name] = {"pip install": [_installed(place, name, Path(scratch)), None]}
            for door, way in _doors().items():
                measured[name][door] = [way(place), way(place)]
                print(name, door, measured[name][door], flush=True)
    heads = {f"{name}, {which}": ".1f" for name in names for which in ("first", "again")}
    found = [[door, *(one for name in names for one in measured[name][door])] for door in measured[names[-1]]]
    warm = measured[names[-1]]
    parts = warm["bdt demo"][1], warm["import of Dagster and Great Expectations"][1]
    ratio = None if None in parts else parts[0] / parts[1]  # type: ignore[operator]
    record("doors", {"seconds": table({"door": "", **heads}, found), "demo_against_imports": ratio}, keep=not trial)


def _abbreviated(commit: str) -> str:
    told = subprocess.run(["git", "rev-parse", "--short", commit], cwd=ROOT, capture_output=True, text=True, check=True)
    return told.stdout.strip()


def _installed(place: _Place, commit: str, scratch: Path) -> float:
    """Seconds to install a commit into an empty environment, with the command line of Dagster's projects."""
    source = scratch / "source"
    source.mkdir()
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=source, input=packed, check=True)
    begun = time.monotonic()
    venv.create(place.programs.parent, with_pip=True)
    subprocess.run(
        [place.programs / "pip", "install", "--quiet", str(source), "dagster-dg-cli"], check=True, stdout=sys.stderr
    )
    return time.monotonic() - begun


def _doors() -> dict[str, Callable[[_Place], float | None]]:
    """Ways of going through, by the names of the doors."""
    return {
        "import of Dagster and Great Expectations": lambda at: at.run("python", "-c", _IMPORTS),
        "bdt --help": lambda at: at.run("bdt", "--help"),
        "bdt demo": lambda at: at.run("bdt", "demo"),
        "bdt init loans.csv": lambda at: at.run("bdt", "init", "loans.csv", "--out", _new(at, "init", ".yaml")),
        "bdt audit loans.yaml": lambda at: at.run("bdt", "audit", "loans.yaml"),
        "bdt gate loans.yaml": lambda at: at.run("bdt", "gate", "loans.yaml", ends=(1, 3)),
        "audit(frame) in a notebook's process": lambda at: at.run("python", "-c", _NOTEBOOK),
        "page, 20,000 rows of 7 columns": lambda at: _through_page(at, "loans.csv"),
        "page, 22,407 rows of 39 columns": lambda at: _through_page(at, "wide.csv"),
        "dg launch, 5,000 rows of 5 columns": lambda at: _launched(at, "chain"),
        "dg launch of one asset": lambda at: _launched(at, "report"),
        "the slowest of six bad files": _questions,
    }


def _new(place: _Place, stem: str, ending: str = "") -> str:
    """A name that is not there yet."""
    return f"{stem}{len(list(place.folder.glob(f'{stem}*')))}{ending}"


def _questions(place: _Place) -> float | None:
    """Of audits that cannot be, the one that takes longest to say so."""
    seconds = [place.run("bdt", "audit", name, ends=(2,)) for name in _BAD]
    return None if None in seconds else max(filter(None, seconds))


def _launched(place: _Place, assets: str) -> float | None:
    """Everything of an audit in a project, by Dagster's command line; its gate does not hold."""
    return place.run("dg", "launch", "--assets", "*", ends=(1,), says="bias_gate", at=assets)


def _through_page(place: _Place, name: str) -> float | None:
    """From a file to its report, without the time that somebody takes to answer."""
    begun = time.monotonic()
    with _page(place, name) as (ask, place_now):
        while place_now() == "reading":
            time.sleep(_EVERY)
        outcome = ask("").partition('name="outcome" value="')[2].partition('"')[0].replace("&#34;", '"')
        ask("answers", {"outcome": outcome, "better": "lower", "do": "start"})
        while place_now() == "auditing":
            time.sleep(_EVERY)
        return time.monotonic() - begun if place_now() == "report" else None


@contextmanager
def _page(place: _Place, name: str) -> Iterator[tuple[Callable[..., str], Callable[[], str]]]:
    """A page that has been opened with a file: how to ask it, and where it stands."""
    command = [str(place.programs / "bdt"), "open", "--no-browser", name]
    with subprocess.Popen(
        command, cwd=place.folder, env=place.environment(), stdout=subprocess.PIPE, text=True
    ) as page:
        assert page.stdout is not None
        address = urlsplit(re.findall(r"http://[^\s]+/", page.stdout.readline())[0])

        def ask(path: str, form: dict[str, str] | None = None) -> str:
            connection = http.client.HTTPConnection(address.netloc)
            headers = {"Origin": f"http://{address.netloc}", "Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST" if form else "GET", address.path + path, urlencode(form or {}) or None, headers)
            return connection.getresponse().read().decode()

        try:
            yield ask, lambda: str(json.loads(ask("progress"))["place"])
        finally:
            page.send_signal(signal.SIGTERM)


def _write_tables(folder: Path, rows: int, wide: tuple[int, int]) -> None:
    """Tables of lending in which the young of one region are wronged, one of many columns, projects, and bad files."""
    random = np.random.default_rng(0)
    loans = _loans(rows, random)
    loans.to_csv(folder / "loans.csv", index=False)
    (folder / "loans.yaml").write_text(yaml.safe_dump({"source": {"path": "loans.csv"}, **_SPEC}))
    many = _loans(wide[0], random)
    for number in range(wide[1] - many.shape[1]):
        many[f"x{number}"] = random.normal(size=wide[0]).round(2) if number % 2 else random.integers(0, 5, wide[0])
    many.to_csv(folder / "wide.csv", index=False)
    for assets in ("chain", "report"):
        _write_project(folder / assets, assets, loans.iloc[:5_000, [0, 1, 2, 5, 6]])
    for name, content in _BAD.items():
        (folder / name).write_bytes(content)


def _loans(rows: int, random: np.random.Generator) -> pd.DataFrame:
    age, region = random.integers(18, 80, rows), random.choice(["north", "south", "east"], rows)
    repaid = random.integers(0, 2, rows)
    is_wronged = random.random(rows) < np.where((age < 30) & (region == "east"), 0.5, 0.2)
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            "sex": random.choice(["f", "m"], rows),
            "income": random.lognormal(10, 0.5, rows).round(),
            "years": random.integers(0, 30, rows),
            "repaid": repaid,
            "granted": np.where(is_wronged, 1 - repaid, repaid),
        }
    )


def _write_project(root: Path, assets: str, loans: pd.DataFrame) -> None:
    """What Dagster's scaffold makes, as far as it matters, with an audit of a table."""
    defs = root / "lending" / "defs" / "loans"
    defs.mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "lending"\n'
    )
    for package in (root / "lending", defs.parent):
        (package / "__init__.py").touch()
    (root / "lending" / "definitions.py").write_text(
        "from pathlib import Path\nimport dagster as dg\n\n\n@dg.definitions\ndef defs():\n"
        "    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    loans.to_csv(root / "loans.csv", index=False)
    attributes = {"source": {"path": str(root / "loans.csv")}, **_SPEC}
    chosen = {} if assets == "chain" else {"assets": assets}
    (defs / "defs.yaml").write_text(
        yaml.safe_dump({"type": "bdt_pipeline.BiasAudit", "attributes": attributes | chosen})
    )
