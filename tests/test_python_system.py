"""PythonSystem: run as it is stepped; what it remembers, raises and returns."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import numpy as np
import pytest

import ocpfast as ocp


class Chain(ocp.PythonSystem):
    """What ocp.Chain is."""

    def __init__(self, n_states):
        super().__init__(n_states=n_states, n_actions=2, horizon=n_states, reward_range=(0.0, 1.0), homogeneous=True)

    def reset(self):
        return 0

    def step(self, state, action):
        if state == self.n_states - 1:
            return state, 1.0, False
        return max(state - 1, 0) if action == 0 else state + 1, 0.0, False

    def optimal_value(self, state):
        """Known for the initial state alone."""
        return 1.0 if state == 0 else None


class Walk(ocp.PythonSystem):
    """A random walk that starts anywhere, whose every argument is used."""

    def __init__(self):
        super().__init__(state_size=2, n_actions=2, horizon=8, stochastic=True)

    def reset(self, rng, episode):
        return [rng.normal(), episode]

    def step(self, state, action, period, rng):
        state[0] += rng.normal() + action
        return state, float(np.tanh(state[0])) + period, bool(state[0] > 3)


class Grudge(ocp.PythonSystem):
    """Pays less in every episode, as it remembers how many there were."""

    def __init__(self):
        super().__init__(n_states=1, n_actions=1, horizon=2, adaptive=True)
        self.memory = {"episodes": 0}

    def reset(self):
        self.memory["episodes"] += 1
        return 0

    def step(self, state, action):
        return 0, -self.memory["episodes"], False


def agent(n_states=7, n_actions=2, horizon=7, **options):
    return ocp.OCP(ocp.TabulaRasa(n_states, n_actions, horizon), **options)


def walker():
    return ocp.OCP(ocp.StateAggregation(ocp.Grid([[-1.0, 0.0, 1.0], [3.0]]), n_actions=2, horizon=8), ties="random")


class TestRunning:
    @pytest.mark.parametrize("workers", [1, 3])
    @pytest.mark.parametrize("options", [{}, {"ties": "random", "replay": True}], ids=str)
    def test_it_is_the_compiled_chain(self, workers, options):
        results = [
            ocp.run(agent(**options), system, 80, simulations=4, rng=0, workers=workers, progress=False)
            for system in (Chain(7), ocp.Chain(7))
        ]
        assert np.array_equal(results[0].rewards, results[1].rewards)
        assert np.array_equal(results[0].regret(), results[1].regret())

    def test_solving(self):
        own, ours = ocp.solve(Chain(7)), ocp.solve(ocp.Chain(7))
        assert np.array_equal(own.q, ours.q)
        assert np.array_equal(own.v, ours.v)

    def test_random_numbers_are_those_of_the_simulation(self):
        walk = Walk()
        result = ocp.run(walker(), walk, 30, simulations=3, rng=5, workers=2, progress=False)
        for simulation, (system_rng, agent_rng) in enumerate(ocp.simulation_streams(5, simulations=3)):
            learner = walker().copy(agent_rng)
            for episode in range(30):
                state, total, ended = walk.reset(system_rng, episode), 0.0, False
                assert state[1] == episode
                while not ended:
                    period = learner.period
                    state, reward, terminated = walk.step(state, learner.act(state), period, system_rng)
                    total += reward
                    ended = learner.observe(state, reward, terminated, truncated=period == 7)
                assert total == pytest.approx(result.rewards[simulation, episode], rel=1e-12)
        assert len(np.unique(result.rewards)) == 90

    def test_each_simulation_has_a_memory_of_its_own(self):
        grudge = Grudge()
        assert [grudge.reset(), grudge.step(0, 0)] == [0, (0, -1.0, False)]
        result = ocp.run(ocp.RandomPolicy(n_actions=1), grudge, 4, simulations=3, workers=2, progress=False)
        assert result.rewards.tolist() == [[-4.0, -6.0, -8.0, -10.0]] * 3  # from what it remembered before
        assert grudge.memory == {"episodes": 1}  # and leaves it as it was

    def test_vector_actions(self):
        class Scalar(ocp.PythonSystem):
            def __init__(self):
                super().__init__(state_size=1, action_size=1, horizon=3)

            def reset(self):
                return [1.0]

            def step(self, state, action):
                return state + action, -float(state @ state + action @ action), False

        one = [[1.0]]
        ours = ocp.LinearQuadratic(one, one, one, one, horizon=3, initial_state=[1.0])
        learner = ocp.OCP(ocp.Quadratic(1, 1, horizon=3), selection="eluder")
        results = [ocp.run(learner, system, 12, progress=False).rewards for system in (Scalar(), ours)]
        np.testing.assert_allclose(*results, rtol=1e-12)
        assert results[0][0, -1] == pytest.approx(ours.optimal_value([1.0]))
        state, reward, _ = Scalar().step([1.0], [-0.5])
        assert (state.tolist(), reward) == ([0.5], -1.25)
        with pytest.raises(ValueError, match=r"^action: expected 1 number"):
            Scalar().step([1.0], [0.5, 0.5])

    def test_others_get_their_turn(self):
        """Python elsewhere goes on: progress is told, and a thread of the caller's makes headway."""
        seen, ticks, over = [], [], threading.Event()

        def tick():
            while not over.wait(0.01):
                ticks.append(time.monotonic())

        thread = threading.Thread(target=tick)
        thread.start()
        ocp.run(agent(20, 2, 20), Chain(20), 40_000, simulations=2, progress=seen.append)
        over.set()
        thread.join()
        assert len(ticks) > 5
        assert len([n for n in seen if 0 < n < 80_000]) >= 1
        assert seen == sorted(seen)


