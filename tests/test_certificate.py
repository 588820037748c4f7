"""The certificate never lies: on thousands of random systems, for every class that contains Q*."""

import random

import numpy as np
import pytest
from reference import optimal_q, play, random_table

import ocpfast as ocp

SYSTEMS = 1_000  # for each class
EPISODES = 30


def tabula_rasa(rng, q):
    return ocp.TabulaRasa(q.shape[1], q.shape[2], len(q), lower=rng.choice(["off", "exact"]))


def aggregation(rng, q):
    """Triples of equal value share a cell."""
    cells = np.stack([np.unique(q_t, return_inverse=True)[1].reshape(q_t.shape) for q_t in q])
    return ocp.StateAggregation(cells, q.shape[2], lower=rng.choice(["off", "exact"]))


def features(rng, q):
    noise = np.random.default_rng(rng.randrange(2**32)).integers(-2, 3, (*q.shape, rng.randint(0, 3)))
    return np.concatenate([noise, q[..., np.newaxis]], axis=-1).astype(float)


def linear(rng, q):
    return ocp.LinearFeatures(features(rng, q), shared=rng.random() < 0.3)


def polytope(rng, q):
    """Q* is theta = (0, ..., 0, 1), in a box or in an affine set."""
    phi = features(rng, q)
    k = phi.shape[-1]
    if rng.random() < 0.5:
        return ocp.Polytope(phi, np.vstack([np.eye(k), -np.eye(k)]), np.full(2 * k, 2.0), shared=rng.random() < 0.5)
    ones = np.ones((1, k))
    return ocp.Polytope(phi, np.vstack([ones, -ones]), np.array([1.0, -1.0]), shared=rng.random() < 0.5)


def finite(rng, q):
    """Q* among tables that are it but for a few values, one of them twice."""
    draw = np.random.default_rng(rng.randrange(2**32))
    tables = np.repeat(q[np.newaxis], rng.randint(1, 12), axis=0)
    tables[1:] += draw.integers(-2, 3, tables[1:].shape) * (draw.random(tables[1:].shape) < 0.3)
    tables = np.concatenate([tables, tables[-1:]])
    return ocp.FiniteClass(draw.permutation(tables))


def sparse(rng, q):
    """Q* is one of the features."""
    return ocp.SparseLinear(features(rng, q), rng.randint(1, 2))


def sigmoid(rng, q):
    """Q* is in [0, 1], and its logits are one of the features."""
    phi = features(rng, q)
    phi[..., -1] = ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1).logits(q)
    return ocp.Sigmoid(phi, shared=rng.random() < 0.3)


CLASSES = [tabula_rasa, aggregation, linear, polytope, finite, sparse, sigmoid]


class Case:
    """A random system, and an agent whose class contains its Q*."""

    def __init__(self, seed, make_class):
        rng = self.rng = random.Random(seed)
        self.n_states, self.horizon = rng.randint(1, 4), rng.randint(1, 4)
        self.next_state, self.reward = random_table(
            rng, self.n_states, rng.randint(1, 3), self.horizon, rng.random() < 0.5, True, 0.1, float
        )
        if make_class is sigmoid:  # grades, at the end of an episode alone
            ends = np.array(self.next_state) < 0
            ends[-1] = True
            grades = np.random.default_rng(seed).choice([0.0, 0.25, 0.5, 0.9, 1.0], ends.shape)
            self.reward = np.where(ends, grades, 0.0).tolist()
        q = np.array(optimal_q(self.next_state, self.reward, self.horizon))
        self.value = q[0].max(axis=1)
        hypothesis = make_class(rng, q)
        choices = {
            "selection": ["eluder"] if make_class is sparse else ["all", "eluder"],
            "ties": ["first", "random", "least_visited", "directed"],
            "replay": [False, True],
            "update": ["episode", "period"],
            "bounds": [None, None, (-2.0 * self.horizon, 2.0 * self.horizon)],
        }
        self.agent = ocp.OCP(hypothesis, rng=seed, **{name: rng.choice(values) for name, values in choices.items()})

    def episode(self):
        """Whether an episode was optimal."""
        start = self.rng.randrange(self.n_states)
        [(_, _, rewards)] = play(self.agent, self.next_state, self.reward, self.horizon, [start])
        return sum(rewards) >= self.value[start] - 1e-6


@pytest.mark.parametrize("make_class", CLASSES, ids=lambda f: f.__name__)
def test_the_certificate_never_lies(make_class):
    proofs = finished = met = 0
    for seed in range(SYSTEMS):
        case = Case(seed, make_class)
        promised, suboptimal = [], []
        for _ in range(EPISODES):
            certificate = case.agent.certificate()
            assert certificate.valid, (seed, certificate)
            promised.append(certificate.remaining)
            optimal = case.episode()
            suboptimal.append(not optimal)
            proved = case.agent.certificate().last_episode_optimal
            assert optimal or not proved, seed
            proofs += proved
        to_come = np.cumsum(suboptimal[::-1])[::-1]
        assert (to_come <= promised).all(), (seed, case.agent, to_come, promised)
        assert (np.diff(promised) <= 0).all(), seed
        met += bool((to_come == promised).any())
        finished += case.agent.certificate().remaining == 0
    # it does not only never lie, it says something
    assert proofs > SYSTEMS * EPISODES / 4, proofs
    assert met > SYSTEMS / 20, met
    assert finished > SYSTEMS / 20, finished


