"""The literal algorithm for a list of tables, slow and obvious; what is left is found anew whenever C changes."""

import itertools

from reference import INFINITY, TERMINAL, Constraint, LiteralOCP, select, table_cells


def independent(tables, cell, cells):
    """Whether two tables agree on all of `cells` and differ on `cell`; a table maps cells to numbers."""
    return any(
        all(one[c] == other[c] for c in cells) and one[cell] != other[cell]
        for one, other in itertools.combinations(tables, 2)
    )


def eluder_dimension(tables, cells):
    """The longest sequence of cells each of which is independent of those before it, by trying them all."""

    def longest(sequence):
        return max(
            (1 + longest([*sequence, cell]) for cell in cells if independent(tables, cell, sequence)),
            default=0,
        )

    return longest([])


class Visited:
    """The cells that depend on those visited, as a set that grows."""

    def __init__(self, tables):
        self.tables, self.cells, self.memo = tables, [], {}

    def add(self, cell):
        if cell not in self:
            self.cells.append(cell)
            self.memo.clear()

    def update(self, cells):
        for cell in cells:
            self.add(cell)

    def __contains__(self, cell):
        if cell not in self.memo:
            self.memo[cell] = not independent(self.tables, cell, self.cells)
        return self.memo[cell]


class LiteralFiniteOCP(LiteralOCP):
    """Algorithm 2 for a list of tables; each maps (t, x, a) to an exact number. Bounds clip answers."""

    coupled = True

    def __init__(self, tables, n_actions, horizon, **options):
        self.tables = tables
        super().__init__(table_cells, int, n_actions, horizon, **options)
        self.visited = Visited(tables)

    # the set of hypotheses

    def satisfying(self, constraints):
        return [q for q in self.tables if all(c.lower <= q[c.index] <= c.upper for c in constraints)]

    def left(self):
        """The tables that satisfy what Algorithm 1 keeps."""
        if "left" not in self.memo:
            self.memo["left"] = self.satisfying(self.kept())
        return self.memo["left"]

    def kept(self):
        return select(self.constraints(), self.satisfying)

    def clip(self, t, value):
        low, high = self.bounds((t,))
        return min(max(value, low), high)

    def value_set(self, cell):
        values = [q[cell] for q in self.left()]
        low, high = min(values), max(values)
        return self.clip(cell[0], low), self.clip(cell[0], high), low == high

    def interval(self, t, x_next, r):
        if x_next is TERMINAL or t == self.horizon - 1:
            return r, r, True
        actions = range(self.n_actions)
        low = self.clip(t + 1, min(max(q[t + 1, x_next, b] for b in actions) for q in self.left()))
        high = max(self.upper(t + 1, x_next, b) for b in actions)
        return r + self.discount * low, r + self.discount * high, low == high

    # learning

    def store_transition(self, t, x, a, x_next, r):
        """Other rewards make other transitions."""
        if self.replay != "stationary" and t == self.horizon - 1:
            x_next = TERMINAL
        key = (None if self.replay == "stationary" else t, x, a, r, x_next)
        self.transitions.setdefault(key, [x, a, x_next, r])
        return key

    def join(self, owner, cell, interval):
        low, high, determined = interval
        prior_low, prior_high = self.bounds(cell)
        constraint = Constraint(cell, low, high, self.next_sequence, determined, self.episode)
        if (low == -INFINITY and high == INFINITY) or high < prior_low or low > prior_high:
            return False
        if self.selection == "eluder":
            left = self.satisfying([*self.kept(), constraint])
            self.contradictions += not left
            if not left or len(left) == len(self.left()):
                return False
        elif not self.satisfying([constraint]):
            return False  # empty against the class alone: dropped for good
        if owner in self.held and (self.held[owner].lower, self.held[owner].upper) == (low, high):
            return False
        owner = self.next_sequence if owner is None else owner
        self.next_sequence += 1
        self.held.pop(owner, None)
        self.held[owner] = constraint
        self.memo.clear()
        return True

    def remove(self, owner):
        if self.held.pop(owner, None) is not None:
            self.memo.clear()
