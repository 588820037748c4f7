"""Numbers at the edge: rewards of 1e80, 1e12 and 1e-12, signed zeros, infinities, long horizons, many episodes."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from reference import optimal_q, random_table

import ocpfast as ocp

pytestmark = pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
LARGEST = 1e80


def system_of(seed, scale=1.0, horizon=5, n_states=4, n_actions=2):
    """A random table with rewards of multiples of a quarter, times a scale; and its Q*, in rationals."""
    next_state, reward = random_table(random.Random(seed), n_states, n_actions, horizon, integer_rewards=False)
    reward = np.array(reward, dtype=float) * scale
    exact = [[[Fraction(float(r)) for r in row] for row in period] for period in reward]
    return ocp.TableSystem(next_state, reward), optimal_q(next_state, exact, horizon)


def learned(agent, system, episodes=40):
    return ocp.run(agent, system, episodes, rng=0, progress=False, keep_agents=True)


def uppers(agent, system):
    return [agent.upper(x, a, t) for t, x, a in np.ndindex(system.horizon, system.n_states, system.n_actions)]


# rewards


def classes_of(system, scale=1.0):
    """Every class that can hold the Q* of a table whose rewards are multiples of `scale`."""
    q = ocp.solve(system).q
    sizes = q.shape[1], q.shape[2]
    one_hot = np.eye(q.size).reshape(*q.shape, q.size)[..., : q[0].size]
    for t in range(len(q)):
        one_hot[t] = np.eye(q[0].size).reshape(*q[0].shape, -1)
    labels = np.arange(q[0].size).reshape(sizes)
    noise = np.random.default_rng(0).integers(-4, 5, (5, *q.shape)) * scale
    return {
        "table": (ocp.TabulaRasa(*sizes, len(q), lower="exact"), {}),
        "replay": (ocp.TabulaRasa(*sizes, len(q), lower="exact"), {"replay": True, "update": "period"}),
        "aggregation": (ocp.StateAggregation(labels, q.shape[2], horizon=len(q), lower="exact"), {}),
        "finite": (ocp.FiniteClass([q, *(q + noise)]), {}),
        "linear": (ocp.LinearFeatures(one_hot), {"selection": "eluder"}),
        "linear all": (ocp.LinearFeatures(one_hot), {}),
        "sparse": (ocp.SparseLinear(q[..., None] / scale + [0.0, 1.0], sparsity=1), {"selection": "eluder"}),
    }


@pytest.mark.parametrize("kind", ["table", "replay", "aggregation"])
@pytest.mark.parametrize("exponent", [40, -40, 264, -1000])
def test_powers_of_two_scale_to_the_last_bit_20_systems(kind, exponent):
    """1e12 and 1e-12 are about 2^40 and 2^-40; 2^264 is just below the limit, 2^-1000 is nearly denormal."""
    for seed in range(20):
        values = []
        for scale in (1.0, 2.0**exponent):
            system, _ = system_of(seed, scale)
            hypothesis, options = classes_of(system, scale)[kind]
            result = learned(ocp.OCP(hypothesis, **options), system)
            [agent] = result.agents
            places = list(np.ndindex(system.horizon, system.n_states, system.n_actions))
            bounds = [(agent.lower(x, a, t) / scale, agent.upper(x, a, t) / scale) for t, x, a in places]
            values.append((bounds, (result.rewards / scale).tolist(), agent.statistics()))
        assert values[0] == values[1], seed


@pytest.mark.parametrize("kind", ["table", "replay", "aggregation", "finite", "linear", "linear all", "sparse"])
@pytest.mark.parametrize("scale", [1e12, 1.0, 1e-3])
def test_q_star_stays_inside_10_systems(kind, scale):
    for seed in range(10):
        system, q = system_of(seed, scale)
        hypothesis, options = classes_of(system, scale)[kind]
        [agent] = learned(ocp.OCP(hypothesis, **options), system).agents
        for t, x, a in np.ndindex(np.shape(q)):
            slack = 1e-8 * max(1, abs(q[t][x][a]))
            assert agent.upper(x, a, t) >= q[t][x][a] - slack, (seed, t, x, a)
            assert agent.lower(x, a, t) <= q[t][x][a] + slack, (seed, t, x, a)
        assert agent.certificate().valid, seed


def test_large_and_small_rewards_in_one_episode():
    """Totals lose nothing to rounding; values are sums from the end."""
    rewards = [1e12, 1e-12, -1e12, 1e-12, 3.0]
    system = ocp.TableSystem([[1], [2], [3], [4], [4]], [[r] for r in rewards], horizon=5)
    result = learned(ocp.OCP(ocp.TabulaRasa(5, 1, 5)), system, episodes=10)
    assert (result.rewards == math.fsum(rewards)).all()
    value = 0.0
    for t in range(4, -1, -1):
        value += rewards[t]
        assert result.agents[0].upper(t, 0, t) == value


AGENTS = {
    "table": lambda: ocp.OCP(ocp.TabulaRasa(1, 1, 4), replay=True),
    "aggregation": lambda: ocp.OCP(ocp.StateAggregation([0], 1, lower="exact"), bounds=(-1e100, 1e100)),
    "finite": lambda: ocp.OCP(ocp.FiniteClass(np.zeros((2, 4, 1, 1)))),
    "linear": lambda: ocp.OCP(ocp.LinearFeatures(np.ones((4, 1, 1, 1)))),
    "sparse": lambda: ocp.OCP(ocp.SparseLinear(np.ones((4, 1, 1, 2)), 1), selection="eluder"),
    "lsvi": lambda: ocp.LSVI(ocp.TabulaRasa(1, 1, 4)),
    "q-learning": lambda: ocp.QLearning(1, 1, 4),
    "random": lambda: ocp.RandomPolicy(1),
}


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("reward", [np.nextafter(LARGEST, np.inf), -1.1e80, 1e308, -1.7e308])
def test_rewards_beyond_the_limit_are_an_error_and_change_nothing(kind, reward):
    agent = AGENTS[kind]()
    agent.act(0)
    before = agent.statistics()
    with pytest.raises(ValueError, match=r"reward: expected a number of at most 1e80 in size, got -?1(\.\d+)?e\+\d+"):
        agent.observe(0, reward)
    assert agent.statistics() == before
    agent.observe(0, 1.0)  # the action still waits for what came of it
    rich = ocp.TableSystem([[0]], [[reward]], horizon=4)
    with pytest.raises(RuntimeError, match=r"episode 0, period 0: .* expected a number of at most 1e80 in size"):
        ocp.run(AGENTS[kind](), rich, 2, progress=False)


def test_the_largest_rewards_add_up():
    """4.6e18 periods of them would be 4.6e98: no sum overflows, upper, lower, by hand, by replay or in run."""
    for sign in (1, -1):
        system = ocp.TableSystem([[0]], [[sign * LARGEST]], horizon=100)
        for options in ({}, {"replay": True}, {"replay": "stationary", "update": "period"}):
            result = learned(ocp.OCP(ocp.TabulaRasa(1, 1, 100, lower="exact"), **options), system, 101)
            assert result.agents[0].upper(0, 0) == result.agents[0].lower(0, 0) == pytest.approx(sign * 1e82)
            assert result.rewards[0] == pytest.approx(sign * 1e82)
    agent = ocp.OCP(ocp.StateAggregation([0], 1, lower="exact"), bounds=(-1e100, 1e100), replay=True)
    for _ in range(1000):  # a cycle that pays: what is known of it rises and falls with what is known
        agent.act(0)
        agent.observe(0, LARGEST, truncated=True)
    assert abs(agent.upper(0, 0)) <= 1e100 and abs(agent.lower(0, 0)) <= 1e100


def test_prior_bounds_have_limits():
    table = ocp.TabulaRasa(1, 1, 4)
    for bounds in ((-1e101, 0.0), (0.0, 1e308)):
        with pytest.raises(ValueError, match="bounds: expected infinities and numbers of at most 1e100 in size, got"):
            ocp.OCP(table, bounds=bounds)
    with pytest.raises(ValueError, match="reward_bound: expected a number of at most 1e80 in size, got 1e"):
        ocp.OCP(table, reward_bound=1e81)
    assert ocp.OCP(table, reward_bound=LARGEST).upper(0, 0) == pytest.approx(4e80)
    assert ocp.OCP(ocp.TabulaRasa(1, 1, None), reward_bound=LARGEST, discount=0.5).upper(0, 0) == 2e80


# signed zeros, denormals


def test_signed_zeros_are_ties():
    """U = -0.0 and U = 0.0 are the same value, whichever came first."""
    for first, second in ((0.0, -0.0), (-0.0, 0.0)):
        agent = ocp.OCP(ocp.TabulaRasa(1, 2, 1, lower="exact"))
        for reward in (first, second):
            agent.act(0)
            agent.observe(0, reward)
        assert agent.act(0) == 0 and agent.upper(0, 0) == agent.upper(0, 1) == agent.lower(0, 1) == 0


def test_signed_zeros_in_states_edges_and_features():
    for edge in (0.0, -0.0):
        agent = ocp.OCP(ocp.StateAggregation(ocp.Grid([[edge, 1.0]]), 1))
        agent.act([-0.0])
        agent.observe([0.5], 1.0, terminated=True)
        assert agent.upper([0.0], 0) == agent.upper([-0.0], 0) == 1.0 and agent.upper([-5e-324], 0) == np.inf
    phi = ocp.FeatureFunction(lambda state, action: [state[0], 1.0], n_features=2, state_size=1, n_actions=1)
    agent = ocp.OCP(ocp.LinearFeatures(phi, horizon=1))
    agent.act([-0.0])
    agent.observe([0.0], 2.0)
    assert agent.upper([0.0], 0) == 2.0 and agent.statistics()["states"] <= 2
    assert ocp.OCP(ocp.LinearFeatures(np.full((1, 1, 1, 2), -0.0))).upper(0, 0) == 0


@pytest.mark.parametrize("reward", [5e-324, -5e-324, 2.2e-308, 1e-310])
def test_denormal_rewards(reward):
    system = ocp.TableSystem([[0, 0]], [[reward, 0.0]], horizon=3)
    for options in ({}, {"replay": True}):
        result = learned(ocp.OCP(ocp.TabulaRasa(1, 2, 3, lower="exact"), **options), system, 30)
        [agent] = result.agents
        assert agent.upper(0, 0, 2) == agent.lower(0, 0, 2) == reward
        assert result.rewards[0, -1] == (3 * reward if reward > 0 else 0)


@pytest.mark.parametrize("size", [1e-310, 5e-324, 1e-200, 1e200, 1e300])
def test_features_of_any_size(size):
    """Values do not depend on the unit of the features."""
    agent = ocp.OCP(ocp.LinearFeatures(np.array([[[[size, 0]], [[size, size]], [[0, size]]]])))
    for state, value in ((0, 1.0), (1, 3.0)):
        agent.act(state)
        agent.observe(0, value)
    assert agent.upper(2, 0) == pytest.approx(2.0) and agent.determined(2, 0)


# infinities


def test_infinity_minus_infinity_is_never_asked_for():
    """Undetermined cycles, with and without lower values, replay and what an agent starts from."""
    cycle = ocp.TableSystem([[1, 0], [0, 1]], [[-1.0, 1.0], [1.0, -1.0]], horizon=7)
    for hypothesis in (
        ocp.StateAggregation([0, 1], 2, lower="exact"),
        ocp.StateAggregation([0, 0], 2, lower="exact"),
        ocp.LinearFeatures(np.eye(4).reshape(2, 2, 4)),
    ):
        for options in (
            {},
            {"replay": True},
            {"update": "period"},
            {"bounds": (-np.inf, 5.0)},
            {"bounds": (-5.0, 5.0)},
        ):
            [agent] = learned(ocp.OCP(hypothesis, **options), cycle, 20).agents
            for state, action in np.ndindex(2, 2):
                low, high = agent.lower(state, action), agent.upper(state, action)
                assert not math.isnan(low) and not math.isnan(high) and high > -np.inf and low < np.inf
    for rate in (1.0, 0.5, 1e-3):
        [agent] = learned(ocp.QLearning(2, 2, None, learning_rate=rate), cycle, 20).agents
        assert not any(math.isnan(agent.value(x, a)) for x, a in np.ndindex(2, 2))
    with pytest.raises(ValueError, match="bounds: expected a finite upper bound with discount < 1"):
        ocp.OCP(ocp.StateAggregation([0], 1), discount=0.5, bounds=(0.0, np.inf))


# long horizons, many episodes

LONG = 36_000
LONG_CLASSES = {
    "table": lambda: ocp.OCP(ocp.TabulaRasa(2, 2, LONG)),
    "lower values": lambda: ocp.OCP(ocp.TabulaRasa(2, 2, LONG, lower="exact")),
    "replay": lambda: ocp.OCP(ocp.TabulaRasa(2, 2, LONG), replay="stationary", ties="directed"),
    "aggregation": lambda: ocp.OCP(ocp.StateAggregation([0, 1], 2), replay=True),
    "finite": lambda: ocp.OCP(ocp.FiniteClass(np.zeros((2, LONG, 2, 2)) + np.arange(2).reshape(2, 1, 1, 1))),
    "linear": lambda: ocp.OCP(ocp.LinearFeatures(np.eye(4).reshape(2, 2, 4), horizon=LONG), selection="eluder"),
    "shared": lambda: ocp.OCP(ocp.LinearFeatures(np.eye(4).reshape(2, 2, 4)), selection="eluder"),
    "lsvi": lambda: ocp.LSVI(ocp.TabulaRasa(2, 2, None), ocp.EpsilonGreedy(0.1)),
    "q-learning": lambda: ocp.QLearning(2, 2, LONG),
}


@pytest.mark.parametrize("kind", LONG_CLASSES)
def test_36_000_periods(kind, tmp_path):
    """Learns, is saved in the middle of an episode, and goes on as it would have."""
    system = ocp.TableSystem([[0, 1], [1, 0]], [[0.1, 0.1], [0.1, 0.2]], horizon=LONG)
    result = learned(LONG_CLASSES[kind](), system, 3)
    assert ((result.rewards >= 3600) & (result.rewards <= 7200)).all()
    [agent] = result.agents
    state = 0
    for _ in range(1000):
        state, reward, _ = system.step(state, agent.act(state))
        agent.observe(state, reward)
    agent.save(tmp_path / "agent")
    twin = ocp.load_agent(tmp_path / "agent")
    assert twin.statistics() == agent.statistics() and twin.period == 1000
    for _ in range(100):
        action = agent.act(state)
        assert twin.act(state) == action
        state, reward, _ = system.step(state, action)
        assert agent.observe(state, reward) == twin.observe(state, reward)


def test_sums_of_36_000_periods():
    """An hour is an hour; its value is summed from the end, as exactly as doubles add up."""
    system = ocp.TableSystem([[0]], [[0.1]], horizon=LONG)
    result = learned(ocp.OCP(ocp.TabulaRasa(1, 1, LONG), replay=True), system, 2)
    assert (result.rewards == 3600.0).all()
    assert result.agents[0].upper(0, 0) == pytest.approx(3600, abs=1e-7)


def test_ten_million_episodes(tmp_path):
    """Counted to the last one, with an agent that stays as small as it was."""
    system = ocp.TableSystem([[0, 0]], [[0.25, 1.0]], horizon=1)
    agent = ocp.OCP(ocp.TabulaRasa(1, 2, 1), ties="random")
    sizes = []
    for half in range(2):
        result = learned(agent, system, 5_000_000)
        [agent] = result.agents
        assert result.rewards.shape == (1, 5_000_000)
        assert result.rewards[0, 2:].min() == 1.0 and agent.statistics()["episodes"] == 5_000_000 * (half + 1)
        agent.save(tmp_path / "agent")
        sizes.append((tmp_path / "agent").stat().st_size)
    assert agent.statistics()["periods"] == 10_000_000 and agent.n_constraints <= 2
    assert abs(sizes[1] - sizes[0]) <= 16  # digits of numbers


def test_sums_that_miss_a_prior_bound_by_rounding():
    """0.1 + 0.2 is one ulp above 0.3, and -0.1 - 0.2 one below -0.3: both are what the bound says."""
    for sign in (1, -1):
        agent = ocp.OCP(ocp.StateAggregation([0], 1, horizon=2, lower="exact"), bounds=(-0.3, 0.3))
        for _ in range(2):
            for reward in (0.1, 0.2):
                agent.act(0)
                agent.observe(0, sign * reward)
        assert agent.determined(0, 0) and agent.upper(0, 0) == agent.lower(0, 0) == sign * 0.3


# what numbers can be


@pytest.mark.parametrize(
    "reward",
    [1, np.int8(1), np.uint64(1), np.float16(1), np.float32(1), np.float64(1), np.longdouble(1), Fraction(1)],
)
def test_rewards_of_every_type(reward):
    agent = ocp.OCP(ocp.TabulaRasa(1, 1, 1))
    agent.act(0)
    agent.observe(np.int16(0), reward)
    assert agent.upper(np.uint8(0), np.int64(0)) == 1.0


def test_integers_beyond_doubles():
    """Rewards are rounded as float() rounds them; indices are not."""
    agent = ocp.OCP(ocp.TabulaRasa(1, 1, 1))
    agent.act(0)
    agent.observe(0, 2**53 + 1)
    assert agent.upper(0, 0) == float(2**53 + 1) == 2.0**53
    for state in (2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400):
        with pytest.raises(ValueError, match=r"state: expected an integer in 0..0, got"):
            agent.act(state)
    agent.act(0)
    with pytest.raises(ValueError, match="reward: expected a finite number, got one beyond the range of floats"):
        agent.observe(0, 10**400)
    with pytest.raises(ValueError, match="reward: expected a finite number, got inf"):
        agent.observe(0, np.longdouble("1e4000"))
    with pytest.raises(ValueError, match="reward: expected a number of at most 1e80 in size, got 1e"):
        agent.observe(0, 10**300)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int8, np.uint64])
def test_arrays_of_every_type(dtype):
    """The values of the array, whatever holds them."""
    numbers = np.array([[[[1, 0]], [[1, 2]]]], dtype=dtype)
    agent = ocp.OCP(ocp.LinearFeatures(numbers))
    agent.act(1)
    agent.observe(0, np.float32(0.5))
    assert agent.upper(1, 0) == 0.5
    system = ocp.TableSystem([[0]], np.array([[3]], dtype=dtype), horizon=1)
    assert learned(ocp.OCP(ocp.TabulaRasa(1, 1, 1)), system, 1).rewards[0, 0] == 3
    for wrong in (np.array([[[[True, False]]]]), numbers.astype(object), numbers.astype(str)):
        with pytest.raises(TypeError, match="phi: expected"):
            ocp.LinearFeatures(wrong)
