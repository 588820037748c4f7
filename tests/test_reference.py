"""The literal algorithm itself, on examples worked by hand and against the theory."""

import random
from fractions import Fraction

import pytest
from reference import (
    INFINITY,
    Constraint,
    LiteralOCP,
    aggregation,
    aggregation_error,
    box_interval,
    box_nonempty,
    by_period,
    optimal_q,
    play,
    q_learning,
    random_table,
    select,
    shrinking,
    table_cells,
)


def unbounded(index):
    return -INFINITY, INFINITY


def numbered(*intervals, index=0):
    return [Constraint(index, low, high, sequence) for sequence, (low, high) in enumerate(intervals)]


def identity(x):
    return x


# selection


def test_a_dominated_constraint_comes_back_when_what_dominated_it_is_pushed_out():
    constraints = numbered((3, 7), (5, 6), (-INFINITY, 4))
    # before the third: [5,6] dominates [3,7]
    assert box_interval(constraints[:2], 0, unbounded) == (5, 6)
    # (-inf,4] comes first and pushes out [5,6]; [3,7] is compatible with it and gives the lower value
    kept = select(constraints, box_nonempty(unbounded))
    assert [c.sequence for c in kept] == [2, 0]
    assert box_interval(constraints, 0, unbounded) == (3, 4)
    # without [3,7] the lower value 3 is lost
    assert box_interval(constraints[1:], 0, unbounded) == (-INFINITY, 4)


def on_the_line(constraints):
    """Whether some Q with Q_0 + Q_1 = 1 satisfies the constraints on its two coordinates."""
    sides = [[c for c in constraints if c.index == k] for k in (0, 1)]
    low = [max([c.lower for c in side], default=-INFINITY) for side in sides]
    high = [min([c.upper for c in side], default=INFINITY) for side in sides]
    return low[0] <= high[0] and low[1] <= high[1] and low[0] + low[1] <= 1 <= high[0] + high[1]


def test_on_equal_upper_bounds_the_more_recent_comes_first():
    # within a box equal U never conflict, so only a coupled class shows the order: [0,0] and [0,0] on a line
    older, newer = Constraint(0, 0, 0, 0), Constraint(1, 0, 0, 1)
    assert select([older, newer], on_the_line) == [newer]
    assert select([newer, older], on_the_line) == [newer]  # the sequence number counts, not the place
    # a smaller U beats recency
    assert select([Constraint(0, -1, -1, 0), newer], on_the_line) == [Constraint(0, -1, -1, 0)]


@pytest.mark.parametrize(
    "intervals, bounds, expected",
    [
        ([], (-INFINITY, INFINITY), (-INFINITY, INFINITY)),
        ([], (-1, 2), (-1, 2)),
        ([(0, 5)], (-1, 2), (0, 2)),
        ([(3, 5)], (-1, 2), (-1, 2)),  # empty against the prior alone
        ([(-5, -2)], (-1, 2), (-1, 2)),
        ([(0, 0), (1, 1)], (-1, 2), (0, 0)),
        ([(1, 1), (0, 0)], (-1, 2), (0, 0)),
        ([(1, 3), (2, 2), (2, 4)], (-INFINITY, INFINITY), (2, 2)),
    ],
)
def test_interval_of_a_coordinate(intervals, bounds, expected):
    assert box_interval(numbered(*intervals), 0, lambda index: bounds) == expected


def test_coordinates_of_a_box_do_not_interact():
    rng = random.Random(1)
    for _ in range(300):
        bounds = {k: rng.choice([(-INFINITY, INFINITY), (-2, 2), (0, INFINITY)]) for k in range(3)}
        constraints = []
        for sequence in range(rng.randrange(12)):
            low, high = sorted(rng.choices([-INFINITY, -2, -1, 0, 1, 2, 3, INFINITY], k=2))
            constraints.append(Constraint(rng.randrange(3), low, high, sequence))
        together = select(constraints, box_nonempty(bounds.__getitem__))
        for k in range(3):
            alone = select([c for c in constraints if c.index == k], box_nonempty(bounds.__getitem__))
            assert [c for c in together if c.index == k] == alone