def test_the_certificate_never_lies_of_continuous_actions():
    """300 random linear-quadratic systems."""
    proofs = finished = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, m, horizon = rng.integers(1, 4), rng.integers(1, 3), int(rng.integers(1, 5))
        a = rng.standard_normal((n, n))
        a /= np.abs(np.linalg.eigvals(a)).max()
        system = ocp.LinearQuadratic(
            a, rng.standard_normal((n, m)), np.eye(n), np.eye(m), horizon, initial_state=rng.standard_normal((7, n))
        )
        hypothesis = ocp.Quadratic(n, m, horizon)
        agent = ocp.OCP(
            hypothesis, selection="eluder", replay=bool(seed % 2), update=["episode", "period"][seed // 2 % 2]
        )
        promised, suboptimal = [], []
        for episode in range(hypothesis.eluder_dimension() + 5):
            certificate = agent.certificate()
            assert certificate.valid, (seed, certificate)
            promised.append(certificate.remaining)
            state, total = system.reset(episode=episode), 0.0
            value = system.optimal_value(state)
            for period in range(horizon):
                state, reward, _ = system.step(state, agent.act(state), period)
                agent.observe(state, reward)
                total += reward
            suboptimal.append(total < value - 1e-6 * max(1.0, abs(value)))
            proved = agent.certificate().last_episode_optimal
            assert not (proved and suboptimal[-1]), seed
            proofs += proved
        to_come = np.cumsum(suboptimal[::-1])[::-1]
        assert (to_come <= promised).all(), (seed, agent)
        finished += agent.certificate().remaining == 0
    assert proofs > 300
    assert finished > 200


def run_chain(hypothesis, episodes=30, **options):
    agent = ocp.OCP(hypothesis, **options)
    return ocp.run(agent, ocp.Chain(4), episodes, progress=False, keep_agents=True).agents[0]


def test_nothing_is_promised_beyond_the_theorem():
    table = ocp.TabulaRasa(4, 2, horizon=4)
    assert run_chain(table, 1).certificate() == ocp.Certificate(True, 31, False)
    assert ocp.OCP(table).certificate() == ocp.Certificate(True, 32, False)
    windowed = run_chain(table, selection="window", window=3).certificate()
    assert not windowed.valid and windowed.remaining is None and not windowed.last_episode_optimal
    assert "window" in windowed.reason
    homogeneous = run_chain(ocp.TabulaRasa(4, 2, horizon=None), bounds=(0, 4)).certificate()
    assert "time-homogeneous" in homogeneous.reason
    assert "discounted" in run_chain(table, discount=0.9, bounds=(0, 4)).certificate().reason


def test_random_starts_do_not_void_it():
    coin = ocp.TableSystem([[0, 1], [1, 0]], [[0.0, 1.0], [2.0, 0.0]], initial_state=[0.5, 0.5], horizon=2)
    agent = ocp.OCP(ocp.TabulaRasa(2, 2, horizon=2))
    result = ocp.run(agent, coin, 50, rng=0, progress=False, keep_agents=True)
    assert coin.stochastic
    assert result.agents[0].certificate().valid


def test_a_stochastic_system_voids_it():
    pendulum = ocp.InvertedPendulum(disturbance=2.5, horizon=20)
    agent = ocp.OCP(ocp.StateAggregation(pendulum.partition(), n_actions=3, horizon=20))
    result = ocp.run(agent, pendulum, 3, rng=0, progress=False, keep_agents=True)
    assert "stochastic" in result.agents[0].certificate().reason
    assert agent.certificate().valid  # it took no part


def test_an_episode_that_was_cut_short_was_not_optimal():
    agent = run_chain(ocp.TabulaRasa(4, 2, horizon=4), 40)
    assert agent.certificate().last_episode_optimal
    agent.act(0)
    agent.observe(1, 0.0, truncated=True)
    assert not agent.certificate().last_episode_optimal


@pytest.mark.parametrize("lower", ["off", "exact"])
@pytest.mark.parametrize("selection", ["all", "eluder", "first"])
@pytest.mark.parametrize("rewards", [(1.0, 2.0), (2.0, 1.0)])
def test_two_values_in_one_cell_void_it(rewards, selection, lower):
    agent = ocp.OCP(ocp.StateAggregation([[0], [0]], 1, horizon=1, lower=lower), selection=selection)
    for state, reward in enumerate(rewards):
        assert agent.certificate().valid
        agent.act(state)
        agent.observe(0, reward)
    assert "contradict" in agent.certificate().reason


@pytest.mark.parametrize("selection", ["all", "eluder"])
def test_a_value_outside_the_span_voids_it_for_good(selection):
    phi = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]])
    agent = ocp.OCP(ocp.LinearFeatures(phi, horizon=1), selection=selection)
    for state, reward in enumerate([1.0, 1.0, 3.0]):
        assert agent.certificate().valid
        agent.act(state)
        agent.observe(0, reward)
    assert "contradict" in agent.certificate().reason


def test_rounding_does_not_void_it():
    """Ten rewards of 0.1, in whichever order, are 1 but for rounding."""
    n = 10
    forward = np.minimum(np.arange(n) + 1, n - 1)
    system = ocp.TableSystem(np.stack([forward, forward], axis=1), np.full((n, 2), 0.1), horizon=n)
    for options in ({}, {"replay": True, "ties": "directed"}, {"bounds": (0.0, 1.0)}, {"reward_bound": 0.1}):
        agent = ocp.OCP(ocp.StateAggregation(np.zeros((n, n, 2), dtype=int), 2, lower="exact"), **options)
        agent = ocp.run(agent, system, 60, progress=False, keep_agents=True).agents[0]
        assert agent.certificate().valid, (options, agent.statistics())
