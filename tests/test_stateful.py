"""Agents of every class, driven in random orders: act, observe, save, load, copy, run, mistakes.

After each step an agent agrees with its literal twin, and with a copy of itself that was spared the mistakes and never
saved, copied or run. Many times as many orders, new ones each time, take hours:

    pytest tests/test_stateful.py --hypothesis-profile=long
"""

import copy
import os
import pickle
import random
import tempfile
import warnings

import hypothesis
import numpy as np
import pytest
import stateful_cases
import test_linear
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from stateful_cases import Estimates, QuadraticPair, RandomPolicyPair

import ocpfast as ocp

NUMBERS = st.integers(0, 24)  # which a case makes a state of
SURPRISES = st.none() | st.tuples(NUMBERS, st.integers(-8, 8))
GROWING = ("episodes", "periods", "contradictions", "recomputed", "searches", "lps", "pivots", "skipped_lps", "sweeps")


class Together:
    """An agent and its copy: both get every call, and must answer the same."""

    def __init__(self, agent, spared):
        self.agent, self.spared = agent, spared

    def __getattr__(self, name):
        one, other = getattr(self.agent, name), getattr(self.spared, name)
        if not callable(one):
            assert one == other, name
            return one

        def ask(*arguments, **named):
            answers = one(*arguments, **named), other(*arguments, **named)
            assert np.array_equal(*answers), (name, arguments, answers)
            return answers[0]

        return ask


def everything(agent):
    """All that an agent knows, as bytes; whether it has warned is not part of it."""
    return agent._core.state(), pickle.dumps(agent._rng.bit_generator.state), agent._stochastic


def saved_and_loaded(agent):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "agent.ocp")
        agent.save(path)
        return ocp.load_agent(path)


