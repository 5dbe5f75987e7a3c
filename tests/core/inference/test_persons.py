"""Rows of persons: effective counts, areas and comparisons shrink as far as a person's rows are alike."""

from __future__ import annotations

import numpy as np
import pytest

from bdt_core.inference import area_under_curve, compare_counts
from bdt_core.inference.persons import (
    PersonSums,
    Steps,
    area_by_persons,
    compare_persons,
    person_sums,
    rows_alike,
    shrink_of_mean,
)


def test_rows_are_summed_by_person():
    sums = person_sums(np.array([1.0, 0.0, 1.0]), np.array([0, 0, 2]), 3)
    assert (sums.rows.tolist(), sums.steps.tolist(), sums.persons) == ([2, 0, 1], [1, 0, 1], 2)


def test_values_become_whole_steps():
    assert Steps.of(np.array([2.0, 6.0])).count(np.array([6.0, 2.0])).tolist() == [1.0, 0.0]
    assert Steps.of(np.array([1.0, 2.0, 5.0])).count(np.array([1.0, 2.0, 5.0])).tolist() == [0.0, 2.0**28, 2.0**30]


def test_five_equal_rows_of_a_person_are_worth_one():
    once, five_times = (PersonSums(np.full(400, n), n * (np.arange(400) % 4 == 0)) for n in (1, 5))
    assert shrink_of_mean(once, 100, 0.05) == pytest.approx(1.01, abs=0.005)
    assert shrink_of_mean(five_times, 500, 0.05) == pytest.approx(5.04, abs=0.005)


def test_the_design_effect_of_everybodys_mean():
    five_times = PersonSums(np.full(400, 5), 5 * (np.arange(400) % 4 == 0))
    assert rows_alike(five_times, 0.25 * 0.75) == pytest.approx(5.0)
    assert rows_alike(PersonSums(np.ones(8, np.int64), np.arange(8) % 2), 0.25) == pytest.approx(1.0)
    assert rows_alike(five_times, 0.0) == 1.0


def test_an_area_of_copied_rows_is_as_unsure_as_that_of_the_rows_once():
    scores, persons = np.array([[0.9, 0.8, 0.4], [0.6, 0.3, 0.2]]), np.repeat(np.arange(3), 5)
    copied = np.repeat(scores, 5, axis=1)
    by_persons = area_by_persons(copied[0], persons, copied[1], persons + 3)
    assert by_persons.auc == pytest.approx(8 / 9)
    assert (round(by_persons.low, 2), round(by_persons.high, 2)) == (0.27, 0.99)
    of_rows = area_under_curve(*copied)
    assert of_rows.low - by_persons.low > 0.1


def test_rows_that_are_always_alike_are_counted_as_persons():
    a = PersonSums(np.repeat([2, 0], 40), np.repeat([2, 0, 0], [10, 30, 40]))
    b = PersonSums(np.repeat([0, 2], 40), np.repeat([0, 2, 0], [40, 20, 20]))
    of_rows = compare_counts(20, 80, 40, 80)
    of_persons = compare_persons(of_rows, a, b)
    assert of_persons.difference == of_rows.difference
    assert round(of_rows.p_value, 3) == 0.001
    assert round(of_persons.p_value, 3) == 0.02
    assert of_persons.persons.design_effect == pytest.approx(2.05, abs=0.005)


def test_few_persons_are_not_tested():
    a = PersonSums(np.repeat([20, 0], 4), np.repeat([10, 0], 4))
    b = PersonSums(np.repeat([0, 20], 4), np.repeat([0, 10], 4))
    of_persons = compare_persons(compare_counts(40, 80, 40, 80), a, b)
    assert of_persons.status == "not_testable"
    assert of_persons.reason == "4 persons against 4: each side needs at least 30 persons"
