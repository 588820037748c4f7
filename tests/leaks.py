"""One round for every kind of agent and system: made, run, thrown away. tests/test_leaks.py and tests/sanitize.py look
at the memory after many."""

import copy
import ctypes
import os
import pickle

import numpy as np

import ocpfast as ocp
from ocpfast.signatures import FEATURES, RESET, STEP

HORIZON, N_STATES, N_ACTIONS = 3, 4, 2
_RNG = np.random.default_rng(0)
NEXT = _RNG.integers(N_STATES, size=(N_STATES, N_ACTIONS))
REWARD = _RNG.integers(-2, 3, size=(N_STATES, N_ACTIONS)).astype(float)
Q = ocp.solve(ocp.TableSystem(NEXT, REWARD, horizon=HORIZON)).q
PHI = np.stack([Q, np.ones_like(Q), _RNG.uniform(-1, 1, Q.shape)], axis=-1)
TABLES = np.stack([Q, Q + 1, np.roll(Q, 1)])


def table():
    return ocp.TableSystem(NEXT, REWARD, horizon=HORIZON, initial_state=list(range(N_STATES)))


def play(agent, system, episodes=3, **options):
    return ocp.run(agent, system, episodes, rng=0, workers=1, progress=False, **options)


def tabula_rasa(**options):
    return ocp.TabulaRasa(N_STATES, N_ACTIONS, horizon=HORIZON, **options)


# ---- agents


def tables():
    play(ocp.OCP(tabula_rasa(lower="exact"), replay="stationary", ties="directed"), table())


def windows():
    play(ocp.OCP(tabula_rasa(), selection="window", window=2), table())


def aggregation():
    hypothesis = ocp.StateAggregation([0, 1, 0, 1], n_actions=N_ACTIONS, horizon=HORIZON)
    play(ocp.OCP(hypothesis, update="period"), table())


def equalities():
    play(ocp.OCP(ocp.LinearFeatures(PHI), selection="eluder"), table())


def programs():
    """HiGHS's."""
    agent = ocp.OCP(ocp.Polytope(PHI, [[1, 0, 0], [0, 1, 1]], [2.0, 1.0]))
    play(agent, table(), episodes=2)


def sparse_supports():
    play(ocp.OCP(ocp.SparseLinear(PHI, 1), selection="eluder"), table())


def finite():
    play(ocp.OCP(ocp.FiniteClass(TABLES), replay=True), table())


def sigmoids():
    system = ocp.TableSystem(np.full((1, 1), -1), np.full((1, 1), 0.5), horizon=1)
    play(ocp.OCP(ocp.Sigmoid(np.ones((1, 1, 1)), horizon=1), selection="eluder"), system)


def quadratics():
    play(ocp.OCP(ocp.Quadratic(2, 1, horizon=2), selection="eluder"), linear_quadratic_system(None))


def lsvi_of_cells():
    play(ocp.LSVI(tabula_rasa(), ocp.EpsilonGreedy(0.1)), table())


def lsvi_of_features():
    play(ocp.LSVI(ocp.LinearFeatures(PHI), ocp.Boltzmann(1.0)), table())


def q_learning():
    play(ocp.QLearning(N_STATES, N_ACTIONS, HORIZON, learning_rate=0.5), table())


def random_policy():
    play(ocp.RandomPolicy(N_ACTIONS), table())


# ---- systems


def chain():
    play(ocp.RandomPolicy(2), ocp.Chain(4))


def deep_sea():
    play(ocp.RandomPolicy(2), ocp.DeepSea(4))


def adversary():
    """With memory of its own: clones."""
    play(ocp.RandomPolicy(2), ocp.Adversary(2, 3))


def pendulum():
    """Side by side."""
    system = ocp.InvertedPendulum(disturbance=2.5, horizon=20)
    hypothesis = ocp.StateAggregation(ocp.Grid([[-0.5, 0.0, 0.5], [-1.0, 0.0, 1.0]], extra=1), n_actions=3)
    play(ocp.OCP(hypothesis), system, simulations=5)


def linear_quadratic_system(actions):
    return ocp.LinearQuadratic(
        [[1, 0.5], [0, 1]], [[0], [1]], np.eye(2), [[0.5]], horizon=2, initial_state=[1, 1], actions=actions
    )


def linear_quadratic():
    play(ocp.RandomPolicy(3), linear_quadratic_system([[-1], [0], [1]]))