class TestSteppingByHand:
    def test_what_it_says_of_itself(self):
        chain, walk = Chain(5), Walk()
        assert (chain.n_states, chain.state_size, chain.n_actions, chain.action_size) == (5, None, 2, None)
        assert (chain.horizon, chain.reward_range, chain.homogeneous) == (5, (0.0, 1.0), True)
        assert (chain.stochastic, chain.deterministic_steps, chain.adaptive, chain.steps_many) == (
            False,
            True,
            False,
            False,
        )
        assert (walk.state_size, walk.stochastic, walk.deterministic_steps) == (2, True, False)
        assert repr(chain) == "<Chain: 5 states, 2 actions, H=5>"
        assert repr(walk) == "<Walk: states of 2 numbers, 2 actions, H=8>"
        assert chain.optimal_value(0) == 1.0
        assert Chain.optimal_value.__doc__.startswith("Known for")

    def test_arguments_are_those_of_any_system(self):
        chain, walk = Chain(5), Walk()
        assert chain.reset(rng=3, episode=2) == 0
        assert chain.step(np.int64(4), np.uint8(1), period=3, rng=None) == (4, 1.0, False)
        state = np.array([0.5, 0.0])
        following, _, _ = walk.step(state, 1, rng=7)
        assert following[0] == 0.5 + np.random.default_rng(7).normal() + 1
        assert state.tolist() == [0.5, 0.0]  # the method got a copy
        assert walk.reset(episode=4)[1] == 4

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda: Chain(5).step(5, 0), ValueError, "state: expected an integer in 0..4, got 5"),
            (lambda: Chain(5).step(0, 2), ValueError, "action: expected an integer in 0..1, got 2"),
            (lambda: Chain(5).step(0, 0, 5), ValueError, "period: expected an integer in 0..4, got 5"),
            (
                lambda: Chain(5).step(0.0, 0),
                TypeError,
                "state: expected an integer in 0..4, got 0.0; int() makes it one",
            ),
            (lambda: Walk().step([1.0], 0), ValueError, "state: expected 2 numbers, got shape (1,)"),
            (lambda: Walk().reset(rng=-1), ValueError, "rng: expected an integer >= 0, got -1"),
            (lambda: Walk().reset(episode=-1), ValueError, "episode: expected an integer >= 0, got -1"),
        ],
    )
    def test_bad_arguments(self, call, error, message):
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value) == message

    def test_a_subclass_builds_on_what_it_inherits(self):
        class Reversed(Chain):
            def step(self, state, action):
                return super().step(state, 1 - action)

        assert Reversed(5).step(2, 0) == (3, 0.0, False)
        assert Reversed(5).reset() == 0
        rewards = ocp.run(agent(5, 2, 5), Reversed(5), 1, progress=False).rewards
        assert rewards.tolist() == [[1.0]]  # ties to the first action, which now goes up

    def test_copies(self):
        grudge = Grudge()
        grudge.reset()
        for twin in (copy.deepcopy(grudge), pickle.loads(pickle.dumps(grudge))):
            twin.reset()
            assert (twin.memory["episodes"], grudge.memory["episodes"]) == (2, 1)
            assert (twin.horizon, twin.adaptive) == (2, True)
        assert grudge == grudge
        assert grudge != Grudge()


