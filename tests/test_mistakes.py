"""What a new user may get wrong, and what the errors say: word by word, with what to do about it."""

import re

import numpy as np
import pytest

import ocpfast as ocp

CHAIN = ocp.Chain(4)
PENDULUM = ocp.InvertedPendulum()
TABLE = ocp.TabulaRasa(4, 2, horizon=4)


class Environment:
    """What Gymnasium's look like from outside."""

    def __repr__(self):
        return "<Environment>"

    def reset(self, seed=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


class Half(ocp.PythonSystem):
    def reset(self):
        return 0


class Whole(Half):
    def step(self, state, action):
        return 0, 0.0, False


def nothing():
    """Takes no argument, where one is passed."""


def agent(**options):
    return ocp.OCP(TABLE, **options)


def acted():
    waiting = agent()
    waiting.act(0)
    return waiting


def cells():
    return ocp.OCP(ocp.StateAggregation(PENDULUM.partition(), 3))


def run(learner=None, system=CHAIN, **options):
    return ocp.run(agent() if learner is None else learner, system, progress=False, **options)


MISTAKES = [
    # one thing for another
    (
        lambda: ocp.run(CHAIN, agent()),
        TypeError,
        "system: expected a System such as Chain, got OCP(TabulaRasa(n_states=4, n_actions=2, horizon=4)); "
        "the order is run(agent, system)",
    ),
    (
        lambda: run(ocp.OCP),
        TypeError,
        "agent: expected an agent such as OCP, a sequence of them or a callable that makes one, got <class "
        "'ocpfast.agents.OCP'>; that is the class itself, make one: OCP(...)",
    ),
    (
        lambda: run(TABLE),
        TypeError,
        "agent: expected an agent such as OCP, a sequence of them or a callable that makes one, got "
        "TabulaRasa(n_states=4, n_actions=2, horizon=4); OCP(hypothesis) is an agent that learns it",
    ),
    (
        lambda: run(system=Environment()),
        TypeError,
        "system: expected a System such as Chain, got <Environment>; learn(agent, env, episodes) takes "
        "Gymnasium's environments",
    ),
    (
        lambda: run(system="CartPole-v1"),
        TypeError,
        "system: expected a System such as Chain, got 'CartPole-v1'; learn(agent, env, episodes) takes "
        "Gymnasium's environments",
    ),
    (
        lambda: run(system=ocp.Chain),
        TypeError,
        "system: expected a System such as Chain, got <class 'ocpfast.systems.tables.Chain'>; that is the "
        "class itself, make one: Chain(...)",
    ),
    (
        lambda: run(system=TABLE),
        TypeError,
        "system: expected a System such as Chain, got TabulaRasa(n_states=4, n_actions=2, horizon=4); a "
        "hypothesis class belongs into an agent, OCP(hypothesis)",
    ),
    (
        lambda: run(lambda rng: TABLE),
        TypeError,
        "agent: expected an agent such as OCP (or a sequence of them, or a callable that makes one), got "
        "TabulaRasa(n_states=4, n_actions=2, horizon=4); OCP(hypothesis) is an agent that learns it",
    ),
    (
        lambda: run(nothing),
        TypeError,
        "agent: expected an agent such as OCP, a sequence of them or a callable that makes one from a "
        "generator, as in lambda rng: ..., got <function nothing>",
    ),
    (lambda: run([]), ValueError, "agent: expected at least one, got an empty sequence"),
    (
        lambda: run(executor=4),
        TypeError,
        "executor: expected a concurrent.futures.Executor such as a ProcessPoolExecutor, got 4",
    ),
    (
        lambda: ocp.learn(CHAIN, agent(), 5),
        TypeError,
        "agent: expected an agent such as OCP, got Chain(n_states=4); the order is learn(agent, env, episodes)",
    ),
    (
        lambda: ocp.learn(Environment(), agent(), 5),
        TypeError,
        "agent: expected an agent such as OCP, got <Environment>; the order is learn(agent, env, episodes)",
    ),
    (
        lambda: ocp.learn(ocp.OCP, Environment(), 5),
        TypeError,
        "agent: expected an agent such as OCP, got <class 'ocpfast.agents.OCP'>; that is the class itself, "
        "make one: OCP(...)",
    ),
    (
        lambda: ocp.learn(agent(), CHAIN, 5),
        TypeError,
        "env: expected a Gymnasium environment, or one with the interface of dm_env, got Chain(n_states=4); "
        "ocpfast.run runs agents in systems, and ocpfast.gym.SystemEnv makes environments of them",
    ),
    (
        lambda: ocp.learn(agent(), "FrozenLake-v1", 5),
        TypeError,
        "env: expected a Gymnasium environment, or one with the interface of dm_env, got 'FrozenLake-v1'; "
        "gymnasium.make('FrozenLake-v1') makes one",
    ),
    (
        lambda: ocp.OCP(ocp.TabulaRasa),
        TypeError,
        "hypothesis: expected a hypothesis class such as TabulaRasa, got <class "
        "'ocpfast.hypothesis.TabulaRasa'>; that is the class itself, make one: TabulaRasa(...)",
    ),
    (
        lambda: ocp.OCP(agent()),
        TypeError,
        "hypothesis: expected a hypothesis class such as TabulaRasa, got OCP(TabulaRasa(n_states=4, "
        "n_actions=2, horizon=4)); an agent's own is agent.hypothesis",
    ),
    (
        lambda: ocp.OCP(CHAIN),
        TypeError,
        "hypothesis: expected a hypothesis class such as TabulaRasa, got Chain(n_states=4); TabulaRasa(4, 2, "
        "horizon=4) would be one for this system",
    ),
    (
        lambda: ocp.OCP(PENDULUM),
        TypeError,
        "hypothesis: expected a hypothesis class such as TabulaRasa, got InvertedPendulum(disturbance=0.0, "
        "horizon=36000, integrator='rk4', substeps=1); StateAggregation(system.partition(), n_actions=3) "
        "would be one for this system",
    ),
    (
        lambda: ocp.OCP(ocp.LinearQuadratic([[1.0]], [[1.0]], [[1.0]], [[1.0]], horizon=4, initial_state=[1.0])),
        TypeError,
        "hypothesis: expected a hypothesis class such as TabulaRasa, got <LinearQuadratic: 1 numbers a state,"
        " 1 to choose, H=4>; Quadratic(1, 1, horizon=4) would be one for this system",
    ),
    (
        lambda: ocp.OCP(np.zeros(3, int)),
        TypeError,
        "hypothesis: expected a hypothesis class such as TabulaRasa, got array([0, 0, 0]); "
        "StateAggregation(labels, n_actions) takes an array of labels, LinearFeatures(phi) one of features",
    ),
    (
        lambda: ocp.OCP(PENDULUM.partition()),
        TypeError,
        "hypothesis: expected a hypothesis class such as TabulaRasa, got Grid(<31 x 31 bins>, extra=1); "
        "StateAggregation(grid, n_actions) is a class of its cells",
    ),
    (
        lambda: ocp.LSVI(ocp.TabulaRasa),
        TypeError,
        "hypothesis: expected TabulaRasa, StateAggregation or LinearFeatures, got <class "
        "'ocpfast.hypothesis.TabulaRasa'>; that is the class itself, make one: TabulaRasa(...)",
    ),
    (
        lambda: ocp.LSVI(TABLE, 0.1),
        TypeError,
        "exploration: expected EpsilonGreedy, Boltzmann or None, got 0.1; EpsilonGreedy(0.1) explores with "
        "this probability",
    ),
    (
        lambda: ocp.LSVI(TABLE, ocp.EpsilonGreedy),
        TypeError,
        "exploration: expected EpsilonGreedy, Boltzmann or None, got <class "
        "'ocpfast.exploration.EpsilonGreedy'>; that is the class itself, make one: EpsilonGreedy(...)",
    ),
    (lambda: ocp.QLearning(CHAIN, 2, 4), TypeError, "n_states: expected an integer >= 1, got Chain(n_states=4)"),
    (
        lambda: ocp.solve(ocp.Chain),
        TypeError,
        "system: expected a System such as Chain, got <class 'ocpfast.systems.tables.Chain'>; that is the "
        "class itself, make one: Chain(...)",
    ),
    (lambda: ocp.solve(PENDULUM), ValueError, "system: expected finitely many states, got vectors of 2 numbers"),
    (
        lambda: ocp.PythonSystem(n_states=2, n_actions=2, horizon=2),
        TypeError,
        "PythonSystem: expected a subclass of PythonSystem that defines reset",
    ),
    (
        lambda: Half(n_states=2, n_actions=2, horizon=2),
        TypeError,
        "Half: expected a subclass of PythonSystem that defines step",
    ),
    (
        lambda: Whole(n_actions=2, horizon=2),
        ValueError,
        "n_states, state_size: expected one of them, got n_states=None, state_size=None; n_states where they "
        "are integers, state_size where they are vectors",
    ),
    (
        lambda: Whole(n_states=2, state_size=2, n_actions=2, horizon=2),
        ValueError,
        "n_states, state_size: expected one of them, got n_states=2, state_size=2; n_states where they are "
        "integers, state_size where they are vectors",
    ),
    (
        lambda: ocp.CompiledSystem(nothing, nothing, n_states=1, n_actions=1, horizon=1),
        TypeError,
        "step: expected a scipy.LowLevelCallable, a numba cfunc or a ctypes function, got <function nothing>;"
        " a system in Python derives from PythonSystem",
    ),
    # classes and systems that do not fit
    (
        lambda: run(ocp.OCP(ocp.TabulaRasa(4, 2, horizon=5))),
        ValueError,
        "agent: its class has horizon 5, but the system has 4; make the class with horizon=4, or None "
        "(time-homogeneous)",
    ),
    (
        lambda: run(ocp.OCP(ocp.TabulaRasa(5, 2, horizon=4))),
        ValueError,
        "agent: its class is over 5 states, but the system is over 4 states; make a class of 4 states",
    ),
    (
        lambda: run(ocp.OCP(ocp.TabulaRasa(4, 3, horizon=4))),
        ValueError,
        "agent: its class has 3 actions, but the system has 2 actions; make it with n_actions=2",
    ),
    (
        lambda: run(ocp.OCP(ocp.TabulaRasa(4, 3, horizon=36_000)), PENDULUM),
        ValueError,
        "agent: its class is over 4 states, but the system is over vectors; StateAggregation(Grid(edges), "
        "n_actions=3) is a class over vectors",
    ),
    (
        lambda: run(ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0]]), 2))),
        ValueError,
        "agent: its class is over vectors, but the system is over 4 states; make a class of 4 states",
    ),
    (
        lambda: run(ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0]]), 3)), PENDULUM),
        ValueError,
        "agent: its class has states of 1 numbers, but the system's have 2; make a class over states of 2 numbers",
    ),
    (
        lambda: run(ocp.RandomPolicy(3)),
        ValueError,
        "agent: its class has 3 actions, but the system has 2 actions; make it with n_actions=2",
    ),
    (lambda: run([agent(), agent()], simulations=3), ValueError, "simulations: expected 2, one for each agent, got 3"),
    # states, actions, rewards
    (lambda: agent().act(1.0), TypeError, "state: expected an integer in 0..3, got 1.0; int() makes it one"),
    (lambda: agent().act(True), TypeError, "state: expected an integer in 0..3, got True; int() makes it one"),
    (lambda: agent().act([1]), TypeError, "state: expected an integer in 0..3, got [1]; pass its one element"),
    (
        lambda: agent().act(np.array([1])),
        TypeError,
        "state: expected an integer in 0..3, got array([1]); pass its one element",
    ),
    (
        lambda: agent().act((0, {})),
        TypeError,
        "state: expected an integer in 0..3, got (0, {}); Gymnasium's reset() returns (state, info): pass the"
        " first of them",
    ),
    (lambda: agent().act(4), ValueError, "state: expected an integer in 0..3, got 4"),
    (lambda: agent().act(-1), ValueError, "state: expected an integer in 0..3, got -1"),
    (lambda: agent().act(None), TypeError, "state: expected an integer in 0..3, got None"),
    (lambda: agent().act(np.eye(4)[0]), TypeError, "state: expected an integer in 0..3, got array([1., 0., 0., 0.])"),
    (
        lambda: agent().act(0, period=1),
        ValueError,
        "period: expected None with learn=True, got 1; the agent counts periods itself (learn=False acts in "
        "any period)",
    ),
    (lambda: agent().act(0, learn="no"), TypeError, "learn: expected True or False, got 'no'"),
    (lambda: agent().act(0, learn=False, period=9), ValueError, "period: expected an integer in 0..3, got 9"),
    (lambda: cells().act([0.0]), ValueError, "state: expected 2 numbers, got [0.0]"),
    (lambda: cells().act(0.0), ValueError, "state: expected 2 numbers, got 0.0"),
    (
        lambda: cells().act(([0.0, 0.0], {})),
        ValueError,
        "state: expected 2 numbers, got ([0.0, 0.0], {}); Gymnasium's reset() returns (state, info): pass the"
        " first of them",
    ),
    (
        lambda: ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0]]), 2)).act([np.nan]),
        ValueError,
        "state: NaN in [nan], but the grid has no extra label for it (Grid(edges, extra=1) gives it one)",
    ),
    (lambda: agent().upper(0, 2), ValueError, "action: expected an integer in 0..1, got 2"),
    (lambda: agent().upper(0, 1.0), TypeError, "action: expected an integer in 0..1, got 1.0; int() makes it one"),
    (lambda: agent().upper(0, 1, period=4), ValueError, "period: expected an integer in 0..3, got 4"),
    (lambda: agent().lower(0, 1), ValueError, 'lower: not tracked; make the hypothesis class with lower="exact"'),
    (lambda: agent().observe(0, 1.0), RuntimeError, "observe: there is no action to observe; call act() first"),
    (
        lambda: acted().act(0),
        RuntimeError,
        "act: called twice in period 0 without observe(); call observe() with what came of the action, or "
        "begin_episode() to drop the episode (an agent serves one loop, and one thread, at a time)",
    ),
    (lambda: acted().observe(0, None), TypeError, "reward: expected a finite number, got None"),
    (lambda: acted().observe(0, float("nan")), ValueError, "reward: expected a finite number, got nan"),
    (lambda: acted().observe(0, float("inf")), ValueError, "reward: expected a finite number, got inf"),
    (
        lambda: acted().observe(0, np.array([1.0])),
        TypeError,
        "reward: expected a finite number, got array([1.]); pass its one element",
    ),
    (
        lambda: acted().observe(0, np.array(1.0)),
        TypeError,
        "reward: expected a finite number, got array(1.); float() makes it one",
    ),
    (lambda: acted().observe(0, "1"), TypeError, "reward: expected a finite number, got '1'; float() makes it one"),
    (lambda: acted().observe(0, True), TypeError, "reward: expected a finite number, got True; float() makes it one"),
    (lambda: acted().observe(0, 0.0, 1), TypeError, "terminated: expected True or False, got 1; bool() makes it one"),
    (lambda: CHAIN.step(0, 2), ValueError, "action: expected an integer in 0..1, got 2"),
    (lambda: CHAIN.step(9, 0), ValueError, "state: expected an integer in 0..3, got 9"),
    (lambda: CHAIN.step(0.0, 1), TypeError, "state: expected an integer in 0..3, got 0.0; int() makes it one"),
    (lambda: PENDULUM.step([0.0], 1), ValueError, "state: expected shape (2,), got (1,)"),
    # options
    (lambda: run(rng=-1), ValueError, "rng: expected an integer >= 0, got -1"),
    (
        lambda: run(rng="0"),
        TypeError,
        "rng: expected None, an integer >= 0, a SeedSequence, a BitGenerator or a Generator, got '0'; int() "
        "makes it one",
    ),
    (
        lambda: run(rng=np.random.RandomState(0)),
        TypeError,
        "rng: expected None, an integer >= 0, a SeedSequence, a BitGenerator or a Generator, got "
        "RandomState(MT19937); numpy.random.default_rng() makes a Generator",
    ),
    (lambda: run(episodes=1e3), TypeError, "episodes: expected an integer >= 1, got 1000.0; int() makes it one"),
    (lambda: run(episodes=1.5), TypeError, "episodes: expected an integer >= 1, got 1.5"),
    (lambda: run(episodes=0), ValueError, "episodes: expected an integer >= 1, got 0"),
    (lambda: run(episodes="10"), TypeError, "episodes: expected an integer >= 1, got '10'; int() makes it one"),
    (lambda: run(simulations=0), ValueError, "simulations: expected an integer >= 1, got 0"),
    (lambda: run(workers=0), ValueError, "workers: expected an integer >= 1, got 0"),
    (lambda: run(keep_agents="yes"), TypeError, "keep_agents: expected True or False, got 'yes'"),
    (
        lambda: agent(selection="eludr"),
        ValueError,
        "selection: expected one of 'all', 'eluder', 'first', 'window', got 'eludr'; did you mean 'eluder'?",
    ),
    (
        lambda: agent(ties="least-visited"),
        ValueError,
        "ties: expected one of 'first', 'random', 'least_visited', 'directed', got 'least-visited'; did you "
        "mean 'least_visited'?",
    ),
    (lambda: agent(replay="yes"), ValueError, "replay: expected one of False, True, 'stationary', got 'yes'"),
    (
        lambda: agent(selection="window"),
        ValueError,
        "window: expected an integer if and only if selection is 'window', got None with 'window'; say how "
        "many episodes",
    ),
    (
        lambda: agent(window=10),
        ValueError,
        "window: expected an integer if and only if selection is 'window', got 10 with 'all'; say selection='window'",
    ),
    (
        lambda: agent(selection="window", window=3, replay=True),
        ValueError,
        "replay: expected False with selection='window', got True; a window forgets what replay rests on: "
        "choose one of them",
    ),
    (
        lambda: agent(discount=0.9),
        ValueError,
        "discount: below 1 it needs bounds or reward_bound, got 0.9 and neither; reward_bound=r says that no "
        "reward is larger than r in size",
    ),
    (lambda: agent(discount=1.5), ValueError, "discount: expected a number in (0, 1], got 1.5"),
    (lambda: agent(bounds=1.0), ValueError, "bounds: expected a pair (lower, upper), got 1.0"),
    (lambda: agent(bounds=(1.0, 0.0)), ValueError, "bounds: expected lower <= upper, got (1.0, 0.0)"),
    (
        lambda: agent(bounds=(0, 1), reward_bound=1.0),
        ValueError,
        "bounds, reward_bound: expected at most one of them, got both",
    ),
    (
        lambda: ocp.OCP(ocp.TabulaRasa(4, 2, None), reward_bound=1.0),
        ValueError,
        "reward_bound: a time-homogeneous class needs discount < 1 with it (or bounds instead), got 1.0 with "
        "discount 1.0",
    ),
    (
        lambda: ocp.OCP(ocp.SparseLinear(np.ones((1, 1, 1, 2)), 1)),
        ValueError,
        "selection: expected 'eluder' for a sparse linear class, whose hypotheses are a union over sets of "
        "features: intervals would take a linear program for each of them, got 'all'; OCP(hypothesis, "
        "selection='eluder')",
    ),
    (
        lambda: ocp.OCP(ocp.Quadratic(1, 1, 2)),
        ValueError,
        "selection: expected 'eluder' for Quadratic without a list of actions (the infimum of a maximum over "
        "all actions would be a semidefinite program), got 'all'; OCP(hypothesis, selection='eluder')",
    ),
    (
        lambda: ocp.TabulaRasa(4, 2, 4, lower="exakt"),
        ValueError,
        "lower: expected one of 'off', 'exact', got 'exakt'; did you mean 'exact'?",
    ),
    (lambda: ocp.EpsilonGreedy(2), ValueError, "epsilon: expected a number in [0, 1], got 2"),
    (lambda: ocp.Boltzmann(0), ValueError, "temperature: expected a positive, finite number, got 0"),
    (lambda: ocp.Chain(5.0), TypeError, "n_states: expected an integer >= 2, got 5.0; int() makes it one"),
    (
        lambda: ocp.InvertedPendulum(integrator="RK4"),
        ValueError,
        "integrator: expected one of 'rk4', 'euler', got 'RK4'; did you mean 'rk4'?",
    ),
    (lambda: ocp.InvertedPendulum(disturbance=-1), ValueError, "disturbance: expected a number in 0..10000, got -1.0"),
    # arrays
    (
        lambda: ocp.StateAggregation(np.array([0.0, 1.0]), 2),
        TypeError,
        "partition: expected integer labels, got dtype float64; partition.astype(int) where they are whole numbers",
    ),
    (
        lambda: ocp.StateAggregation(np.zeros((2, 3), int), 2),
        ValueError,
        "partition: expected 2 actions in its last axis (n_actions), got shape (2, 3)",
    ),
    (
        lambda: ocp.StateAggregation([1, 2, 3], 2),
        ValueError,
        "partition: expected labels without gaps, got 3 among 3 labels; numpy.unique(labels, "
        "return_inverse=True)[1] numbers them anew",
    ),
    (
        lambda: ocp.StateAggregation([0, 2, 2], 2),
        ValueError,
        "partition: expected every label of 0..2 to be used, but 1 is not; numpy.unique(labels, "
        "return_inverse=True)[1] numbers them anew",
    ),
    (lambda: ocp.StateAggregation([-1, 0], 2), ValueError, "partition: expected labels >= 0, got -1"),
    (
        lambda: ocp.StateAggregation(nothing, 2),
        TypeError,
        "partition: expected an array of labels or a Grid, got <function nothing>",
    ),
    (
        lambda: ocp.StateAggregation(PENDULUM, 3),
        TypeError,
        "partition: expected an array of labels or a Grid, got InvertedPendulum(disturbance=0.0, "
        "horizon=36000, integrator='rk4', substeps=1); its own is partition()",
    ),
    (
        lambda: ocp.StateAggregation(np.zeros((3, 2, 2), int), 2, horizon=4),
        ValueError,
        "partition: expected 4 periods in its first axis (horizon), got shape (3, 2, 2)",
    ),
    (
        lambda: ocp.Grid([0.0, 1.0]),
        ValueError,
        "edges[0]: expected a 1-D array, got shape (); where states have one component: Grid([edges])",
    ),
    (lambda: ocp.Grid([[1.0, 0.0]]), ValueError, "edges[0]: expected finite, strictly increasing numbers, got [1. 0.]"),
    (
        lambda: ocp.LinearFeatures(np.ones((4, 2))),
        ValueError,
        "phi: expected shape (H, S, A, K) or (S, A, K), none of them 0, got (4, 2)",
    ),
    (
        lambda: ocp.LinearFeatures(nothing),
        TypeError,
        "phi: expected an array, sparse rows or a FeatureFunction, got <function nothing>; wrap the function:"
        " FeatureFunction(function, n_features, n_actions, ...)",
    ),
    (
        lambda: ocp.LinearFeatures(np.ones((3, 1, 1, 1)), horizon=4),
        ValueError,
        "horizon: expected 3 as in phi's first axis, got 4",
    ),
    (
        lambda: ocp.FeatureFunction(nothing, 1, 2),
        ValueError,
        "n_states, state_size: expected one of them, got n_states=None, state_size=None; n_states where "
        "states are integers, state_size where they are vectors",
    ),
    (
        lambda: ocp.TableSystem([[0]], [[1.0]]),
        TypeError,
        "horizon: required where next_state has no period axis, got None",
    ),
    (lambda: ocp.TableSystem([[0]], [[1.0, 2.0]], horizon=1), ValueError, "reward: expected shape (1, 1), got (1, 2)"),
    (lambda: ocp.TableSystem([[3]], [[1.0]], horizon=1), ValueError, "next_state: expected integers in -1..0, got 3"),
    (
        lambda: ocp.TableSystem([[0.0]], [[1.0]], horizon=1),
        TypeError,
        "next_state: expected integers, the states that actions lead to, got dtype float64; "
        "next_state.astype(int) where they are whole numbers",
    ),
    (
        lambda: ocp.Result([0.0, 1.0]),
        ValueError,
        "rewards: expected shape (simulations, episodes), got (2,); of one simulation: [rewards]",
    ),
    (
        lambda: ocp.Result([[0.0]]).regret(),
        ValueError,
        "optimal_value: the system does not know its optimum, so it must be given: optimal_value=V*_0, from "
        "solve(system).v[0] if it has finitely many states",
    ),
    (lambda: ocp.Result([[0.0]]).agents, AttributeError, "agents: not kept; call run(..., keep_agents=True)"),
]


