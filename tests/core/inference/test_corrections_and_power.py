"""Corrections for many tests, repeated splits, detectable differences and required rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower, tt_ind_solve_power

from bdt_core.errors import DataError, SpecError
from bdt_core.inference import (
    adjust_p_values,
    minimum_detectable_difference,
    required_rows,
)

P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.none()), min_size=1, max_size=40)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
@settings(max_examples=20, deadline=None)
def test_corrections_against_statsmodels(p_values):
    for method, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")):
        assert adjust_p_values(p_values, method) == pytest.approx(
            multipletests(p_values, method=theirs)[1], rel=1e-12, abs=1e-300
        )


@given(P_VALUES, st.sampled_from(["holm", "bonferroni", "bh", "none"]))
def test_adjusted_values_keep_order_and_never_fall_below_the_raw(p_values, method):
    adjusted = adjust_p_values(p_values, method)
    raw = np.array([np.nan if p is None else p for p in p_values])
    tested = ~np.isnan(raw)
    assert np.isnan(adjusted[~tested]).all()
    assert (adjusted[tested] >= raw[tested]).all()
    assert (adjusted[tested] <= 1).all()
    assert (np.diff(adjusted[tested][np.argsort(raw[tested], kind="stable")]) >= 0).all()
    # Untested entries are not part of the family.
    assert adjusted[tested].tolist() == adjust_p_values(raw[tested], method).tolist()


def test_holm_published():
    # Worked by hand: .01 * 4, .02 * 3, .03 * 2, and .04 kept at the running maximum.
    assert adjust_p_values([0.01, 0.04, 0.03, 0.02]).tolist() == pytest.approx([0.04, 0.06, 0.06, 0.06])


def test_empty_and_bad_families():
    assert adjust_p_values([]).size == 0
    assert np.isnan(adjust_p_values([None, math.nan])).all()
    with pytest.raises(DataError, match="between 0 and 1"):
        adjust_p_values([0.5, 1.5])
    with pytest.raises(SpecError, match="Unknown correction"):
        adjust_p_values([0.5], "sidak")


def test_detectable_rates_by_hand():
    # arcsin(sqrt(.3)) = .579640; (1.959964 + .841621) sqrt(1/50 + 1/9950) / 2 = .198598; sin^2(.778238) - .3
    assert minimum_detectable_difference(50, 9950, base_rate=0.3) == pytest.approx(0.192841, abs=2e-6)
    assert minimum_detectable_difference(200, 9800, base_rate=0.3) == pytest.approx(0.095, abs=5e-4)
    assert minimum_detectable_difference(1000, 9000, base_rate=0.3) == pytest.approx(0.0436, abs=5e-5)
    assert minimum_detectable_difference(50, 50, base_rate=0.1) == pytest.approx(
        minimum_detectable_difference(50, 50, base_rate=0.9)
    )
    assert minimum_detectable_difference(2, 2, base_rate=0.5) == math.inf


def test_detectable_differences_against_statsmodels():
    found = minimum_detectable_difference(120, 900, base_rate=0.2, alpha=0.01, power=0.9)
    effect = NormalIndPower().solve_power(nobs1=120, ratio=900 / 120, alpha=0.01, power=0.9)
    assert 2 * (math.asin((0.2 + found) ** 0.5) - math.asin(0.2**0.5)) == pytest.approx(effect, rel=1e-4)
    effect = tt_ind_solve_power(nobs1=40, ratio=3, alpha=0.05, power=0.8)
    assert minimum_detectable_difference(40, 120, sd=7.0) == pytest.approx(7 * effect, rel=2e-3)


@pytest.mark.parametrize("share", [0.5, 0.2, 0.01])
@pytest.mark.parametrize("kind", [{"base_rate": 0.05}, {"base_rate": 0.7}, {"sd": 2.0}])
def test_required_rows_invert_the_detectable_difference(kind, share):
    rows = required_rows(0.12, share=share, **kind)
    others = max(rows, round(rows * (1 - share) / share))
    assert minimum_detectable_difference(rows, others, **kind) <= 0.12
    fewer = max(rows - 1, round((rows - 1) * (1 - share) / share))
    assert minimum_detectable_difference(rows - 1, fewer, **kind) > 0.12
    assert required_rows(-0.12, share=share, **kind) == rows


def test_bad_plans_are_refused():
    for settings_ in ({}, {"base_rate": 0.1, "sd": 1.0}, {"base_rate": 1.1}, {"sd": -1.0}, {"sd": math.nan}):
        with pytest.raises(SpecError):
            minimum_detectable_difference(10, 10, **settings_)
    with pytest.raises(SpecError, match="at least one row"):
        minimum_detectable_difference(0, 10, base_rate=0.1)
    with pytest.raises(SpecError, match="other than 0"):
        required_rows(0.0, base_rate=0.1)
    with pytest.raises(SpecError, match="cannot differ"):
        required_rows(0.7, base_rate=0.5)
    with pytest.raises(SpecError, match="share"):
        required_rows(0.1, base_rate=0.5, share=0.7)
