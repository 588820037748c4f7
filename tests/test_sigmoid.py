"""Sigmoid classes: linear in logits, rewards at the end alone."""

import pickle
import random

import numpy as np
import pytest
from reference import optimal_q, play

import ocpfast as ocp

PROBABILITIES = [0.0, 0.0, 1e-3, 0.1, 0.25, 0.5, 0.7, 0.999, 1.0, 1.0]


class Graded:
    """A random system that pays at the end of an episode alone, and a class that contains its Q*."""

    def __init__(self, seed, n_noise=None):
        rng = self.rng = random.Random(seed)
        self.n_states, self.n_actions, self.horizon = rng.randint(1, 5), rng.randint(1, 3), rng.randint(1, 5)
        shape = self.horizon, self.n_states, self.n_actions
        draw = np.random.default_rng(seed)
        ends = (draw.random(shape) < 0.1) | (np.arange(self.horizon) == self.horizon - 1)[:, None, None]
        self.next_state = np.where(draw.random(shape) < 0.1, -1, draw.integers(0, self.n_states, shape))
        self.next_state[ends & (np.arange(self.horizon) < self.horizon - 1)[:, None, None]] = -1
        terminal = ends | (self.next_state < 0)
        self.reward = np.where(terminal, draw.choice(PROBABILITIES, shape), 0.0)
        self.q = np.array(optimal_q(self.next_state.tolist(), self.reward.tolist(), self.horizon))
        self.value = self.q[0].max(axis=1)
        self.clip = rng.choice([1e-9, 1e-4])
        logits = ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1, clip=self.clip).logits(self.q)
        noise = draw.integers(-2, 3, (*shape, rng.randint(0, 3) if n_noise is None else n_noise))
        self.phi = np.concatenate([noise, logits[..., np.newaxis]], axis=-1)
        self.shared = rng.random() < 0.3
        self.hypothesis = ocp.Sigmoid(self.phi, shared=self.shared, clip=self.clip)

    def options(self):
        choices = {
            "selection": ["all", "eluder"],
            "ties": ["first", "least_visited", "directed"],
            "replay": [False, True],
            "update": ["episode", "period"],
        }
        return {name: self.rng.choice(values) for name, values in choices.items()}


def logit(p, clip):
    p = min(max(p, clip), 1 - clip)
    return float(np.log(p) - np.log1p(-p))


def psi(y):
    return float(1 / (1 + np.exp(-y))) if y > -700 else 0.0


def test_it_is_the_linear_class_of_logits(compared):
    """800 random systems: the same actions as a linear class that is paid logits, and the same values but for psi."""
    for seed in range(800):
        case = Graded(seed)
        options = case.options()
        sigmoid = ocp.OCP(case.hypothesis, **options)
        linear = ocp.OCP(ocp.LinearFeatures(case.phi, shared=case.shared), **options)
        ends = (case.next_state < 0) | (np.arange(case.horizon) == case.horizon - 1)[:, None, None]
        in_logits = np.where(ends, np.vectorize(logit)(case.reward, case.clip), 0.0)
        starts = [case.rng.randrange(case.n_states) for _ in range(12)]
        played = play(sigmoid, case.next_state.tolist(), case.reward.tolist(), case.horizon, starts)
        expected = play(linear, case.next_state.tolist(), in_logits.tolist(), case.horizon, starts)
        assert [actions for _, actions, _ in played] == [actions for _, actions, _ in expected], seed
        for t, x, a in np.ndindex(case.q.shape):
            assert sigmoid.upper(x, a, t) == pytest.approx(psi(linear.upper(x, a, t)), rel=1e-12, abs=0), seed
            assert sigmoid.lower(x, a, t) == pytest.approx(psi(linear.lower(x, a, t)), rel=1e-12, abs=0), seed
            assert sigmoid.determined(x, a, t) == linear.determined(x, a, t), seed
    compared("sigmoid = linear features of logits", 800)


def test_theorem_1():
    """600 random systems, rewards of exactly 0 and 1 among them: at most K H suboptimal episodes, none contradicted."""
    most = 0
    for seed in range(600):
        case = Graded(10_000 + seed)
        agent = ocp.OCP(case.hypothesis, **case.options())
        bound = case.hypothesis.eluder_dimension()
        assert bound <= case.phi.shape[-1] * case.horizon
        starts = [case.rng.randrange(case.n_states) for _ in range(bound + 10)]
        played = play(agent, case.next_state.tolist(), case.reward.tolist(), case.horizon, starts)
        suboptimal = sum(
            sum(rewards) < case.value[start] - 1e-6 for start, (_, _, rewards) in zip(starts, played, strict=True)
        )
        assert suboptimal <= bound, (seed, agent)
        statistics = agent.statistics()
        assert statistics["rejected"] == statistics["contradictions"] == 0, (seed, agent, statistics)
        assert agent.certificate().valid
        most = max(most, suboptimal)
    assert most >= 3


