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
from test_highs import through
from test_linear import Case, Configuration
from test_linear_chain import N_STATES, chain_features

import ocpfast as ocp
from ocpfast.sparse import is_full_rank

METHODS = list(itertools.product((False, True, "stationary"), ("episode", "period")))
CLASSES = ("(H,S,A,K)", "(H,S,A,K) shared", "(S,A,K)", "(S,A,K) homogeneous")
CASES = 25  # of each configuration


# against the literal algorithm


class SparseDescription(Description):
    sparsity = 1

    def hypothesis(self):
        return ocp.SparseLinear(self.phi, self.sparsity, horizon=self.horizon, shared=self.shared)

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
def test_compiled_is_literal(features, replay, update, compared):
    configuration = Configuration("eluder", replay, update, features, "none")
    results = [check(configuration, case) for case in range(CASES)]
    failures = [result for result in results if result is not None]
    shortest = min(failures, key=len, default="")
    assert not failures, f"{len(failures)} of {len(results)} random cases differ; the shortest:\n{shortest}"
    compared("sparse linear = literal", len(results))


def test_there_are_enough_cases():
    assert len(METHODS) * len(CLASSES) * CASES >= 500


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


@pytest.mark.parametrize("options", OPTIONS[:2], ids=["plain", "replay, directed"])
@pytest.mark.parametrize("n_features, sparsity", [(20, 2), (60, 3)])
def test_generic_table(n_features, sparsity, options):
    """2 K0 H bounds it, where a linear class needs nearly K H; K0 + 1 observations a period tell almost everything."""
    case = SparseSystem(1, 30, 3, 8, n_features, sparsity)
    suboptimal, agent = case.run(ocp.SparseLinear(case.phi, sparsity), 500, **options)
    linear, _ = case.run(ocp.LinearFeatures(case.phi), 1_000, **options)
    assert agent.statistics()["contradictions"] == 0
    assert suboptimal <= 2 * sparsity * 8
    assert agent.statistics()["determined"] <= 2 * sparsity * 8
    assert suboptimal < linear / 5
    if options:
        assert suboptimal <= 2 * sparsity


@pytest.mark.parametrize("options", OPTIONS[:2], ids=["plain", "replay, directed"])
@pytest.mark.parametrize("n_features, sparsity", [(20, 2), (60, 3)])
def test_chain(n_features, sparsity, options):
    """Rows with Q* = 0 say nothing of its parameter: the 2 K0-rank is 2 K0 + 1, as in test_rank_of_a_chain."""
    hypothesis = ocp.SparseLinear(chain_features(np.random.default_rng(0), n_features), sparsity)
    agent = ocp.OCP(hypothesis, selection="eluder", **options)
    result = ocp.run(agent, ocp.Chain(N_STATES), 400, progress=False, keep_agents=True)
    statistics = result.agents[0].statistics()
    assert statistics["contradictions"] == statistics["rejected"] == 0
    bound = (2 * sparsity + 1) * N_STATES
    assert statistics["determined"] <= bound
    assert result.suboptimal()[0] <= (2 * sparsity if options else bound)


# the eluder dimension


def small_matrix(rng):
    n, k = rng.randint(2, 5), rng.randint(2, 5)
    kind = rng.random()
    if kind < 0.5:
        rows = [[rng.randint(-1, 1) for _ in range(k)] for _ in range(n)]
    else:  # generic, but for a column that is often 0
        rows = [[rng.choice([0, 0, 1]), *(rng.randint(-50, 50) for _ in range(k - 1))] for _ in range(n)]
    return rows


def test_eluder_dimension_is_the_l_rank(compared):
    rng = random.Random(0)
    smaller = 0
    for _ in range(150):
        blocks = [small_matrix(rng)]
        shape = len(blocks[0]), len(blocks[0][0])
        sparsity = rng.choice([1, 1, 2])
        expected = l_rank(blocks[0], 2 * sparsity)
        phi = np.array(blocks[0], dtype=float)[None, :, None, :]
        hypothesis = ocp.SparseLinear(phi, sparsity)
        assert hypothesis.eluder_dimension() == expected, (blocks, sparsity)
        smaller += expected < ocp.LinearFeatures(phi).eluder_dimension()
        triples = [(x, 0, 0) for x in range(shape[0])]
        last, before = triples[-1], rng.sample(triples[:-1], rng.randint(0, shape[0] - 1))
        assert hypothesis._independent(last, before) == l_independent(
            blocks[0][-1], [blocks[0][x] for x, _, _ in before], 2 * sparsity
        )
    assert smaller > 10
    compared("eluder dimension = definition", 150)