DUPLICATES = {
    "copy": lambda agent: agent.copy(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda agent: pickle.loads(pickle.dumps(agent)),
    "save and load": saved_and_loaded,
}


class Machine(RuleBasedStateMachine):
    """Rules for all agents; `make` makes the case from a random.Random."""

    @initialize(seed=st.integers(0, 2**32 - 1), watched=st.booleans())
    def begin(self, seed, watched):
        self.case = self.make(random.Random(seed))
        self.pair = self.case.pair
        self.pair.agent = Together(self.pair.agent, self.pair.agent.copy())
        self.watched = watched  # whether all values are compared after each step: asking may hide what is forgotten
        self.bystanders = []  # (agent, all that it was): what was copied and left alone
        self.x, self.acted, self.episodes, self.periods = None, False, 0, 0
        self.before, self.promised = self.pair.agent.statistics(), self.certificate()

    @property
    def agent(self):
        return self.pair.agent.agent

    @property
    def horizon(self):
        return None if self.case.homogeneous else self.case.horizon

    def certificate(self):
        return self.pair.agent.certificate() if isinstance(self.agent, ocp.OCP) else None

    # episodes

    @precondition(lambda self: not self.acted)
    @rule(number=NUMBERS, elsewhere=st.booleans())
    def act(self, number, elsewhere):
        if self.x is None or elsewhere:
            self.x = self.case.state(number)
        self.action, self.acted = self.pair.act(self.x), True

    @precondition(lambda self: self.acted)
    @rule(surprise=SURPRISES, ending=st.sampled_from(["", "", "", "terminated", "truncated"]))
    def observe(self, surprise, ending):
        if isinstance(self.pair, QuadraticPair):
            ending = ""  # what ends early has other values, which need not be concave
        t = self.agent.period
        x_next, r = self.case.outcome(t, self.x, self.action, surprise)
        ended = self.pair.observe(x_next, r, ending == "terminated", ending == "truncated")
        self.count(ended)
        self.x = x_next if ended is False else None

    def count(self, ended):
        """None: the episode was dropped instead."""
        self.acted = False
        self.periods += ended is not None
        self.episodes += ended is True

    @rule()
    def begin_episode(self):
        self.pair.begin_episode()
        self.x, self.acted = None, False

    # questions

    @precondition(lambda self: not isinstance(self.pair, RandomPolicyPair))
    @rule(number=NUMBERS, t=st.none() | st.integers(0, 9))
    def act_without_learning(self, number, t):
        x, before, both = self.case.state(number), everything(self.agent), self.pair.agent
        t = t if t is None or self.horizon is None else t % self.horizon
        if isinstance(self.pair, QuadraticPair):
            both.act([float(part) for part in x], learn=False, period=t)
        else:
            action = both.act(x, learn=False, period=t)
            value = both.value if isinstance(self.pair, Estimates) else both.upper
            values = [value(x, a, both.period if t is None else t) for a in range(self.case.n_actions)]
            assert values[action] == pytest.approx(max(values), rel=1e-9, abs=1e-9)
        if not isinstance(self.case, test_linear.Case | stateful_cases.Quadratic):  # which remember answers
            assert everything(self.agent) == before

    @rule()
    def compare(self):
        self.pair.compare()

    # copies and files

    @rule(how=st.sampled_from(sorted(DUPLICATES)), go_on=st.booleans())
    def duplicate(self, how, go_on):
        agent = self.agent
        twin = DUPLICATES[how](agent)
        assert type(twin) is type(agent) and repr(twin) == repr(agent)
        assert everything(twin) == everything(agent)
        if go_on:
            self.pair.agent.agent, twin = twin, agent
        self.bystanders.append((twin, everything(twin)))

    # compiled

    @rule(episodes=st.integers(1, 3), seed=st.integers(0, 3))
    def run(self, episodes, seed):
        """The spared copy does the same by hand, beside the literal agent."""
        system, agent, before = self.case.system, self.agent, everything(self.agent)
        result = ocp.run(agent, system, episodes, rng=seed, workers=1, progress=False, keep_agents=True)
        assert everything(agent) == before
        self.bystanders.append((agent, before))
        [(system_rng, agent_rng)] = ocp.simulation_streams(seed, 1)
        stepped = self.pair.agent.spared.copy(agent_rng)
        self.pair.agent = stepped
        if isinstance(self.pair, QuadraticPair):
            self.pair.followed = False
        self.begin_episode()
        totals = []
        for episode in range(episodes):
            x, ended, rewards = system.reset(system_rng, episode), False, []
            while not ended:
                t = stepped.period
                x, r, terminated = system.step(x, self.pair.act(x), t, system_rng)
                ended = self.pair.observe(x, r, terminated, truncated=t == system.horizon - 1)
                self.count(ended)
                rewards.append(r)
            totals.append(sum(rewards))
        assert totals == pytest.approx(result.rewards[0], rel=1e-12, abs=1e-12)
        self.pair.agent = Together(result.agents[0], stepped)

    # mistakes

    def make_one(self, data, mistakes):
        """Of several (error, what it says, call); it changes nothing."""
        error, words, call = data.draw(st.sampled_from(list(mistakes)))
        before = everything(self.agent)
        with pytest.raises(error, match=words):
            call()
        assert everything(self.agent) == before

    @property
    def good_state(self):
        return self.case.state(7) if not isinstance(self.pair, QuadraticPair) else [1.0] * self.pair.n

    @precondition(lambda self: self.acted)
    @rule(data=st.data())
    def mistaken_outcome(self, data):
        self.make_one(data, self.mistaken_outcomes(self.agent, self.good_state))

    def mistaken_outcomes(self, agent, state):
        yield RuntimeError, "act: called twice in period", lambda: agent.act(state)
        for r, kind in ((np.nan, ValueError), (-np.inf, ValueError), ("1", TypeError), (None, TypeError)):
            yield kind, "reward: expected ", lambda r=r: agent.observe(state, r)
        yield ValueError, "reward: expected a finite number, got one beyond", lambda: agent.observe(state, 10**400)
        for r in self.case.bad_rewards:
            yield ValueError, "reward: expected 0 before the end", lambda r=r: agent.observe(state, r)
        for ending in (1, None, "yes"):
            yield TypeError, "terminated: expected True or False", lambda e=ending: agent.observe(state, 0.0, e)
            yield TypeError, "truncated: expected True or False", lambda e=ending: agent.observe(state, 0, False, e)
        if self.horizon is None or agent.period < self.horizon - 1:
            for x, kind, words in self.case.bad_states():
                yield kind, f"next_state: {words}", lambda x=x: agent.observe(x, 0.0)

    @precondition(lambda self: not isinstance(self.pair, RandomPolicyPair))
    @rule(data=st.data())
    def mistaken_question(self, data):
        agent, state = self.agent, self.good_state
        names = [name for name in ("upper", "lower", "determined", "value") if hasattr(agent, name)]
        self.make_one(data, [m for name in names for m in self.mistaken_questions(name, getattr(agent, name), state)])

    @rule(data=st.data())
    def mistake(self, data):
        self.make_one(data, self.mistakes(self.agent, self.good_state))

    def mistakes(self, agent, state):
        if not self.acted:
            yield RuntimeError, "observe: there is no action to observe", lambda: agent.observe(state, 0.0)
            for x, kind, words in self.case.bad_states():
                yield kind, f"state: {words}", lambda x=x: agent.act(x)
        for x, kind, words in self.case.bad_states():
            yield kind, f"state: {words}", lambda x=x: agent.act(x, learn=False)
        yield ValueError, "period: expected None with learn=True", lambda: agent.act(state, period=0)
        yield TypeError, "learn: expected True or False", lambda: agent.act(state, learn=1)
        for t in () if self.horizon is None else (-1, self.horizon):
            yield ValueError, "period: expected an integer in", lambda t=t: agent.act(state, False, t)
        missing = os.path.join(tempfile.gettempdir(), "no", "such", "folder", "agent")
        yield FileNotFoundError, "path: there is no directory", lambda: agent.save(missing)
        yield ValueError, "episodes: expected an integer >= 1, got 0", lambda: ocp.run(agent, self.case.system, 0)
        yield TypeError, "system: expected a System", lambda: ocp.run(agent, "system", progress=False)
        other = ocp.TableSystem([[0] * 9], [[0.0] * 9], horizon=9)
        yield ValueError, "agent: its class has ", lambda: ocp.run(agent, other, progress=False)

    def mistaken_questions(self, name, ask, state):
        if name == "lower" and not getattr(self.pair, "exact", True):
            yield ValueError, "lower: not tracked", lambda: ask(state, 0)
            return
        if isinstance(state, int):
            for action, kind in ((-1, ValueError), (self.case.n_actions, ValueError), (0.5, TypeError)):
                yield kind, "action: expected an integer in", lambda a=action: ask(state, a)
        else:
            for action in (0, [np.nan] * self.pair.m, [0.0] * (self.pair.m + 1)):
                yield ValueError, "action: expected", lambda a=action: ask(state, a)
        good = 0 if isinstance(state, int) else [0.0] * self.pair.m
        for x, kind, words in self.case.bad_states():
            yield kind, f"state: {words}", lambda x=x: ask(x, good)
        for t in () if self.horizon is None else (-1, self.horizon):
            yield ValueError, "period: expected an integer in", lambda t=t: ask(state, good, t)

    # what always holds

    @invariant()
    def counts(self):
        statistics = self.pair.agent.statistics()
        assert (statistics["episodes"], statistics["periods"]) == (self.episodes, self.periods)
        assert all(n >= 0 for n in statistics.values())
        for name in GROWING:
            assert statistics.get(name, 0) >= self.before.get(name, 0), name
        self.before = statistics
        if not isinstance(self.agent, ocp.OCP):
            return
        assert self.pair.agent.n_constraints == statistics["constraints"]
        promised = self.certificate()
        if promised.valid:
            assert self.promised.valid  # what was disproved stays so
            assert 0 <= promised.remaining <= self.promised.remaining
            assert not promised.reason
        else:
            assert promised.remaining is None and not promised.last_episode_optimal and promised.reason
        self.promised = promised

    @invariant()
    def agreement(self):
        assert self.agent.period == self.pair.agent.spared.period
        if self.watched:
            self.pair.compare()
        assert everything(self.agent) == everything(self.pair.agent.spared)

    def teardown(self):
        if not hasattr(self, "pair"):
            return
        self.pair.compare()
        for agent, before in self.bystanders:
            assert everything(agent) == before


@pytest.mark.parametrize("make", stateful_cases.CASES, ids=lambda make: make.__name__)
def test_random_orders(make, compared):
    orders = 0

    def machine():
        nonlocal orders
        orders += 1
        return type(make.__name__, (Machine,), {"make": make})()

    settings = hypothesis.settings(
        max_examples=hypothesis.settings.default.max_examples * 2 // 5,  # 30 s for all of them
        stateful_step_count=30,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "a time-homogeneous class without bounds")
        run_state_machine_as_test(machine, settings=settings)
    compared("agents driven in random orders = their literal twins", orders)
