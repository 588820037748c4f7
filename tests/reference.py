"""The literal algorithm, slow and obvious: what every compiled fast path is compared with.

Written from the definitions in pure Python. Numbers may be fractions.Fraction, int or float; infinities are
float("inf"). Nothing here is incremental except the memo of a cell's value set, which is thrown away whenever
a constraint on that cell comes or goes.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

INFINITY = float("inf")
TERMINAL = "terminal"  # stands for "no state follows" in the key of a stored transition


# Constraints and their selection


@dataclass(frozen=True)
class Constraint:
    """L <= Q <= U on one coordinate (a cell of the partition, a triple of the table)."""

    index: object
    lower: object
    upper: object
    sequence: int
    determined: bool = True  # U comes from an ending or from an action whose own value is known
    episode: int = 0  # the episode in which it was observed, for the window


def priority_order(constraints):
    """Smaller U first; on equal U the more recent first."""
    return sorted(constraints, key=lambda c: (c.upper, -c.sequence))


def select(constraints, nonempty):
    """Algorithm 1: keep each constraint, in priority order, that leaves the hypothesis set non-empty.

    Parameters
    ----------
    constraints : iterable of Constraint
    nonempty : callable
        nonempty(list of constraints) tells whether some hypothesis satisfies all of them.
    """
    kept = []
    for constraint in priority_order(constraints):
        if nonempty([*kept, constraint]):
            kept.append(constraint)
    return kept


def box_nonempty(bounds):
    """Emptiness oracle for a product of intervals.

    Parameters
    ----------
    bounds : callable
        bounds(index) = (lo, hi), the prior interval of that coordinate; either may be infinite.
    """

    def nonempty(constraints):
        intersection = {}
        for c in constraints:
            low, high = intersection.get(c.index, bounds(c.index))
            intersection[c.index] = (max(low, c.lower), min(high, c.upper))
        return all(low <= high for low, high in intersection.values())

    return nonempty


def box_interval(constraints, index, bounds):
    """(lower, upper): the values that a coordinate takes in the set that Algorithm 1 returns."""
    kept = [c for c in select(constraints, box_nonempty(bounds)) if c.index == index]
    low, high = bounds(index)
    return max([low, *(c.lower for c in kept)]), min([high, *(c.upper for c in kept)])


# State aggregation as arrays of labels


def aggregation(partition, horizon=None):
    """Cells and rows of a partition given as nested sequences over (S,), (S,A) or (H,S,A).

    Returns
    -------
    cells : callable
        cells(t, x, a): for (S,) one parameter per label and action, else one per label; with a horizon
        separate parameters for each period.
    row : callable
        row(x): equal for two states iff they share their cells at all periods and actions.
    """

    def depth(array):
        return 1 + depth(array[0]) if hasattr(array, "__len__") else 0

    def frozen(array):
        return tuple(frozen(a) for a in array) if hasattr(array, "__len__") else int(array)

    partition, axes = frozen(partition), depth(partition)

    def cells(t, x, a):
        label = {
            1: lambda: (partition[x], a),
            2: lambda: partition[x][a],
            3: lambda: partition[t][x][a],
        }[axes]()
        return label if horizon is None else (t, label)

    def row(x):
        return tuple(labels[x] for labels in partition) if axes == 3 else partition[x]

    return cells, row


def table_cells(t, x, a):
    """Tabula rasa: every triple is a cell of its own."""
    return t, x, a


# Optimistic constraint propagation


def close(value, bound):
    """Whether a value differs from a prior bound by rounding only."""
    return abs(value - bound) <= 1e-9 * max(1, abs(bound))


class LiteralOCP:
    """Algorithm 2 for tables and state aggregation, with its variants, from the definitions.

    Parameters
    ----------
    cells : callable
        cells(t, x, a) -> hashable; t is always 0 for a time-homogeneous class.
    row : callable
        row(x) -> hashable; equal for states that have the same cells for all t and a.
    n_actions : int
    horizon : int or None
        None: time-homogeneous.
    selection : {"all", "first", "eluder", "window"}
    window : int, for selection="window"
    ties : {"first", "least_visited", "directed", "random"}
    replay : {False, True, "stationary"}
    update : {"episode", "period"}
    discount : number
    bounds : (lo, hi), or callable
        Q lies in [lo, hi], known beforehand; bounds(cell) = (lo, hi) where cells differ.
    replay_sweeps : int
        The most sweeps after one update of a time-homogeneous class.
    chooser : callable, for ties="random"
        chooser(list of tied actions) -> action, called only if there is more than one.

    Notes
    -----
    `contradictions` is an exact count without replay. With replay only whether it is zero is defined, since
    an implementation may skip recomputations that change nothing.
    """

    coupled = False  # whether what joins at one period can change values of another

    def __init__(self, cells, row, n_actions, horizon, *, selection="all", window=None, ties="first",
                 replay=False, update="episode", discount=1, bounds=None, replay_sweeps=36_000,
                 chooser=None):  # fmt: skip
        if (selection == "window") != (window is not None):
            raise ValueError("window belongs to selection='window'")
        if selection == "window" and replay:
            raise ValueError("replay keeps what a window would forget")
        self.cells, self.row, self.n_actions, self.horizon = cells, row, n_actions, horizon
        self.selection, self.window, self.ties, self.update = selection, window, ties, update
        self.homogeneous = horizon is None
        # without a period axis a transition is valid at every period anyway
        self.replay = True if replay == "stationary" and self.homogeneous else replay
        self.discount, self.replay_sweeps, self.chooser = discount, replay_sweeps, chooser
        if bounds is None:
            bounds = (-INFINITY, INFINITY)
        self.bounds = bounds if callable(bounds) else lambda cell: bounds

        self.held = {}  # owner -> constraint: C. The owner is a key of replay, else the constraint's sequence
        self.next_sequence = 0
        self.contradictions = 0
        self.visits = {}  # cell -> number of times that an action was taken in it
        self.visited = set()  # the same as a set, but "stationary" visits all periods at once
        self.transitions = {}  # key -> [x, a, x' or TERMINAL, smallest r], in order of creation
        self.memo = {}  # cell -> (lower, upper, determined)
        self.episode = 0
        self.pending = []  # what this episode observed and has not joined C: (owner, constraint)
        self.begin_episode()

    # the set of hypotheses

    def value_set(self, cell):
        """(lower, upper, determined) of a cell.

        Coordinates of a product do not interact, so the walk over all of C, as far as it concerns this cell,
        is the walk over the constraints on this cell (tests/test_reference.py compares the two).
        """
        if cell not in self.memo:
            of_cell = [c for c in self.held.values() if c.index == cell]
            kept = select(of_cell, box_nonempty(self.bounds))
            low, high = self.bounds(cell)
            lower = max([low, *(c.lower for c in kept)])
            upper = min([high, *(c.upper for c in kept)])
            determined = any(c.determined for c in kept if c.upper == upper)
            self.memo[cell] = lower, upper, determined
        return self.memo[cell]

    def cell(self, t, x, a):
        return self.cells(0 if self.homogeneous else t, x, a)

    def lower(self, t, x, a):
        """The infimum of Q_t(x,a) over the hypotheses that are left."""
        return self.value_set(self.cell(t, x, a))[0]

    def upper(self, t, x, a):
        """The supremum: the optimistic value."""
        return self.value_set(self.cell(t, x, a))[1]

    def determined(self, t, x, a):
        """Whether the optimistic value rests on what was seen rather than on the prior."""
        return self.value_set(self.cell(t, x, a))[2]

    def constraints(self):
        """C, in order of joining."""
        return sorted(self.held.values(), key=lambda c: c.sequence)

    def kept(self):
        """The walk over the whole of C, all cells together."""
        return select(self.constraints(), box_nonempty(self.bounds))

    def rejected(self):
        """What Algorithm 1 passes over."""
        kept = set(self.kept())
        return [c for c in self.constraints() if c not in kept]

    # acting

    def maximisers(self, t, x):
        uppers = [self.upper(t, x, a) for a in range(self.n_actions)]
        return [a for a in range(self.n_actions) if uppers[a] == max(uppers)]

    def choose(self, t, x):
        tied = self.maximisers(t, x)
        if self.ties == "first":
            return tied[0]
        if self.ties == "least_visited":
            return min(tied, key=lambda a: (self.visits.get(self.cell(t, x, a), 0), a))
        if self.ties == "random":
            return tied[0] if len(tied) == 1 else self.chooser(tied)
        assert self.ties == "directed"
        known = [a for a in tied if self.determined(t, x, a)]
        if known:
            return known[0]
        distance = self.distances(t, x)
        return min(tied, key=lambda a: (distance[a], a))

    def act(self, x, learn=True):
        """Take an optimistic action; with learn=False the first of them, and record nothing."""
        if not learn:
            return self.maximisers(self.t, x)[0]
        action = self.choose(self.t, x)
        cell = self.cell(self.t, x, action)
        self.visits[cell] = self.visits.get(cell, 0) + 1
        self.visited.add(cell)
        if self.replay == "stationary":
            self.visited.update(self.cell(t, x, action) for t in range(self.horizon))
        self.state, self.action = x, action
        return action

    # directed exploration

    def outcomes(self, t, x, a):
        """The next states seen after (t, x, a); none where nothing follows."""
        if not self.homogeneous and t == self.horizon - 1:
            return []
        period = None if self.homogeneous or self.replay == "stationary" else t
        start = (period, self.row(x), a)
        return [x_next for key, (_, _, x_next, _) in self.transitions.items()
                if key[:3] == start and x_next is not TERMINAL]  # fmt: skip

    def towards_something_new(self, t, x):
        """The actions that an agent still exploring takes at x: the tied ones, if none of them is known."""
        tied = self.maximisers(t, x)
        return [] if any(self.determined(t, x, b) for b in tied) else tied

    def distances(self, t, x):
        """D(t, x, a) for each action a: the number of steps before something never visited."""
        if self.homogeneous:
            return self.distances_homogeneous(x)
        memo = {}  # (t, row, a) -> D

        def distance(t, x, a):
            place = (t, self.row(x), a)
            if place not in memo:
                if self.cell(t, x, a) not in self.visited:
                    memo[place] = 0
                else:
                    memo[place] = 1 + min(
                        (distance(t + 1, y, b)
                         for y in self.outcomes(t, x, a) for b in self.towards_something_new(t + 1, y)),
                        default=INFINITY,
                    )  # fmt: skip
            return memo[place]

        return [distance(t, x, a) for a in range(self.n_actions)]

    def distances_homogeneous(self, x):
        """The same on a graph with cycles: Bellman's equation from D = inf until nothing changes."""
        actions = range(self.n_actions)
        states = {self.row(x): x}
        for start, _, x_next, _ in self.transitions.values():
            states[self.row(start)] = start
            if x_next is not TERMINAL:
                states[self.row(x_next)] = x_next
        follow = {r: self.towards_something_new(0, y) for r, y in states.items()}
        onward = {(r, a): [self.row(y) for y in self.outcomes(0, start, a)]
                  for r, start in states.items() for a in actions}  # fmt: skip
        new = {(r, a): self.cell(0, y, a) not in self.visited for r, y in states.items() for a in actions}
        distance = {place: 0 if new[place] else INFINITY for place in new}
        while True:
            improved = {
                place: 0 if new[place]
                else 1 + min((distance[r, b] for r in onward[place] for b in follow[r]), default=INFINITY)
                for place in new
            }  # fmt: skip
            if improved == distance:
                return [distance[self.row(x), a] for a in actions]
            distance = improved

    # learning

    def begin_episode(self):
        """Start at period 0. Of an unfinished episode, what has not joined C is dropped; facts stay."""
        self.pending = []
        self.way = []  # this episode's transitions
        self.t = 0
        self.state = self.action = None

    def interval(self, t, x_next, r):
        """(L, U, determined) that a transition at period t gives under the present C."""
        if x_next is TERMINAL or (not self.homogeneous and t == self.horizon - 1):
            return r, r, True
        uppers = [self.upper(t + 1, x_next, b) for b in range(self.n_actions)]
        lowers = [self.lower(t + 1, x_next, b) for b in range(self.n_actions)]
        determined = any(self.determined(t + 1, x_next, b) for b in self.maximisers(t + 1, x_next))
        return r + self.discount * max(lowers), r + self.discount * max(uppers), determined

    def observe(self, x_next, r, terminated=False, truncated=False):
        """Learn from what followed the last action; True if the episode is over."""
        t, x, a = self.t, self.state, self.action
        last = not self.homogeneous and t == self.horizon - 1
        if terminated:
            x_next = TERMINAL
        owner = None
        if self.replay or self.ties == "directed":
            key = self.store_transition(t, x, a, x_next, r)
            if self.replay:
                # the constraint is its key's, and the key stands for the smallest reward seen on it
                owner = (key, t) if self.replay == "stationary" else key
                r = self.transitions[key][3]
        self.pending.append((owner, self.cell(t, x, a), self.interval(t, x_next, r)))
        self.way.append((t, x, a, x_next, r))
        ended = terminated or truncated or last
        if ended or self.update == "period":
            for owner, cell, interval in self.pending:
                self.join(owner, cell, interval)
            self.pending = []
            self.replay_transitions()
        if ended and self.update == "period" and not self.replay and self.coupled:
            # what joined at once may have lowered values on the way: each period says the last word
            for t, x, a, x_next, r in reversed(self.way):
                if x_next is not TERMINAL and t < self.horizon - 1:
                    self.join(None, self.cell(t, x, a), self.interval(t, x_next, r))
        self.t += 1
        if ended:
            if self.window is not None:
                for owner, c in list(self.held.items()):
                    if c.episode <= self.episode - self.window:
                        self.remove(owner)
            self.episode += 1
            self.begin_episode()
        return ended

    def store_transition(self, t, x, a, x_next, r):
        if self.replay != "stationary" and not self.homogeneous and t == self.horizon - 1:
            x_next = TERMINAL  # at its own period nothing follows; "stationary" replays it at others, too
        period = None if self.homogeneous or self.replay == "stationary" else t
        key = (period, self.row(x), a, TERMINAL if x_next is TERMINAL else self.row(x_next))
        if key not in self.transitions:
            self.transitions[key] = [x, a, x_next, r]
        else:
            self.transitions[key][3] = min(self.transitions[key][3], r)
        return key

    def join(self, owner, cell, interval):
        """Let a constraint join C, if it says something and the selection wants it. True if C changed."""
        low, high, determined = interval
        prior_low, prior_high = self.bounds(cell)
        # what misses the prior by the rounding of sums is on it
        if high < prior_low and close(high, prior_low):
            high = prior_low
        if low > prior_high and close(low, prior_high):
            low = prior_high
        if high > prior_high and close(high, prior_high):
            high = prior_high
        if (low == -INFINITY and high == INFINITY) or high < prior_low or low > prior_high:
            return False  # dropped for good: says nothing, or empty against the prior alone
        if self.selection in ("first", "eluder"):
            if not determined:
                return False
            _, upper, cell_determined = self.value_set(cell)
            if cell_determined:
                if self.selection == "eluder" and abs(high - upper) > 1e-9 * max(1, abs(high)):
                    self.contradictions += 1
                return False
        elif owner in self.held:
            old = self.held[owner]
            determined |= old.determined and old.upper == high  # a value stays determined while it stays the same
            if (old.lower, old.upper, old.determined) == (low, high, determined):
                return False  # only its sequence number would change
        sequence = self.next_sequence
        self.next_sequence += 1
        owner = sequence if owner is None else owner
        self.remove(owner)
        self.held[owner] = Constraint(cell, low, high, sequence, determined, self.episode)
        self.memo.pop(cell, None)
        return True

    def remove(self, owner):
        if owner in self.held:
            self.memo.pop(self.held.pop(owner).index, None)

    # replay

    def replay_transitions(self):
        """Recompute the constraint of every stored transition under the present C."""
        if not self.replay:
            return
        if self.homogeneous:
            for _ in range(self.replay_sweeps):
                if not self.sweep(0):
                    break
        else:
            for t in reversed(range(self.horizon)):
                self.sweep(t)

    def sweep(self, t):
        """All transitions that can happen at period t: first compute them all, then let them join."""
        recomputed = []
        for key, (x, a, x_next, r) in self.transitions.items():
            if key[0] is None or key[0] == t:
                owner = (key, t) if self.replay == "stationary" else key
                recomputed.append((owner, self.cell(t, x, a), self.interval(t, x_next, r)))
        changes = [self.join(*each) for each in recomputed]
        return any(changes)


