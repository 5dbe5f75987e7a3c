"""Inside strata: the Berkeley admissions of 1973."""

from __future__ import annotations

import pandas as pd
import pytest

from bdt_core.fairness import bias_metrics

# Department: men admitted, men rejected, women admitted, women rejected (R's UCBAdmissions).
BERKELEY = {
    "A": (512, 313, 89, 19),
    "B": (353, 207, 17, 8),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (22, 351, 24, 317),
}


@pytest.fixture(scope="module")
def admissions():
    cells = [
        (dept, sex, admitted, n)
        for dept, counts in BERKELEY.items()
        for (sex, admitted), n in zip((("m", 1), ("m", 0), ("f", 1), ("f", 0)), counts, strict=True)
    ]
    frame = pd.DataFrame(cells, columns=["dept", "sex", "admitted", "n"])
    return frame.loc[frame.index.repeat(frame.n)].drop(columns="n")


def test_simpsons_paradox(admissions):
    result = bias_metrics(admissions, facet="sex", label="admitted", group="dept")
    assert result["prevalence"]["m"].estimate == pytest.approx(0.445188, abs=5e-7)
    assert result["prevalence"]["f"].estimate == pytest.approx(0.303542, abs=5e-7)
    cddl = result["CDDL"]["f"]
    assert cddl.estimate == pytest.approx(-0.0192833, abs=5e-8)
    # In the whole women fare worse; inside departments that is gone.
    assert result["DPL"]["f"].low > 0.1
    assert cddl.low < cddl.estimate < cddl.high < 0.02


def test_a_stratum_with_one_outcome_tells_nothing(admissions):
    one_sided = pd.DataFrame({"dept": "Z", "sex": ["f"] * 50 + ["m"] * 5, "admitted": 0})
    result = bias_metrics(pd.concat([admissions, one_sided]), facet="sex", label="admitted", group="dept")
    assert result["CDDL"]["f"].estimate == pytest.approx(-0.0192833, abs=5e-8)


def test_strata_that_tell_nothing():
    frame = pd.DataFrame({"dept": list("ab") * 10, "sex": list("fm") * 10, "y": list("ab") * 10})
    result = bias_metrics(frame, facet="sex", label="y", positive="b", group="dept")
    assert "no stratum" in result["CDDL"]["f"].undefined_reason


def test_predictions_are_compared_likewise(admissions):
    frame = admissions.rename(columns={"admitted": "advice"})
    result = bias_metrics(frame, facet="sex", prediction="advice", group="dept")
    assert result["CDDPL"]["f"].estimate == pytest.approx(-0.0192833, abs=5e-8)