FILES = [
    (
        lambda: ocp.load_agent("result.npz"),
        ValueError,
        "path: expected a checkpoint that Agent.save wrote, got something else in result.npz; a result is "
        "read by load_result",
    ),
    (
        lambda: ocp.load_result("agent.ocp"),
        ValueError,
        "path: agent.ocp is not a result saved by ocpfast, or is damaged; it is an agent, load_agent reads it",
    ),
    (
        lambda: ocp.load_agent("junk"),
        ValueError,
        "path: expected a checkpoint that Agent.save wrote, got something else in junk",
    ),
    (lambda: ocp.load_result("junk"), ValueError, "path: junk is not a result saved by ocpfast, or is damaged"),
    (
        lambda: ocp.load_agent("folder"),
        IsADirectoryError,
        "path: 'folder' is a directory; give the name of a file in it",
    ),
    (
        lambda: ocp.load_result("folder"),
        IsADirectoryError,
        "path: 'folder' is a directory; give the name of a file in it",
    ),
    (lambda: ocp.load_agent(None), TypeError, "path: expected a str or a path such as pathlib.Path, got None"),
    (lambda: ocp.load_result(3), TypeError, "path: expected a str or a path such as pathlib.Path, got 3"),
    (lambda: agent().save("folder"), IsADirectoryError, "path: 'folder' is a directory; give the name of a file in it"),
    (
        lambda: agent().save("nowhere/agent.ocp"),
        FileNotFoundError,
        "path: there is no directory 'nowhere'; make it first",
    ),
    (lambda: agent().save(None), TypeError, "path: expected a str or a path such as pathlib.Path, got None"),
    (
        lambda: ocp.Result([[0.0]]).to_csv("folder"),
        IsADirectoryError,
        "path: 'folder' is a directory; give the name of a file in it",
    ),
]


