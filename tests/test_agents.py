"""OCP one step at a time: the order of calls, options, copies, warnings and bad input."""

import copy
import threading
import warnings

import numpy as np
import pytest

import ocpfast as ocp


def table(**options):
    return ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4), **options)


def survival(**options):
    return ocp.OCP(ocp.StateAggregation([0, 1, 1], n_actions=2), **options)


class TestOrderOfCalls:
    def test_act_twice(self):
        agent = table()
        agent.act(0)
        with pytest.raises(RuntimeError, match=r"act: called twice in period 0 without observe\(\)"):
            agent.act(0)
        assert agent.observe(1, 0.0) is False  # the first act still counts

    def test_observe_first(self):
        agent = table()
        with pytest.raises(RuntimeError, match=r"observe: there is no action to observe; call act\(\) first"):
            agent.observe(0, 0.0)

    def test_acting_without_learning_needs_no_observe_and_changes_nothing(self):
        agent = table(ties="least_visited")
        assert [agent.act(0, learn=False) for _ in range(3)] == [0, 0, 0]
        assert agent.act(0) == 0
        agent.act(1, learn=False)
        agent.observe(0, 0.0)
        assert agent.act(0, learn=False, period=3) == 0
        with pytest.raises(ValueError, match="period: expected None with learn=True"):
            agent.act(0, period=1)

    def test_begin_episode_drops_the_unfinished_one(self):
        agent = table()
        for _ in range(3):
            agent.act(0)
            agent.observe(0, 1.0)
        agent.act(0)
        agent.begin_episode()
        assert agent.period == 0 and agent.statistics()["episodes"] == 0
        assert agent.n_constraints == 0

    def test_the_horizon_closes_an_episode_of_a_period_indexed_class_only(self):
        agent = table()
        assert [agent.observe(agent.act(0) * 0, 1.0) for _ in range(4)] == [False, False, False, True]
        agent = survival()
        assert not any(agent.observe(agent.act(0) * 0, 1.0) for _ in range(100))
        agent.act(0)
        assert agent.observe(0, 1.0, truncated=True)

    def test_two_threads_on_one_agent_get_errors_not_crashes(self):
        agent, errors, steps = table(ties="directed", replay=True), [], []

        def work():
            for _ in range(2000):
                try:
                    agent.act(0)
                    agent.observe(1, 0.0)
                    steps.append(1)
                except RuntimeError as error:
                    errors.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all("observe" in error for error in errors)
        assert agent.statistics()["periods"] >= len(steps) > 0