# aggregation


def test_cells_and_rows_of_a_partition():
    cells, row = aggregation([0, 1, 0])
    assert cells(0, 0, 1) == cells(0, 2, 1) != cells(0, 0, 0) and row(0) == row(2) != row(1)
    cells, row = aggregation([[0, 1], [0, 0], [0, 1]], horizon=2)
    assert cells(1, 0, 0) == cells(1, 1, 1) != cells(0, 1, 1) and row(0) == row(2) != row(1)
    cells, row = aggregation([[[0, 1], [0, 1]], [[0, 0], [0, 1]]], horizon=2)
    assert cells(0, 0, 1) == cells(0, 1, 1) and cells(1, 0, 1) != cells(1, 1, 1) and row(0) != row(1)


def test_aggregation_error_is_half_the_largest_spread():
    q = [[[Fraction(0), Fraction(4)], [Fraction(1), Fraction(1)]]]
    assert aggregation_error(q, [0, 0]) == Fraction(3, 2)
    assert aggregation_error(q, [0, 1]) == 0
    assert aggregation_error(q, [[0, 0], [0, 0]]) == 2
    assert aggregation_error(q, [[[0, 1], [0, 0]]]) == Fraction(1, 2)


def test_optimal_q_of_a_hand_worked_table():
    # from 0: action 0 stays and pays 1, action 1 goes to 1 and pays 0;
    # from 1: action 0 ends with 5, 1 goes to 0
    next_state, reward = [[0, 1], [-1, 0]], [[1, 0], [5, 0]]
    assert optimal_q(next_state, reward, 3) == [[[6, 5], [5, 5]], [[2, 5], [5, 1]], [[1, 0], [5, 0]]]


# the agent, by hand


def test_two_states_two_periods_by_hand():
    """0 -a-> a in two periods; the last pays 0, 1, 2, 3 for (state, action)."""
    agent = LiteralOCP(table_cells, identity, 2, 2)
    next_state, reward = [[0, 1], [0, 1]], [[[0, 0], [0, 0]], [[0, 1], [2, 3]]]
    episodes = play(agent, next_state, reward, 2, [0] * 6)
    # episode 0: all unknown, learns Q_1(0,0)=0. 1: U_0(0,0) is still inf: learns Q_1(0,1)=1. 2: U_0(0,0) was
    # computed while V_1(0) was inf, so once more: Q_0(0,0)=1. 3 and 4: the same with state 1. 5: Q_0(0,1)=3
    assert [actions for _, actions, _ in episodes] == [[0, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 1]]
    assert (agent.upper(0, 0, 0), agent.upper(0, 0, 1)) == (1, 3)
    assert (agent.lower(0, 0, 0), agent.lower(0, 0, 1)) == (1, 3)
    assert agent.determined(0, 0, 1) and not agent.determined(0, 1, 0)


def test_endings():
    agent = LiteralOCP(table_cells, identity, 1, 2)
    agent.act(0)
    assert agent.observe(0, 7, terminated=True)
    assert (agent.lower(0, 0, 0), agent.upper(0, 0, 0)) == (7, 7)
    agent.act(1)
    assert agent.observe(0, 5, truncated=True)  # bootstraps from an unknown value: dropped
    assert agent.constraints()[-1].upper == 7
    agent.act(1)
    assert not agent.observe(0, 5)
    agent.act(0)
    assert agent.observe(0, 2)  # the last period of a class with a horizon is terminal, whatever is said
    agent.act(1)
    assert agent.observe(0, 5, truncated=True)
    assert agent.upper(0, 1, 0) == 7

    homogeneous = LiteralOCP(lambda t, x, a: (x, a), identity, 1, None)
    for _ in range(10):
        homogeneous.act(0)
        assert not homogeneous.observe(0, 1)
    homogeneous.act(0)
    assert homogeneous.observe(0, 1, truncated=True)  # a cycle that never ended is worth anything
    assert homogeneous.upper(0, 0, 0) == INFINITY and not homogeneous.constraints()


