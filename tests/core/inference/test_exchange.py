import numpy as np
import pytest
from scipy import stats

from bdt_core.inference import exchange
from bdt_core.inference.exchange import Pool, drawn_counts, exchanged, exchanged_by_persons, permutation_p_value


def test_the_p_value_counts_the_datas_own_order():
    assert permutation_p_value(0, 199) == 1 / 200
    assert permutation_p_value(199, 199) == 1.0


def test_draws_in_pieces_are_those_of_one_call(monkeypatch):
    counts = np.array([40, 3, 0, 17])
    whole = np.random.default_rng(5).multivariate_hypergeometric(counts, 20, size=50, method="marginals")
    monkeypatch.setattr(exchange, "_CELLS_AT_ONCE", 4 * 7)
    pieces = list(drawn_counts(counts, 20, 50, np.random.default_rng(5)))
    assert [len(piece) for piece in pieces] == [7] * 7 + [1]
    assert np.array_equal(np.concatenate(pieces), whole)


def test_more_values_than_fit_are_drawn_one_by_one(monkeypatch):
    monkeypatch.setattr(exchange, "_CELLS_AT_ONCE", 2)
    pieces = list(drawn_counts(np.array([2, 2, 2]), 3, 4, np.random.default_rng(0)))
    assert [piece.shape for piece in pieces] == [(1, 3)] * 4
    assert all(piece.sum() == 3 for piece in pieces)


def test_values_stay_in_their_pool_and_what_is_in_none_stays():
    values = np.arange(30)
    pools = [Pool(np.arange(0, 10)), Pool(np.arange(10, 25))]
    drawn = exchanged(values, pools, np.random.default_rng(1))
    assert set(drawn[:10]) == set(range(10))
    assert set(drawn[10:25]) == set(range(10, 25))
    assert drawn[25:].tolist() == [25, 26, 27, 28, 29]
    assert (drawn[:25] != values[:25]).any()
    assert values.tolist() == list(range(30))


def test_rows_of_one_unit_get_one_value():
    values = np.array([0, 0, 0, 1, 1, 2, 9])
    unit = np.array([0, 0, 0, 1, 1, 2])
    pool = Pool(np.arange(6), unit, np.array([0, 3, 5]))
    seen = set()
    for seed in range(40):
        drawn = exchanged(values, [pool], np.random.default_rng(seed))
        assert drawn[6] == 9
        of_units = [set(drawn[:6][unit == each]) for each in range(3)]
        assert all(len(each) == 1 for each in of_units)
        order = tuple(int(value) for each in of_units for value in each)
        assert sorted(order) == [0, 1, 2]
        seen.add(order)
    assert len(seen) == 6


def test_every_order_of_rows_is_as_likely():
    rng = np.random.default_rng(3)
    drawn = [tuple(exchanged(np.arange(3), [Pool(np.arange(3))], rng).tolist()) for _ in range(3000)]
    assert stats.chisquare(np.unique(drawn, axis=0, return_counts=True)[1]).pvalue > 0.001


@pytest.mark.parametrize("seed", range(5))
def test_a_persons_values_go_over_as_a_series(seed):
    persons = np.array([7, 5, 7, 5, 8, 2, 2, 2], dtype=np.uint64)
    values = np.array([1.0, 3.0, 2.0, 4.0, 9.0, 5.0, 6.0, 7.0])
    drawn = exchanged_by_persons(values, persons, np.random.default_rng(seed))
    pairs = [drawn[persons == person].tolist() for person in (7, 5)]
    assert sorted(pairs) == [[1.0, 2.0], [3.0, 4.0]]
    assert drawn[persons == 8].tolist() == [9.0]  # nobody else has one row
    assert drawn[persons == 2].tolist() == [5.0, 6.0, 7.0]


def test_persons_of_equally_many_rows_do_change_places():
    persons, values = np.array([7, 7, 5, 5], dtype=np.uint64), np.array([1.0, 2.0, 3.0, 4.0])
    drawn = {exchanged_by_persons(values, persons, np.random.default_rng(seed))[0] for seed in range(20)}
    assert drawn == {1.0, 3.0}