def test_values_near_0_and_1_keep_their_digits():
    """Through probabilities and back, a logit of 25 would lose five of its sixteen digits."""
    logits = np.linspace(-25, 25, 11)
    hypothesis = ocp.Sigmoid(np.eye(11)[np.newaxis], horizon=1, clip=1e-15)
    agent = ocp.OCP(hypothesis)
    rewards = [psi(y) for y in logits]
    for _ in rewards:
        action = agent.act(0)
        agent.observe(0, rewards[action])
    for action, reward in enumerate(rewards):
        assert agent.upper(0, action) == pytest.approx(reward, rel=1e-13)


def test_run_agrees_with_stepping():
    case = Graded(3, n_noise=2)
    system = ocp.TableSystem(case.next_state, case.reward, horizon=case.horizon)
    agent = ocp.OCP(case.hypothesis, replay=True)
    result = ocp.run(agent, system, 30, progress=False)
    stepped = play(agent, case.next_state.tolist(), case.reward.tolist(), case.horizon, [0] * 30)
    assert result.rewards[0].tolist() == [sum(rewards) for _, _, rewards in stepped]


def test_bounds_are_rewards():
    hypothesis = ocp.Sigmoid(np.eye(2).reshape(1, 2, 1, 2), clip=1e-6)
    agent = ocp.OCP(hypothesis, bounds=(0.2, 0.75))
    assert agent.upper(0, 0) == pytest.approx(0.75, rel=1e-12)
    assert agent.lower(0, 0) == pytest.approx(0.2, rel=1e-12)
    agent.act(0)
    agent.observe(0, 0.75)  # on the bound: not rejected for its rounding
    assert agent.statistics()["rejected"] == 0
    assert agent.upper(0, 0) == agent.lower(0, 0) == pytest.approx(0.75, rel=1e-12)
    agent.act(1)
    agent.observe(0, 0.8)
    assert agent.statistics()["rejected"] == 1 and not agent.certificate().valid
    everything = ocp.OCP(hypothesis, bounds=(0.0, 1.0))
    assert everything.upper(0, 0) == pytest.approx(1 - 1e-6)
    everything.act(0)
    everything.observe(0, 1.0)
    assert everything.statistics()["rejected"] == 0
    assert ocp.OCP(hypothesis).upper(0, 0) == 1.0 and ocp.OCP(hypothesis).lower(0, 0) == 0.0


@pytest.mark.parametrize(
    ("reward", "period"), [(0.5, 0), (1e-300, 0), (-0.1, 1), (1.0000001, 1), (float("inf"), 1), (float("nan"), 1)]
)
def test_rewards_that_the_class_has_no_place_for(reward, period):
    agent = ocp.OCP(ocp.Sigmoid(np.ones((2, 1, 1, 1))))
    for _ in range(period):
        agent.act(0)
        agent.observe(0, 0.0)
    agent.act(0)
    with pytest.raises(ValueError, match="reward: expected") as error:
        agent.observe(0, reward)
    if np.isfinite(reward):
        assert "0 before the end of an episode and a number in [0, 1] at its end, got" in str(error.value)
    assert agent.statistics()["periods"] == period  # nothing was learned
    agent.observe(0, 0.0)


def test_run_says_where_a_reward_does_not_fit():
    system = ocp.TableSystem([[0]], [[0.5]], horizon=3)
    with pytest.raises(RuntimeError, match=r"episode 0, period 0: the system paid a reward of 0.5, expected 0 before"):
        ocp.run(ocp.OCP(ocp.Sigmoid(np.ones((1, 1, 1)), horizon=3)), system, 2, progress=False)


def test_a_reward_of_truncation_must_be_0():
    agent = ocp.OCP(ocp.Sigmoid(np.ones((3, 1, 1, 1))))
    agent.act(0)
    with pytest.raises(ValueError, match="reward: expected 0 before"):
        agent.observe(0, 0.5, truncated=True)
    assert agent.observe(0, 0.0, truncated=True)


@pytest.mark.parametrize("clip", [0.0, 0.5, 1e-16, -1, float("nan"), "0.1", None, True])
def test_bad_clip(clip):
    with pytest.raises((ValueError, TypeError), match="clip: expected a number in"):
        ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1, clip=clip)


@pytest.mark.parametrize("rewards", [[-0.1], [1.1], [np.nan], [np.inf]])
def test_bad_rewards_for_logits(rewards):
    with pytest.raises(ValueError, match=r"rewards: expected numbers in \[0, 1\], got"):
        ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1).logits(rewards)


def test_no_discount_and_no_first():
    hypothesis = ocp.Sigmoid(np.ones((1, 1, 1)), horizon=2)
    with pytest.raises(ValueError, match=r"discount: expected 1 for a sigmoid class, got 0\.5"):
        ocp.OCP(hypothesis, discount=0.5, bounds=(0, 1))
    with pytest.raises(ValueError, match="selection: expected"):
        ocp.OCP(hypothesis, selection="first")


def test_identity():
    one, other = (ocp.Sigmoid(np.ones((1, 1, 1)), horizon=2, clip=clip) for clip in (1e-9, 1e-6))
    assert (
        one != other and one == pickle.loads(pickle.dumps(one)) and hash(one) == hash(pickle.loads(pickle.dumps(one)))
    )
    assert one != ocp.LinearFeatures(np.ones((1, 1, 1)), horizon=2)
    assert repr(one).startswith("Sigmoid(")
    assert other.clip == 1e-6