def play(agent, next_state, reward, horizon, initial_states):
    """Episodes of a table system; the list of (states, actions, rewards) of each."""
    next_state, reward = by_period(next_state, horizon), by_period(reward, horizon)
    episodes = []
    for x in initial_states:
        states, actions, rewards = [], [], []
        for t in range(horizon):
            a = agent.act(x)
            states.append(x)
            actions.append(a)
            rewards.append(reward[t][x][a])
            x_next = next_state[t][x][a]
            ended = agent.observe(x_next, reward[t][x][a], terminated=x_next < 0)
            if ended:
                break
            x = x_next
        episodes.append((states, actions, rewards))
    return episodes


# Q-learning


def q_learning(next_state, reward, horizon, initial_states):
    """Tabular Q-learning with rate 1 from +inf, period-indexed, greedy with the lowest index.

    Q <- Q + 1 * (target - Q) is written as Q <- target, since inf - inf is not a number.

    Returns
    -------
    actions : list of lists
        Of each episode.
    q : nested list over (H, S, A)
    """
    next_state, reward = by_period(next_state, horizon), by_period(reward, horizon)
    n_states, n_actions = len(reward[0]), len(reward[0][0])
    q = [[[INFINITY] * n_actions for _ in range(n_states)] for _ in range(horizon)]
    episodes = []
    for x in initial_states:
        actions = []
        for t in range(horizon):
            a = q[t][x].index(max(q[t][x]))
            actions.append(a)
            x_next = next_state[t][x][a]
            ends = t == horizon - 1 or x_next < 0
            q[t][x][a] = reward[t][x][a] + (0 if ends else max(q[t + 1][x_next]))
            if ends:
                break
            x = x_next
        episodes.append(actions)
    return episodes, q


