"""What test_stateful.py drives: an agent of each class beside its literal twin, in a random system.

A case has a pair (act, observe, begin_episode and compare on both), and a system for `ocpfast.run`. Where tests of one
class have such cases already, these are theirs.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import test_finite
import test_linear
import test_ocp_reference
import test_quadratic
import test_sparse
from linear_cases import Description
from reference import INFINITY, random_table
from reference_lsvi import LiteralAverages

import ocpfast as ocp

TIES = ("first", "least_visited", "directed", "random")


def ending_at_times(next_state, rng):
    """The same next states, some of them -1: nothing follows."""
    following = np.array(next_state)
    ends = np.array([rng.random() < 0.1 for _ in range(following.size)]).reshape(following.shape)
    return np.where(ends, -1, following)


class TableSystems:
    """Systems of cases with finitely many states, and what can be observed in them."""

    bad_rewards = ()  # beside those that no agent takes

    @property
    def system(self):
        starts = [self.rng.randrange(self.n_states) for _ in range(3)]
        return ocp.TableSystem(ending_at_times(self.next_state, self.rng), np.array(self.reward), initial_state=starts)

    def state(self, number):
        return number % self.n_states

    def reward_of(self, quarters):
        return quarters / 4

    def outcome(self, t, x, a, surprise):
        """(next state, reward) of the system, or a surprise made of (a number, quarters)."""
        if surprise is not None:
            return self.state(surprise[0]), self.reward_of(surprise[1])
        t = min(t, self.horizon - 1)
        return max(int(self.next_state[t][x][a]), 0), float(self.reward[t][x][a])

    def bad_states(self):
        """(state, error, what it says)."""
        expected = f"expected an integer in 0..{self.n_states - 1}, got "
        yield from ((x, ValueError, expected) for x in (-1, self.n_states, 2**70))
        yield from ((x, TypeError, expected) for x in (0.0, "0", None, [0], True))


class Aggregation(TableSystems, test_ocp_reference.Case):
    def __init__(self, rng, classes=test_ocp_reference.CLASSES[1:]):
        selection, replay, update = rng.choice(test_ocp_reference.METHODS)
        hypothesis, lower = rng.choice(classes), rng.choice(test_ocp_reference.LOWERS)
        super().__init__(
            test_ocp_reference.Configuration(selection, replay, update, rng.choice(TIES), hypothesis, lower),
            rng.getrandbits(32),
        )


class Table(Aggregation):
    def __init__(self, rng):
        super().__init__(rng, ["table"])


class Finite(TableSystems, test_finite.Case):
    def __init__(self, rng):
        selection, replay, update = rng.choice(test_finite.METHODS)
        dtype = rng.choice(test_finite.DTYPES)
        configuration = test_finite.Configuration(selection, replay, update, rng.choice(TIES), dtype)
        super().__init__(configuration, rng.getrandbits(32))


# linear classes


class AnyTies(Description):
    """The literal agent follows the compiled one among actions that are tied."""

    def literal(self, **options):
        return super().literal(**{name: value for name, value in options.items() if name not in ("ties", "rng")})


class Linear(TableSystems, test_linear.Case):
    prior, classes = "none", test_linear.CLASSES

    def __init__(self, rng):
        selection, replay, update = rng.choice(test_linear.METHODS)
        configuration = test_linear.Configuration(selection, replay, update, rng.choice(self.classes), self.prior)
        super().__init__(configuration, rng.getrandbits(32))

    def random_description(self):
        return AnyTies(*super().random_description())

    def random_options(self):
        return super().random_options() | {"ties": self.rng.choice(TIES), "rng": 0}


class Polytope(Linear):
    prior = "polytope"


class Sparse(TableSystems, test_sparse.SparseCase):
    def __init__(self, rng):
        replay, update = rng.choice(test_sparse.METHODS)
        features = rng.choice(test_sparse.CLASSES)
        super().__init__(test_linear.Configuration("eluder", replay, update, features, "none"), rng.getrandbits(32))


CLIP = 1 / (1 + np.exp(4.0))  # rewards of 0 and 1 are logits of -4 and 4


def probability(logit):
    return 0.0 if logit <= -4 else 1.0 if logit >= 4 else float(1 / (1 + np.exp(-float(logit))))


class SigmoidDescription(AnyTies):
    def hypothesis(self):
        return ocp.Sigmoid(self.phi, horizon=self.horizon, shared=self.shared, clip=CLIP)


class SigmoidPair(test_linear.Pair):
    """The literal agent is one of the linear class, and is paid logits."""

    def observe(self, x_next, r, terminated=False, truncated=False):
        ends = terminated or self.agent.period == self.horizon - 1
        r = r if ends else 0.0
        logit = 0 if not ends else round(np.log(r / (1 - r))) if 0 < r < 1 else 8 * r - 4
        self.trace.append(f"observe({x_next}, {r}, terminated={terminated}, truncated={truncated})")
        ended = self.agent.observe(x_next, r, terminated, truncated)
        self.expect("observe", ended, self.literal.observe(x_next, int(logit), terminated, truncated))
        return ended

    def compare(self):
        for t, x, a in np.ndindex(self.horizon, self.n_states, self.n_actions):
            for name in ("upper", "lower"):
                logit = getattr(self.literal, name)(t, x, a)
                expected = 0.0 if logit == -INFINITY else float(1 / (1 + np.exp(-float(logit))))
                self.expect(f"{name}{x, a, t}", getattr(self.agent, name)(x, a, t), expected)
            self.expect(f"determined{x, a, t}", self.agent.determined(x, a, t), self.literal.determined(t, x, a))


class Sigmoid(Linear):
    classes = tuple(features for features in test_linear.CLASSES if "homogeneous" not in features)
    pair_class = SigmoidPair
    bad_rewards = (-0.5, 1.5)

    def random_description(self):
        """And the rewards of a system that pays at the end alone."""
        self.coherent = False
        shape = self.horizon, self.n_states, self.n_actions
        rewards = [probability(self.rng.randint(-4, 4)) for _ in range(int(np.prod(shape)))]
        self.next_state = ending_at_times(self.next_state, self.rng)
        ends = (self.next_state < 0) | (np.arange(self.horizon) == self.horizon - 1)[:, None, None]
        self.reward = np.where(ends, np.reshape(rewards, shape), 0.0)
        return SigmoidDescription(*super().random_description())

    def random_options(self):
        chosen = super().random_options()
        return {name: value for name, value in chosen.items() if name not in ("discount", "reward_bound", "bounds")}

    def reward_of(self, quarters):
        return probability(quarters // 2)


# continuous actions


class QuadraticPair(test_quadratic.Pair):
    """One step at a time; where an action is the best one, not an exact number, the episode ends with its value."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.trace = [repr(self)]
        self.followed = True  # not after `run`, whose actions are not exact

    def act(self, x):
        self.x = x
        action = self.agent.act([float(part) for part in x])
        self.trace.append(f"act({x}) -> {action}")
        if self.followed:
            self.best, self.u, self.value = self.literal.act(x)
            assert self.best is not None
            if self.best:
                np.testing.assert_allclose(action, [float(part) for part in self.u], rtol=1e-7, atol=1e-7)
            else:
                assert action.tolist() == [float(part) for part in self.u]
        return action

    def observe(self, x_next, r, terminated=False, truncated=False):
        self.trace.append(f"observe({x_next}, {r}, terminated={terminated}, truncated={truncated})")
        after, reward = [float(part) for part in x_next], float(r)
        if not self.followed:
            return self.agent.observe(after, reward, terminated, truncated)
        if not self.best:
            assert not terminated and not truncated
            ended = self.agent.observe(after, reward)
            assert self.literal.observe(self.x, self.u, r, x_next) == ended
            return ended
        if self.options["replay"] == "stationary":  # it would be replayed in other periods, and this end is made up
            return self.begin_episode()
        assert self.agent.observe(after, float(self.value), terminated=True)
        self.literal.join()
        self.begin_episode()
        return True

    def begin_episode(self):
        self.agent.begin_episode()
        self.literal.begin_episode()

    def compare(self):
        if self.followed:
            for number, t in itertools.product(range(0, 25, 8), range(self.horizon)):
                self.compare_values(t, vector(number, self.n))


