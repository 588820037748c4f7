"""Linear features on the paper's chain: regret, and what it takes."""

import numpy as np
import pytest

import ocpfast as ocp

N_STATES = 50


def chain_features(rng, n_features):
    """[Q*, 1, gaussian...]."""
    phi = rng.standard_normal((N_STATES, N_STATES, 2, n_features))
    phi[..., 0] = ocp.solve(ocp.Chain(N_STATES)).q
    phi[..., 1] = 1.0
    return phi


def chain_regret(n_features, simulations, episodes=1_500, **options):
    def make(rng):
        return ocp.OCP(ocp.LinearFeatures(chain_features(np.random.default_rng(rng), n_features)), **options)

    result = ocp.run(
        make, ocp.Chain(N_STATES), episodes=episodes, simulations=simulations, rng=n_features, progress=False
    )
    return result.regret()[:, -1]


@pytest.mark.parametrize("selection", ["all", "eluder"])
@pytest.mark.parametrize("n_features", range(2, 21, 2))
def test_regret_on_the_chain(n_features, selection):
    regret = chain_regret(n_features, 2, selection=selection)
    assert (regret <= N_STATES * n_features).all(), regret


def test_regret_on_the_chain_is_linear_in_the_number_of_features():
    """About 45 for each feature: K = 20 takes about 900 episodes in the paper."""
    assert 600 <= chain_regret(20, 2, selection="eluder").mean() <= 1_000


@pytest.mark.parametrize("selection", ["all", "eluder"])
def test_the_chain_needs_no_linear_program(selection):
    """Its rows never outnumber their directions, and two actions are few enough."""
    hypothesis = ocp.LinearFeatures(chain_features(np.random.default_rng(0), 20))
    agent = ocp.OCP(hypothesis, selection=selection)
    result = ocp.run(agent, ocp.Chain(N_STATES), episodes=1_500, progress=False, keep_agents=True)
    assert result.agents[0].statistics()["lps"] == 0


def test_regret_on_the_chain_with_replay_and_directed_exploration():
    regret = chain_regret(20, 3, episodes=200, selection="eluder", replay=True, ties="directed")
    assert (regret <= 25).all(), regret