def having(**methods):
    """A system over three states with other methods."""
    usual = {
        "__init__": lambda self: ocp.PythonSystem.__init__(
            self, n_states=3, n_actions=2, horizon=4, reward_range=(0, 9)
        ),
        "reset": lambda self: 0,
        "step": lambda self, state, action: (0, 0.0, False),
    }
    return type("Having", (ocp.PythonSystem,), {**usual, **methods})()


OUTCOME = "step: expected (next_state, reward, terminated), got"
BAD_OUTCOMES = [
    (None, TypeError, f"{OUTCOME} None"),
    ((0, 0.0), TypeError, f"{OUTCOME} (0, 0.0)"),
    ((0, 0.0, False, False, {}), TypeError, f"{OUTCOME} (0, 0.0, False, False, {{}})"),
    ([0, 0.0, False], TypeError, f"{OUTCOME} [0, 0.0, False]"),
    ((3, 0.0, False), ValueError, "step: next_state: expected an integer in 0..2, got 3"),
    ((-1, 0.0, True), ValueError, "step: next_state: expected an integer in 0..2, got -1"),
    ((1.0, 0.0, False), TypeError, "step: next_state: expected an integer in 0..2, got 1.0; int() makes it one"),
    ((None, 0.0, False), TypeError, "step: next_state: expected an integer in 0..2, got None"),
    ((0, np.nan, False), ValueError, "step: reward: expected a finite number, got nan"),
    ((0, np.inf, False), ValueError, "step: reward: expected a finite number, got inf"),
    ((0, "1", False), TypeError, "step: reward: expected a finite number, got '1'; float() makes it one"),
    ((0, 10.0, False), ValueError, "step: reward: expected one in the reward_range (0.0, 9.0), got 10.0"),
    ((0, 0.0, 1), TypeError, "step: terminated: expected True or False, got 1; bool() makes it one"),
    ((0, 0.0, None), TypeError, "step: terminated: expected True or False, got None"),
]


