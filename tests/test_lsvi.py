"""LSVI: against the literal algorithm, against plain sweeps, on the paper's two experiments; bad input."""

import copy
import pickle

import numpy as np
import pytest
from reference_lsvi import LiteralAverages, LiteralLSVI, PlainSweeps

import ocpfast as ocp


def fill(agent, literal, rng, episodes, horizon, n_states, reward, next_state):
    """Episodes of an agent that acts at random; the literal one sees the same."""
    for _ in range(episodes):
        state, ended, period = int(rng.integers(n_states)), False, 0
        while not ended:
            action = agent.act(state)
            following = next_state(period, state, action)
            paid = reward(period, state, action)
            terminated = following is None
            truncated = not terminated and agent.hypothesis.horizon is None and period == horizon - 1
            last = agent.hypothesis.horizon is not None and period == horizon - 1
            literal.record(period, state, action, paid, None if terminated or last else following)
            ended = agent.observe(0 if terminated else following, paid, terminated, truncated)
            state, period = following, period + 1
        literal.fit()


def table_of(agent, horizon, n_states, n_actions):
    return np.array(
        [[[agent.value(x, a, t) for a in range(n_actions)] for x in range(n_states)] for t in range(horizon)]
    )


def stochastic(rng, n_states, n_actions, horizon, ends=0.1, outcomes=3):
    """A random system: next states of each (t, x, a), of which one is drawn, None to end."""
    following = rng.integers(0, n_states, (horizon, n_states, n_actions, outcomes))
    end = rng.random(following.shape) < ends

    def step(period, state, action):
        k = rng.integers(outcomes)
        return None if end[period % horizon, state, action, k] else int(following[period % horizon, state, action, k])

    return step


class TestAggregation:
    @pytest.mark.parametrize("seed", range(60))
    def test_with_a_horizon_it_is_the_literal_algorithm(self, seed, compared):
        rng = np.random.default_rng(seed)
        s, a, h = (int(rng.integers(1, 6)) for _ in range(3))
        rewards = rng.normal(size=(h, s, a))
        if seed % 3 == 0:
            partition = np.array([np.unique(rng.integers(0, s * a, (s, a)), return_inverse=True)[1].reshape(s, a)
                                  for _ in range(h)])  # fmt: skip
            cells = partition
            hypothesis = ocp.StateAggregation(partition, a, horizon=h)
        elif seed % 3 == 1:
            labels = np.unique(rng.integers(0, s, s), return_inverse=True)[1]
            cells = np.broadcast_to(labels[:, None] * a + np.arange(a), (h, s, a))
            hypothesis = ocp.StateAggregation(labels, a, horizon=h)
        else:
            cells = np.broadcast_to(np.arange(s * a).reshape(s, a), (h, s, a))
            hypothesis = ocp.TabulaRasa(s, a, horizon=h)
        agent = ocp.LSVI(hypothesis, ocp.EpsilonGreedy(0.5), rng=seed)
        literal = LiteralAverages(cells)
        step = stochastic(rng, s, a, h)
        fill(agent, literal, rng, 12, h, s, lambda t, x, b: float(rewards[t, x, b]), step)
        expected = np.array([[literal.values(t, x) for x in range(s)] for t in range(h)])
        np.testing.assert_allclose(table_of(agent, h, s, a), expected, rtol=1e-12, atol=1e-12)
        compared("LSVI = literal", 1)

    @pytest.mark.parametrize("seed", range(40))
    def test_without_one_too(self, seed, compared):
        rng = np.random.default_rng(1000 + seed)
        s, a, h = (int(rng.integers(1, 6)) for _ in range(3))
        rewards = rng.normal(size=(s, a))
        sweeps = int(rng.choice([1, 2, 3, 10, 60]))
        labels = np.unique(rng.integers(0, s * a, (s, a)), return_inverse=True)[1].reshape(s, a)
        hypothesis = ocp.StateAggregation(labels, a) if seed % 2 else ocp.TabulaRasa(s, a, horizon=None)
        literal = LiteralAverages(labels if seed % 2 else np.arange(s * a).reshape(s, a), sweeps)
        agent = ocp.LSVI(hypothesis, ocp.EpsilonGreedy(1.0), rng=seed, sweeps=sweeps)
        fill(agent, literal, rng, 5, h, s, lambda t, x, b: float(rewards[x, b]), stochastic(rng, s, a, h))
        expected = [[literal.values(0, x) for x in range(s)]]
        np.testing.assert_allclose(table_of(agent, 1, s, a), expected, rtol=1e-10, atol=1e-10)
        compared("LSVI = literal", 1)

    def test_deterministic_cells_are_exact(self):
        """Rewards of 0.1 do not drift: the mean of a million of them is 0.1, and ties are ties."""
        agent = ocp.LSVI(ocp.TabulaRasa(1, 2, horizon=2), ocp.EpsilonGreedy(1.0), rng=0)
        for _ in range(2000):
            agent.act(0)
            agent.observe(0, 0.1)
        assert agent.value(0, 0, 1) == agent.value(0, 1, 1) == 0.1
        assert agent.value(0, 0, 0) == agent.value(0, 1, 0) == 0.2