def test_eluder_dimension_of_several_blocks():
    phi = np.random.default_rng(0).standard_normal((3, 4, 2, 5))
    assert ocp.SparseLinear(phi, 1).eluder_dimension() == 6
    assert ocp.SparseLinear(phi, 3).eluder_dimension() == 15  # 2 K0 >= K
    assert ocp.SparseLinear(phi[0], 1, horizon=7).eluder_dimension() == 14
    assert ocp.SparseLinear(phi[0], 1).eluder_dimension() == 2
    assert ocp.SparseLinear(phi[:, :2], 1, shared=True).eluder_dimension() == 2
    many = np.random.default_rng(0).standard_normal((2, 20, 2, 30))
    assert ocp.SparseLinear(many, 2).eluder_dimension() == 60  # too many to search: the rank, which bounds it


def test_certificate():
    """What remains is bounded by the eluder dimension, or by the number of triples where programs may stop early."""
    case = SparseSystem(2, 3, 2, 2, 4, 1)
    for arguments, bound in [({}, 4), ({"theta_bound": 1.0, "enumerate_up_to": 0}, 12)]:
        agent = ocp.OCP(ocp.SparseLinear(case.phi, 1, **arguments), selection="eluder")
        assert agent.certificate().remaining == bound
        _, agent = case.run(agent.hypothesis, 40)
        certificate = agent.certificate()
        assert certificate.valid
        assert certificate.last_episode_optimal
        assert certificate.remaining == bound - agent.statistics()["determined"]


def test_independence_goes_by_block():
    phi = np.random.default_rng(0).standard_normal((3, 4, 2, 5))
    seen = [(0, 0, 0), (1, 0, 0), (2, 1, 1)]
    assert not ocp.theory.independent(ocp.SparseLinear(phi, 1), (2, 0, 0), seen)
    assert ocp.SparseLinear(phi, 1)._independent((2, 0, 1), seen)
    assert ocp.SparseLinear(phi, 2)._independent((2, 0, 0), seen)
    assert not ocp.SparseLinear(phi, 1, shared=True)._independent((2, 0, 2), seen)
    assert not ocp.SparseLinear(phi[0], 1)._independent((3, 0, 5), [(0, 0, 0), (1, 1, 9)])


def test_rank_of_a_chain():
    """[a column of zeros and ones, 1, Gaussian...]: one more than l."""
    rng = np.random.default_rng(0)
    phi = rng.standard_normal((1, 7, 1, 5))
    phi[..., 0] = (np.arange(7) > 4)[None, :, None]
    phi[..., 1] = 1
    assert ocp.SparseLinear(phi, 1).eluder_dimension() == 3


def test_full_rank():
    rng = np.random.default_rng(0)
    generic = rng.standard_normal((9, 6))
    assert is_full_rank(generic, 4)
    generic[:, 2] *= 1e6
    generic[3] *= 1e-6
    assert is_full_rank(generic, 4)
    generic[2, :4] = generic[5, :4] + generic[6, :4]
    assert not is_full_rank(generic, 4)
    assert is_full_rank(generic, 2)
    with pytest.raises(ValueError, match=r"size: .* too many to look at"):
        is_full_rank(rng.standard_normal((100, 60)), 6)
    with pytest.raises(ValueError, match=r"size: expected an integer in 1\.\.6, got 7"):
        is_full_rank(generic, 7)
    with pytest.raises(ValueError, match=r"matrix: expected shape \(n, K\), got \(3,\)"):
        is_full_rank(generic[:3, 0], 1)
    generic[0] = 0
    assert not is_full_rank(generic, 1)
    generic[0] = np.inf
    with pytest.raises(ValueError, match="matrix: expected finite numbers"):
        is_full_rank(generic, 1)


# beyond enumeration: mixed-integer programs