# Tables and what is true of them


def by_period(table, horizon):
    """A table over (S,A), or over (H,S,A) already, as one over (H,S,A)."""
    return table if hasattr(table[0][0], "__len__") else [table] * horizon


def random_table(rng, n_states, n_actions, horizon, stationary=False, integer_rewards=True, termination=0.0,
                 number=Fraction):  # fmt: skip
    """A random deterministic system.

    Parameters
    ----------
    rng : random.Random
    stationary : bool
        The same at all periods.
    integer_rewards : bool
        Integers -2..2, so that there are many ties; otherwise multiples of 1/4 (exact in binary as well).
    termination : float
        Probability that a transition terminates: next state -1.
    number : type
        Of the rewards: Fraction or float.

    Returns
    -------
    next_state, reward : nested lists over (H, S, A)
    """
    denominator = 1 if integer_rewards else 4

    def period():
        following = [[-1 if rng.random() < termination else rng.randrange(n_states) for _ in range(n_actions)]
                     for _ in range(n_states)]  # fmt: skip
        most = 2 * denominator
        paid = [[number(rng.randint(-most, most)) / denominator for _ in range(n_actions)]
                for _ in range(n_states)]  # fmt: skip
        return following, paid

    periods = [period()] * horizon if stationary else [period() for _ in range(horizon)]
    return [following for following, _ in periods], [paid for _, paid in periods]