def homogeneous_case(seed):
    """A random table, visited at random; the agent's values, those of plain sweeps, and what was skipped."""
    rng = np.random.default_rng(seed)
    s, a = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    sweeps, outcomes = int(rng.choice([1, 2, 40, 400, 3000])), int(rng.integers(1, 4))
    least = -1 if rng.random() < 0.7 else 0  # whether episodes can end by themselves; -1 is the end
    chances = rng.dirichlet(np.full(outcomes, rng.choice([0.05, 1.0, 5.0])), (s, a))
    following = rng.integers(least, s, (s, a, outcomes))
    kind = seed % 4
    rewards = [
        np.full((s, a), 0.1),
        rng.integers(0, 5, (s, a)) * 0.1,
        rng.integers(-4, 5, (s, a)) / 4,
        np.full((s, a), -1.0),
    ][kind]
    agent = ocp.LSVI(ocp.TabulaRasa(s, a, None), ocp.EpsilonGreedy(1.0), rng=seed, sweeps=sweeps)
    plain = PlainSweeps(s, a)
    state = int(rng.integers(s))
    for _ in range(int(rng.integers(5, 120))):
        action = agent.act(state)
        outcome = int(rng.choice(following[state, action], p=chances[state, action]))
        plain.record(state, action, rewards[state, action], None if outcome < 0 else outcome)
        agent.observe(max(outcome, 0), float(rewards[state, action]), terminated=outcome < 0)
        state = int(rng.integers(s)) if outcome < 0 else outcome
    action = agent.act(state)
    plain.record(state, action, 0.1, state)
    agent.observe(state, 0.1, truncated=True)
    return table_of(agent, 1, s, a)[0], plain.fitted(sweeps), agent.statistics()


@pytest.mark.parametrize("block", range(10))
def test_sweeps_that_are_stepped_over_make_no_difference(block, compared):
    """Thousands of small tables, with cycles that never end, periodic ones, ties, and rewards of either sign."""
    skipped, tolerance = 0, 1e-9  # ValueIteration::tolerance
    for seed in range(200 * block, 200 * (block + 1)):
        mine, plain, statistics = homogeneous_case(seed)
        largest = np.abs(plain).max()
        assert np.abs(mine - plain).max() <= tolerance * largest + 1e-15, seed
        skipped += statistics["skipped_sweeps"]
    assert skipped > 10_000
    compared("LSVI = literal", 200)


