"""What objects look like: short, never an address, and a call that makes them again where that is promised."""

import ctypes
import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ocpfast as ocp
from ocpfast.signatures import RESET, STEP


class Corridor(ocp.PythonSystem):
    def __init__(self):
        super().__init__(n_states=9, n_actions=2, horizon=5)

    def reset(self):
        return 0

    def step(self, state, action):
        return action, 0.0, False


class Nothing(ocp.System):
    """A system that does not say what it was made of."""


def compiled(**said):
    step = STEP.ctypes(lambda instance, period, state, action, bitgen, reward, ending: 0)
    reset = RESET.ctypes(lambda instance, episode, bitgen, state: ctypes.c_int64.from_address(state).value)
    return ocp.CompiledSystem(step, reset, n_actions=3, horizon=7, **said)


def phi(state, action):
    return [1.0, action]


def learned(agent, episodes=30):
    return ocp.run(agent, ocp.Chain(5), episodes, rng=0, progress=False, keep_agents=True).agents[0]


def in_the_middle():
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5))
    for _ in range(2):
        agent.observe(0, 0.0, truncated=agent.act(0) > 1)
    return agent


def executor_error():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(ocp.ExecutorError) as caught:
        ocp.run(ocp.RandomPolicy(2), ocp.Chain(5), executor=executor, progress=False)
    return caught.value


TABLE = ocp.TabulaRasa(5, 2, horizon=5)
MANY = np.arange(100) % 50
RESULT = ocp.Result([[0.0, 1.0], [1.0, 1.0]], optimal=[[1.0, 1.0], [1.0, 1.0]])