def optimal_q(next_state, reward, horizon):
    """Q* by dynamic programming, as nested lists over (H, S, A); next state -1 = terminated."""
    next_state, reward = by_period(next_state, horizon), by_period(reward, horizon)
    q = [None] * horizon
    for t in reversed(range(horizon)):
        q[t] = [
            [r if t == horizon - 1 or y < 0 else r + max(q[t + 1][y])
             for y, r in zip(next_states, rewards, strict=True)]
            for next_states, rewards in zip(next_state[t], reward[t], strict=True)
        ]  # fmt: skip
    return q


def aggregation_error(q, partition):
    """rho: half the largest spread of Q*_t within a cell, exact; each period has its own parameters."""
    cells, _ = aggregation(partition, horizon=len(q))
    values = {}
    for t, q_t in enumerate(q):
        for x, q_tx in enumerate(q_t):
            for a, value in enumerate(q_tx):
                values.setdefault(cells(t, x, a), []).append(value)
    spread = max(max(v) - min(v) for v in values.values())
    return spread / 2 if isinstance(spread, float) else Fraction(spread) / 2


def nested(inner, outer):
    """Whether the interval `inner` lies inside `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def shrinking(intervals):
    """Whether each interval of a sequence lies inside the one before."""
    return all(nested(later, earlier) for earlier, later in pairwise(intervals))
