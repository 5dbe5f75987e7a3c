"""Inside strata: the Berkeley admissions of 1973, and statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

from bdt_core.errors import SpecError
from bdt_core.fairness import ConditionalComparison, bias_metrics, compare_within_strata, count_rows

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


def test_berkeley_against_r_and_statsmodels(admissions):
    found = compare_within_strata(count_rows(admissions, "sex", label="admitted", stratum="dept"), "f")
    tables = [np.array([[women_in, women_out], [men_in, men_out]]) for men_in, men_out, women_in, women_out in
              BERKELEY.values()]  # fmt: skip
    other = StratifiedTable(tables)
    assert found.odds_ratio == pytest.approx(other.oddsratio_pooled)
    # R: mantelhaen.test(UCBAdmissions) has 0.9046968 (men over women); p 0.2323, uncorrected 0.2169.
    assert 1 / found.odds_ratio == pytest.approx(0.9046968, abs=1e-7)
    assert found.p_value_corrected == pytest.approx(0.2323, abs=5e-5)
    assert found.p_value == pytest.approx(0.2169, abs=5e-5)
    assert found.p_value == pytest.approx(other.test_null_odds().pvalue)
    assert (found.low, found.high) == pytest.approx(other.oddsratio_pooled_confint())
    homogeneity = other.test_equal_odds(adjust=True)
    assert found.breslow_day == pytest.approx(homogeneity.statistic)
    assert found.breslow_day_p_value == pytest.approx(homogeneity.pvalue)
    assert [one.value for one in found.strata] == list("ABCDEF")
    assert found.strata[0].odds_ratio == pytest.approx(89 * 313 / (19 * 512))
    assert found.crude_odds_ratio == pytest.approx(557 * 1493 / (1278 * 1198))
    assert found.disparity == pytest.approx(-0.0192833, abs=5e-8)
    assert ConditionalComparison.from_dict(found.to_dict()) == found


def test_a_stratum_with_one_outcome_is_left_out_and_named(admissions):
    one_sided = pd.DataFrame({"dept": "Z", "sex": ["f"] * 50 + ["m"] * 5, "admitted": 0})
    table = count_rows(pd.concat([admissions, one_sided]), "sex", label="admitted", stratum="dept")
    found = compare_within_strata(table, "f")
    assert found.one_sided_strata == ("Z",)
    assert found.disparity == pytest.approx(-0.0192833, abs=5e-8)
    assert found.odds_ratio == pytest.approx(1 / 0.9046968, abs=1e-6)


def test_strata_that_tell_nothing():
    frame = pd.DataFrame({"dept": list("ab") * 10, "sex": list("fm") * 10, "y": list("ab") * 10})
    result = bias_metrics(frame, facet="sex", label="y", positive="b", group="dept")
    assert "no stratum" in result["CDDL"]["f"].undefined_reason
    found = compare_within_strata(count_rows(frame, "sex", label="y", stratum="dept"), "f", positive="b")
    assert (found.odds_ratio, found.p_value, found.breslow_day, found.disparity) == (None, None, None, None)


def test_predictions_are_compared_likewise(admissions):
    frame = admissions.rename(columns={"admitted": "advice"})
    found = compare_within_strata(
        count_rows(frame, "sex", prediction="advice", stratum="dept"), "f", outcome="prediction"
    )
    assert found.disparity == pytest.approx(bias_metrics(frame, facet="sex", prediction="advice", group="dept")
                                            ["CDDPL"]["f"].estimate)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [({"value": "x"}, "no group x"), ({"value": "f", "outcome": "prediction"}, "without a prediction")],
)
def test_what_is_not_there_is_said(admissions, options, words):
    table = count_rows(admissions, "sex", label="admitted", stratum="dept")
    with pytest.raises(SpecError, match=words):
        compare_within_strata(table, **options)
    with pytest.raises(SpecError, match="without a stratum"):
        compare_within_strata(count_rows(admissions, "sex", label="admitted"), "f")