class Walk(ocp.PythonSystem):
    """Its states are vectors, and it draws."""

    def __init__(self):
        super().__init__(state_size=2, n_actions=2, horizon=3, stochastic=True)

    def reset(self, rng, episode):
        return [rng.normal(), episode]

    def step(self, state, action, rng):
        return state + rng.normal() + action, 1.0, bool(action)


def python_system():
    play(ocp.RandomPolicy(2), Walk())


class Faulty(Walk):
    def step(self, state, action, rng):
        raise ValueError("on purpose")


def errors():
    """In the middle of a run, and of what is made from wrong arguments."""
    for wrong in (lambda: play(ocp.RandomPolicy(2), Faulty()), lambda: ocp.TabulaRasa(0, 1, horizon=1)):
        try:
            wrong()
        except ValueError:
            continue
        raise AssertionError("expected an error")


@RESET.ctypes
def reset(instance, episode, bitgen, state):
    ctypes.cast(state, ctypes.POINTER(ctypes.c_int64))[0] = 0
    return 0


@STEP.ctypes
def step(instance, period, state, action, bitgen, reward, ending):
    ctypes.cast(reward, ctypes.POINTER(ctypes.c_double))[0] = 1.0
    ctypes.cast(ending, ctypes.POINTER(ctypes.c_int))[0] = 0
    return 0


@FEATURES.ctypes
def features(period, state, action, phi, user_data):
    phi = ctypes.cast(phi, ctypes.POINTER(ctypes.c_double))
    phi[0], phi[1] = 1.0, float(action)
    return 0


def compiled_system():
    system = ocp.CompiledSystem(step, reset, horizon=HORIZON, n_states=2, n_actions=2, parameters=np.zeros(3))
    play(ocp.RandomPolicy(2), system)


def feature_functions():
    phi = ocp.FeatureFunction(features, 2, 2, state_size=2)
    play(ocp.OCP(ocp.LinearFeatures(phi, horizon=HORIZON), selection="eluder"), Walk(), episodes=2)


def features_in_python():
    phi = ocp.FeatureFunction(lambda state, action: [1.0, float(action)], 2, 2, state_size=2)
    play(ocp.OCP(ocp.LinearFeatures(phi, horizon=HORIZON), selection="eluder"), Walk(), episodes=2)


# ---- what is kept, copied and saved


def one_step_at_a_time():
    agent = ocp.OCP(tabula_rasa(), replay=True, rng=0)
    for state in range(HORIZON):
        agent.act(state)
        agent.upper(state, 0, 0)
        agent.observe(state, 1.0)
    agent.statistics()
    agent.certificate()


def kept_agents():
    result = play(ocp.OCP(tabula_rasa()), table(), simulations=2, keep_agents=True)
    result.regret()
    result.agents[0].upper(0, 0, 0)


def copies():
    agent = play(ocp.OCP(ocp.FiniteClass(TABLES)), table(), keep_agents=True).agents[0]
    copy.copy(agent), copy.deepcopy(agent), copy.deepcopy(table())


def pickles():
    agent = play(ocp.OCP(ocp.LinearFeatures(PHI), selection="eluder"), table(), keep_agents=True).agents[0]
    pickle.loads(pickle.dumps(agent)).act(0)
    pickle.loads(pickle.dumps(ocp.Adversary(2, 3)))


def checkpoints():
    """In memory as far as the system has some: no disk is asked to keep up."""
    path = f"/dev/shm/leaks.{os.getpid()}.ocp" if os.path.isdir("/dev/shm") else f"leaks.{os.getpid()}.ocp"
    ocp.OCP(tabula_rasa(), replay=True).save(path)
    ocp.load_agent(path)
    os.remove(path)


def solutions():
    ocp.solve(table())


def threads():
    ocp.run(ocp.OCP(tabula_rasa()), table(), 2, 4, rng=0, workers=2, progress=False)


ROUNDS = [
    tables, windows, aggregation, equalities, programs, sparse_supports, finite, sigmoids, quadratics, lsvi_of_cells,
    lsvi_of_features, q_learning, random_policy, chain, deep_sea, adversary, pendulum, linear_quadratic, python_system,
    errors, compiled_system, feature_functions, features_in_python, one_step_at_a_time, kept_agents, copies, pickles,
    checkpoints, solutions, threads,
]  # fmt: skip