def vector(number, n):
    """A vector of integers of at most 2 in size."""
    return [Fraction(number // 5**k % 5 - 2) for k in range(n)]


class Quadratic:
    bad_rewards = ()

    def __init__(self, rng):
        options = dict(rng.choice(test_quadratic.METHODS)) | {"ties": rng.choice(["first", "directed"])}
        options |= rng.choice([{}, {"bounds": (-INFINITY, 0.0)}, {"bounds": (-INFINITY, 0.0), "discount": 0.5}])
        n, m = rng.choice([(1, 1), (2, 1), (1, 2)])
        self.homogeneous, self.horizon = False, rng.randint(1, 3)
        self.pair = QuadraticPair(rng, n, m, self.horizon, **options)

    @property
    def system(self):
        pair = self.pair
        return ocp.LinearQuadratic(pair.a, pair.b, pair.q, pair.r, self.horizon, initial_state=pair.starts)

    def state(self, number):
        return vector(number, self.pair.n)

    def outcome(self, t, x, a, surprise):
        x, u = np.array(x, dtype=object), np.array([Fraction(part) for part in a], dtype=object)
        pair = self.pair
        return list(pair.a @ x + pair.b @ u), -(x @ pair.q @ x + u @ pair.r @ u)

    def bad_states(self):
        for x in ([], [np.nan] * self.pair.n, [1e101] * self.pair.n, "a", None, 0):
            yield x, ValueError, "expected "


# the agents that OCP is compared with


class Estimates:
    """An agent that estimates values; its actions are its copy's."""

    def __init__(self, agent, n_states, n_actions, horizon):
        self.agent, self.n_states, self.n_actions, self.horizon = agent, n_states, n_actions, horizon
        self.trace = [repr(agent)]

    def act(self, x):
        self.x, self.action = x, self.agent.act(x)
        self.trace.append(f"act({x}) -> {self.action}")
        return self.action

    def observe(self, x_next, r, terminated=False, truncated=False):
        self.trace.append(f"observe({x_next}, {r}, terminated={terminated}, truncated={truncated})")
        t = self.agent.period
        last = self.horizon is not None and t == self.horizon - 1
        ended = self.agent.observe(x_next, r, terminated, truncated)
        assert ended == (terminated or truncated or last)
        self.learn(t, self.x, self.action, r, None if terminated or last else x_next, ended)
        return ended

    def begin_episode(self):
        self.trace.append("begin_episode()")
        self.agent.begin_episode()

    def compare(self):
        for t, x, a in np.ndindex(self.horizon or 1, self.n_states, self.n_actions):
            assert self.agent.value(x, a, t) == pytest.approx(self.value(t, x, a), rel=1e-9, abs=1e-9), (x, a, t)


class QLearningPair(Estimates):
    def __init__(self, rng, n_states, n_actions, horizon, exploration):
        self.rate, self.discount = rng.choice([1.0, 0.5]), rng.choice([1.0, 0.5])
        initial = rng.choice([INFINITY, 2.0])
        self.q = {place: initial for place in np.ndindex(horizon or 1, n_states, n_actions)}
        agent = ocp.QLearning(
            n_states, n_actions, horizon, self.rate, initial, exploration, self.discount, rng.choice(BASELINE_TIES), 0
        )
        super().__init__(agent, n_states, n_actions, horizon)

    def value(self, t, x, a):
        return self.q[t if self.horizon else 0, x, a]

    def learn(self, t, x, a, r, following, ended):
        future = 0.0
        if following is not None:
            future = self.discount * max(self.value(t + 1, following, b) for b in range(self.n_actions))
        target, before = r + future, self.value(t, x, a)
        known = abs(before) < INFINITY and abs(target) < INFINITY
        self.q[t if self.horizon else 0, x, a] = before + self.rate * (target - before) if known else target


class LSVIPair(Estimates):
    def __init__(self, rng, n_states, n_actions, horizon, exploration):
        labels = [rng.randrange(n_states * n_actions) for _ in range(n_states * n_actions)]
        labels = test_ocp_reference.dense(np.reshape(labels, (n_states, n_actions)))
        self.literal = LiteralAverages(labels if horizon is None else np.stack([labels] * horizon), sweeps=4)
        hypothesis = ocp.StateAggregation(labels, n_actions, horizon)
        agent = ocp.LSVI(hypothesis, exploration, 0, ties=rng.choice(BASELINE_TIES), sweeps=4)
        super().__init__(agent, n_states, n_actions, horizon)

    def value(self, t, x, a):
        return float(self.literal.values(t, x)[a])

    def learn(self, t, x, a, r, following, ended):
        self.literal.record(t, x, a, r, following)
        if ended:
            self.literal.fit()


class RandomPolicyPair(Estimates):
    def __init__(self, rng, n_states, n_actions, horizon, exploration):
        super().__init__(ocp.RandomPolicy(n_actions, rng=0), n_states, n_actions, None)

    def learn(self, *seen):
        pass

    def compare(self):
        pass


BASELINE_TIES = ("first", "random")


class Baseline(TableSystems):
    def __init__(self, rng):
        self.rng = rng
        self.n_states, self.n_actions, self.horizon = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 4)
        self.homogeneous = rng.random() < 0.4 or self.pair_class is RandomPolicyPair
        self.next_state, self.reward = random_table(
            rng, self.n_states, self.n_actions, self.horizon, termination=0.1, number=float
        )
        exploration = rng.choice([None, ocp.EpsilonGreedy(0.3), ocp.Boltzmann(0.5)])
        horizon = None if self.homogeneous else self.horizon
        self.pair = self.pair_class(rng, self.n_states, self.n_actions, horizon, exploration)


class QLearning(Baseline):
    pair_class = QLearningPair


class LSVI(Baseline):
    pair_class = LSVIPair


class RandomPolicy(Baseline):
    pair_class = RandomPolicyPair

    def bad_states(self):
        return ()  # it does not look at them


CASES = (
    Table, Aggregation, Linear, Polytope, Finite, Sparse, Sigmoid, Quadratic, QLearning, LSVI, RandomPolicy,
)  # fmt: skip
