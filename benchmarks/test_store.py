"""The constraint store: incremental insertion against sorting and walking everything again."""

import numpy as np
import pytest

from ocpfast import _core


def intervals(n):
    """Mostly compatible constraints on 20 parameters, with ties and some conflicts."""
    rng = np.random.default_rng(0)
    centre = np.round(rng.normal(size=n), 1)
    width = np.round(rng.exponential(3.0, size=n), 1)
    return rng.integers(0, 20, n).tolist(), (centre - width).tolist(), (centre + width).tolist()


def incremental(n):
    store = _core.BoxStore([-np.inf] * 20, [np.inf] * 20)
    for constraint in zip(*intervals(n), strict=True):
        store.insert(*constraint)
    return [store.interval(i) for i in range(20)]


def from_scratch(n):
    """After every insertion: sort all by priority, then walk."""
    index, lower, upper = (np.array(column) for column in intervals(n))
    for count in range(1, n + 1):
        order = np.lexsort((-np.arange(count), upper[:count]))
        box = [(-np.inf, np.inf)] * 20
        for k in order.tolist():
            low, high = box[index[k]]
            low, high = max(low, lower[k]), min(high, upper[k])
            if low <= high:
                box[index[k]] = (low, high)
    return box


@pytest.mark.benchmark(group="store: insert 500 constraints one by one")
@pytest.mark.parametrize("implementation", [incremental, from_scratch])
def test_insert(benchmark, implementation):
    rounds = 1 if benchmark.disabled or implementation is from_scratch else 20
    box = benchmark.pedantic(implementation, (500,), rounds=rounds)
    assert box == incremental(500)