class TestBadInput:
    @pytest.mark.parametrize("reward", [np.nan, np.inf, -np.inf])
    def test_rewards(self, reward):
        agent = table()
        agent.act(0)
        with pytest.raises(ValueError, match=r"reward: expected a finite number, got -?(nan|inf)"):
            agent.observe(0, reward)
        assert agent.period == 0
        assert agent.observe(0, 1.0) is False  # nothing was lost

    @pytest.mark.parametrize("reward", ["1", None, [1.0, 2.0], True])
    def test_reward_types(self, reward):
        agent = table()
        agent.act(0)
        with pytest.raises(TypeError, match="reward: expected a finite number, got"):
            agent.observe(0, reward)

    @pytest.mark.parametrize("state", [3, -1, 2**70])
    def test_states_outside_the_table(self, state):
        agent = table()
        with pytest.raises(ValueError, match=r"state: expected an integer in 0..2, got"):
            agent.act(state)
        agent.act(0)
        with pytest.raises(ValueError, match=r"next_state: expected an integer in 0..2, got"):
            agent.observe(state, 0.0)
        assert agent.observe(state, 0.0, terminated=True)  # nothing follows: whatever it is

    @pytest.mark.parametrize("state", [0.0, "0", None, True, np.array([0, 1])])
    def test_states_that_are_no_index(self, state):
        with pytest.raises(TypeError, match=r"state: expected an integer in 0..2, got"):
            table().act(state)

    def test_numpy_integers_are_states(self):
        assert table().act(np.int32(2)) == 0

    @pytest.mark.parametrize("ending", [1, 0.0, None, "no"])
    def test_endings(self, ending):
        agent = table()
        agent.act(0)
        with pytest.raises(TypeError, match=r"terminated: expected True or False, got"):
            agent.observe(0, 1.0, terminated=ending)
        with pytest.raises(TypeError, match=r"truncated: expected True or False, got"):
            agent.observe(0, 1.0, truncated=ending)
        with pytest.raises(ValueError, match=r"reward: expected a finite number, got one beyond the range of floats"):
            agent.observe(0, 10**400)
        assert agent.observe(0, 1.0, terminated=np.True_)

    @pytest.mark.parametrize(
        "state",
        [[0.0], [0.0, 0.0, 0.0], "ab", [[0.0, 0.0]], None, ["a", "b"], ["1", "2"], [None, 0.0], [True, False]],
    )
    def test_vector_states(self, state):
        agent = ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0], [0.0]]), 2))
        with pytest.raises(ValueError, match=r"state: expected 2 numbers, got"):
            agent.act(state)

    def test_nan_states_need_an_extra_label(self):
        with pytest.raises(ValueError, match=r"state: NaN in .*extra=1"):
            ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0]]), 2)).act([np.nan])
        assert ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0]], extra=1), 2)).act([np.nan]) == 0

    def test_queries(self):
        agent = table()
        with pytest.raises(ValueError, match=r"action: expected an integer in 0..1, got 2"):
            agent.upper(0, 2)
        with pytest.raises(ValueError, match=r"period: expected an integer in 0..3, got 4"):
            agent.upper(0, 0, 4)
        with pytest.raises(ValueError, match=r'lower: not tracked; make the hypothesis class with lower="exact"'):
            agent.lower(0, 0)
        assert survival().upper(0, 0, 10**9) == np.inf

    @pytest.mark.parametrize(
        "options, error, message",
        [
            (
                {"selection": "some"},
                ValueError,
                r"selection: expected one of 'all', 'eluder', 'first', 'window'",
            ),
            ({"ties": "last"}, ValueError, r"ties: expected one of"),
            ({"replay": "yes"}, ValueError, r"replay: expected one of False, True, 'stationary', got 'yes'"),
            ({"replay": 1}, ValueError, r"replay: expected one of"),
            ({"update": "step"}, ValueError, r"update: expected one of 'episode', 'period'"),
            ({"window": 3}, ValueError, r"window: expected an integer if and only if selection is 'window'"),
            ({"selection": "window"}, ValueError, r"window: expected an integer if and only if"),
            ({"selection": "window", "window": 0}, ValueError, r"window: expected an integer in 1..\d+, got 0"),
            (
                {"selection": "window", "window": 2, "replay": True},
                ValueError,
                r"replay: expected False with",
            ),
            ({"discount": 0.0}, ValueError, r"discount: expected a number in \(0, 1\], got 0.0"),
            ({"discount": 1.5}, ValueError, r"discount: expected a number in \(0, 1\]"),
            ({"discount": np.nan}, ValueError, r"discount: expected a number in \(0, 1\], got nan"),
            ({"discount": 0.9}, ValueError, r"discount: below 1 it needs bounds or reward_bound"),
            ({"discount": 0.9, "bounds": (0, np.inf)}, ValueError, r"bounds: expected a finite upper bound"),
            ({"bounds": (1.0, 0.0)}, ValueError, r"bounds: expected lower <= upper, got \(1.0, 0.0\)"),
            ({"bounds": (np.nan, 0.0)}, ValueError, r"bounds\[0\]: expected a number, got nan"),
            ({"bounds": 3.0}, ValueError, r"bounds: expected a pair \(lower, upper\), got 3.0"),
            (
                {"bounds": (0, 1), "reward_bound": 1},
                ValueError,
                r"bounds, reward_bound: expected at most one",
            ),
            ({"reward_bound": -1.0}, ValueError, r"reward_bound: expected a finite number >= 0, got -1.0"),
            ({"reward_bound": np.inf}, ValueError, r"reward_bound: expected a finite number >= 0, got inf"),
            ({"replay_sweeps": 0}, ValueError, r"replay_sweeps: expected an integer in 1.."),
            ({"discount": "0.5"}, TypeError, r"discount: expected a number in \(0, 1\], got '0.5'"),
            ({"bounds": "12"}, TypeError, r"bounds\[0\]: expected a number, got '1'"),
            ({"bounds": (0, 10**400)}, ValueError, r"bounds\[1\]: expected a number, got one beyond"),
            ({"selection": "window", "window": 10**30}, ValueError, r"window: expected an integer in 1.."),
            ({"rng": "seed"}, TypeError, r"rng: expected None, an integer >= 0, .*, got 'seed'"),
            ({"rng": -1}, ValueError, r"rng: expected an integer >= 0, got -1"),
        ],
    )
    def test_options(self, options, error, message):
        with pytest.raises(error, match=message):
            table(**options)

    def test_hypothesis(self):
        with pytest.raises(TypeError, match="hypothesis: expected a hypothesis class such as TabulaRasa, got 7"):
            ocp.OCP(7)

    def test_reward_bound_without_discount_needs_a_horizon(self):
        with pytest.raises(ValueError, match="reward_bound: a time-homogeneous class needs discount < 1"):
            survival(reward_bound=1.0)
        assert [table(reward_bound=2.0).upper(0, 0, t) for t in range(4)] == [8.0, 6.0, 4.0, 2.0]


def test_one_action_and_one_period():
    agent = ocp.OCP(ocp.TabulaRasa(1, 1, horizon=1))
    assert agent.act(0) == 0
    assert agent.observe(0, 5.0)
    assert agent.upper(0, 0) == 5.0 and agent.determined(0, 0)