def test_policies_that_change_late_are_found():
    """0.1 now and a fall, or a way round that pays later: the better of the two changes after 1,000 sweeps."""
    for late in (50, 1000, 20_000):
        agent = ocp.LSVI(ocp.TabulaRasa(3, 2, None), ocp.EpsilonGreedy(1.0), rng=0)
        plain = PlainSweeps(3, 2)
        # state 1 pays 1 for ever; state 2 pays 1 + 1e-3 for ever; from 0 the second costs late / 1000
        outcome = {(0, 0): (1, 0.0), (0, 1): (2, -late / 1000), (1, 0): (1, 1.0), (1, 1): (1, 0.5)}
        outcome |= {(2, 0): (2, 1.001), (2, 1): (2, 0.0)}
        state = 0
        for k in range(200):
            action = agent.act(state)
            following, reward = outcome[state, action]
            plain.record(state, action, reward, following)
            ended = agent.observe(following, reward, truncated=k % 5 == 4)
            state = 0 if ended else following
        mine, expected = table_of(agent, 1, 3, 2)[0], plain.fitted(36_000)
        np.testing.assert_allclose(mine, expected, rtol=1e-9)
        assert mine[0, 1] > mine[0, 0]
        assert agent.statistics()["sweeps"] < 36_000 * agent.statistics()["episodes"] / 20


def test_a_value_that_stands_still_for_a_sweep_is_not_taken_for_settled():
    """State 2 leads to 0, which gains less and less, and to 1, which loses 1 for ever. In sweep 32, after which sweeps
    are first stepped over, the two cancel to the last bit; afterwards state 2 loses for ever."""

    def change_in_sweep_32(reward):
        gains = loses = both = before = 0.0
        for _ in range(32):
            before, both = both, 0.5 * gains + 0.5 * loses
            gains, loses = reward + 7 / 8 * gains, loses - 1
        return both - before

    low, high = 1.0, 1e6
    while change_in_sweep_32(reward := (low + high) / 2) != 0:
        low, high = (low, reward) if change_in_sweep_32(reward) > 0 else (reward, high)

    agent = ocp.LSVI(ocp.TabulaRasa(4, 1, None), rng=0)
    plain = PlainSweeps(4, 1)
    end = None
    for state, paid, following in [
        *[(0, reward, 0)] * 7,
        (0, reward, end),
        (1, -1, 1),
        (2, 0, 0),
        (2, 0, 1),
        (3, 0, 2),
    ]:
        agent.act(state)
        agent.observe(following or 0, paid, terminated=following is end, truncated=following is not end)
        plain.record(state, 0, paid, following)
    np.testing.assert_allclose(table_of(agent, 1, 4, 1)[0], plain.fitted(36_000), rtol=1e-9)
    assert agent.statistics()["skipped_sweeps"] > 35_000


@pytest.mark.parametrize("disturbance", [0.0, 2.5])
def test_pendulum_fits_are_those_of_plain_sweeps(disturbance):
    """What the pendulum's agents really fit, in the middle of learning, with all 36,000 sweeps."""
    pendulum = ocp.InvertedPendulum(disturbance)
    grid = pendulum.partition()
    agent = ocp.LSVI(ocp.StateAggregation(grid, 3), ocp.EpsilonGreedy(0.1), rng=1)
    data, system_rng = PlainSweeps(grid.n_labels, 3), np.random.default_rng(2)
    for _ in range(150):
        state, ended = pendulum.reset(system_rng), False
        while not ended:
            action = agent.act(state)
            label = grid.label(state)
            state, reward, terminated = pendulum.step(state, action, rng=system_rng)
            data.record(label, action, reward, None if terminated else grid.label(state))
            ended = agent.observe(state, reward, terminated, truncated=agent.period == 35_999)
    seen = np.flatnonzero(data.count.sum(axis=1))
    small = PlainSweeps(len(seen), 3)
    small.count, small.rewards = data.count[seen], data.rewards[seen]
    small.outcomes = data.outcomes[np.ix_(seen, range(3), seen)]
    expected = small.fitted(36_000)
    centres = {}  # a state of each label
    for x1 in np.linspace(-1.57, 1.57, 311):
        for x2 in np.linspace(-8, 8, 321):
            centres.setdefault(grid.label([x1, x2]), [x1, x2])
    mine = np.array([[agent.value(centres[label], a) for a in range(3)] for label in seen])
    np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-9 * expected.max())
    assert expected.max() > 5  # seconds: something was learned


