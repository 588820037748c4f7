"""A user's script that touches everything public: tests/test_types.py runs it, and `mypy --strict` must accept it.

`assert_type` fails where a stub says less than what is known: there is no Any where there is a type.
"""

from __future__ import annotations

import ctypes
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import ocpfast as ocp

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value, kind):
        return value


class Corridor(ocp.PythonSystem):
    """States are integers."""

    def __init__(self, length: int) -> None:
        super().__init__(n_states=length, n_actions=2, horizon=2 * length, homogeneous=True)
        self.length = length

    def reset(self) -> int:
        return 1

    def step(self, state: int, action: int) -> tuple[int, float, bool]:
        following = min(max(state + 2 * action - 1, 0), self.length - 1)
        return following, float(following == self.length - 1), following in (0, self.length - 1)


class Walk(ocp.PythonSystem):
    """States are vectors, and steps draw."""

    def __init__(self) -> None:
        super().__init__(state_size=2, n_actions=2, horizon=5, stochastic=True, reward_range=(-1.0, 1.0))

    def reset(self, rng: np.random.Generator, episode: int) -> NDArray[np.float64]:
        return rng.random(2)

    def step(
        self, state: NDArray[np.float64], action: int, period: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], float, bool]:
        return state + action - 0.5, rng.uniform(-1.0, 1.0), bool(period == 4)


class Thermostat(ocp.CompiledSystem):
    """Compiled by whoever made the functions; here ctypes makes them of Python's, to have no compiler in the way."""

    def __init__(self, gain: float) -> None:
        super().__init__(
            ocp.signatures.STEP.ctypes(_thermostat_step),
            ocp.signatures.RESET.ctypes(_thermostat_reset),
            n_states=1,
            n_actions=2,
            horizon=3,
            parameters=np.array([gain]),
        )


def _thermostat_step(instance: int, period: int, state: int, action: int, bitgen: int, reward: Any, ending: Any) -> int:
    reward[0] = ctypes.c_double.from_address(instance).value
    ending[0] = 0
    return 0


def _thermostat_reset(instance: int, episode: int, bitgen: int, state: int) -> int:
    ctypes.c_int64.from_address(state).value = 0
    return 0


def systems() -> list[ocp.System]:
    chain = ocp.Chain(4)
    assert_type(chain.reset(), int)
    assert_type(chain.step(0, 1), tuple[int, float, bool])
    assert_type(chain.n_states, int | None)
    assert_type(chain.horizon, int)
    assert_type(chain.reward_range, tuple[float, float])
    assert_type(chain.optimal_value(0), float | None)
    pendulum = ocp.InvertedPendulum(disturbance=2.5, integrator="euler")
    assert_type(pendulum.reset(0), NDArray[np.float64])
    assert_type(pendulum.step([0.0, 0.0], 1, rng=np.random.default_rng(0)), tuple[NDArray[np.float64], float, bool])
    assert_type(pendulum.partition(), ocp.Grid)
    assert_type(pendulum.max_velocity(), float)
    table = ocp.TableSystem([[0, 1], [-1, 0]], np.array([[0.0, 1.0], [2.0, 0.0]]), initial_state=[0.5, 0.5], horizon=3)
    assert_type(table.next_state, NDArray[np.int64])
    quadratic = ocp.LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], horizon=5, initial_scale=1.0)
    assert_type(quadratic.q(0), NDArray[np.float64])
    assert_type(quadratic.actions, NDArray[np.float64] | None)
    adversary = ocp.Adversary(3, 4)
    assert_type(adversary.hypothesis(), ocp.LinearFeatures)
    thermostat = Thermostat(0.25)
    outcome = thermostat.step(0, 1)
    assert_type(outcome, tuple[int | NDArray[np.float64], float, bool])
    return [chain, pendulum, table, quadratic, adversary, ocp.DeepSea(4, mapping_seed=1), Corridor(5), thermostat]


def feature(state: NDArray[np.float64], action: int) -> list[float]:
    return [1.0, float(state[0]), float(action)]


def hypotheses() -> list[ocp.Hypothesis]:
    grid = ocp.Grid([[0.0], np.linspace(-1, 1, 3)], extra=1)
    assert_type(grid.edges, tuple[NDArray[np.float64], ...])
    assert_type(grid.label([0.0, 0.0]), int)
    assert_type(grid.labels([[0.0, 0.0]]), NDArray[np.int64])
    phi = np.random.default_rng(0).random((3, 4, 2, 3))
    function = ocp.FeatureFunction(feature, n_features=3, n_actions=2, state_size=2)
    assert_type(function([0.0, 1.0], 1), NDArray[np.float64])
    sigmoid = ocp.Sigmoid(phi)
    assert_type(sigmoid.logits([0.5]), NDArray[np.float64])
    tabula_rasa = ocp.TabulaRasa(4, 2, horizon=4, lower="exact")
    assert_type(tabula_rasa.n_states, int)
    assert_type(tabula_rasa.horizon, int | None)
    assert_type(tabula_rasa.eluder_dimension(), int)
    return [
        tabula_rasa,
        ocp.StateAggregation([0, 0, 1, 1], n_actions=2, horizon=4),
        ocp.StateAggregation(grid, n_actions=2),
        ocp.LinearFeatures(function, horizon=3),
        ocp.Polytope(phi, a_ub=[[1.0, 0.0, 0.0]], b_ub=[1.0]),
        ocp.SparseLinear(phi, sparsity=1),
        ocp.FiniteClass(np.zeros((2, 3, 4, 2))),
        ocp.Quadratic(2, 1, horizon=3, actions=[[0.0], [1.0]]),
        sigmoid,
    ]