@pytest.mark.parametrize("kind, seeds", [("library", range(8)), ("python", range(2))])
def test_programs_agree_with_enumeration(kind, seeds, compared):
    """One action, so that both agents see the same."""
    with through(kind):
        for seed in seeds:
            rng = np.random.default_rng(seed)
            n_features, sparsity = int(rng.integers(2, 6)), int(rng.integers(1, 3))
            case = SparseSystem(seed, 5, 1, 2, n_features, sparsity)
            if seed % 2:
                case.phi *= 10 ** rng.uniform(-2, 2, n_features)  # theta_bound must hold for these
            by_hand = ocp.OCP(ocp.SparseLinear(case.phi, sparsity), selection="eluder")
            bounded = ocp.SparseLinear(case.phi, sparsity, theta_bound=150.0, enumerate_up_to=0)
            programs = ocp.OCP(bounded, selection="eluder")
            for _ in range(6):
                start = int(rng.integers(5))
                for agent in (by_hand, programs):
                    x = start
                    for t in range(2):
                        agent.act(x)
                        r, x = case.reward[t, x, 0], int(case.next_state[t, x, 0])
                        agent.observe(x, r)
                compare_values(by_hand, programs, case.q, seed)
            assert programs.statistics()["contradictions"] == 0
            assert programs.statistics()["determined"] == by_hand.statistics()["determined"]
            assert programs.statistics()["programs"] > 0
    compared("sparse linear: programs = enumeration", len(seeds))


def compare_values(by_hand, programs, q, seed):
    for t, x, a in np.ndindex(q.shape):
        expected, found = by_hand.upper(x, a, t), programs.upper(x, a, t)
        assert programs.determined(x, a, t) == by_hand.determined(x, a, t), seed
        assert programs.lower(x, a, t) - 1e-6 <= q[t, x, a] <= found + 1e-6, seed
        if by_hand.determined(x, a, t):
            assert found == pytest.approx(expected, abs=1e-9), seed
        elif np.isfinite(expected):  # if the parameters behind it are within their bounds, else less
            assert found <= expected + 1e-5, seed
            assert programs.lower(x, a, t) >= by_hand.lower(x, a, t) - 1e-5, seed


def test_programs_find_contradictions():
    phi = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]])
    agent = ocp.OCP(ocp.SparseLinear(phi, 1, horizon=1, theta_bound=5.0, enumerate_up_to=0), selection="eluder")
    assert (agent.lower(2, 0), agent.upper(2, 0)) == (-5.0, 5.0)
    for state, reward, kept, contradictions in [(0, 2.0, 1, 0), (1, 1.0, 1, 1), (2, 3.0, 1, 2), (2, 2.0, 1, 2)]:
        agent.act(state)
        agent.observe(0, reward)
        assert agent.statistics()["determined"] == kept
        assert agent.statistics()["contradictions"] == contradictions
    assert agent.determined(1, 0)
    assert agent.upper(1, 0) == 0.0


def test_programs_beyond_enumeration():
    """487,635 supports: within a small table, as programs get slow as soon as equalities leave few of them."""
    case = SparseSystem(0, 2, 2, 2, 60, 4)
    hypothesis = ocp.SparseLinear(case.phi, 4, theta_bound=1.0, enumerate_up_to=200_000)
    suboptimal, agent = case.run(hypothesis, 15)
    assert suboptimal <= hypothesis.eluder_dimension() == 8  # all triples, as 2 K0 is more than there are
    statistics = agent.statistics()
    assert statistics["programs"] > 0
    assert statistics["contradictions"] == 0
    for (t, x, a), value in np.ndenumerate(case.q):
        assert agent.lower(x, a, t) - 1e-6 <= value <= agent.upper(x, a, t) + 1e-6
        if agent.determined(x, a, t):
            assert agent.upper(x, a, t) == pytest.approx(value, abs=1e-9)


# arguments


