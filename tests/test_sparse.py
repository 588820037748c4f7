"""Sparse linear classes: against the literal algorithm over supports, and the theorems.

A failing random case is run again with check(configuration, case), both of which are in the message.
"""

import itertools
import math
import pickle
import random

import numpy as np
import pytest
from linear_cases import Description
from reference import INFINITY
from reference_sparse import LiteralSparseOCP, l_independent, l_rank
from test_linear import Case, Configuration, Pair
from test_linear_chain import N_STATES, chain_features

import ocpfast as ocp
from ocpfast.sparse import is_full_rank

METHODS = list(itertools.product((False, True, "stationary"), ("episode", "period")))
CLASSES = ("(H,S,A,K)", "(H,S,A,K) shared", "(S,A,K)", "(S,A,K) homogeneous")
CASES = 25  # of each configuration


# against the literal algorithm


class SparseDescription(Description):
    sparsity = 1
    arguments = {}  # noqa: RUF012

    def hypothesis(self):
        return ocp.SparseLinear(self.phi, self.sparsity, horizon=self.horizon, shared=self.shared, **self.arguments)

    def literal(self, **options):
        options = {k: v for k, v in options.items() if k not in ("ties", "rng")}  # it follows the compiled agent
        return LiteralSparseOCP(
            self.feature,
            self.phi.shape[-2],
            self.periods,
            block=(lambda t: 0) if self.shared else (lambda t: t),
            sparsity=self.sparsity,
            n_features=self.phi.shape[-1],
            **options,
        )


class SparseCase(Case):
    def random_description(self):
        rng = self.rng
        self.n_features = rng.randint(1, 5)
        description = SparseDescription(*super().random_description())
        scale = 2.0 ** rng.choice([0, 0, -10, 10])  # exact, and so are the literal's fractions
        columns = np.array([2.0 ** rng.choice([0, 0, -10, 10]) for _ in range(self.n_features)])
        description = SparseDescription(description.phi * columns * scale, *description[1:])
        description.sparsity = rng.randint(1, self.n_features)
        return description

    def random_options(self):
        ties = self.rng.choice(["first", "least_visited", "directed", "random"])
        return super().random_options() | {"ties": ties, "rng": 0}


def check(configuration, case):
    """Run one case; None, or what went wrong and how to get there again."""
    trace = []
    try:
        trial = SparseCase(configuration, case)
        trace = trial.pair.trace
        trial.run()
    except Exception as error:  # also what the library itself raises
        return "\n  ".join([f"{error!r}\ncheck({configuration}, {case})", *trace])
    return None


@pytest.mark.parametrize("replay, update", METHODS)
@pytest.mark.parametrize("features", CLASSES)
def test_compiled_is_literal(features, replay, update):
    configuration = Configuration("eluder", replay, update, features, "none")
    results = [check(configuration, case) for case in range(CASES)]
    failures = [result for result in results if result is not None]
    shortest = min(failures, key=len, default="")
    assert not failures, f"{len(failures)} of {len(results)} random cases differ; the shortest:\n{shortest}"


def test_there_are_enough_cases():
    assert len(METHODS) * len(CLASSES) * CASES >= 500


def play(agent, system_q, next_state, reward, starts):
    """Suboptimal episodes among so many."""
    horizon = len(next_state)
    suboptimal = 0
    for start in starts:
        x, total = start, 0.0
        for t in range(horizon):
            a = agent.act(x)
            total += reward[t, x, a]
            x, r = next_state[t, x, a], reward[t, x, a]
            agent.observe(x, r)
        suboptimal += total < system_q[0, start].max() - 1e-9
    return suboptimal


# the theorems


