"""Grids and partitions: labels, sizes and the errors of bad ones."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

import ocpfast as ocp

FINITE = st.floats(-1e3, 1e3)


@given(
    edges=st.lists(st.lists(FINITE, max_size=8, unique=True).map(sorted), min_size=1, max_size=3),
    extra=st.integers(0, 2),
    data=st.data(),
)
def test_labels_are_those_of_searchsorted(edges, extra, data):
    grid = ocp.Grid(edges, extra)
    on_an_edge = st.sampled_from([edge for dimension in edges for edge in dimension] or [0.0])
    value = FINITE | on_an_edge | st.sampled_from([np.inf, -np.inf])
    states = data.draw(st_numpy.arrays(float, (20, len(edges)), elements=value))
    bins = [np.searchsorted(e, states[:, i], side="right") for i, e in enumerate(edges)]
    expected = extra + np.ravel_multi_index(bins, [len(e) + 1 for e in edges])
    assert np.array_equal(grid.labels(states), expected)
    assert grid.n_labels == extra + np.prod([len(e) + 1 for e in edges])


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 60), st.data())
def test_uniform_edges_decide_to_the_last_bit(first, width, n, data):
    edges = np.linspace(first, first + width, n)
    if np.any(np.diff(edges) <= 0):
        return
    grid = ocp.Grid([edges])
    near = data.draw(st.sampled_from(list(edges)))
    values = [near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf), data.draw(st.floats(-1e7, 1e7))]
    expected = np.searchsorted(edges, values, side="right")
    assert [grid.label([value]) for value in values] == expected.tolist()


def test_nan_is_the_first_extra_label():
    grid = ocp.Grid([[0.0], [0.0]], extra=2)
    assert grid.label([np.nan, 1.0]) == grid.label([1.0, np.nan]) == 0
    with pytest.raises(ValueError, match=r"state: NaN, but the grid has no extra label"):
        ocp.Grid([[0.0]]).label([np.nan])


@pytest.mark.parametrize(
    "edges, extra, message",
    [
        ([], 0, r"edges: expected the edges of at least one dimension"),
        ([[1.0, 0.0]], 0, r"edges\[0\]: expected finite, strictly increasing numbers"),
        ([[0.0], [0.0, 0.0]], 0, r"edges\[1\]: expected finite, strictly increasing"),
        ([[np.nan]], 0, r"edges\[0\]: expected finite"),
        ([[[0.0]]], 0, r"edges\[0\]: expected a 1-D array, got shape \(1, 1\)"),
        ([["a"]], 0, r"edges\[0\]: expected finite, strictly increasing numbers, got dtype"),
        ([[True]], 0, r"edges\[0\]: expected finite, strictly increasing numbers, got dtype bool"),
        (5, 0, r"edges: expected a sequence of 1-D arrays, got 5"),
        ("12", 0, r"edges: expected a sequence of 1-D arrays, got '12'"),
        ([[[0.0], [1.0, 2.0]]], 0, r"edges\[0\]: expected finite, strictly increasing numbers, got ragged rows"),
        ([[0.0]], -1, r"extra: expected an integer >= 0, got -1"),
        ([np.arange(40_000.0)] * 3, 0, r"edges: \d+ parameters, expected at most"),
    ],
)
def test_bad_grids(edges, extra, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ocp.Grid(edges, extra)


@pytest.mark.parametrize("states", [[0.0], [[0.0, 1.0]], [[[0.0]]]])
def test_bad_states_of_a_grid(states):
    with pytest.raises(ValueError, match=r"states: expected shape \(n, 1\), got"):
        ocp.Grid([[0.0]]).labels(states)


@pytest.mark.parametrize(
    "partition, horizon, dimension",
    [
        ([0, 0, 1], 4, 2 * 2 * 4),
        ([0, 0, 1], None, 2 * 2),
        ([[0, 1], [1, 2], [0, 0]], 4, 3 * 4),
        ([[0, 1], [1, 2], [0, 0]], None, 3),
        ([[[0, 1], [1, 2]], [[0, 0], [0, 0]]], None, 3 + 1),
        (ocp.Grid([[0.0], [0.0]], extra=1), None, 5 * 2),
        (ocp.Grid([[0.0], [0.0]]), 3, 4 * 2 * 3),
    ],
)
def test_eluder_dimension_is_the_number_of_parameters(partition, horizon, dimension):
    assert ocp.StateAggregation(partition, 2, horizon).eluder_dimension() == dimension


def test_a_period_axis_is_a_horizon():
    by_period = ocp.StateAggregation([[[0, 0]], [[0, 1]]], 2)
    assert by_period.horizon == 2 and not by_period.homogeneous
    assert ocp.StateAggregation([0], 2).homogeneous


@pytest.mark.parametrize(
    "partition, n_actions, horizon, error, message",
    [
        ([0, -1], 2, None, ValueError, r"partition: expected labels >= 0, got -1"),
        ([0, 2], 2, None, ValueError, r"partition: expected labels without gaps, got 2 among 2"),
        ([0, 0, 2], 2, None, ValueError, r"partition: expected every label of 0..2 to be used, but 1 is not"),
        ([[[0]], [[1]]], 1, None, ValueError, r"partition\[1\]: expected labels without gaps, got 1"),
        ([0.0, 1.0], 2, None, TypeError, r"partition: expected integer labels, got dtype float64"),
        ([], 2, None, ValueError, r"partition: expected at least one label"),
        (3, 2, None, ValueError, r"partition: expected shape \(S,\), \(S, A\) or \(H, S, A\), got \(\)"),
        ([[0, 1]], 3, None, ValueError, r"partition: expected 3 actions in its last axis"),
        ([[[0, 1]]], 2, 2, ValueError, r"partition: expected 2 periods in its first axis"),
        ([0], 0, None, ValueError, r"n_actions: expected an integer >= 1, got 0"),
        ([0], 2.0, None, TypeError, r"n_actions: expected an integer >= 1, got 2.0"),
        ([0], 2, 0, ValueError, r"horizon: expected an integer >= 1, got 0"),
        ([0], 2, True, TypeError, r"horizon: expected an integer >= 1, got True"),
        ([0], 2**40, 2**40, ValueError, r"partition: \d+ parameters, expected at most 1073741824"),
        ([[0, 1], [2]], 2, None, ValueError, r"partition: expected shape .*, got ragged rows"),
        ([[0, 1]], 2, 10**30, ValueError, r"partition: \d+ parameters, expected at most"),
        (np.array([2**63], dtype=np.uint64), 2, None, ValueError, r"without gaps, got 9223372036854775808"),
        ([2**62, 0], 2, None, ValueError, r"partition: expected labels without gaps"),
    ],
)
def test_bad_partitions(partition, n_actions, horizon, error, message):
    with pytest.raises(error, match=message):
        ocp.StateAggregation(partition, n_actions, horizon)


def test_bad_tables():
    with pytest.raises(ValueError, match=r"n_states: expected an integer >= 1, got 0"):
        ocp.TabulaRasa(0, 2, 3)
    with pytest.raises(ValueError, match=r"lower: expected one of 'off', 'exact', got 'on'"):
        ocp.TabulaRasa(1, 2, 3, lower="on")
    with pytest.raises(ValueError, match=r"n_states, n_actions, horizon: \d+ parameters, expected at most"):
        ocp.TabulaRasa(10**6, 10**6, 10**6)


@pytest.mark.parametrize(
    "value",
    [
        ocp.Grid([[0.0, 1.0]], extra=1),
        ocp.TabulaRasa(3, 2, 4, lower="exact"),
        ocp.StateAggregation([0, 1, 1], 2),
        ocp.StateAggregation(ocp.Grid([[0.0]]), 2, horizon=3),
    ],
    ids=repr,
)
def test_descriptions_pickle_and_compare(value):
    copy = pickle.loads(pickle.dumps(value))
    assert copy == value and hash(copy) == hash(value) and repr(copy) == repr(value)
    assert value != "something else"


def test_a_partition_is_not_changed_by_its_maker():
    labels = np.array([0, 1])
    described = ocp.StateAggregation(labels, 1)
    labels[:] = 0
    assert described.partition.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        described.partition[0] = 5


def test_states_of_many_numbers():
    """More than bindings have a place for on the stack, which is eight."""
    grid = ocp.Grid([[0.0]] * 9)
    agent = ocp.OCP(ocp.StateAggregation(grid, n_actions=1, horizon=1))
    signs = np.where(np.arange(9) % 2, 1.0, -1.0)
    agent.act(signs)
    agent.observe(signs, 1.0)
    assert agent.upper(signs, 0) == 1.0 and agent.upper(-signs, 0) == np.inf
    with pytest.raises(ValueError, match=r"^state: expected 9 numbers"):
        agent.act(signs[:8])


def test_what_a_grid_says_of_itself():
    grid = ocp.Grid([[0.0], [1.0]], extra=2)
    assert grid.extra == 2
    with pytest.raises(ValueError, match=r"^state: expected 2 numbers, got shape \(3,\)"):
        grid.label([0.0, 0.0, 0.0])


class Unwilling:
    def __index__(self):
        raise TypeError("not today")


def test_what_only_looks_like_an_integer():
    with pytest.raises(TypeError, match=r"^n_states: expected an integer >= 1, got <.*Unwilling"):
        ocp.TabulaRasa(Unwilling(), 2, 3)