def test_values_are_frozen_within_an_episode_unless_updates_are_immediate():
    for update, expected in (("episode", INFINITY), ("period", 4)):
        agent = LiteralOCP(lambda t, x, a: (x, a), identity, 1, None, update=update)
        agent.act(0)
        agent.observe(0, 4, terminated=True)
        agent.begin_episode()
        agent.act(1)
        agent.observe(0, 0)
        assert agent.upper(0, 1, 0) == expected
        agent.begin_episode()  # what has not joined is dropped, what has joined stays
        agent.act(0)
        agent.observe(0, 4, terminated=True)
        assert agent.upper(0, 1, 0) == expected


def test_determined_is_a_flag_with_prior_bounds():
    agent = LiteralOCP(table_cells, identity, 2, 2, bounds=(-10, 10))
    agent.act(0)
    agent.observe(1, -1)
    agent.act(1)
    agent.observe(0, 3)
    # U = -1 + max(10, 10): a number, but one that only the prior supports
    assert agent.upper(0, 0, 0) == 9 and not agent.determined(0, 0, 0)
    assert agent.upper(1, 1, 0) == 3 and agent.determined(1, 1, 0)
    assert agent.upper(1, 1, 1) == 10 and not agent.determined(1, 1, 1)


def test_constraints_outside_the_prior_never_enter():
    agent = LiteralOCP(table_cells, identity, 1, 1, bounds=(0, 1))
    for reward, n_constraints in ((2, 0), (-1, 0), (1, 1)):
        agent.act(0)
        agent.observe(0, reward)
        assert len(agent.constraints()) == n_constraints


def test_window_forgets():
    agent = LiteralOCP(table_cells, identity, 1, 1, selection="window", window=2)
    seen = []
    for reward in (1, 2, 3, 4):
        agent.act(0)
        agent.observe(0, reward)
        seen.append((len(agent.constraints()), agent.upper(0, 0, 0)))
    assert seen == [(1, 1), (2, 1), (2, 2), (2, 3)]


@pytest.mark.parametrize("selection, contradictions", [("first", 0), ("eluder", 2)])
def test_first_and_eluder_never_replace(selection, contradictions):
    agent = LiteralOCP(table_cells, identity, 1, 1, selection=selection)
    for reward in (2, 1, 3, 2):
        agent.act(0)
        agent.observe(0, reward)
    assert agent.upper(0, 0, 0) == 2 and len(agent.constraints()) == 1
    assert agent.contradictions == contradictions


def test_first_takes_no_undetermined_constraint():
    agents = [LiteralOCP(table_cells, identity, 1, 2, selection=s, bounds=(-9, 9)) for s in ("all", "first")]
    for agent in agents:
        agent.act(0)
        agent.observe(1, -4, truncated=True)
    assert [agent.upper(0, 0, 0) for agent in agents] == [5, 9]


def test_replay_propagates_without_going_there_again():
    results = {}
    for replay in (False, True, "stationary"):
        agent = LiteralOCP(table_cells, identity, 1, 3, replay=replay)
        # a chain 0 -> 1 -> 2 -> 2 that pays 1, 2, 4
        play(agent, [[1], [2], [2]], [[1], [2], [4]], 3, [0])
        results[replay] = [[agent.upper(t, x, 0) for x in range(3)] for t in range(3)]
    unknown = INFINITY
    assert results[False] == [[unknown] * 3, [unknown] * 3, [unknown, unknown, 4]]
    assert results[True] == [[7, unknown, unknown], [unknown, 6, unknown], [unknown, unknown, 4]]
    assert results["stationary"] == [[7, 10, 12], [3, 6, 8], [1, 2, 4]]


