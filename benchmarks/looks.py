"""Whether a ledger takes other people for the same, accuses honest histories, or loses a line when a run is killed.

``python -m benchmarks looks [--histories=200] [--kills=1000]`` takes about ten minutes. Fewer are a trial, of which
nothing is kept.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from bdt_core.sealed.ledger import Chain, Ledger
from bdt_core.sealed.looks import LookFacts, Looks, looks_before, said_looks
from bdt_core.sealed.people import fingerprint_of
from bdt_core.sealed.plan import plan_of
from bdt_core.spec import parse_spec
from benchmarks.tables import record, table

_LOOKS, _WRITERS = 6, 3
_REPROACH = re.compile(r"limit|protected|level|seed|Switched|not whole|no longer in the table")
_WRITING = """
import sys
from pathlib import Path
from bdt_core.sealed.ledger import Ledger
ledger, name = Ledger(Path(sys.argv[1])), sys.argv[2]
for number in range(100_000):
    ledger.append(lambda _: {"event": "begun", "look": f"{name}-{number}", "time": "2026-01-01T00:00:00Z"})
    print(number, flush=True)
"""


def people(rng: Generator, n: int) -> pd.DataFrame:
    """Three columns that tell people apart, and three that do not."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 1, n).round(),
            "days": rng.integers(0, 900, n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(list("abcd"), n),
            "education": rng.choice(list("abcde"), n),
        }
    )


def daily(rng: Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """Other people, as many or fewer."""
    return people(rng, int(len(frame) * rng.uniform(0.5, 1.0)))


def growing(rng: Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """The same people, and some more."""
    return pd.concat([frame, people(rng, len(frame) // 5)], ignore_index=True)


def mended(rng: Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """The same people, some of whose incomes were mended."""
    return frame.assign(income=frame["income"].where(rng.random(len(frame)) > 0.01, 30_000.0))


def renamed(rng: Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """The same people, and another name of a column."""
    return frame.rename(columns={frame.columns[2]: f"days_{rng.integers(1_000)}"})


def other_model(_rng: Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """The same people; what was said of them is another thing."""
    return frame.sample(frac=1.0, random_state=1)


KINDS: dict[str, Callable[[Generator, pd.DataFrame], pd.DataFrame]] = {
    "other people each day": daily,
    "people join": growing,
    "a mended file": mended,
    "a renamed column": renamed,
    "another model": other_model,
}
SPEC = parse_spec({"name": "a", "source": {"path": "a.csv"}, "bias_variable": {"column": "y", "better": "lower"}})


def facts(frame: pd.DataFrame, number: int) -> LookFacts:
    """What a look at a table is known by."""
    columns = list(frame.columns)
    return LookFacts(
        name="a",
        version=f"0.{number}",
        plan=plan_of(SPEC),
        people=fingerprint_of(frame, columns),
        rows=len(frame),
        audited=len(frame),
        columns={name: int(frame[name].nunique()) for name in columns},
        fingerprint=str(number),
    )


def history(kind: str, seed: int) -> list[Looks]:
    """What each look of an honest history is told."""
    rng = np.random.default_rng([34, seed])
    frame, told = people(rng, int(rng.choice([300, 2_000, 10_000]))), []
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder))
        for number in range(_LOOKS):
            frame = KINDS[kind](rng, frame) if number else frame
            one, time = facts(frame, number), f"2026-01-0{number + 1}T00:00:00Z"
            begun = {"event": "begun", "look": str(number), "time": time, "name": "a", "door": "gate"}
            ledger.append(partial(_line, begun | {"plan": one.plan, "version": one.version}))
            told.append(looks_before(ledger.read(), str(number), one, 0.05))
            ended = {"event": "ended", "look": str(number), "time": time, **one.in_line(), "verdict": "pass"}
            ledger.append(partial(_line, ended))
    return told


def _line(event: dict[str, Any], _chain: Chain) -> dict[str, Any]:
    return event


def killed(kills: int) -> dict[str, int]:
    """Writers at the same time, each of which is killed while it writes."""
    rng, written = random.Random(35), set()
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, kills, _WRITERS):
            names = [str(number) for number in range(first, min(first + _WRITERS, kills))]
            writers = [
                subprocess.Popen([sys.executable, "-c", _WRITING, folder, name], stdout=subprocess.PIPE, text=True)
                for name in names
            ]
            for name, writer in zip(names, writers, strict=True):
                assert writer.stdout is not None
                for _ in range(rng.randint(1, 3)):
                    written.add(f"{name}-{int(writer.stdout.readline())}")
            for writer in writers:
                writer.kill()
                writer.wait()
        Ledger(Path(folder)).append(lambda _: {"event": "begun", "look": "last", "time": "2026-01-01T00:00:00Z"})
        chain = Ledger(Path(folder)).read()
    torn = sum("cannot be read" in one for one in chain.problems)
    lost = len(written - {str(event["look"]) for event in chain.events})
    return {"kills": kills, "lines": chain.lines, "lost": lost, "torn": torn, "broken": len(chain.problems) - torn}


def run(histories: str = "200", kills: str = "1000") -> None:
    """Measure, and keep it where all of it was measured."""
    rows = list(_of_kinds(int(histories) // len(KINDS)))
    columns = {"history": "", "histories": "", "looks": "", "known again": ".0f", "accused": ""}
    found: dict[str, Any] = {"honest": table(columns, rows), **killed(int(kills))}
    record("looks", found, keep=(histories, kills) == ("200", "1000"))


def _of_kinds(histories: int) -> Iterator[list[Any]]:
    for kind in KINDS:
        looks = [look for seed in range(histories) for look in history(kind, seed)[1:]]
        accused = sum(any(_REPROACH.search(one) for one in said_looks(look)) for look in looks)
        yield [kind, histories, len(looks), 100.0 * np.mean([bool(look.earlier) for look in looks]), accused]