def test_goal_tasks_without_bounds_warn_once():
    agent = survival()
    agent.act(0)
    with pytest.warns(UserWarning, match="values every cycle with something unknown in it at \\+inf"):
        agent.observe(1, -1.0)
    agent.act(1)
    agent.observe(0, -1.0)
    for quiet in (survival(bounds=(-10.0, 0.0)), table()):
        quiet.act(0)
        quiet.observe(1, -1.0)


def test_random_ties_are_uniform_and_follow_the_seed():
    def actions(seed):
        agent = ocp.OCP(ocp.StateAggregation([0], n_actions=3), ties="random", rng=seed)
        taken = []
        for _ in range(3000):
            taken.append(agent.act(0))
            agent.observe(0, 1.0)
        return taken

    taken = actions(5)
    assert taken == actions(5) != actions(6)
    counts = np.bincount(taken)
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(3000 * 2 / 9))


def test_copies_share_nothing_that_changes():
    agent = table(ties="random", rng=1, replay=True)
    for _ in range(5):
        agent.act(0)
        agent.observe(1, 1.0, truncated=True)
    twin, deep, shallow = agent.copy(), copy.deepcopy(agent), copy.copy(agent)
    before = agent.statistics()

    def trajectory(a):
        taken = []
        for _ in range(40):
            taken.append(a.act(0))
            a.observe(taken[-1], 0.5)
        return taken

    assert trajectory(twin) == trajectory(deep) == trajectory(shallow)
    assert agent.statistics() == before
    assert trajectory(agent.copy(rng=7)) == trajectory(agent.copy(rng=7))


def test_a_warning_that_is_an_error_loses_nothing():
    agent = survival()
    agent.act(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="at \\+inf"):
            agent.observe(1, -1.0)
    assert agent.period == 0
    assert agent.observe(1, -1.0) is False


@pytest.mark.parametrize("update", ["episode", "period"])
def test_what_contradicts_the_bounds_is_counted(update):
    agent = table(bounds=(0.0, 1.0), update=update)
    for reward in (5.0, -5.0, 0.5):
        agent.act(0)
        agent.observe(0, reward, terminated=True)
    assert agent.statistics()["rejected"] == 2
    assert agent.upper(0, 0) == 0.5 or agent.upper(0, 1) == 0.5


@pytest.mark.parametrize("selection", ["all", "first", "eluder"])
@pytest.mark.parametrize("reward", [0.1, 0.3, 0.7, -0.1, -0.3])
@pytest.mark.parametrize("options", [{}, {"replay": True}, {"update": "period", "replay": "stationary"}], ids=str)
def test_tight_bounds_survive_rounding(selection, reward, options):
    """Every reward is the largest possible one: values are the bounds, up to the rounding of their sum."""
    horizon = 15
    exact = abs(reward) * horizon
    for prior in ({"reward_bound": abs(reward)}, {"bounds": (-exact, exact)}):
        agent = ocp.OCP(ocp.TabulaRasa(1, 2, horizon), selection=selection, **prior, **options)
        for _ in range(60 * horizon):
            agent.act(0)
            agent.observe(0, reward)
        assert agent.statistics()["rejected"] == 0
        assert agent.determined(0, agent.act(0, learn=False))
        assert max(agent.upper(0, 0), agent.upper(0, 1)) == pytest.approx(reward * horizon)


def test_a_window_holds_one_constraint_for_each_cell_and_episode():
    agent = table(selection="window", window=3)
    for reward in (1.0, 2.0, 3.0, 4.0, 5.0):
        agent.act(0)
        agent.observe(0, reward, terminated=True)
        agent.begin_episode()
    assert [agent.upper(0, 0), agent.upper(0, 1)] == [5.0, 3.0]  # of episodes 2, 3 and 4
    assert agent.n_constraints == 3


def test_an_endless_episode_does_not_grow_what_waits_for_its_end():
    agent = ocp.OCP(ocp.StateAggregation([0], 1, lower="exact"), bounds=(-100.0, 100.0), discount=0.5)
    for i in range(3000):
        agent.act(0)
        agent.observe(0, float(i % 3))
    agent.act(0)
    agent.observe(0, 0.0, truncated=True)
    assert agent.n_constraints <= 6


def test_statistics_and_repr():
    agent = table(selection="eluder", ties="directed", replay=True)
    while agent.statistics()["episodes"] < 2:
        agent.act(0)
        agent.observe(0, 1.0)
    statistics = agent.statistics()
    assert statistics["periods"] == 8 and statistics["transitions"] > 0
    assert statistics["constraints"] == statistics["determined"] == agent.n_constraints > 0
    assert repr(agent) == (
        "<OCP(TabulaRasa(n_states=3, n_actions=2, horizon=4), selection='eluder', ties='directed', replay=True): "
        "2 episodes, 8 constraints>"
    )
