"""Profiling characteristics: false alarms over all relations of a kind, coverage, and power against planted ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from bdt_core.fairness.characteristics import Characteristics, judge_characteristics
from bdt_core.spec import parse_spec
from bdt_core.table.validate import validate

TABLES = 60
SPEC = parse_spec(
    {
        "name": "checks", "source": {"path": "checks.csv"}, "protected": ["sex", "land"],
        "bias_variable": {"derive": "error", "label": "fraud", "prediction": "checked"},
    }
)  # fmt: skip


def judged(seed: int, finds: float, burden: float) -> Characteristics:
    """Five characteristics, of which the first finds fraud and is what women have more often."""
    rng = np.random.default_rng([41, seed])
    n = 1500
    sex = rng.choice(["f", "m"], n)
    first = (rng.random(n) < 0.3 + burden * (sex == "f")).astype(int)
    frame = pd.DataFrame({"sex": sex, "land": rng.choice(list("abcd"), n), "x0": first})
    frame["x1"] = rng.normal(size=n)
    frame["x2"] = rng.poisson(2.0, n)
    frame["x3"] = rng.choice(list("uvw"), n)
    frame["x4"] = rng.integers(0, 2, n)
    frame["fraud"] = (rng.random(n) < 0.15 + finds * first).astype(int)
    frame["checked"] = (rng.random(n) < 0.2 + 0.2 * first).astype(int)
    return judge_characteristics(validate(frame, SPEC), SPEC)


def at_most(hits: int, rate: float) -> bool:
    """Whether so many hits are believable (p > .001) when the true rate is at most ``rate``."""
    return bool(stats.binom.sf(hits - 1, TABLES, rate) > 0.001)


def test_where_nothing_finds_or_burdens_few_audits_say_so() -> None:
    finding = burdening = missed = 0
    for seed in range(TABLES):
        levels = [level for one in judged(seed, 0.0, 0.0).characteristics for level in one.levels]
        found = [one.found for one in levels if one.found is not None]
        finding += any(one.significant for one in found)
        missed += any(not one.low <= 0.0 <= one.high for one in found)
        burdening += any(burden.relation.significant for one in levels for burden in one.burdens)
    assert at_most(finding, 0.05), finding
    assert at_most(missed, 0.05), missed
    assert at_most(burdening, 0.05), burdening


def test_what_is_planted_is_found_and_its_interval_holds() -> None:
    finds = burdens = outside = 0
    for seed in range(TABLES):
        one = next(x for x in judged(seed, 0.15, 0.2).characteristics if x.column == "x0").strongest
        assert one.found is not None
        finds += one.found.significant
        burden = one.burdens[0]
        burdens += burden.group == "sex is f" and burden.relation.significant
        outside += not (one.found.low <= 0.15 <= one.found.high and burden.relation.low <= 0.2 <= burden.relation.high)
    assert finds >= 0.95 * TABLES
    assert burdens >= 0.95 * TABLES
    assert at_most(outside, 0.05), outside
