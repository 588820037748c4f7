"""A polytope class that needs linear programs, against the literal algorithm with SciPy and with highspy from Python.

First the programs alone, one after the other over the same polytope; then agents:

The three learn in lockstep from the same transitions, each is timed alone, and each must find the same values. The
literal agents know the two things that the paper's pseudocode suggests (the suprema behind U choose the next action;
one feasibility check a constraint), and highspy keeps one warm model with the options that were measured best.
"""

import time

import highspy
import numpy as np
import pytest
from scipy.optimize import linprog

import ocpfast as ocp

N_STATES, N_ACTIONS, PERIODS, DISCOUNT, BOUNDS = 60, 3, 10, 0.9, (0.0, 10.0)


class Problem:
    """A random discounted table whose Q* is one of d features; theta is in a box that contains it."""

    def __init__(self, d, seed=0):
        rng = np.random.default_rng(seed)
        self.next_state = rng.integers(0, N_STATES, (N_STATES, N_ACTIONS))
        self.reward = rng.uniform(0, 1, (N_STATES, N_ACTIONS))
        q = np.zeros((N_STATES, N_ACTIONS))
        for _ in range(500):
            q = self.reward + DISCOUNT * q.max(axis=1)[self.next_state]
        gaussian = rng.standard_normal((N_STATES, N_ACTIONS, d - 1))
        self.phi = np.concatenate([q[..., None] / 5, gaussian], axis=-1)
        self.a_ub, self.b_ub = np.vstack([np.eye(d), -np.eye(d)]), np.full(2 * d, 10.0)
        self.start = np.random.default_rng(seed + 1)

    def hypothesis(self):
        return ocp.Polytope(self.phi, self.a_ub, self.b_ub)


class Literal:
    """Algorithm 2 without a memo or quick answers. Q* is in the class, so nothing is ever rejected."""

    def __init__(self, problem):
        self.phi, self.n_lps, self.staged = problem.phi, 0, []
        self.uppers = self.point = None

    def suprema(self, x):
        self.n_lps += N_ACTIONS
        return np.clip([self.maximum(phi) for phi in self.phi[x]], *BOUNDS)

    def act(self, x):
        if self.point != x:
            self.uppers = self.suprema(x)
        self.point, self.action = x, int(np.argmax(self.uppers))
        return self.action

    def observe(self, y, reward, truncated):
        self.uppers = self.suprema(y)
        self.n_lps += 1
        lower = np.clip(self.least_maximum(self.phi[y]), *BOUNDS)
        estimate = reward + DISCOUNT * lower, reward + DISCOUNT * self.uppers.max()
        self.staged.append((self.phi[self.point, self.action], *estimate))
        self.point = y
        if truncated:
            for phi, low, high in self.staged:
                self.n_lps += 1
                assert self.join(phi, low, high)
            self.staged, self.point = [], None


class WithScipy(Literal):
    def __init__(self, problem):
        super().__init__(problem)
        self.a, self.b = problem.a_ub, problem.b_ub

    def solve(self, cost, a, b):
        return linprog(cost, a, b, bounds=(None, None), method="highs")

    def maximum(self, phi):
        return -self.solve(-phi, self.a, self.b).fun

    def least_maximum(self, phis):
        rows = np.column_stack([self.a, np.zeros(len(self.a))])
        epigraph = np.column_stack([phis, -np.ones(len(phis))])
        cost = np.r_[np.zeros(phis.shape[1]), 1]
        return self.solve(cost, np.vstack([rows, epigraph]), np.r_[self.b, np.zeros(len(phis))]).fun

    def join(self, phi, low, high):
        self.a, self.b = np.vstack([self.a, phi, -phi]), np.r_[self.b, high, -low]
        return self.solve(np.zeros(len(phi)), self.a, self.b).status == 0


# measured best for small programs that are solved again and again
OPTIONS = {
    "output_flag": False, "presolve": "off", "solver": "simplex", "parallel": "off", "threads": 1,
    "simplex_strategy": 0, "simplex_scale_strategy": 0, "simplex_dual_edge_weight_strategy": 1,
    "dual_simplex_cost_perturbation_multiplier": 0.0, "primal_simplex_bound_perturbation_multiplier": 0.0,
}  # fmt: skip


class WithHighspy(Literal):
    def __init__(self, problem):
        super().__init__(problem)
        self.d = problem.phi.shape[-1]
        self.highs = highspy.Highs()
        for name, value in OPTIONS.items():
            self.highs.setOptionValue(name, value)
        self.columns = np.arange(self.d + 1, dtype=np.int32)  # theta, and the epigraph variable
        for _ in self.columns:
            self.highs.addVar(-highspy.kHighsInf, highspy.kHighsInf)
        for _ in range(N_ACTIONS):
            self.highs.addRow(-highspy.kHighsInf, highspy.kHighsInf, self.d + 1, self.columns, np.ones(self.d + 1))
        for a, b in zip(problem.a_ub, problem.b_ub, strict=True):
            self.add(a, -highspy.kHighsInf, b)

    def add(self, phi, low, high):
        self.highs.addRow(low, high, self.d, self.columns[:-1], phi)

    def solve(self, cost, epigraph=0.0):
        self.highs.changeColsCost(self.d + 1, self.columns, np.r_[cost, epigraph])
        self.highs.changeColBounds(self.d, *((-highspy.kHighsInf, highspy.kHighsInf) if epigraph else (0.0, 0.0)))
        self.highs.run()
        return self.highs.getObjectiveValue()

    def maximum(self, phi):
        return -self.solve(-phi)

    def least_maximum(self, phis):
        for i, phi in enumerate(phis):  # epigraph - phi.theta >= 0
            for j, coefficient in enumerate(phi):
                self.highs.changeCoeff(i, j, -coefficient)
            self.highs.changeRowBounds(i, 0.0, highspy.kHighsInf)
        value = self.solve(np.zeros(self.d), 1.0)
        for i in range(len(phis)):
            self.highs.changeRowBounds(i, -highspy.kHighsInf, highspy.kHighsInf)
        return value

    def join(self, phi, low, high):
        self.add(phi, low, high)
        self.solve(np.zeros(self.d))
        return self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal


class Timed:
    """An agent, and the time it took."""

    def __init__(self, agent):
        self.agent, self.seconds = agent, 0.0

    def __getattr__(self, name):
        def timed(*arguments, **keywords):
            started = time.perf_counter()
            result = getattr(self.agent, name)(*arguments, **keywords)
            self.seconds += time.perf_counter() - started
            return result

        return timed


def learn(problem, n_constraints, *others):
    """A compiled agent, timed, that has learned so many constraints, others with it; and the number of periods."""
    compiled = ocp.OCP(problem.hypothesis(), discount=DISCOUNT, bounds=BOUNDS)
    ours = Timed(compiled)
    n_periods = 0
    while compiled.n_constraints < n_constraints:
        x = int(problem.start.integers(N_STATES))
        for t in range(PERIODS):
            action = ours.act(x)
            for other in others:
                other.act(x)
                assert other.agent.uppers.max() == pytest.approx(compiled.upper(x, action), abs=1e-5)
                assert other.agent.uppers[action] == pytest.approx(other.agent.uppers.max(), abs=1e-5)
                other.agent.action = action  # where values are tied, roundings choose
            reward, x = float(problem.reward[x, action]), int(problem.next_state[x, action])
            for agent in (ours, *others):
                agent.observe(x, reward, truncated=t == PERIODS - 1)
            n_periods += 1
    return ours, n_periods


class Suprema:
    """Upper values of 60 pairs over the polytope that an agent and its peers have learned."""

    PAIRS = [(x, a) for x in range(N_STATES) for a in range(N_ACTIONS)][::3]

    def __init__(self, d=10, n_constraints=40, peers=True):
        self.problem = Problem(d)
        self.peers = [Timed(peer(self.problem)) for peer in (WithScipy, WithHighspy)] if peers else []
        ours, _ = learn(self.problem, n_constraints, *self.peers)
        self.agent = ours.agent.copy()  # nothing was asked of it yet

    def copy(self):
        """The agent, ready to be asked: a copy first goes through what its program has been through."""
        agent = self.agent.copy()
        agent.upper(0, 1)  # none of the pairs
        return agent

    def of_agent(self, agent):
        return [agent.upper(x, a) for x, a in self.PAIRS]

    def of_peer(self, number):
        literal = self.peers[number].agent
        return np.clip([literal.maximum(self.problem.phi[x, a]) for x, a in self.PAIRS], *BOUNDS)

    def of_peer_from_scratch(self, number):
        literal, found = self.peers[number].agent, []
        for x, a in self.PAIRS:
            literal.highs.clearSolver()
            found.append(literal.maximum(self.problem.phi[x, a]))
        return np.clip(found, *BOUNDS)


@pytest.fixture(scope="module")
def suprema():
    return Suprema()


@pytest.mark.ratios
@pytest.mark.benchmark(group="linear program, warm, d=10, 40 constraints")
@pytest.mark.parametrize(
    "who, ask, of",
    [
        ("ocpfast, warm", Suprema.of_agent, lambda s: s.copy()),
        ("SciPy's linprog", Suprema.of_peer, lambda s: 0),
        ("highspy from Python, warm", Suprema.of_peer, lambda s: 1),
        ("highspy from Python, cold", Suprema.of_peer_from_scratch, lambda s: 1),
    ],
    ids=["warm", "scipy", "highspy", "cold"],
)
def test_suprema(benchmark, suprema, who, ask, of):
    benchmark.extra_info.update(who=who.removesuffix(", warm") if "ocp" in who else who, per=len(Suprema.PAIRS))
    benchmark.extra_info["unit"] = "supremum"
    agent = suprema.copy()
    before = agent.statistics()["lps"]
    expected = suprema.of_agent(agent)
    lps = agent.statistics()["lps"] - before
    assert lps > len(Suprema.PAIRS) / 2  # most of them need one
    benchmark.extra_info["lps"] = lps
    rounds = 1 if benchmark.disabled else 5
    found = benchmark.pedantic(ask, setup=lambda: ((suprema, of(suprema)), {}), rounds=rounds)
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("d, n_constraints", [(10, 40), (10, 200), (50, 40), (50, 200)])
def test_polytope_that_needs_programs(report, request, d, n_constraints):
    smoke = request.config.getoption("benchmark_disable")
    if smoke and (d, n_constraints) != (10, 40):
        pytest.skip("only the smallest in a smoke run")
    problem = Problem(d)
    scipys, highspys = others = [Timed(peer(problem)) for peer in (WithScipy, WithHighspy)]
    ours, n_periods = learn(problem, n_constraints, *others)
    ratios = [other.seconds / ours.seconds for other in others]
    lps = [ours.agent.statistics()["lps"], scipys.agent.n_lps, highspys.agent.n_lps]
    report(
        f"polytope, d={d}, |C|={n_constraints}, {n_periods} periods: "
        + ", ".join(
            f"{name} {1e6 * agent.seconds / n_periods:,.0f} us a period with {n} LPs"
            for name, agent, n in zip(("ocpfast", "scipy", "highspy"), (ours, *others), lps, strict=True)
        )
        + f"; {ratios[0]:.1f} and {ratios[1]:.1f} times as fast"
    )
    assert lps[0] > n_periods / 4  # it does need them
    assert smoke or (ratios[0] >= 10 and ratios[1] >= 1.5)