def test_replay_of_a_homogeneous_class_sweeps_until_nothing_changes():
    for sweeps, known in ((1, 2), (2, 3), (99, 5)):
        agent = LiteralOCP(lambda t, x, a: (x, a), identity, 1, None, replay=True, replay_sweeps=sweeps)
        for x in range(5):
            agent.act(x)
            agent.observe(x + 1, 1, terminated=x == 4)
        assert sum(agent.determined(0, x, 0) for x in range(5)) == known


def test_replay_keeps_the_smallest_reward_of_a_key():
    for rewards, expected in (((3, 1), 1), ((1, 3), 1)):
        cells, row = aggregation([0, 0], horizon=1)
        agent = LiteralOCP(cells, row, 1, 1, replay=True)
        for x, reward in enumerate(rewards):
            agent.act(x)
            agent.observe(0, reward)
        assert len(agent.constraints()) == 1  # one key: the two states are one row
        assert (agent.lower(0, 0, 0), agent.upper(0, 0, 0)) == (expected, expected)


def test_least_visited_counts_cells():
    cells, row = aggregation([0, 0], horizon=1)
    agent = LiteralOCP(cells, row, 3, 1, ties="least_visited", bounds=(0, 0))
    actions = []
    for episode in range(6):
        actions.append(agent.act(episode % 2))
        agent.observe(0, 0)
    assert actions == [0, 1, 2, 0, 1, 2]


def test_random_asks_only_about_ties():
    asked = []

    def chooser(tied):
        asked.append(tied)
        return tied[-1]

    agent = LiteralOCP(table_cells, identity, 3, 1, ties="random", chooser=chooser)
    for _ in range(4):
        agent.act(0)
        agent.observe(0, 1)
    assert asked == [[0, 1, 2], [0, 1], [0, 1, 2]]  # in the third episode action 0 alone was left


def test_directed_walks_to_what_is_new():
    # a corridor: action 0 stays, action 1 moves right; homogeneous, nothing determined
    agent = LiteralOCP(lambda t, x, a: (x, a), identity, 2, None, ties="directed")
    x, path = 0, []
    for _ in range(8):
        a = agent.act(x)
        path.append((x, a))
        x = min(x + a, 3)
        agent.observe(x, 0)
    assert len(set(path)) == 8  # something new at every step; "first" would stay at 0 for ever
    agent.begin_episode()
    assert agent.distances(0, 0) == [INFINITY, INFINITY]  # all visited: nothing new anywhere


def test_directed_distances_by_period():
    agent = LiteralOCP(table_cells, identity, 2, 3, ties="directed")
    for first in (0, 1):
        assert agent.act(0) == first
        agent.observe(first, 0)
        agent.act(first)
        agent.observe(0, 0, truncated=True)
    # (0,0,0) leads to 0, where at period 1 action 1 is new; (0,0,1) leads to 1, likewise
    assert agent.distances(0, 0) == [1, 1]
    # at period 1 action 0 is known to lead to 0, where all is new at period 2
    assert agent.distances(1, 0) == [1, 0]
    agent.visited.update((2, 0, a) for a in range(2))
    assert agent.distances(1, 0) == [INFINITY, 0]


# theory


CASES = [(seed, stationary) for seed in range(12) for stationary in (False, True)]
VARIANTS = [
    {"replay": replay, "update": update, "ties": ties}
    for replay in (False, True, "stationary")
    for update in ("episode", "period")
    for ties in ("first", "least_visited", "directed")
]


