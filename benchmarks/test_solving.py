"""Dynamic programming: solve() against NumPy, a period at a time."""

import numpy as np
import pytest

import ocpfast as ocp

N_STATES, N_ACTIONS, HORIZON = 10_000, 4, 50


def table(by_period):
    rng = np.random.default_rng(0)
    shape = (HORIZON, N_STATES, N_ACTIONS) if by_period else (N_STATES, N_ACTIONS)
    return ocp.TableSystem(rng.integers(-1, N_STATES, shape), rng.standard_normal(shape), horizon=HORIZON)


def compiled(system):
    return ocp.solve(system).q


def numpy(system):
    q = np.empty((HORIZON, N_STATES, N_ACTIONS))
    next_state, reward = (np.broadcast_to(array, q.shape) for array in (system.next_state, system.reward))
    value = np.zeros(N_STATES + 1)  # state -1 is worth 0
    for t in reversed(range(HORIZON)):
        q[t] = reward[t] + value[next_state[t]]
        value[:-1] = q[t].max(axis=1)
    return q


@pytest.mark.ratios
@pytest.mark.parametrize("who, implementation", [("ocpfast", compiled), ("NumPy", numpy)], ids=["compiled", "numpy"])
@pytest.mark.parametrize("by_period", [False, True])
def test_solve(benchmark, who, implementation, by_period):
    benchmark.group = f"dynamic program, {N_STATES:,} states" + (", other ones each period" if by_period else "")
    benchmark.extra_info.update(who=who, per=HORIZON, unit="period")
    system = table(by_period)
    q = benchmark.pedantic(implementation, (system,), rounds=1 if benchmark.disabled else 10, warmup_rounds=1)
    assert np.array_equal(q, compiled(system))