class TestLinear:
    @pytest.mark.parametrize("seed", range(60))
    def test_it_is_the_literal_algorithm_with_lstsq(self, seed, compared):
        """Features of full rank, dependent ones, zeros, and other units."""
        rng = np.random.default_rng(seed)
        s, a, h, k = (int(rng.integers(1, 6)) for _ in range(4))
        phi = rng.normal(size=(h, s, a, k))
        if seed % 3 == 1:  # dependent
            phi = np.concatenate([phi, phi @ rng.integers(-2, 3, (k, 2))], axis=-1)
        if seed % 3 == 2:
            phi = np.concatenate([phi * 100, np.zeros((h, s, a, 1)), np.ones((h, s, a, 1))], axis=-1)
        rewards = rng.normal(size=(h, s, a))
        agent = ocp.LSVI(ocp.LinearFeatures(phi), ocp.Boltzmann(1.0), rng=seed)
        literal = LiteralLSVI(phi)
        fill(agent, literal, rng, 15, h, s, lambda t, x, b: float(rewards[t, x, b]), stochastic(rng, s, a, h))
        expected = np.array([[literal.values(t, x) for x in range(s)] for t in range(h)])
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(table_of(agent, h, s, a), expected, rtol=0, atol=1e-7 * scale)
        compared("LSVI = literal", 1)

    @pytest.mark.parametrize("seed", range(20))
    def test_shared_parameters(self, seed, compared):
        rng = np.random.default_rng(seed)
        s, a, h, k = 4, 2, 3, 3
        homogeneous = seed % 2 == 0
        phi = rng.normal(size=(s, a, k) if homogeneous else (h, s, a, k))
        hypothesis = ocp.LinearFeatures(phi, shared=not homogeneous)
        agent = ocp.LSVI(hypothesis, ocp.EpsilonGreedy(1.0), rng=seed, sweeps=8)
        literal = LiteralLSVI(phi, sweeps=8, shared=True)
        rewards = rng.normal(size=(s, a))
        fill(agent, literal, rng, 10, h, s, lambda t, x, b: float(rewards[x, b]), stochastic(rng, s, a, h))
        periods = 1 if homogeneous else h
        expected = np.array([[literal.values(t, x) for x in range(s)] for t in range(periods)])
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(table_of(agent, periods, s, a), expected, rtol=0, atol=1e-8 * scale)
        compared("LSVI = literal", 1)

    def test_sparse_rows_and_indicators_are_averages(self):
        sparse = pytest.importorskip("scipy.sparse")
        rng = np.random.default_rng(0)
        s, a, h = 4, 2, 3
        by_class = [
            ocp.LSVI(hypothesis, ocp.EpsilonGreedy(1.0), rng=5)
            for hypothesis in (
                ocp.TabulaRasa(s, a, horizon=h),
                ocp.LinearFeatures(sparse.identity(s * a, format="csr"), horizon=h, n_actions=a),
                ocp.LinearFeatures(np.eye(s * a).reshape(s, a, s * a), horizon=h),
            )
        ]
        rewards, following = rng.normal(size=(s, a)), rng.integers(0, s, (s, a))
        for agent in by_class:
            noise = np.random.default_rng(1)
            for _ in range(20):
                state, ended = 0, False
                while not ended:
                    action = agent.act(state)
                    reward = rewards[state, action] + noise.normal()
                    state = int(following[state, action])
                    ended = agent.observe(state, reward)
        tables = [table_of(agent, h, s, a) for agent in by_class]
        np.testing.assert_allclose(tables[1], tables[0], atol=1e-12)
        np.testing.assert_allclose(tables[2], tables[0], atol=1e-12)

    def test_divergence_is_stopped_and_counted(self):
        """The textbook's two states with features 1 and 2: each sweep doubles theta."""
        agent = ocp.LSVI(ocp.LinearFeatures([[[1.0]], [[2.0]]]), rng=0)
        agent.act(0)
        agent.observe(1, 1.0, truncated=True)
        assert agent.statistics()["diverged"] == 1
        assert np.isfinite(agent.value(0, 0)) and agent.value(0, 0) > 1e90


