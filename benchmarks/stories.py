"""Does an audit tell the same story from every seed? Real tables, of which nothing changes but the seed of the split.

``python -m benchmarks stories`` audits the tables that come with the package from ten seeds, some minutes of a
processor; ``--tables=FOLDER`` further public ones, where the folder has them, some minutes a seed; ``--seeds=5`` fewer;
``--kept=FILE`` keeps every audit as a line of JSON and does not repeat what stands there; ``--only=compas,german``
names tables, and writes no page; with ``--done`` only what stands in the file is written down. Its page is
docs/finding.md.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bdt_core import audit
from bdt_core.table.files import read_files
from bdt_pipeline.commands.run_demo import demo_spec
from benchmarks.tables import record, table

Spec = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table, and what is asked of it.

    Attributes
    ----------
    words : str
    of : str
        The demonstration's name, or the file's.
    spec : dict
    taken : callable
        The table as it is audited.
    """

    words: str
    of: str
    spec: Spec
    taken: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame


def _events(column: str, positive: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """With 1 where a column has this value, and 0 elsewhere."""
    return lambda frame: frame.assign(**{column: (frame[column] == positive).astype(int)})


_ADULT = {
    "bias_variable": {"derive": "false_negative_rate", "label": "over_50k", "prediction": "predicted_over_50k"},
    "features": {"exclude": ["probability"]},
    "protected": ["race", "sex"],
}
TABLES = {
    "compas": Table("COMPAS, the demonstration", "demo:compas", demo_spec("compas").model_dump(exclude_unset=True)),
    "compas as it is": Table(
        "COMPAS, without legitimate factors", "demo:compas",
        demo_spec("compas").model_dump(exclude_unset=True, exclude={"legitimate"}),
    ),
    "grants": Table("grants, made up", "demo:grants", demo_spec("grants", "en").model_dump(exclude_unset=True)),
    "adult": Table("Adult, missed high incomes", "demo:adult", _ADULT),
    "adult alike": Table(
        "Adult, among people of like schooling and hours", "demo:adult",
        _ADULT | {"legitimate": ["education_num", "hours_per_week"]},
    ),
    "german": Table(
        "German credit, bad risk", "german_data_credit.csv.gz",
        {"bias_variable": {"column": "class-label", "better": "higher"}, "protected": ["sex", "foreign-worker"]},
    ),
    "law": Table(
        "law students, bar passed", "law_school_clean.csv.gz",
        {"bias_variable": {"column": "pass_bar", "better": "higher"}, "protected": ["race", "male"]},
    ),
    "nta": Table(
        "simulated Dutch labels", "nta_simulated.csv.gz",
        {
            "bias_variable": {"column": "y", "better": "lower"},
            "protected": ["Nationaliteiten", "Geslacht", "Leeftijd"],
        },
    ),
    "students": Table(
        "simulated checks of Dutch grants, risk of 5 or 6", "Table1_SD_20k.csv.gz",
        {
            "bias_variable": {"column": "high", "better": "lower"},
            "features": {"include": ["Education", "Age", "Distance"]},
        },
        lambda frame: frame.assign(high=(frame["Risk category"] >= 5).astype(int)),
    ),
    "visits": Table(
        "the same, visited without cause among those visited", "Table1_SD_20k.csv.gz",
        {
            "bias_variable": {"column": "duly", "better": "lower"},
            "features": {"include": ["Education", "Age", "Distance"]},
        },
        lambda frame: frame[frame["Outcome house visit"].isin(["Duly", "Unduly"])].assign(
            duly=lambda some: (some["Outcome house visit"] == "Duly").astype(int)
        ),
    ),
    "credit": Table(
        "card holders of Taiwan, default", "credit-card-clients.csv.gz",
        {"bias_variable": {"column": "default payment", "better": "lower"}, "protected": ["SEX"]},
    ),
    "poland": Table(
        "Polish survey, smokes", "SocialDiagnosis2011.csv.gz",
        {"bias_variable": {"column": "smoke", "better": "lower"}, "protected": ["sex"]},
        _events("smoke", "YES"),
    ),
    "bank": Table(
        "calls of a bank, without success", "bank-full.csv.gz",
        {"bias_variable": {"column": "y", "better": "higher"}, "protected": ["marital"]},
        _events("y", "yes"),
    ),
    "oulad": Table(
        "distance students, passed", "oulad_clean.csv.gz",
        {
            "bias_variable": {"column": "final_result", "better": "higher"}, "protected": ["gender", "disability"],
            "split": {"key": "id_student"},
        },
        _events("final_result", "Pass"),
    ),
    "disinformation": Table(
        "false positives of a classifier", "FP-test-set.csv.gz",
        {"bias_variable": {"column": "FP", "better": "lower"}},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Story:
    """What one audit tells.

    Attributes
    ----------
    table : str
    seed : int
    rows : int
    verdict : str
    who, found_by : str or None
        Of its first finding; None where nobody is confirmed to fare worse.
    at_least, as_found : float or None
    inside : str or None
        Which rows of the table these are: a bit each, in base 64.
    findings : int
    seconds : float
        Of processors.
    """

    table: str
    seed: int
    rows: int
    verdict: str
    who: str | None
    found_by: str | None
    at_least: float | None
    as_found: float | None
    inside: str | None
    findings: int
    seconds: float

    @property
    def members(self) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """Which rows its first finding is about."""
        if self.inside is None:
            return None
        bits = np.unpackbits(np.frombuffer(base64.b64decode(self.inside), dtype=np.uint8))
        return bits[: self.rows].astype(bool)


def told(name: str, frame: pd.DataFrame, seed: int) -> Story:
    """Audit a table from a seed."""
    asked = TABLES[name].spec
    begun = time.process_time()
    found = audit(frame, asked | {"name": "story", "split": {**asked.get("split", {}), "random_state": seed}})
    seconds = time.process_time() - begun
    if not found.findings:
        return Story(name, seed, len(frame), found.verdict, None, None, None, None, None, 0, seconds)
    first = found.findings[0]
    inside = found.findings.members(frame).iloc[:, 0].to_numpy()
    bits = base64.b64encode(np.packbits(inside).tobytes()).decode()
    return Story(
        name, seed, len(frame), found.verdict, first.who, first.found_by, first.at_least, first.as_found, bits,
        len(found.findings), seconds,
    )  # fmt: skip


def run(tables: str = "", seeds: str = "10", kept: str = "", only: str = "", done: bool = False) -> None:
    """Audit what has not been audited yet, and write down what was told."""
    wanted = only.split(",") if only else list(TABLES)
    unknown = [one for one in wanted if one not in TABLES]
    if unknown:
        sys.exit(f"No such table: {', '.join(unknown)}. There are: {', '.join(TABLES)}.")
    file = Path(kept) if kept else None
    stories = _kept(file) if done else list(_told(wanted, int(seeds), tables, file))
    record("stories", studied(stories), keep=not only)


def _kept(file: Path | None) -> list[Story]:
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    return [Story(**json.loads(line)) for line in lines]


def _told(wanted: list[str], seeds: int, folder: str, kept: Path | None) -> Iterator[Story]:
    before = {(one.table, one.seed): one for one in _kept(kept)}
    for seed in range(seeds):
        for name in wanted:
            if (name, seed) in before:
                yield before[name, seed]
                continue
            frame = _frame(TABLES[name], folder)
            if frame is None:
                continue
            story = told(name, frame, seed)
            print(f"{name}, seed {seed}: {story.who}", flush=True)
            if kept:
                with kept.open("a", encoding="utf-8") as file:
                    print(json.dumps(asdict(story)), file=file)
            yield story


def _frame(one: Table, folder: str) -> pd.DataFrame | None:
    """The table; None of a further one where it is not at hand."""
    if one.of.startswith("demo:"):
        return one.taken(read_files(one.of))
    file = Path(folder) / one.of
    if not folder or not file.exists():
        return None
    return one.taken(pd.read_csv(file, sep=None, engine="python")).reset_index(drop=True)


def studied(stories: list[Story]) -> dict[str, Any]:
    """The stories of each table beside each other."""
    lines = []
    for name, one in TABLES.items():
        of_table = [story for story in stories if story.table == name]
        if of_table:
            lines.append([one.words, of_table[0].rows, *_beside(of_table)])
    columns = {"table": "", "rows": ",", "confirmed": "", "named first": "", "at least": ""}
    columns |= {"Jaccard": "share", "lowest": "share", "CPU s": ".2g"}
    return {"stories": table(columns, lines)}


def _beside(stories: list[Story]) -> list[Any]:
    confirmed = [one for one in stories if one.who is not None]
    seconds = float(np.median([one.seconds for one in stories]))
    told = f"{len(confirmed)} of {len(stories)}"
    if not confirmed:
        return [told, "nobody", None, None, None, seconds]
    named = Counter(one.who for one in confirmed).most_common()
    who = named[0][0] if len(named) == 1 else "; ".join(f"{one} ({often})" for one, often in named)
    masks = [one.members for one in confirmed if one.members is not None]
    alike = [float((a & b).sum() / (a | b).sum()) for a, b in combinations(masks, 2)] or [1.0]
    least = [one.at_least for one in confirmed if one.at_least is not None]
    return [
        told, who, f"{min(least):.3f} to {max(least):.3f}",
        float(np.mean(alike)), min(alike), seconds,
    ]  # fmt: skip
