"""The literal algorithm for linear classes in exact rationals: what the compiled one is compared with.

A hypothesis is Q(t,x,a) = phi(t,x,a).theta. A row (coefficients, lower, upper) says that coefficients.theta is at
least lower and at most upper; the prior polytope is a list of such rows. Numbers are fractions.Fraction or int;
infinities are float("inf").
"""

from fractions import Fraction
from math import lcm

from reference import INFINITY, TERMINAL, Constraint, select

# Exact linear programming


class Dictionary:
    """A linear program as a simplex dictionary of integers with one common denominator.

    Each line says denominator * basic = sum of its entries * nonbasic, where the last nonbasic "variable" is the
    number 1. The variables are theta, which are free, and the slack of each inequality, which is at least 0.
    Pivots keep all entries integer (they are minors of the data). Bland's rule throughout.
    """

    def __init__(self, rows, objective):
        dimension = len(objective)
        self.denominator = 1
        self.nonbasic = [("free", k) for k in range(dimension)]
        self.basic, self.lines = [], []
        self.consistent = True
        equalities, inequalities = [], []
        for coefficients, lower, upper in rows:
            if lower == upper:
                equalities.append([*coefficients, -upper])
            elif lower > upper:
                self.consistent = False
            else:
                if upper < INFINITY:
                    inequalities.append([*(-c for c in coefficients), upper])
                if lower > -INFINITY:
                    inequalities.append([*coefficients, -lower])
        self.scale = lcm(*(Fraction(c).denominator for c in objective))
        self.objective = [int(c * self.scale) for c in objective] + [0]
        self.lines = [integers(line) for line in [*equalities, *inequalities]]
        self.basic = [("zero", k) for k in range(len(equalities))] + [("slack", k) for k in range(len(inequalities))]
        self.eliminate()

    def eliminate(self):
        """Solve the equalities, then let the free variables that the inequalities limit become basic."""
        for variable in [b for b in self.basic if b[0] == "zero"]:
            line = self.basic.index(variable)
            column = next((j for j in range(len(self.nonbasic)) if self.lines[line][j]), None)
            if column is None:
                self.consistent &= self.lines[line][-1] == 0
                self.drop_line(line)
            else:
                self.pivot(line, column)
                self.drop_line(line)
                self.drop_column(column)  # its variable is 0
        column = 0
        while column < len(self.nonbasic):
            if self.nonbasic[column][0] == "free":
                line = next((i for i, entries in enumerate(self.lines) if entries[column]), None)
                if line is not None:
                    self.pivot(line, column)
                    self.drop_line(line)  # a free variable's line limits nothing
            column += 1
        self.unlimited = any(
            kind == "free" and self.objective[j] for j, (kind, _) in enumerate(self.nonbasic)
        )  # a direction in which no inequality changes, but the objective does
        for column in reversed(range(len(self.nonbasic))):
            if self.nonbasic[column][0] == "free":
                self.drop_column(column)

    def drop_line(self, line):
        del self.lines[line], self.basic[line]

    def drop_column(self, column):
        del self.nonbasic[column], self.objective[column]
        for entries in self.lines:
            del entries[column]

    def pivot(self, line, column):
        """Exchange a basic variable with a nonbasic one."""
        leaving = self.lines[line]
        pivot, old = leaving[column], self.denominator
        sign = 1 if pivot > 0 else -1

        def exchange(entries):
            factor = entries[column]
            changed = [sign * ((e * pivot - factor * p) // old) for e, p in zip(entries, leaving, strict=True)]
            changed[column] = sign * factor
            return changed

        entering = [-sign * p for p in leaving]
        entering[column] = sign * old
        self.objective = exchange(self.objective)
        self.lines = [entering if i == line else exchange(entries) for i, entries in enumerate(self.lines)]
        self.denominator = sign * pivot
        self.basic[line], self.nonbasic[column] = self.nonbasic[column], self.basic[line]

    def feasible(self):
        """Whether the rows have a solution; the dictionary shows one afterwards."""
        while self.consistent:
            negative = [(self.basic[i], i) for i, entries in enumerate(self.lines) if entries[-1] < 0]
            if not negative:
                return True
            _, line = min(negative)
            helpful = [(self.nonbasic[j], j) for j in range(len(self.nonbasic)) if self.lines[line][j] > 0]
            if not helpful:
                self.consistent = False
            else:
                self.pivot(line, min(helpful)[1])
        return False

    def maximum(self):
        """The supremum of the objective over the solutions, of which there must be some."""
        if not self.feasible():
            raise ValueError("no solution satisfies the rows")
        if self.unlimited:
            return INFINITY
        while True:
            rising = [(self.nonbasic[j], j) for j in range(len(self.nonbasic)) if self.objective[j] > 0]
            if not rising:
                return Fraction(self.objective[-1], self.denominator * self.scale)
            _, column = min(rising)
            limits = [(Fraction(entries[-1], -entries[column]), self.basic[i], i)
                      for i, entries in enumerate(self.lines) if entries[column] < 0]  # fmt: skip
            if not limits:
                return INFINITY
            self.pivot(min(limits)[2], column)


def integers(line):
    """The same line times a positive number that makes it integer."""
    factor = lcm(*(Fraction(c).denominator for c in line))
    return [int(c * factor) for c in line]


def feasible(rows):
    """Whether some theta satisfies all rows."""
    return not rows or Dictionary(rows, [0] * len(rows[0][0])).feasible()


def supremum(objective, rows):
    """The largest objective.theta, a Fraction or +inf; ValueError if no theta satisfies the rows."""
    return Dictionary(rows, objective).maximum()


def infimum(objective, rows):
    """The smallest objective.theta, a Fraction or -inf."""
    return -supremum([-c for c in objective], rows)


def infimum_of_maximum(objectives, rows):
    """The infimum over theta of the largest of the objectives, a Fraction or -inf: the smallest z above all of them."""
    extended = [([*coefficients, 0], lower, upper) for coefficients, lower, upper in rows]
    extended += [([*objective, -1], -INFINITY, 0) for objective in objectives]
    return infimum([0] * len(objectives[0]) + [1], extended)


# Exact linear algebra


class Span:
    """The span of some vectors, in echelon form."""

    def __init__(self, vectors=()):
        self.echelon = []  # (position of the leading entry, which is 1; vector)
        for vector in vectors:
            self.add(vector)

    def residual(self, vector):
        vector = [Fraction(v) for v in vector]
        for lead, row in self.echelon:
            factor = vector[lead]
            if factor:
                vector = [v - factor * r for v, r in zip(vector, row, strict=True)]
        return vector

    def contains(self, vector):
        return not any(self.residual(vector))

    def add(self, vector):
        """True if the vector was not in the span yet."""
        vector = self.residual(vector)
        lead = next((k for k, v in enumerate(vector) if v), None)
        if lead is not None:
            self.echelon.append((lead, [v / vector[lead] for v in vector]))
        return lead is not None

    @property
    def rank(self):
        return len(self.echelon)


def implicit_equalities(prior_rows):
    """The coefficients of the rows that hold with equality on the whole prior polytope."""
    return [
        coefficients
        for coefficients, lower, upper in prior_rows
        if lower == upper
        or (upper < INFINITY and infimum(coefficients, prior_rows) == upper)
        or (lower > -INFINITY and supremum(coefficients, prior_rows) == lower)
    ]


def eluder_dimension(blocks, prior_rows=()):
    """Sum over blocks (lists of features) of their rank modulo the equalities of the prior."""
    equalities = implicit_equalities(prior_rows)
    return sum(Span([*equalities, *features]).rank - Span(equalities).rank for features in blocks)


# Algorithm 1


def polytope_rows(features, constraints, prior_rows=()):
    return [*prior_rows, *((features[c.index], c.lower, c.upper) for c in constraints)]


def polytope_nonempty(features, prior_rows=()):
    """Emptiness oracle for {theta : prior rows, L <= features[index].theta <= U}.

    It remembers its answers: a walk repeats most of the questions of the one before.
    """
    memo = {}

    def nonempty(constraints):
        question = frozenset((c.index, c.lower, c.upper) for c in constraints)
        if question not in memo:
            memo[question] = feasible(polytope_rows(features, constraints, prior_rows))
        return memo[question]

    return nonempty


# Optimistic constraint propagation


class LiteralLinearOCP:
    """Algorithm 2 for linear classes, with its variants, from the definitions.

    Parameters
    ----------
    features : callable
        features(t, x, a) -> tuple of Fractions; t is always 0 for a time-homogeneous class.
    n_actions : int
    horizon : int or None
        None: time-homogeneous.
    block : callable
        block(t) -> hashable; periods of one block share their parameters. By default each period has its own.
    prior_rows : sequence of rows
        What is known beforehand of each block's theta.
    selection : {"all", "eluder", "window"}
    window : int, for selection="window"
    replay : {False, True, "stationary"}
    update : {"episode", "period"}
    discount : Fraction
    bounds : (lo, hi), or callable
        Answers are clipped to [lo, hi]; bounds(t) = (lo, hi) where periods differ.
    replay_sweeps : int
        The most sweeps after one update of a time-homogeneous class.
    """

    def __init__(self, features, n_actions, horizon, *, block=lambda t: t, prior_rows=(), selection="all",
                 window=None, ties="first", replay=False, update="episode", discount=1, bounds=None,
                 replay_sweeps=36_000):  # fmt: skip
        if (selection == "window") != (window is not None):
            raise ValueError("window belongs to selection='window'")
        if selection == "window" and replay:
            raise ValueError("replay keeps what a window would forget")
        if selection not in ("all", "eluder", "window") or ties != "first":
            raise ValueError("not defined for linear classes here")
        self.n_actions, self.horizon, self.block_of = n_actions, horizon, block
        self.selection, self.window, self.update = selection, window, update
        self.homogeneous = horizon is None
        self.coupled = not self.homogeneous and horizon > 1 and block(0) == block(1)
        # without a period axis a transition is valid at every period anyway
        self.replay = True if replay == "stationary" and self.homogeneous else replay
        self.discount, self.replay_sweeps = discount, replay_sweeps
        if bounds is None:
            bounds = (-INFINITY, INFINITY)
        self.bounds = bounds if callable(bounds) else lambda t: bounds

        self.describe = features
        self.features = {}  # (t, x, a) -> phi, of the places asked about
        self.prior_rows = list(prior_rows)
        self.prior_equalities = implicit_equalities(self.prior_rows)
        self.nonempty = polytope_nonempty(self.features, self.prior_rows)
        self.held = {}  # owner -> constraint: C. The owner is a key of replay, else the constraint's sequence
        self.next_sequence = 0
        self.contradictions = 0
        self.transitions = {}  # key -> (x, a, x' or TERMINAL, r), in order of creation
        self.memo = {}  # block -> answers, thrown away whenever a constraint of the block comes or goes
        self.episode = 0
        self.begin_episode()

    # the set of hypotheses

    def place(self, t, x, a):
        place = (0 if self.homogeneous else t, x, a)
        if place not in self.features:
            self.features[place] = self.describe(*place)
        return place

    def block(self, t):
        return None if self.homogeneous else self.block_of(t)

    def answer(self, block, question, compute):
        answers = self.memo.setdefault(block, {})
        if question not in answers:
            answers[question] = compute()
        return answers[question]

    def kept(self, block):
        """What Algorithm 1 keeps of the constraints of a block; blocks do not interact."""

        def walk():
            return select([c for c in self.held.values() if self.block(c.index[0]) == block], self.nonempty)

        return self.answer(block, "kept", walk)

    def constraints(self):
        """C, in order of joining."""
        return sorted(self.held.values(), key=lambda c: c.sequence)

    def rejected(self):
        """What Algorithm 1 passes over."""
        return [c for c in self.constraints() if c not in self.kept(self.block(c.index[0]))]

    def rows(self, block):
        return polytope_rows(self.features, self.kept(block), self.prior_rows)

    def span(self, block):
        """The features whose values the kept equalities and the prior give."""

        def compute():
            equalities = [self.features[c.index] for c in self.kept(block) if c.lower == c.upper]
            return Span([*self.prior_equalities, *equalities])

        return self.answer(block, "span", compute)

    def clip(self, t, value):
        low, high = self.bounds(t)
        return min(max(value, low), high)

    def unclipped_upper(self, t, x, a):
        block, phi = self.block(t), self.features[self.place(t, x, a)]
        return self.answer(block, ("upper", phi), lambda: supremum(phi, self.rows(block)))

    def unclipped_lower(self, t, x, a):
        block, phi = self.block(t), self.features[self.place(t, x, a)]
        return self.answer(block, ("lower", phi), lambda: infimum(phi, self.rows(block)))

    def upper(self, t, x, a):
        """The supremum of Q_t(x,a) over the hypotheses that are left: the optimistic value."""
        return self.clip(t, self.unclipped_upper(t, x, a))

    def lower(self, t, x, a):
        """The infimum."""
        return self.clip(t, self.unclipped_lower(t, x, a))

    def determined(self, t, x, a):
        """Whether the kept equalities and those of the prior give the value."""
        return self.span(self.block(t)).contains(self.features[self.place(t, x, a)])

    def least_maximum(self, t, x):
        """The infimum over the hypotheses that are left of the largest Q_t(x,a)."""
        block = self.block(t)
        objectives = tuple(self.features[self.place(t, x, a)] for a in range(self.n_actions))
        value = self.answer(block, objectives, lambda: infimum_of_maximum(objectives, self.rows(block)))
        return self.clip(t, value)

    # acting

    def uppers(self, t, x):
        return [self.upper(t, x, a) for a in range(self.n_actions)]

    def act(self, x, action=None):
        """Take the first optimistic action, or the one given."""
        if action is None:
            uppers = self.uppers(self.t, x)
            action = uppers.index(max(uppers))
        self.state, self.action = x, action
        return action

    # learning

    def begin_episode(self):
        """Start at period 0. Of an unfinished episode, what has not joined C is dropped; facts stay."""
        self.pending = []  # what this episode observed and has not joined C
        self.way = []  # its transitions
        self.t = 0
        self.state = self.action = None

    def interval(self, t, x_next, r):
        """(L, U) that a transition at period t gives under the present C."""
        if x_next is TERMINAL or (not self.homogeneous and t == self.horizon - 1):
            return r, r
        low, high = self.least_maximum(t + 1, x_next), max(self.uppers(t + 1, x_next))
        return r + self.discount * low, r + self.discount * high

    def observe(self, x_next, r, terminated=False, truncated=False):
        """Learn from what followed the last action; True if the episode is over."""
        t, x, a = self.t, self.state, self.action
        last = not self.homogeneous and t == self.horizon - 1
        if terminated:
            x_next = TERMINAL
        owner = self.store_transition(t, x, a, x_next, r) if self.replay else None
        self.pending.append((owner, self.place(t, x, a), self.interval(t, x_next, r)))
        self.way.append((t, x, a, x_next, r))
        ended = terminated or truncated or last
        if ended or self.update == "period":
            for each in self.pending:
                self.join(*each)
            self.pending = []
            self.replay_transitions()
        if ended and self.update == "period" and not self.replay and self.coupled:
            # what joined at once may have lowered values on the way: each period says the last word
            for t, x, a, x_next, r in reversed(self.way):
                if x_next is not TERMINAL and t < self.horizon - 1:
                    self.join(None, self.place(t, x, a), self.interval(t, x_next, r))
        self.t += 1
        if ended:
            if self.window is not None:
                for old, c in list(self.held.items()):
                    if c.episode <= self.episode - self.window:
                        self.remove(old)
            self.episode += 1
            self.begin_episode()
        return ended

    def store_transition(self, t, x, a, x_next, r):
        """Remember a transition; the owner of its constraint at this period."""
        if self.replay != "stationary" and not self.homogeneous and t == self.horizon - 1:
            x_next = TERMINAL  # at its own period nothing follows; "stationary" replays it at others, too
        period = None if self.homogeneous or self.replay == "stationary" else t
        key = (period, x, a, r, x_next)
        self.transitions.setdefault(key, (x, a, x_next, r))
        return (key, t) if self.replay == "stationary" else key

    def join(self, owner, place, interval):
        """Let a constraint join C, if it says something and the selection wants it. True if C changed."""
        low, high = interval
        prior_low, prior_high = self.bounds(place[0])
        sequence = self.next_sequence
        constraint = Constraint(place, low, high, sequence, low == high, self.episode)
        if (low == -INFINITY and high == INFINITY) or high < prior_low or low > prior_high:
            return False  # dropped for good: says nothing, or empty against the bounds alone
        if not self.nonempty([constraint]):
            self.contradictions += self.selection == "eluder" and low == high  # the class alone excludes it
            return False
        block, phi = self.block(place[0]), self.features[place]
        if self.selection == "eluder":
            if low != high:
                return False
            if self.span(block).contains(phi):
                self.contradictions += self.unclipped_upper(*place) != high
                return False
            if not self.nonempty([*self.kept(block), constraint]):
                self.contradictions += 1  # independent, but the prior's inequalities exclude it
                return False
        elif owner in self.held and (self.held[owner].lower, self.held[owner].upper) == (low, high):
            return False  # only its sequence number would change
        self.next_sequence += 1
        owner = sequence if owner is None else owner
        self.remove(owner)
        self.held[owner] = constraint
        self.memo.pop(block, None)
        return True

    def remove(self, owner):
        if owner in self.held:
            self.memo.pop(self.block(self.held.pop(owner).index[0]), None)

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
                recomputed.append((owner, self.place(t, x, a), self.interval(t, x_next, r)))
        changes = [self.join(*each) for each in recomputed]
        return any(changes)
