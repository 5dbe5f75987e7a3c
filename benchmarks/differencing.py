"""Forms for publication that differ by one known person: how often her label and decision are guessed right.

``python -m benchmarks differencing [--tables=25] [--five=1] [--growing=1]``: in each table one person joins, with each
label and decision and ten keys each, so that there are 1,000 pairs. The attacker knows everything but these two and the
key. Fewer tables are a trial, of which nothing is kept.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain

import numpy as np

from benchmarks.tables import record, table

_SHARES = ("label", "decision", "both")
_PROCESSES = 2
_KEYS = 10


def run(tables: str = "25", five: str = "1", growing: str = "1") -> None:
    """Attack, and write down how often the guesses were right and how far counts are off."""
    from bdt_core.report.noise import EDITIONS
    from tests.privacy.differencing import Guess, of_editions, of_five_people, of_one_person

    with ProcessPoolExecutor(_PROCESSES) as pool:
        of_pairs = pool.map(partial(of_one_person, keys=_KEYS), range(4_000, 4_000 + int(tables)))
        of_five = pool.map(partial(of_five_people, keys=_KEYS), range(5_000, 5_000 + int(five)))
        of_growing = pool.map(partial(of_editions, editions=EDITIONS, keys=_KEYS), range(6_000, 6_000 + int(growing)))
        pairs = list(chain.from_iterable(of_pairs))
        attacked: dict[str, list[Guess]] = {
            "rounded alone": [pair.rounded_alone for pair in pairs],
            "one person": [pair.guess for pair in pairs],
            "five people": list(chain.from_iterable(of_five)),
            "ten editions": list(chain.from_iterable(of_growing)),
        }
    rows = [
        [what, len(found), *(np.mean([getattr(one, each) for one in found]) for each in _SHARES),
         sum(one.sure for one in found), None if what == "rounded alone" else max(one.stated for one in found)]
        for what, found in attacked.items()
    ]  # fmt: skip
    heads = {"attacked": "", "guesses": ",.0f"} | dict.fromkeys(_SHARES, "share") | {"sure": ",.0f", "stated": "share"}
    errors = np.concatenate([pair.errors for pair in pairs])
    figures = {
        "attacked": table(heads, rows),
        "by_what_rose": float(np.mean([pair.rose for pair in pairs])),
        "findings_tell": float(np.mean([pair.alike < 4 for pair in pairs])),
        "findings_are_sure": float(np.mean([pair.alike == 1 for pair in pairs])),
        "error": float(errors[:, 0].mean()),
        "error_rounded_alone": float(errors[:, 1].mean()),
    }
    record("differencing", figures, keep=(tables, five, growing) == ("25", "1", "1"))