class TestExperiments:
    @pytest.mark.parametrize("exploration", [ocp.EpsilonGreedy(0.1), ocp.Boltzmann(0.1)], ids=str)
    @pytest.mark.parametrize("ties", ["first", "random"])
    @pytest.mark.parametrize("k", [2, 20])
    def test_the_chain_is_never_climbed(self, exploration, ties, k):
        """The paper: regret is 1,500 in 1,500 episodes, for any features."""
        n = 50
        q = ocp.solve(ocp.Chain(n)).q
        gaussian = np.random.default_rng(k).normal(size=(n, n, 2, k - 2))
        phi = np.concatenate([q[..., np.newaxis], np.ones((n, n, 2, 1)), gaussian], axis=-1)
        agent = ocp.LSVI(ocp.LinearFeatures(phi), exploration, ties=ties)
        result = ocp.run(agent, ocp.Chain(n), episodes=1500, rng=0, progress=False)
        assert result.regret()[0, -1] == 1500

    def test_the_pendulum_is_balanced_for_seconds_not_hours(self):
        """100 simulations give 1.42, 1.40 and 0.89 hours; here are fewer of them, so the limits are wide."""
        hours = {}
        for disturbance, epsilon in ((0.0, 0.15), (2.5, 0.05), (2.5, 0.15)):
            pendulum = ocp.InvertedPendulum(disturbance)
            agent = ocp.LSVI(ocp.StateAggregation(pendulum.partition(), 3), ocp.EpsilonGreedy(epsilon))
            result = ocp.run(agent, pendulum, episodes=1000, simulations=4, rng=7, progress=False)
            hours[disturbance, epsilon] = result.rewards.sum(axis=1).mean() / 3600
        pendulum = ocp.InvertedPendulum()
        random = ocp.run(ocp.RandomPolicy(3), pendulum, episodes=1000, rng=0, progress=False).rewards.sum() / 3600
        assert 0.9 < hours[0.0, 0.15] < 2.0
        assert 0.8 < hours[2.5, 0.05] < 2.4
        assert 0.6 < hours[2.5, 0.15] < 1.2
        assert random < 0.4 < min(hours.values())


