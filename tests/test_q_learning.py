"""Q-learning: tabula rasa OCP action for action at rate 1 from +inf; the update itself; bad input."""

import copy
import pickle

import numpy as np
import pytest

import ocpfast as ocp


def random_table(seed):
    rng = np.random.default_rng(seed)
    s, a, h = int(rng.integers(1, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    shape = (h, s, a) if seed % 2 else (s, a)
    following = rng.integers(-1 if seed % 3 else 0, s, shape)
    rewards = rng.integers(-2, 3, shape) if seed % 5 else rng.normal(size=shape)
    return ocp.TableSystem(following, rewards, initial_state=np.full(s, 1 / s), horizon=h)


def actions_of(agent, system, episodes, seed):
    rng, actions = np.random.default_rng(seed), []
    for episode in range(episodes):
        state, ended, period = system.reset(rng, episode), False, 0
        while not ended:
            actions.append(agent.act(state))
            state, reward, terminated = system.step(state, actions[-1], period, rng)
            ended = agent.observe(state, reward, terminated)
            period += 1
    return actions


def like_ocp(system):
    sizes = system.n_states, system.n_actions, system.horizon
    return ocp.QLearning(*sizes), ocp.OCP(ocp.TabulaRasa(*sizes))


class TestEquivalence:
    """The paper's appendix."""

    @pytest.mark.parametrize("block", range(10))
    def test_on_random_tables(self, block, compared):
        for seed in range(100 * block, 100 * (block + 1)):
            system = random_table(seed)
            learning, optimistic = like_ocp(system)
            assert actions_of(learning, system, 40, seed) == actions_of(optimistic, system, 40, seed), seed
            s, a, h = system.n_states, system.n_actions, system.horizon
            for triple in np.ndindex(h, s, a):
                t, x, b = map(int, triple)
                assert learning.value(x, b, t) == optimistic.upper(x, b, t), (seed, triple)
        compared("tabula rasa = Q-learning", 100)

    @pytest.mark.parametrize("system", [ocp.Chain(12), ocp.DeepSea(8), ocp.DeepSea(7, mapping_seed=3)], ids=repr)
    def test_on_the_classics(self, system):
        learning, optimistic = like_ocp(system)
        episodes = 2 * system.n_states * system.n_actions
        assert actions_of(learning, system, episodes, 0) == actions_of(optimistic, system, episodes, 0)
        results = [ocp.run(agent, system, 500, rng=0, progress=False) for agent in like_ocp(system)]
        assert np.array_equal(results[0].rewards, results[1].rewards)

    def test_at_full_size(self):
        results = [ocp.run(agent, ocp.Chain(50), 3000, rng=0, progress=False) for agent in like_ocp(ocp.Chain(50))]
        assert np.array_equal(results[0].rewards, results[1].rewards)
        assert results[0].suboptimal()[0] == 2499


class TestUpdate:
    def test_rates_below_one(self):
        agent = ocp.QLearning(1, 1, horizon=1, learning_rate=0.25, initial=8.0)
        expected = 8.0
        for reward in (4.0, 0.0, -3.0, 1.0):
            agent.act(0)
            agent.observe(0, reward)
            expected += 0.25 * (reward - expected)
            assert agent.value(0, 0) == expected

    def test_an_infinite_value_is_replaced_and_an_infinite_target_stays_infinite(self):
        agent = ocp.QLearning(2, 1, horizon=2, learning_rate=0.5)
        assert agent.value(0, 0, 0) == np.inf
        agent.act(0)
        agent.observe(1, 1.0)
        agent.act(1)
        agent.observe(0, 4.0)
        assert agent.value(0, 0, 0) == np.inf  # what followed was not known then
        assert agent.value(1, 0, 1) == 4.0  # a first visit replaces
        agent.act(0)
        agent.observe(1, 1.0)
        assert agent.value(0, 0, 0) == 5.0
        agent.begin_episode()
        agent.act(0)
        agent.observe(0, 1.0)  # somewhere unknown
        assert agent.value(0, 0, 0) == np.inf

    def test_without_a_horizon(self):
        agent = ocp.QLearning(1, 1, horizon=None, initial=0.0, discount=0.5)
        for _ in range(60):
            agent.act(0)
            assert agent.observe(0, 1.0) is False
        assert agent.value(0, 0, period=10**9) == 2.0
        agent.act(0)
        assert agent.observe(0, 1.0, truncated=True)
        assert agent.value(0, 0) == 2.0  # a truncation is not the end
        agent.act(0)
        assert agent.observe(0, 1.0, terminated=True)
        assert agent.value(0, 0) == 1.0

    def test_it_converges_with_exploration(self):
        chain = ocp.Chain(5)
        agent = ocp.QLearning(5, 2, 5, learning_rate=0.5, initial=0.0, exploration=ocp.EpsilonGreedy(1.0))
        learned = ocp.run(agent, chain, 3000, rng=0, progress=False, keep_agents=True).agents[0]
        q = ocp.solve(chain).q
        reachable = [(t, x, a) for t in range(5) for x in range(t + 1) for a in range(2) if (t - x) % 2 == 0 or x == 0]
        for t, x, a in reachable:
            assert learned.value(x, a, t) == pytest.approx(q[t, x, a], abs=1e-9), (t, x, a)

    def test_boltzmann_takes_the_infinite_ones(self):
        agent = ocp.QLearning(1, 3, horizon=1, exploration=ocp.Boltzmann(1.0), rng=0)
        first = []
        for _ in range(3):
            first.append(agent.act(0))
            agent.observe(0, 100.0)
        assert sorted(first) == [0, 1, 2]

    def test_large_rewards(self):
        agent = ocp.QLearning(1, 2, horizon=None, learning_rate=0.5, initial=0.0, exploration=ocp.Boltzmann(1.0), rng=0)
        for k in range(200):
            agent.act(0)
            agent.observe(0, 1e80 if k % 3 else -1e80)
            assert abs(agent.value(0, 0)) < 1e83 and abs(agent.value(0, 1)) < 1e83


class TestStepping:
    def test_running_is_stepping(self):
        system = random_table(1)
        sizes = system.n_states, system.n_actions, system.horizon
        agent = ocp.QLearning(*sizes, learning_rate=0.3, exploration=ocp.EpsilonGreedy(0.3), ties="random")
        result = ocp.run(agent, system, 100, 2, rng=5, progress=False, keep_agents=True)
        for i, (system_rng, agent_rng) in enumerate(ocp.simulation_streams(5, 2)):
            mine, rewards = agent.copy(agent_rng), []
            for episode in range(100):
                state, ended, total, period = system.reset(system_rng, episode), False, 0.0, 0
                while not ended:
                    state, reward, terminated = system.step(state, mine.act(state), period, system_rng)
                    ended = mine.observe(state, reward, terminated)
                    total, period = total + reward, period + 1
                rewards.append(total)
            assert rewards == pytest.approx(result.rewards[i], abs=1e-12)
            assert mine.statistics() == result.agents[i].statistics()

    def test_copies_and_greedy_actions(self):
        agent = ocp.QLearning(2, 2, horizon=2, exploration=ocp.EpsilonGreedy(0.5), rng=3)
        agent.act(0)
        agent.observe(1, 0.0, terminated=True)
        twins = [agent.copy(), copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
        taken = [[twin.act(0) for _ in range(20) if twin.begin_episode() is None] for twin in twins]
        assert taken[0] == taken[1] == taken[2] == taken[3]
        assert agent.period == 0
        assert agent.act(0, learn=False) == (1 if agent.value(0, 0) == 0 else 0)

    def test_repr(self):
        assert repr(ocp.QLearning(3, 2, None)) == "QLearning(n_states=3, n_actions=2, horizon=None)"
        assert repr(ocp.QLearning(3, 2, 4, 0.5, 0, ocp.Boltzmann(2.0))) == (
            "QLearning(n_states=3, n_actions=2, horizon=4, learning_rate=0.5, initial=0.0, "
            "exploration=Boltzmann(temperature=2.0))"
        )


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"learning_rate": 0.0}, ValueError, r"learning_rate: expected a number in \(0, 1\], got 0.0"),
        ({"learning_rate": 1.5}, ValueError, r"learning_rate: expected a number in \(0, 1\], got 1.5"),
        ({"learning_rate": np.nan}, ValueError, r"learning_rate: expected a number in \(0, 1\], got nan"),
        ({"learning_rate": "1"}, TypeError, r"learning_rate: expected a number in \(0, 1\], got '1'"),
        ({"discount": 0}, ValueError, r"discount: expected a number in \(0, 1\], got 0"),
        ({"initial": -np.inf}, ValueError, r"initial: expected a finite number or \+inf, got -inf"),
        ({"initial": 1e101}, ValueError, r"initial: expected a number of at most 1e100 in size or \+inf, got 1e\+101"),
        ({"initial": np.nan}, ValueError, r"initial: expected a finite number or \+inf, got nan"),
        ({"exploration": 0.1}, TypeError, r"exploration: expected EpsilonGreedy, Boltzmann or None, got 0.1"),
        ({"ties": "directed"}, ValueError, r"ties: expected one of 'first', 'random', got 'directed'"),
        ({"n_states": 0}, ValueError, r"n_states: expected an integer >= 1, got 0"),
        ({"n_actions": 2.0}, TypeError, r"n_actions: expected an integer >= 1, got 2.0"),
        ({"n_states": 2**40}, ValueError, r"n_states, n_actions, horizon: \d+ parameters, expected at most"),
        ({"horizon": 0}, ValueError, r"horizon: expected an integer >= 1, got 0"),
        ({"rng": -1}, ValueError, r"rng: expected an integer >= 0, got -1"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        ocp.QLearning(**{"n_states": 3, "n_actions": 2, "horizon": 4, **options})


def test_bad_systems_and_states():
    agent = ocp.QLearning(3, 2, 4)
    with pytest.raises(ValueError, match="agent: its class is over 3 states, but the system is over 4"):
        ocp.run(agent, ocp.Chain(4), progress=False)
    with pytest.raises(ValueError, match="agent: its class has horizon 4, but the system has 3"):
        ocp.run(agent, ocp.Chain(3), progress=False)
    with pytest.raises(ValueError, match=r"state: expected an integer in 0..2, got 3"):
        agent.act(3)
    agent.act(0)
    with pytest.raises(ValueError, match=r"reward: expected a finite number, got inf"):
        agent.observe(0, np.inf)
