"""Of how many numbers of a report does the independent verifier find that they were changed?

``python -m benchmarks verified [--tables=FOLDER] [--falsified=50] [--each=1] [--only=compas]`` takes every frozen
report, and audits of two tables that do not come with the project (``german_data_credit.csv.gz``,
``law_school_clean.csv.gz``) where their folder is named. Of each report, so many numbers that are drawn from the whole
of it, but for what was asked, are changed one at a time; a number is found where the verifier complains. Beside it
stands the share of all numbers that are held, each by itself, against something recomputed; what is found besides is
found by sums.

With ``--each=1`` every member has one of its numbers changed, and what is missed is listed from the most numbers on:
the work that is left. It takes an hour, and nothing of it is kept.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.audit import audit
from bdt_core.report.write import canonical_json
from bdt_core.spec import parse_spec
from benchmarks.stories import TABLES
from benchmarks.tables import record, table

Report = dict[str, Any]
_ELSEWHERE = {"German credit": "german", "law school": "law"}
_SEED = 28


def run(tables: str = "", falsified: str = "50", each: str = "0", only: str = "") -> None:
    """Change numbers, count what is found, write down what came of it."""
    rows: list[tuple[str, int, float, int]] = []
    missed = defaultdict[str, float](float)
    with TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        asked = [one for one in _reports(Path(folder), tables) if not only or one[0] in only.split(",")]
        measure = partial(_measured, each=int(each), number=int(falsified))
        for (name, *_), (counted, held, not_found, found) in zip(asked, pool.map(measure, asked), strict=True):
            for member, number in not_found.items():
                missed[member] += number
            rows.append((name, counted, held, found))
            print(*rows[-1], f"{1.0 - sum(not_found.values()) / counted:.3f}" if int(each) else "", flush=True)
    for member, number in sorted(missed.items(), key=lambda one: -one[1]):
        print(f"{number:,.0f} missed: {member}")
    numbers, drawn = sum(one[1] for one in rows), len(rows) * int(falsified)
    figures = {
        "reports": table({"report": "", "numbers": ",.0f", "held": "share", "found": ",.0f"}, rows),
        "numbers": numbers,
        "held": sum(one[1] * one[2] for one in rows) / numbers,
        "found": sum(one[3] for one in rows),
        "falsified": drawn,
    }
    record("verified", figures, keep=bool(tables) and not only and falsified == "50" and each == "0")


def _measured(asked: tuple[str, Report, Path], each: int, number: int) -> tuple[int, float, dict[str, float], int]:
    """Of one report its numbers, the share held directly, how many of which member are missed, and falsified found."""
    from tests.core.sealed.test_recompute import verifier

    program, (_, report, file) = verifier(), asked
    counted, held, missed = share_of_numbers(program, report, file, each)
    return counted, held, missed, falsifications(program, report, file, number)


def _reports(folder: Path, tables: str) -> Iterator[tuple[str, Report, Path]]:
    """Every frozen report with its table as a CSV file, and those of tables from elsewhere."""
    from tests.core.sealed.test_recompute import REPORTS, golden, tables_of_goldens

    files = tables_of_goldens(folder)
    for name in REPORTS:
        yield name, golden(name), files[name]
    for name, story in _ELSEWHERE.items() if tables else ():
        told = TABLES[story]
        file = folder / f"{story}.csv"
        told.taken(pd.read_csv(Path(tables) / told.of)).to_csv(file, index=False)
        spec = parse_spec({**told.spec, "name": story, "source": {"path": str(file)}})
        yield name, json.loads(canonical_json(audit(None, spec).document)), file


def share_of_numbers(program: Any, report: Report, file: Path, each: int) -> tuple[int, float, dict[str, float]]:
    """How many numbers there are, the share held directly, and by member how many others are not found."""
    from tests.core.sealed.test_recompute import claims, numbers_of

    data = program.Table([file], report["spec"]["source"])
    held = {(id(stated), name) for _, stated, name in claims(program, report, data)}
    others, counted = defaultdict(list), 0
    for part, name, at in numbers_of(report):
        counted += 1
        if (id(part), name) not in held:
            others[at].append((part, name))
    rng, missed = np.random.default_rng(_SEED), {}
    direct = 1.0 - sum(map(len, others.values())) / counted
    for at, several in others.items() if each else ():
        drawn = [several[i] for i in rng.permutation(len(several))[:each]]
        found = sum(_is_found(program, report, data, *one) for one in drawn)
        if found < len(drawn):
            missed[at] = len(several) * (1.0 - found / len(drawn))
    return counted, direct, missed


def falsifications(program: Any, report: Report, file: Path, number: int) -> int:
    """How many of so many numbers, drawn from the whole report and changed one at a time, are found."""
    from tests.core.sealed.test_recompute import numbers_of

    data = program.Table([file], report["spec"]["source"])
    numbers = list(numbers_of(report))
    drawn = np.random.default_rng(_SEED).permutation(len(numbers))[:number]
    return sum(_is_found(program, report, data, *numbers[i][:2]) for i in drawn)


def _is_found(program: Any, report: Report, data: Any, part: Any, name: Any) -> bool:
    """Whether the verifier complains of a report in which one number is another."""
    from tests.core.sealed.test_recompute import changed

    before = part[name]
    part[name] = changed(before)
    try:
        return bool(program.Recomputed(report, data).differing)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # with which it ends as with a file it cannot read
        return True
    finally:
        part[name] = before