class TestStepping:
    def agent(self, **options):
        return ocp.LSVI(ocp.TabulaRasa(3, 2, horizon=4), **{"rng": 0, **options})

    def test_running_is_stepping(self):
        system = ocp.TableSystem(
            np.random.default_rng(0).integers(-1, 30, (30, 3)),
            np.random.default_rng(1).integers(-3, 4, (30, 3)),
            initial_state=np.full(30, 1 / 30),
            horizon=12,
        )
        for horizon in (12, None):
            agent = ocp.LSVI(ocp.TabulaRasa(30, 3, horizon), ties="random", sweeps=50)
            result = ocp.run(agent, system, 60, 2, rng=3, keep_agents=True, progress=False, workers=2)
            assert np.array_equal(result.rewards, ocp.run(agent, system, 60, 2, rng=3, progress=False).rewards)
            for i, (system_rng, agent_rng) in enumerate(ocp.simulation_streams(3, 2)):
                mine, rewards = agent.copy(agent_rng), []
                for episode in range(60):
                    state, ended, total, period = system.reset(system_rng, episode), False, 0.0, 0
                    while not ended:
                        state, reward, terminated = system.step(state, mine.act(state), period, system_rng)
                        ended = mine.observe(state, reward, terminated, truncated=period == 11)
                        total, period = total + reward, period + 1
                    rewards.append(total)
                assert rewards == result.rewards[i].tolist()
                assert mine.statistics() == result.agents[i].statistics()
            assert agent.statistics()["episodes"] == 0

    def test_memory_is_bounded_by_distinct_transitions(self):
        agent = self.agent(exploration=ocp.EpsilonGreedy(1.0))
        for _ in range(4000):
            agent.act(0)
            agent.observe(0, 1.0)
        assert agent.statistics()["transitions"] == 6  # the last period leads nowhere
        assert agent.statistics()["episodes"] == 1000

    def test_order_of_calls(self):
        agent = self.agent()
        with pytest.raises(RuntimeError, match=r"observe: there is no action to observe; call act\(\) first"):
            agent.observe(0, 0.0)
        agent.act(0)
        with pytest.raises(RuntimeError, match="act: called twice in period 0"):
            agent.act(0)
        agent.observe(0, 5.0)
        agent.begin_episode()
        assert agent.period == 0 and agent.value(0, 0) == agent.value(0, 1) == 0  # not fitted yet
        for _ in range(4):
            agent.act(2)
            agent.observe(2, 0.0)
        assert max(agent.value(0, 0), agent.value(0, 1)) == 5  # but it was seen

    def test_acting_without_learning_is_greedy(self):
        agent = self.agent(exploration=ocp.EpsilonGreedy(1.0))
        assert {agent.act(0, learn=False) for _ in range(50)} == {0}
        while agent.value(0, 1) == 0:
            action = agent.act(0)
            agent.observe(0, float(action), terminated=True)
        assert {agent.act(0, learn=False) for _ in range(50)} == {1}
        assert agent.act(0, learn=False, period=3) == 0
        with pytest.raises(ValueError, match="period: expected None with learn=True"):
            agent.act(0, period=1)

    def test_copies(self):
        agent = self.agent(exploration=ocp.Boltzmann(0.5))
        for _ in range(10):
            agent.act(1)
            agent.observe(2, 1.0)
        agent.begin_episode()

        def trajectory(one):
            actions = []
            for _ in range(40):
                actions.append(one.act(0))
                one.observe(actions[-1], 1.0)
            return actions

        twins = [agent.copy(), copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
        before = agent.statistics()
        assert trajectory(twins[0]) == trajectory(twins[1]) == trajectory(twins[2]) == trajectory(twins[3])
        assert agent.statistics() == before
        assert trajectory(agent.copy(rng=7)) == trajectory(agent.copy(rng=7))

    def test_repr(self):
        assert repr(self.agent()) == (
            "LSVI(TabulaRasa(n_states=3, n_actions=2, horizon=4), EpsilonGreedy(epsilon=0.1))"
        )
        assert repr(self.agent(exploration=None, ties="first", sweeps=9)) == (
            "LSVI(TabulaRasa(n_states=3, n_actions=2, horizon=4), None, ties='first', sweeps=9)"
        )


class TestExploration:
    @pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
    def test_epsilon(self, epsilon):
        agent = ocp.LSVI(ocp.TabulaRasa(1, 3, horizon=1), ocp.EpsilonGreedy(epsilon), rng=0, ties="first")
        n = 20_000
        counts = np.zeros(3)
        for _ in range(n):
            action = agent.act(0)
            counts[action] += 1
            agent.observe(0, -1.0 * (action == 0))  # once tried, the lowest is worst
        expected = np.full(3, epsilon / 3) * n
        expected[1] += (1 - epsilon) * n
        assert np.all(np.abs(counts - expected) < 5 * np.sqrt(n / 4) * (epsilon > 0) + 2)

    def test_boltzmann(self):
        rewards, temperature, n = np.array([0.0, 0.5, 1.0]), 0.5, 20_000
        agent = ocp.LSVI(ocp.TabulaRasa(1, 3, horizon=1), ocp.Boltzmann(temperature), rng=0)
        for _ in range(200):
            action = agent.act(0)
            agent.observe(0, float(rewards[action]))
        counts = np.zeros(3)
        for _ in range(n):
            action = agent.act(0)
            counts[action] += 1
            agent.observe(0, float(rewards[action]))
        chances = np.exp(rewards / temperature)
        chances /= chances.sum()
        assert np.all(np.abs(counts / n - chances) < 5 * np.sqrt(chances * (1 - chances) / n))

    @pytest.mark.parametrize("temperature", [1e-300, 1e80, 5e-324])
    def test_extreme_temperatures(self, temperature):
        agent = ocp.LSVI(ocp.TabulaRasa(1, 2, horizon=1), ocp.Boltzmann(temperature), rng=0)
        actions = []
        for _ in range(300):
            action = agent.act(0)
            actions.append(action)
            agent.observe(0, 1e80 * action)
        share = np.mean(actions[50:])
        assert share == 1 if temperature < 1 else 0.3 < share < 0.9

    def test_random_ties(self):
        agent = ocp.LSVI(ocp.TabulaRasa(1, 3, horizon=1), None, rng=0, ties="random")
        counts = np.zeros(3)
        for _ in range(9000):
            counts[agent.act(0)] += 1
            agent.observe(0, 0.0)
        assert np.all(np.abs(counts - 3000) < 5 * np.sqrt(9000 * 2 / 9))


class TestBadInput:
    @pytest.mark.parametrize(
        "options, error, message",
        [
            ({"exploration": 0.1}, TypeError, r"exploration: expected EpsilonGreedy, Boltzmann or None, got 0.1"),
            ({"ties": "last"}, ValueError, r"ties: expected one of 'first', 'random', got 'last'"),
            ({"sweeps": 0}, ValueError, r"sweeps: expected an integer in 1..\d+, got 0"),
            ({"sweeps": 1.0}, TypeError, r"sweeps: expected an integer in 1..\d+, got 1.0"),
            ({"rng": "seed"}, TypeError, r"rng: expected None, an integer >= 0"),
        ],
    )
    def test_options(self, options, error, message):
        with pytest.raises(error, match=message):
            ocp.LSVI(ocp.TabulaRasa(2, 2, horizon=2), **options)

    @pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan, np.inf])
    def test_epsilon(self, epsilon):
        with pytest.raises(ValueError, match=r"epsilon: expected a number in \[0, 1\], got"):
            ocp.EpsilonGreedy(epsilon)

    @pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan, np.inf])
    def test_temperature(self, temperature):
        with pytest.raises(ValueError, match=r"temperature: expected a positive, finite number, got"):
            ocp.Boltzmann(temperature)

    def test_types_of_explorations(self):
        with pytest.raises(TypeError, match=r"epsilon: expected a number in \[0, 1\], got '0.1'"):
            ocp.EpsilonGreedy("0.1")
        with pytest.raises(TypeError, match=r"temperature: expected a positive, finite number, got None"):
            ocp.Boltzmann(None)

    def test_hypotheses(self):
        expected = "hypothesis: expected TabulaRasa, StateAggregation or LinearFeatures, got"
        for wrong in (7, ocp.Polytope(np.ones((1, 1, 1, 1)), [[1.0]], [1.0]), ocp.Sigmoid(np.ones((1, 1, 1)), 1)):
            with pytest.raises(TypeError, match=expected):
                ocp.LSVI(wrong)
        vectors = ocp.FeatureFunction(lambda x, a: [1.0], 1, 2, state_size=2)
        with pytest.raises(ValueError, match="hypothesis: expected linear features of finitely many states"):
            ocp.LSVI(ocp.LinearFeatures(vectors, horizon=2))

    @pytest.mark.parametrize("reward", [np.nan, np.inf])
    def test_rewards(self, reward):
        agent = ocp.LSVI(ocp.TabulaRasa(2, 2, horizon=2))
        agent.act(0)
        with pytest.raises(ValueError, match=r"reward: expected a finite number, got"):
            agent.observe(0, reward)
        assert agent.observe(0, 1.0) is False  # nothing was lost

    def test_states_and_queries(self):
        agent = ocp.LSVI(ocp.TabulaRasa(2, 2, horizon=2))
        with pytest.raises(ValueError, match=r"state: expected an integer in 0..1, got 2"):
            agent.act(2)
        with pytest.raises(ValueError, match=r"action: expected an integer in 0..1, got 2"):
            agent.value(0, 2)
        with pytest.raises(ValueError, match=r"period: expected an integer in 0..1, got 2"):
            agent.value(0, 0, 2)
        assert ocp.LSVI(ocp.StateAggregation(ocp.Grid([[0.0]]), 2)).value([3.0], 1, 10**9) == 0

    def test_systems(self):
        agent = ocp.LSVI(ocp.TabulaRasa(5, 3, horizon=5))
        with pytest.raises(ValueError, match="agent: its class has 3 actions, but the system has 2"):
            ocp.run(agent, ocp.Chain(5), progress=False)
        with pytest.raises(ValueError, match="agent: its class is over 5 states, but the system is over 4"):
            ocp.run(ocp.LSVI(ocp.TabulaRasa(5, 2, horizon=5)), ocp.Chain(4), progress=False)
