import numpy as np
import pytest

from bdt_core.clustering.plus_plus import drawn_by_weight, rows_far_apart


def apart(points):
    return lambda rows: np.square(points[None, :] - points[rows][:, None])


def test_positions_are_drawn_in_proportion_to_their_weights():
    weights = np.array([1.0, 0.0, 2.0, 1.0])
    uniform = (np.arange(4000) + 0.5) / 4000
    assert np.bincount(drawn_by_weight(weights, uniform)).tolist() == [1000, 0, 2000, 1000]


def test_what_rounds_up_to_the_whole_is_the_last_position():
    assert drawn_by_weight(np.array([1.0, 3.0]), np.array([1.0])).tolist() == [1]
    assert drawn_by_weight(np.zeros(3), np.array([0.5])).tolist() == [2]


def test_one_candidate_is_drawn_by_weight_times_squared_distance():
    points, weights = np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 6.0, 1.0, 1.0])  # products 0, 6, 4, 9
    uniform = (np.arange(1900) + 0.5) / 1900
    second = [rows_far_apart(0, np.array([[one]]), apart(points), weights)[1] for one in uniform]
    assert np.bincount(second, minlength=4).tolist() == [0, 600, 400, 900]


def test_of_several_candidates_the_best_is_taken():
    points = np.array([0.0, 100.0, 101.0, 102.0])  # sums of squared distances left: 5, 2, 5
    total = np.cumsum(points**2)
    each = (total - 0.5 * points**2)[1:] / total[-1]  # one draw for each of the last three rows
    assert rows_far_apart(0, each[None, :], apart(points)) == [0, 2]
    assert rows_far_apart(0, each[None, [0, 2]], apart(points)) == [0, 1]  # equally good: the first drawn
    assert rows_far_apart(0, each[None, [2]], apart(points)) == [0, 3]


def test_weights_say_which_candidate_is_best():
    points, weights = np.array([0.0, 100.0, 101.0, 102.0]), np.array([1.0, 1.0, 1.0, 50.0])
    total = np.cumsum(weights * points**2)
    each = (total - 0.5 * weights * points**2)[1:] / total[-1]
    assert rows_far_apart(0, each[None, :], apart(points), weights) == [0, 3]


@pytest.mark.parametrize("candidates", [1, 3])
def test_no_row_is_taken_twice(candidates):
    points = np.array([0.0, 4.0, 4.0, 9.0])
    for seed in range(20):
        draws = np.random.default_rng(seed).random((3, candidates))
        chosen = rows_far_apart(0, draws, apart(points))
        assert sorted(points[chosen].tolist()) == [0.0, 4.0, 9.0]


def test_a_candidate_at_no_distance_gives_way_to_the_farthest_row():
    points = np.array([0.0, 3.0, 1.0, 0.0])
    beyond = np.array([[1.0, 1.0]])  # above every uniform draw: the last row, a copy of the first
    assert rows_far_apart(0, beyond, apart(points)) == [0, 1]


def test_rows_that_are_all_alike_give_one():
    assert rows_far_apart(2, np.full((4, 2), 0.5), apart(np.ones(5))) == [2]
