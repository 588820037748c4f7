"""Where fuzzing of files begins: agents of many classes and options, new and after eleven steps.

    python tests/fuzz/seeds.py      # writes them into corpus/checkpoint; to be done when what agents keep has changed

tests/test_fuzz.py sees that they can still be loaded: a file that is refused at once leads nowhere.
"""

from pathlib import Path

import numpy as np

import ocpfast as ocp

CORPUS = Path(__file__).resolve().parent / "corpus" / "checkpoint"
STEPS = (0, 11)

PHI = np.arange(24.0).reshape(4, 2, 3) % 7 - 2
PHI_OF_PERIODS = np.arange(48.0).reshape(3, 4, 2, 2) % 5 - 1
BOUNDS = (-9.0, 9.0)


def function_of_vectors(**options):
    """The class whose function is that of checkpoint.cpp."""
    phi = ocp.FeatureFunction(
        lambda state, action, period: [1.0, state[0] + action, state[1] * (period + 1)],
        n_features=3, n_actions=2, state_size=2, by_period=True,
    )  # fmt: skip
    return ocp.OCP(ocp.LinearFeatures(phi, horizon=3), **options)


def table(n_states=4, horizon=3, lower="off", **options):
    return ocp.OCP(ocp.TabulaRasa(n_states, 2, horizon, lower=lower), **options)


def aggregation(labels, horizon=3, lower="off", **options):
    return ocp.OCP(ocp.StateAggregation(labels, 2, horizon=horizon, lower=lower), **options)


def linear(phi=PHI, horizon=3, shared=False, **options):
    return ocp.OCP(ocp.LinearFeatures(phi, horizon=horizon, shared=shared), **options)


AGENTS = {
    "table": lambda: table(),
    "table_first": lambda: table(3, selection="first", ties="least_visited"),
    "table_eluder": lambda: table(3, selection="eluder", update="period", reward_bound=2.0),
    "table_window": lambda: table(lower="exact", selection="window", window=2, ties="random", rng=1),
    "table_lower_replay": lambda: table(lower="exact", replay=True, ties="directed"),
    "table_stationary": lambda: table(replay="stationary", update="period", ties="directed"),
    "homogeneous": lambda: table(horizon=None, replay=True, discount=0.9, bounds=(-20.0, 20.0)),
    "labels": lambda: aggregation([0, 1, 1, 2], replay=True),
    "joint": lambda: aggregation([[0, 1], [1, 2], [2, 2], [0, 0]], lower="exact", replay=True),
    "joint_period": lambda: aggregation([[[0, 1], [1, 1]], [[0, 0], [1, 0]]], horizon=2, ties="directed"),
    "grid": lambda: aggregation(
        ocp.Grid([[-1.0, 0.0, 1.0], [0.5]], extra=1), horizon=None, bounds=BOUNDS, replay=True, ties="random", rng=2
    ),
    "features": lambda: linear(selection="eluder"),
    "features_all": lambda: linear(),
    "features_window": lambda: linear(selection="window", window=2),
    "features_homogeneous": lambda: linear(horizon=None, selection="eluder", ties="least_visited", bounds=BOUNDS),
    "features_period": lambda: linear(PHI_OF_PERIODS, selection="eluder", replay=True, update="period", bounds=BOUNDS),
    "features_shared": lambda: linear(PHI_OF_PERIODS, shared=True, selection="eluder", replay=True, ties="directed"),
    "function": lambda: function_of_vectors(selection="eluder"),
    "function_replay": lambda: function_of_vectors(selection="eluder", replay=True, ties="directed", replay_capacity=4),
    "function_window": lambda: function_of_vectors(
        selection="window", window=2, update="period", ties="least_visited", replay_capacity=4
    ),
}


def made(name, steps):
    """An agent after so many steps of a random walk that pays at random."""
    agent, rng = AGENTS[name](), np.random.default_rng(steps)
    n_states = agent.hypothesis.n_states

    def state():
        return int(rng.integers(n_states)) if n_states is not None else rng.integers(-4, 5, 2) / 2

    for _ in range(steps):
        agent.act(state())
        agent.observe(state(), float(rng.integers(-2, 3)), terminated=rng.random() < 0.1)
    return agent


if __name__ == "__main__":
    for name in AGENTS:
        for steps in STEPS:
            made(name, steps).save(CORPUS / f"{name}_{steps}")