# Without a "<" a repr is a promise: evaluated, it makes an equal object.
SHOWN = [
    (ocp.Chain(5), "Chain(n_states=5)"),
    (ocp.DeepSea(4, mapping_seed=1), "DeepSea(size=4, mapping_seed=1)"),
    (ocp.InvertedPendulum(2.5), "InvertedPendulum(disturbance=2.5, horizon=36000, integrator='rk4', substeps=1)"),
    (ocp.Adversary(3, 4), "Adversary(n_features=3, horizon=4, reward_bound=1.0)"),
    (ocp.TableSystem([[0, -1]], [[0.0, 1.0]], horizon=2), "<TableSystem: 1 states, 2 actions, H=2>"),
    (
        ocp.LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], horizon=5, initial_state=[1.0]),
        "<LinearQuadratic: 1 numbers a state, 1 to choose, H=5>",
    ),
    (Corridor(), "<Corridor: 9 states, 2 actions, H=5>"),
    (compiled(state_size=2), "<CompiledSystem: states of 2 numbers, 3 actions, H=7>"),
    (compiled(n_states=2, factory="module:make"), "<CompiledSystem module:make: 2 states, 3 actions, H=7>"),
    (Nothing(), "<Nothing: 0 states, 0 actions, H=0>"),
    (ocp.Grid([[0.0], [-1.0, 1.0]], extra=1), "Grid([[0.0], [-1.0, 1.0]], extra=1)"),
    (ocp.InvertedPendulum().partition(), "Grid(<31 x 31 bins>, extra=1)"),
    (TABLE, "TabulaRasa(n_states=5, n_actions=2, horizon=5)"),
    (ocp.TabulaRasa(5, 2, None, lower="exact"), "TabulaRasa(n_states=5, n_actions=2, horizon=None, lower='exact')"),
    (ocp.StateAggregation([0, 0, 1], 2), "StateAggregation([0, 0, 1], n_actions=2, horizon=None)"),
    (
        ocp.StateAggregation(MANY, 2, 4, lower="exact"),
        "StateAggregation(<labels of shape (100,)>, n_actions=2, horizon=4, lower='exact')",
    ),
    (ocp.LinearFeatures(np.eye(3)[None]), f"LinearFeatures({[np.eye(3).tolist()]}, horizon=None, shared=False)"),
    (
        ocp.LinearFeatures(np.ones((4, 5, 2, 3)), shared=True),
        "LinearFeatures(<phi of shape (4, 5, 2, 3)>, horizon=4, shared=True)",
    ),
    (
        ocp.Polytope([[[1.0, 2.0]]], [[1.0, 0.0]], [3.0]),
        "Polytope([[[1.0, 2.0]]], a_ub=[[1.0, 0.0]], b_ub=[3.0], horizon=None, shared=True)",
    ),
    (ocp.Sigmoid([[[1.0]]], horizon=1), "Sigmoid([[[1.0]]], horizon=1, shared=False)"),
    (ocp.Sigmoid([[[1.0]]], horizon=1, clip=0.1), "Sigmoid([[[1.0]]], horizon=1, shared=False, clip=0.1)"),
    (
        ocp.SparseLinear([[[1.0, 0.0]]], 1, theta_bound=9.0),
        "SparseLinear([[[1.0, 0.0]]], sparsity=1, horizon=None, shared=False, theta_bound=9.0)",
    ),
    (ocp.FiniteClass(np.zeros((2, 1, 1, 1))), "FiniteClass(<2 tables of shape (1, 1, 1), float64>, tolerance=1e-09)"),
    (ocp.Quadratic(2, 1, 5), "Quadratic(n_state=2, n_action=1, horizon=5)"),
    (ocp.Quadratic(2, 1, 5, [[0.0], [1.0]]), "Quadratic(n_state=2, n_action=1, horizon=5, actions=[[0.0], [1.0]])"),
    (ocp.FeatureFunction(phi, 2, 2, state_size=3), "FeatureFunction(phi, 2, 2, state_size=3)"),
    (ocp.EpsilonGreedy(0.1), "EpsilonGreedy(epsilon=0.1)"),
    (ocp.Boltzmann(0.5), "Boltzmann(temperature=0.5)"),
    (ocp.OCP(TABLE), f"OCP({TABLE})"),
    (ocp.OCP(TABLE, replay=True, bounds=(0, 5)), f"OCP({TABLE}, replay=True, bounds=(0.0, 5.0))"),
    (learned(ocp.OCP(TABLE)), f"<OCP({TABLE}): 30 episodes, 30 constraints>"),
    (in_the_middle(), f"<OCP({TABLE}): 0 episodes, 0 constraints, in period 2>"),
    (ocp.LSVI(TABLE, ties="first"), f"LSVI({TABLE}, EpsilonGreedy(epsilon=0.1), ties='first')"),
    (learned(ocp.LSVI(TABLE, None, ties="first"), 1), f"<LSVI({TABLE}, None, ties='first'): 1 episode, 4 transitions>"),
    (ocp.QLearning(5, 2, 5, discount=0.5), "QLearning(n_states=5, n_actions=2, horizon=5, discount=0.5)"),
    (learned(ocp.QLearning(5, 2, 5)), "<QLearning(n_states=5, n_actions=2, horizon=5): 30 episodes>"),
    (ocp.RandomPolicy(2), "RandomPolicy(n_actions=2)"),
    (learned(ocp.RandomPolicy(2)), "<RandomPolicy(n_actions=2): 30 episodes>"),
    (RESULT, "<Result: 2 simulations x 2 episodes, mean reward 0.75, 0.5 suboptimal each>"),
    (ocp.Result(np.empty((0, 3))), "<Result: 0 simulations x 3 episodes>"),
    (ocp.Result(np.empty((0, 3)), np.empty((0, 3)), []), "<Result: 0 simulations x 3 episodes, with agents>"),
    (ocp.Interrupted(RESULT, [0]), "Interrupted('interrupted after 1 complete simulations')"),
    (ocp.solve(ocp.Chain(4)), "<Solution: H=4, 4 states, 2 actions>"),
    (
        ocp.OCP(TABLE).certificate(),
        "Certificate(valid=True, remaining=50, last_episode_optimal=False, reason='')",
    ),
    (RESET, "Signature('int (void *instance, int64_t episode, ocp_bitgen *bitgen, void *state)')"),
    (ocp.theory.suboptimal_bound(TABLE), "SuboptimalBound(episodes=50, loss=0.0)"),
    (ocp.theory.PartitionCount(2, 3.0), "PartitionCount(partitions=2, bound=3.0)"),
    (ocp.theory.exploration_lower_bound(2), "ExplorationBound(episodes=2.0, regret=1.0)"),
    (
        executor_error(),
        "ExecutorError(\"the executor failed after 0 complete simulations, which are in this error's result: "
        'RuntimeError: cannot schedule new futures after shutdown")',
    ),
]  # fmt: skip


@pytest.mark.parametrize("value, shown", SHOWN, ids=[type(value).__name__ for value, _ in SHOWN])
def test_repr(value, shown):
    assert repr(value) == shown
    assert len(shown) < 200 and "\n" not in shown and " at 0x" not in shown
    if "<" in shown or isinstance(value, BaseException):
        return
    names = {**vars(ocp), **vars(ocp.theory), **vars(ocp.signatures), "phi": phi, "inf": np.inf}
    again = eval(shown, names)
    assert type(again) is type(value) and repr(again) == shown
    if type(value).__eq__ is not object.__eq__:  # agents are equal to themselves alone
        assert again == value


def test_all_public_classes_are_shown():
    public = {value for module in (ocp, ocp.theory, ocp.signatures) for value in map(vars(module).get, module.__all__)}
    classes = {value for value in public if inspect.isclass(value)}
    covered = {base for value, _ in SHOWN for base in type(value).__mro__}
    assert classes <= covered