def said(mistake, error):
    with pytest.raises(error) as caught:
        mistake()
    assert type(caught.value) is error
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", str(caught.value))


@pytest.mark.parametrize("mistake, error, words", MISTAKES, ids=[words[:50] for *_, words in MISTAKES])
def test_a_mistake(mistake, error, words):
    assert said(mistake, error) == words


@pytest.mark.parametrize("mistake, error, words", FILES, ids=[words[:50] for *_, words in FILES])
def test_a_mistake_about_files(mistake, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "junk").write_text("hello")
    agent().save("agent.ocp")
    ocp.Result([[0.0]]).save("result.npz")
    before = sorted(tmp_path.iterdir())
    assert said(mistake, error) == words
    assert sorted(tmp_path.iterdir()) == before


def test_a_goal_without_bounds_warns_what_to_give():
    words = "give OCP bounds= (or discount= and reward_bound=), or the class a horizon"
    with pytest.warns(UserWarning, match=re.escape(words)):
        ocp.run(ocp.OCP(ocp.TabulaRasa(4, 2, None)), CHAIN, episodes=1, progress=False)


def test_what_is_no_mistake():
    assert agent().act(np.int64(1)) == agent().act(np.array(1)) == agent().act(np.uint8(1)) == 0
    assert cells().act((0.0, 0)) == cells().act(np.zeros(2, np.float32)) == 0
    assert acted().observe(np.int32(0), np.float32(0.5), np.bool_(True)) is True
    assert run(episodes=np.int64(3), rng=np.random.default_rng(0)).rewards.shape == (1, 3)