class TestWhatGoesWrong:
    @pytest.mark.parametrize("outcome, error, message", BAD_OUTCOMES)
    def test_what_step_returns(self, outcome, error, message):
        system = having(step=lambda self, state, action: outcome)
        for call in (
            lambda: system.step(0, 1),
            lambda: ocp.run(agent(3, 2, 4), system, 2, simulations=3, progress=False),
            lambda: ocp.solve(system),
        ):
            with pytest.raises(error) as caught:
                call()
            assert str(caught.value) == message

    @pytest.mark.parametrize(
        "state, error, message",
        [
            (3, ValueError, "reset: state: expected an integer in 0..2, got 3"),
            (None, TypeError, "reset: state: expected an integer in 0..2, got None"),
            (
                (0, {}),
                TypeError,
                "reset: state: expected an integer in 0..2, got (0, {}); "
                "Gymnasium's reset() returns (state, info): pass the first of them",
            ),
        ],
    )
    def test_what_reset_returns(self, state, error, message):
        system = having(reset=lambda self: state)
        for call in (system.reset, lambda: ocp.run(agent(3, 2, 4), system, 2, progress=False)):
            with pytest.raises(error) as caught:
                call()
            assert str(caught.value) == message

    @pytest.mark.parametrize("vector", [[1.0], [[1.0, 2.0]], ["a", "b"], None, 1.0, [1.0, 2.0, 3.0]])
    def test_vectors_of_another_shape(self, vector):
        class Vague(Walk):
            def step(self, state, action):
                return vector, 0.0, False

        with pytest.raises((TypeError, ValueError), match=r"^step: next_state: expected 2 numbers, got "):
            ocp.run(walker(), Vague(), 1, progress=False)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_an_exception_comes_out_as_it_is(self, workers):
        class Moody(Chain):
            def step(self, state, action, period):
                if period == 3:
                    raise LookupError("in a mood", period)
                return super().step(state, action)

        with pytest.raises(LookupError) as caught:
            ocp.run(agent(), Moody(7), 50, simulations=4, workers=workers, progress=False)
        assert caught.value.args == ("in a mood", 3)
        assert "raise LookupError" in "".join(traceback.format_exception(caught.value))
        # nothing of it is left behind
        assert ocp.run(agent(), Chain(7), 3, progress=False).rewards.shape == (1, 3)

    def test_an_exception_in_a_worker_process_too(self):
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        import elsewhere

        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
            assert ocp.run(agent(), elsewhere.Moody(9), 2, executor=executor, progress=False).rewards.shape == (1, 2)
            with pytest.raises(LookupError) as caught:
                ocp.run(agent(), elsewhere.Moody(3), 2, executor=executor, progress=False)
        assert caught.value.args == ("in a mood", 3)
        assert "raise LookupError" in str(caught.value.__cause__)

    def test_even_one_that_is_no_exception(self):
        def leave(self, state, action):
            sys.exit(3)

        with pytest.raises(SystemExit):
            ocp.run(agent(3, 2, 4), having(step=leave), 2, progress=False)

    def test_the_optimal_value(self):
        system = having(optimal_value=lambda self, state: "much")
        with pytest.raises(TypeError, match=r"^Having.optimal_value: expected a number, got 'much'$"):
            ocp.run(agent(3, 2, 4), system, 2, progress=False)

    def test_a_system_that_cannot_be_copied(self):
        system = having()
        system.lock = threading.Lock()
        with pytest.raises(
            TypeError, match=r"system: expected one that can be copied, as each .*cannot pickle '_thread"
        ):
            ocp.run(agent(3, 2, 4), system, 2, progress=False)

    def test_random_numbers_that_were_not_announced(self):
        system = having(step=lambda self, state, action, rng: (0, rng.random(), False))
        with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'random'"):
            ocp.run(agent(3, 2, 4), system, 2, progress=False)

    def test_what_a_subclass_forgets(self):
        class Forgetful(Chain):
            def __init__(self):
                pass

        for call in (Forgetful().reset, lambda: Forgetful().step(0, 1), lambda: pickle.dumps(Forgetful())):
            with pytest.raises(RuntimeError, match=r"^Forgetful.__init__ has not filled in the contract$"):
                call()
        with pytest.raises(RuntimeError, match=r"^Forgetful.__init__ has not filled in the contract$"):
            ocp.run(agent(), Forgetful(), 1, progress=False)
        with pytest.raises(TypeError, match=r"^PythonSystem: expected a subclass of PythonSystem that defines reset$"):
            ocp.PythonSystem(n_states=3, n_actions=2, horizon=4)
        with pytest.raises(RuntimeError, match=r"^Chain.__init__ was called a second time$"):
            Chain(3).__init__(4)

    @pytest.mark.parametrize(
        "name, method, message",
        [
            (
                "step",
                lambda self, state: 0,
                r"step: expected the parameters \(self, state, action\) and, of period and ",
            ),
            (
                "step",
                lambda self, state, action, wind: 0,
                r"step: expected the parameters .*got \(self, state, action, wi",
            ),
            ("reset", lambda self, seed: 0, r"reset: expected the parameters \(self\) and, of rng and episode, those "),
            ("reset", 5, "reset: expected a method, got 5"),
            ("step", staticmethod(lambda state, action: 0), "step: expected a method, got <staticmethod"),
        ],
    )
    def test_methods_that_cannot_be_called(self, name, method, message):
        with pytest.raises(TypeError, match=rf"^Having\.{message}"):
            having(**{name: method})

    def test_parameters_that_are_allowed(self):
        for step in (
            lambda self, state, action, rng, period: (0, period, False),
            lambda self, x, a, *, period=None: (0, period, False),
            lambda self, state, action, **rest: (0, rest["period"], False),
            lambda self, state, action, period, gain=1.0: (0, period * gain, False),
        ):
            assert having(step=step).step(0, 0, period=3) == (0, 3.0, False)

    @pytest.mark.parametrize(
        "changes, error, message",
        [
            ({"horizon": 0}, ValueError, "horizon: expected an integer >= 1, got 0"),
            (
                {"n_states": None},
                ValueError,
                "n_states, state_size: expected one of them, got n_states=None, state_siz",
            ),
            ({"state_size": 2}, ValueError, "n_states, state_size: expected one of them, got n_states=3, state_size=2"),
            ({"action_size": 2}, ValueError, "n_actions, action_size: expected one of them, got n_actions=2, action_s"),
            ({"n_actions": 2.0}, TypeError, "n_actions: expected an integer >= 1, got 2.0"),
            ({"reward_range": 1.0}, TypeError, "reward_range: expected two numbers, got 1.0"),
            (
                {"reward_range": (1.0, 0.0)},
                ValueError,
                "reward_range: expected the smallest reward and the largest, got",
            ),
            ({"reward_range": (0.0, np.nan)}, ValueError, "reward_range: expected a number, got nan"),
            ({"stochastic": 1}, TypeError, "stochastic: expected True or False, got 1"),
            ({"wind": 1}, TypeError, "__init__() got an unexpected keyword argument 'wind'"),
        ],
    )
    def test_descriptions(self, changes, error, message):
        arguments = {"n_states": 3, "n_actions": 2, "horizon": 4, **changes}
        with pytest.raises(error) as caught:
            having(__init__=lambda self: ocp.PythonSystem.__init__(self, **arguments))
        assert message in str(caught.value)

    def test_a_random_start(self):
        class Anywhere(Chain):
            def __init__(self):
                ocp.PythonSystem.__init__(self, n_states=7, n_actions=2, horizon=7, random_start=True, homogeneous=True)

            def reset(self, rng):
                return rng.integers(7)

        assert (Anywhere().stochastic, Anywhere().deterministic_steps) == (True, True)
        assert ocp.solve(Anywhere()).v[0, 6] == 7
        starts = {Anywhere().reset(seed) for seed in range(30)}
        assert len(starts) > 4


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c(tmp_path):
    script = textwrap.dedent("""
        import signal, time
        import ocpfast as ocp
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
        class Slow(ocp.PythonSystem):
            def __init__(self):
                super().__init__(n_states=1, n_actions=1, horizon=10**6)
            def reset(self):
                return 0
            def step(self, state, action):
                return 0, 0.0, False
        def tell(done, said=[]):
            if not said:
                print("running", flush=True)
                said.append(done)
        try:
            ocp.run(ocp.RandomPolicy(n_actions=1), Slow(), 10**6, simulations=2, workers=2, progress=tell)
        except ocp.Interrupted as interrupted:
            print("interrupted after", len(interrupted.simulations), flush=True)
        try:
            print("solving", flush=True)
            ocp.solve(type("Finite", (Slow,), {"__init__": lambda self: ocp.PythonSystem.__init__(
                self, n_states=1000, n_actions=1000, horizon=100)})())
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert process.stdout.readline() == "running\n"
        os.kill(process.pid, signal.SIGINT)
        started = time.monotonic()
        assert process.stdout.readline() == "interrupted after 0\n"
        assert time.monotonic() - started < 5
        assert process.stdout.readline() == "solving\n"
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
