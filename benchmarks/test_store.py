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


@pytest.mark.ratios
@pytest.mark.benchmark(group="constraint store, 500 insertions")
@pytest.mark.parametrize(
    "who, implementation",
    [("ocpfast", incremental), ("NumPy, sorting and walking again", from_scratch)],
    ids=["incremental", "from scratch"],
)
def test_insert(benchmark, who, implementation):
    benchmark.extra_info.update(who=who, per=500, unit="insertion")
    rounds = 1 if benchmark.disabled else 3 if implementation is from_scratch else 20
    box = benchmark.pedantic(implementation, (500,), rounds=rounds)
    assert box == incremental(500)