def test_description():
    phi = np.random.default_rng(0).standard_normal((2, 3, 2, 5))
    one, same = ocp.SparseLinear(phi, 2), ocp.SparseLinear(phi.copy(), 2)
    assert one == same
    assert hash(one) == hash(same)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != ocp.SparseLinear(phi, 1)
    assert one != ocp.SparseLinear(phi, 2, theta_bound=1.0)
    assert one != ocp.LinearFeatures(phi)
    assert repr(one) == "SparseLinear(<phi of shape (2, 3, 2, 5)>, sparsity=2, horizon=2, shared=False)"
    assert (one.sparsity, one.n_supports, one.n_features) == (2, math.comb(5, 2), 5)
    assert ocp.SparseLinear(phi, 9).n_supports == 1


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"sparsity": 0}, ValueError, "sparsity: expected an integer >= 1, got 0"),
        ({"sparsity": 1.5}, TypeError, "sparsity: expected an integer >= 1, got 1.5"),
        ({"theta_bound": 0.0}, ValueError, "theta_bound: expected a finite number > 0, got 0.0"),
        ({"theta_bound": INFINITY}, ValueError, "theta_bound: expected a finite number > 0, got inf"),
        ({"theta_bound": float("nan")}, ValueError, "theta_bound: expected a positive number, got nan"),
        ({"enumerate_up_to": -1}, ValueError, r"enumerate_up_to: expected an integer in 0\.\."),
        ({"enumerate_up_to": 9}, ValueError, r"theta_bound: expected a number .* got None and C\(5, 2\) = 10 sets"),
        ({"phi": np.full((2, 3, 2, 5), np.nan)}, ValueError, "phi: expected finite numbers, got nan"),
        ({"phi": np.zeros((2, 5))}, ValueError, "phi: expected shape"),
        ({"horizon": 3}, ValueError, "horizon: expected 2 as in phi's first axis, got 3"),
        (
            {"phi": ocp.FeatureFunction(lambda x, a, t: [1.0], 1, 2, state_size=2), "sparsity": 1, "horizon": 2},
            ValueError,
            "phi: expected features of finite states",
        ),
    ],
    ids=str,
)
def test_bad_arguments(arguments, error, message):
    good = {"phi": np.random.default_rng(0).standard_normal((2, 3, 2, 5)), "sparsity": 2}
    with pytest.raises(error, match=message):
        ocp.SparseLinear(**(good | arguments))


@pytest.mark.parametrize("selection", ["all", "first", "window"])
def test_other_selections_are_refused(selection):
    hypothesis = ocp.SparseLinear(np.ones((1, 2, 1, 3)), 1)
    options = {"window": 3} if selection == "window" else {}
    with pytest.raises(ValueError, match=f"selection: expected 'eluder' for a sparse linear class.*got '{selection}'"):
        ocp.OCP(hypothesis, selection=selection, **options)


@pytest.mark.parametrize("shared", [False, True])
def test_sparse_rows_are_the_same_class(shared):
    sparse = pytest.importorskip("scipy.sparse")
    case = SparseSystem(3, 5, 2, 3, 6, 2)
    case.phi[case.phi < -0.5] = 0
    rows = [sparse.csr_array(one.reshape(-1, 6)) for one in case.phi]
    dense, given = (
        ocp.SparseLinear(case.phi, 2, shared=shared),
        ocp.SparseLinear(rows, 2, shared=shared, n_actions=2),
    )
    assert dense.eluder_dimension() == given.eluder_dimension()
    results = [
        ocp.run(ocp.OCP(h, selection="eluder"), case.system, 30, rng=0, progress=False).rewards for h in (dense, given)
    ]
    assert np.array_equal(*results)


def test_features_that_are_not_needed():
    """Features that are 0 throughout, K0 above K, and a value that no support can explain."""
    phi = np.array([[[1.0, 0.0]], [[2.0, 0.0]], [[0.0, 0.0]]])
    agent = ocp.OCP(ocp.SparseLinear(phi, 7, horizon=1), selection="eluder")
    assert agent.determined(2, 0)
    assert agent.upper(2, 0) == 0.0
    for state, reward in [(0, 0.1), (1, 0.2), (1, 0.3), (2, 1.0), (2, 0.0)]:
        agent.act(state)
        agent.observe(0, reward)
    assert agent.upper(1, 0) == pytest.approx(0.2)
    assert agent.statistics()["contradictions"] == 2
    assert agent.statistics()["determined"] == agent.n_constraints == 1


def test_a_copy_learns_by_itself():
    case = SparseSystem(5, 4, 2, 2, 5, 2)
    agent = ocp.OCP(ocp.SparseLinear(case.phi, 2), selection="eluder")
    first = ocp.run(agent, case.system, 40, rng=0, progress=False)
    assert agent.statistics()["determined"] == 0
    assert np.array_equal(first.rewards, ocp.run(agent, case.system, 40, rng=0, progress=False).rewards)


def test_independence_that_would_take_too_long_to_tell():
    rng = np.random.default_rng(0)
    phi = rng.standard_normal((40, 1, 60))
    hypothesis = ocp.SparseLinear(phi, sparsity=3, horizon=1)
    with pytest.raises(ValueError, match=r"^sparsity: C\(60, 6\) sets of features are too many"):
        ocp.theory.independent(hypothesis, (39, 0, 0), [(x, 0, 0) for x in range(39)])