class SparseSystem:
    """A random table whose Q*_t = phi_t theta_t with K0 non-zeros in each theta_t; generic features."""

    def __init__(self, seed, n_states, n_actions, horizon, n_features, sparsity, scale=None):
        rng = np.random.default_rng(seed)
        self.phi = rng.standard_normal((horizon, n_states, n_actions, n_features))
        if scale is not None:  # rows and columns of sizes 10^-scale .. 10^scale
            self.phi *= 10 ** rng.uniform(-scale, scale, n_features)
        theta = np.zeros((horizon, n_features))
        for one in theta:
            one[rng.choice(n_features, sparsity, replace=False)] = rng.uniform(-1, 1, sparsity)
        if scale is not None:
            theta /= np.abs(self.phi).max(axis=(0, 1, 2))
        self.q = np.einsum("hxak,hk->hxa", self.phi, theta)
        self.next_state = rng.integers(0, n_states, self.q.shape)
        following = np.concatenate([self.q.max(axis=2)[1:], np.zeros((1, n_states))])
        self.reward = self.q - following[np.arange(horizon)[:, None, None], self.next_state]
        self.system = ocp.TableSystem(self.next_state, self.reward, np.full(n_states, 1 / n_states), horizon)

    def run(self, hypothesis, episodes, **options):
        agent = ocp.OCP(hypothesis, selection="eluder", **options)
        result = ocp.run(agent, self.system, episodes, rng=0, progress=False, keep_agents=True)
        optimal = result.regret()  # against the system's own optimum, which is q's
        assert optimal.shape == (1, episodes)
        return result.suboptimal(epsilon=1e-6)[0], result.agents[0]


OPTIONS = [
    {},
    {"replay": True, "ties": "directed"},
    {"update": "period", "ties": "random"},
    {"replay": True, "update": "period", "ties": "least_visited"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_theorem_1_with_generic_features(options):
    """Suboptimal episodes <= 2 K0 H, Q* stays inside, nothing is rejected or contradicted."""
    for seed in range(75):
        coin = random.Random(seed)
        n_features = coin.randint(2, 8)
        sparsity = coin.randint(1, min(3, n_features))
        horizon = coin.randint(1, 6)
        case = SparseSystem(
            seed, coin.randint(2, 8), coin.randint(1, 3), horizon, n_features, sparsity, coin.choice([None, 3])
        )
        hypothesis = ocp.SparseLinear(case.phi, sparsity)
        bound = horizon * min(2 * sparsity, n_features)
        suboptimal, agent = case.run(hypothesis, bound + 30, **options)
        statistics = agent.statistics()
        assert statistics["rejected"] == statistics["contradictions"] == 0, seed
        assert suboptimal <= bound, seed
        assert statistics["determined"] <= bound, seed
        for (t, x, a), value in np.ndenumerate(case.q):
            low, high = agent.lower(x, a, t), agent.upper(x, a, t)
            assert low - 1e-6 <= value <= high + 1e-6, (seed, low, value, high)


def test_the_support_of_q_is_never_ruled_out_by_rounding():
    """Thousands of equalities with features of many sizes, values like 0.1 and directions that are nearly dependent."""
    rng = np.random.default_rng(0)
    for _ in range(1_500):
        n_features = int(rng.integers(1, 8))
        sparsity = int(rng.integers(1, min(n_features, 4) + 1))
        phi = rng.standard_normal((1, 12, 1, n_features)) * 10 ** rng.uniform(-3, 3, (12, 1, 1))
        phi *= 10 ** rng.uniform(-3, 3, n_features)
        if rng.random() < 0.5:  # rows that are nearly combinations of others
            nearly = rng.integers(0, 12, (6, 2))
            weights = rng.standard_normal((6, 2))
            noise = 10 ** rng.uniform(-16, -2) * rng.standard_normal((6, n_features)) * np.abs(phi[0, :6, 0])
            phi[0, 6:, 0] = (weights[:, :, None] * phi[0, nearly, 0]).sum(axis=1) + noise
        theta = np.zeros(n_features)
        theta[rng.choice(n_features, sparsity, replace=False)] = rng.choice([0.1, -0.3, 0.7], sparsity)
        theta /= np.abs(phi).max(axis=(0, 1, 2))
        reward = (phi @ theta)[0, :, 0]
        agent = ocp.OCP(ocp.SparseLinear(phi, sparsity), selection="eluder")
        for state in rng.permutation(12):
            agent.act(int(state))
            agent.observe(0, float(reward[state]))
        assert agent.statistics()["contradictions"] == 0
        for state in range(12):
            assert agent.determined(state, 0)
            assert agent.upper(state, 0) == pytest.approx(reward[state], rel=1e-6, abs=1e-6)
