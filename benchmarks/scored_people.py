"""People with a score as the chance of a positive label, calibrated but for a group: for us and for peers.

NumPy and pandas alone, so that a peer's environment needs nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[Any]
Bools = NDArray[np.bool_]
GAP = 0.08
"""By so much the score is off for the planted group of 5 %."""


@dataclass(frozen=True)
class ScoredTable:
    """People, their score, their label, how far the score is too low for each, and for whom it is off at all."""

    frame: pd.DataFrame
    scores: Floats
    happened: Floats
    off: Floats

    @property
    def inside(self) -> Bools:
        """For whom the score is off."""
        return np.asarray(self.off != 0.0)


def people(rng: Generator, n: int) -> pd.DataFrame:
    """Two numbers and four categories."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(7.5, 0.6, n).round(),
            "sex": rng.choice(["f", "m"], n),
            "contract": rng.choice(["fixed", "open", "none"], n, p=[0.5, 0.3, 0.2]),
            "race": rng.choice(list("pqrst"), n, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            "region": rng.choice(list("abcdefgh"), n),
        }
    )


def young_women(frame: pd.DataFrame) -> Bools:
    """Two conditions, 5 %."""
    return ((frame["age"] < 25) & (frame["sex"] == "f")).to_numpy()


def young_of_two_regions(frame: pd.DataFrame) -> Bools:
    """Two conditions, one of which takes more words, 5 %."""
    return ((frame["age"] < 31) & frame["region"].isin(["b", "g"])).to_numpy()


def _beta(rng: Generator, mean: Floats, size: Floats) -> Floats:
    return rng.beta(mean * size, (1.0 - mean) * size).clip(0.001, 0.999)


def _usual(rng: Generator, frame: pd.DataFrame) -> Floats:
    """A fifth on average, higher for who earns less."""
    poor = frame["income"].rank(pct=True).to_numpy() < 0.4
    return _beta(rng, np.where(poor, 0.26, 0.16), np.full(len(frame), 4.0))


def _sharper(rng: Generator, frame: pd.DataFrame) -> Floats:
    """Of equal mean: of women it says little, of men much."""
    return _beta(rng, np.full(len(frame), 0.25), np.where(frame["sex"] == "f", 60.0, 0.8))


def _by_age(rng: Generator, frame: pd.DataFrame) -> Floats:
    """From .03 of the young to .6 of the old."""
    return _beta(rng, 0.03 + 0.57 * (frame["age"].to_numpy() - 18) / 62, np.full(len(frame), 8.0))


def _rare(rng: Generator, frame: pd.DataFrame) -> Floats:
    """Two of 100, and of small groups a quarter."""
    return _beta(rng, np.where(frame["race"].isin(["s", "t"]), 0.25, 0.02), np.full(len(frame), 10.0))


SCORES: dict[str, Callable[[Generator, pd.DataFrame], Floats]] = {
    "a fifth positive": _usual,
    "sharper for men than for women": _sharper,
    "rising with age": _by_age,
    "rare, but of small groups": _rare,
}
GROUPS = {"young women": young_women, "young of two regions": young_of_two_regions}
PLANTED = (
    "a fifth positive, too low for young women",
    "a fifth positive, too high for young women",
    "a fifth positive, too low for young of two regions",
)
NULLS = tuple(SCORES)


def made(design: str, run: int, n: int) -> ScoredTable:
    """A table of a design: a score's name, and behind it for whom it is off and which way."""
    kind, _, planted = design.partition(", too ")
    way, _, who = planted.partition(" for ")
    rng = np.random.default_rng([7, run, n])
    frame = people(rng, n)
    scores = SCORES[kind](rng, frame)
    off = np.zeros(n)
    if way:
        scores = scores.clip(GAP, 1.0 - GAP)  # so that all of the gap finds room
        off[GROUPS[who](frame)] = GAP if way == "low" else -GAP
    return ScoredTable(frame, scores, (rng.random(n) < scores + off).astype(float), off)


def alike(found: Bools, group: Bools) -> float:
    """Jaccard's index."""
    return float((found & group).sum() / max((found | group).sum(), 1))