def one_step_at_a_time(agent: ocp.Agent, system: ocp.System) -> int:
    state, ended = system.reset(), False
    while not ended:
        action = agent.act(state)
        state, reward, terminated = system.step(state, action, agent.period)
        ended = agent.observe(state, reward, terminated, truncated=agent.period == system.horizon - 1)
        assert_type(ended, bool)
    assert_type(agent.statistics(), dict[str, int])
    agent.begin_episode()
    return agent.statistics()["episodes"]


def make_agent(rng: np.random.Generator) -> ocp.Agent:
    return ocp.OCP(ocp.TabulaRasa(4, 2, horizon=4), ties="random", rng=rng)


def agents() -> ocp.OCP:
    hypothesis = ocp.TabulaRasa(4, 2, horizon=4)
    agent = ocp.OCP(hypothesis, selection="eluder", ties="directed", replay="stationary", bounds=(0.0, 4.0), rng=0)
    assert_type(agent.upper(0, 1), float)
    assert_type(agent.lower(0, 1), float)
    assert_type(agent.determined(0, 1, period=2), bool)
    assert_type(agent.n_constraints, int)
    assert_type(agent.hypothesis, ocp.Hypothesis)
    assert_type(agent.copy(rng=1), ocp.OCP)
    certificate = agent.certificate()
    assert_type(certificate, ocp.Certificate)
    assert_type(certificate.remaining, int | None)
    assert_type(certificate.valid, bool)
    lsvi = ocp.LSVI(hypothesis, ocp.Boltzmann(0.5), ties="first")
    assert_type(lsvi.value(0, 1), float)
    for learner in (agent, lsvi, ocp.QLearning(4, 2, 4, exploration=ocp.EpsilonGreedy(0.1)), ocp.RandomPolicy(2)):
        assert one_step_at_a_time(learner, ocp.Chain(4)) == 1
    return agent


def running(agent: ocp.OCP) -> ocp.Result:
    chain = ocp.Chain(4)
    with ThreadPoolExecutor(2) as executor:
        ocp.run([agent, agent], chain, episodes=3, executor=executor, progress=False)
    ocp.run(make_agent, chain, episodes=3, simulations=2, rng=np.random.SeedSequence(0), progress=lambda done: None)
    result = ocp.run(agent, chain, episodes=10, simulations=2, rng=0, progress=False, keep_agents=True)
    assert_type(result, ocp.Result)
    assert_type(result.rewards, NDArray[np.float64])
    assert_type(result.optimal, NDArray[np.float64] | None)
    assert_type(result.regret(), NDArray[np.float64])
    assert_type(result.suboptimal(), NDArray[np.int64])
    assert_type(result.agents, list[ocp.Agent])
    [(for_system, _)] = ocp.simulation_streams(0, simulations=1)
    assert_type(for_system, np.random.Generator)
    try:
        ocp.run(agent, chain, episodes=1, executor=executor, progress=False)
    except (ocp.ExecutorError, ocp.Interrupted) as error:
        assert_type(error.result, ocp.Result)
        assert_type(error.simulations, list[int])
    return result


class Lake:
    """An environment with Gymnasium's interface; `learn` takes Gymnasium's own alone, so this is for the types."""


def learning(agent: ocp.Agent) -> None:
    try:
        assert_type(ocp.learn(agent, Lake(), episodes=1, progress=False), ocp.Result)
    except TypeError as error:
        assert str(error).startswith("env: expected a Gymnasium environment")


def saving(agent: ocp.Agent, result: ocp.Result) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent.save(folder / "agent.ocp")
        assert_type(ocp.load_agent(folder / "agent.ocp"), ocp.Agent)
        result.save(folder / "result.npz")
        assert_type(ocp.load_result(folder / "result.npz"), ocp.Result)
        result.to_csv(str(folder / "result.csv"))


def theory() -> None:
    solution = ocp.solve(ocp.Chain(4))
    assert_type(solution, ocp.Solution)
    assert_type(solution.q, NDArray[np.float64])
    hypothesis = ocp.StateAggregation([0, 0, 1, 1], n_actions=2, horizon=4)
    assert_type(ocp.theory.aggregation_error(hypothesis, solution.q), float)
    assert_type(ocp.theory.suboptimal_bound(hypothesis).episodes, int)
    assert_type(ocp.theory.regret_bound(hypothesis, None, reward_bound=1.0), float)
    assert_type(ocp.theory.exploration_lower_bound(4).regret, float)
    assert_type(ocp.theory.aggregation_value_bound(0.5, horizon=4), NDArray[np.float64])
    assert_type(ocp.theory.independent(hypothesis, (0, 0, 0), [(1, 0, 0)]), bool)
    assert_type(ocp.get_include(), str)
    assert_type(ocp.get_cmake_dir(), str)
    assert_type(ocp.__version__, str)
    assert_type(ocp.signatures.STEP.c, str)


def main() -> None:
    assert len(systems()) == 8 and len(hypotheses()) == 9
    walk = ocp.run(ocp.RandomPolicy(2), Walk(), episodes=5, rng=0, progress=False)
    assert walk.rewards.shape == (1, 5)
    agent = agents()
    result = running(agent)
    learning(agent.copy())
    saving(result.agents[0], result)
    theory()


if __name__ == "__main__":
    main()
    print("done")