def run(seed, stationary, **options):
    rng = random.Random(seed)
    n_states, n_actions, horizon = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
    next_state, reward = random_table(rng, n_states, n_actions, horizon, stationary, seed % 2 == 0, 0.1)
    agent = LiteralOCP(table_cells, identity, n_actions, horizon, **options)
    starts = [rng.randrange(n_states) for _ in range(n_states * n_actions * horizon + 15)]
    return agent, next_state, reward, horizon, starts


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_theorem_1(options):
    for seed, stationary in CASES:
        if options["replay"] == "stationary" and not stationary:
            continue
        agent, next_state, reward, horizon, starts = run(seed, stationary, **options)
        q = optimal_q(next_state, reward, horizon)
        triples = [(t, x, a) for t in range(horizon) for x in range(len(q[t])) for a in range(len(q[t][x]))]
        suboptimal, history = 0, {triple: [] for triple in triples}
        for start in starts:
            [(_, _, rewards)] = play(agent, next_state, reward, horizon, [start])
            suboptimal += sum(rewards) < max(q[0][start])
            for t, x, a in triples:
                interval = agent.lower(t, x, a), agent.upper(t, x, a)
                assert interval[0] <= q[t][x][a] <= interval[1], (seed, options)
                history[t, x, a].append(interval)
        assert suboptimal <= len(triples)
        assert not agent.rejected()
        assert all(shrinking(intervals) for intervals in history.values())


@pytest.mark.parametrize("seed, stationary", CASES)
def test_tabula_rasa_is_q_learning(seed, stationary):
    agent, next_state, reward, horizon, starts = run(seed, stationary)
    actions, q = q_learning(next_state, reward, horizon, starts)
    assert [a for _, a, _ in play(agent, next_state, reward, horizon, starts)] == actions
    for t, q_t in enumerate(q):
        for x, q_tx in enumerate(q_t):
            assert q_tx == [agent.upper(t, x, a) for a in range(len(q_tx))]


def test_stationary_replay_learns_a_table_in_one_visit_per_pair():
    options = {"replay": "stationary", "update": "period", "ties": "directed"}
    for seed in range(12):
        agent, next_state, reward, horizon, starts = run(seed, True, **options)
        play(agent, next_state, reward, horizon, starts)
        pairs = {(c.index[1], c.index[2]) for c in agent.constraints()}
        assert len(agent.transitions) == len(pairs)  # deterministic: one outcome for each pair


@pytest.mark.parametrize("replay", [False, True])
def test_aggregation_with_error_rho(replay):
    """Upper values never rise, finite ones are within 2 rho (H-t) of Q*, few episodes lose much."""
    for seed in range(40):
        rng = random.Random(seed)
        n_states, n_actions, horizon = rng.randint(2, 4), 2, rng.randint(1, 4)
        next_state, reward = random_table(rng, n_states, n_actions, horizon)
        partition = [rng.randrange(2) for _ in range(n_states)]
        cells, row = aggregation(partition, horizon)
        q = optimal_q(next_state, reward, horizon)
        rho = aggregation_error(q, partition)
        agent = LiteralOCP(cells, row, n_actions, horizon, replay=replay)
        n_cells = len(set(partition)) * n_actions * horizon
        triples = [(t, x, a) for t in range(horizon) for x in range(n_states) for a in range(n_actions)]
        before, bad = dict.fromkeys(triples, INFINITY), 0
        for _ in range(n_cells + 20):
            start = rng.randrange(n_states)
            [(_, _, rewards)] = play(agent, next_state, reward, horizon, [start])
            bad += max(q[0][start]) - sum(rewards) > 2 * rho * horizon * (horizon + 1)
            for t, x, a in triples:
                upper = agent.upper(t, x, a)
                assert upper <= before[t, x, a]
                assert upper == INFINITY or abs(upper - q[t][x][a]) <= 2 * rho * (horizon - t)
                before[t, x, a] = upper
        assert bad <= n_cells


def test_by_period_repeats_a_stationary_table():
    assert by_period([[1, 2]], 2) == [[[1, 2]], [[1, 2]]]
    assert by_period([[[1, 2]], [[3, 4]]], 2) == [[[1, 2]], [[3, 4]]]
