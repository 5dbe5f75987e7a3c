"""Students with a grant for living away from home, and the risk score that sends a visitor to some: ``demo:grants``.

Nobody in it exists. Who is treated worse is planted, and is all that is: see ``docs/finding.md``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

STUDENTS = 7_500
SEED = 2024
"""Of the table that is shipped as ``data/grants.csv``."""
PLANTED = {"opleiding": "mbo", "woonvorm": "bij familie"}
"""Whom the score treats worse: vocational students who live with relatives that are not their parents."""
EXTRA = 350
"""By how much, in chances of 1,000."""
_SELECTED = 500  # points of 1,000 from which a student is visited
_FOUND = 400  # further points of whoever lives at home after all
_NEAR, _FAR = 5, 20  # kilometres from the parents
_ORIGIN = {"Nederland": 700, "elders in Europa": 120, "buiten Europa": 180}
_EDUCATION = {
    "buiten Europa": {"mbo": 500, "hbo": 350, "wo": 150},
    "": {"mbo": 320, "hbo": 410, "wo": 270},
}
_HOME = {
    "buiten Europa": {"bij familie": 500, "kamer": 350, "zelfstandig": 150},
    "": {"bij familie": 180, "kamer": 560, "zelfstandig": 260},
}
_DISTANCE = {"bij familie": (400, 300), "": (300, 300)}  # chances of near and of middling
_MISUSE = (200, 120, 50)  # near, middling and far
_POINTS = (300, 180, 80)


def simulate_grants(students: int = STUDENTS, seed: int = SEED) -> pd.DataFrame:
    """Make students up.

    All chances are whole numbers of 1,000 that are held against the raw integers of PCG64, so that the same table is
    made on every machine, by every release of numpy.

    Parameters
    ----------
    students : int
        Number of rows.
    seed : int

    Returns
    -------
    pandas.DataFrame
        ``onrechtmatig`` is 1 for whoever lives with the parents after all, which is known of every student here;
        ``huisbezoek`` is 1 where ``risicoscore``, from 0 to 1,000, is 500 or more.

    Examples
    --------
    >>> simulate_grants(3, seed=1)["opleiding"].tolist()
    ['hbo', 'wo', 'hbo']
    """
    draws = np.random.PCG64(seed)

    def drawn(below: int | NDArray[np.int64]) -> NDArray[np.int64]:
        """Whole numbers from 0, one a student."""
        whole: NDArray[np.uint64] = draws.random_raw(students)
        return (whole >> np.uint64(11)).astype(np.int64) % below

    def chosen(chances: dict[str, int]) -> NDArray[np.str_]:
        return np.repeat(list(chances), list(chances.values()))[drawn(1_000)]

    def chosen_by(chances: dict[str, dict[str, int]], given: NDArray[np.str_]) -> NDArray[np.str_]:
        """As `chances` says for the given level, and else as it says for all others."""
        made = chosen(chances[""])
        for level in chances.keys() - {""}:
            made = np.where(given == level, chosen(chances[level]), made)
        return made

    sex = chosen({"vrouw": 520, "man": 480})
    origin = chosen(_ORIGIN)
    education = chosen_by(_EDUCATION, origin)
    home = chosen_by(_HOME, origin)
    age = np.where(education == "mbo", 17, 18) + drawn(4) + drawn(5)
    years = drawn(1_000) % (age - 16)
    near, middling = (np.where(home == "bij familie", *pair) for pair in zip(*_DISTANCE.values(), strict=True))
    place = drawn(1_000)
    band = np.where(place < near, 0, np.where(place < near + middling, 1, 2))
    kilometres = np.choose(band, [1 + drawn(_NEAR), _NEAR + 1 + drawn(_FAR - _NEAR), _FAR + 1 + drawn(130)])
    misuse = drawn(1_000) < np.array(_MISUSE)[band]
    planted = (education == PLANTED["opleiding"]) & (home == PLANTED["woonvorm"])
    chance = np.array(_POINTS)[band] + _FOUND * misuse + EXTRA * planted
    score = np.clip((_SELECTED * 2 - 1 + chance - drawn(1_000)) // 2, 0, 1_000)
    return pd.DataFrame(
        {
            "opleiding": education,
            "leeftijd": age,
            "woonvorm": home,
            "jaren_uitwonend": years,
            "afstand_km": kilometres,
            "geslacht": sex,
            "herkomst": origin,
            "risicoscore": score,
            "huisbezoek": (score >= _SELECTED).astype(np.int64),
            "onrechtmatig": misuse.astype(np.int64),
        }
    )
