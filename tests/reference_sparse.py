"""The literal algorithm for sparse linear classes in exact rationals: a union over supports, each a linear class.

Equalities alone are learned. A support is a tuple of indices of features; it is alive if some theta on it satisfies all
equalities that were kept.
"""

from itertools import combinations

from reference import INFINITY, Constraint
from reference_linear import LiteralLinearOCP, Span, infimum_of_maximum


def restricted(vector, support):
    return [vector[k] for k in support]


class LiteralSparseOCP(LiteralLinearOCP):
    """LiteralLinearOCP with at most `sparsity` non-zeros in the theta of each block.

    weak: below a finite upper bound, the largest of the lower values stands for the infimum of the largest value where
    some value is not finite, as in the compiled class.
    """

    def __init__(self, features, n_actions, horizon, *, sparsity, n_features, weak=True, **options):
        super().__init__(features, n_actions, horizon, **options)
        assert self.selection == "eluder"
        self.supports = list(combinations(range(n_features), min(sparsity, n_features)))
        self.weak = weak

    def equalities(self, block):
        """(phi, y) that were kept."""
        return [
            (self.features[c.index], c.lower) for c in self.held.values() if self.block(c.index[0]) == block
        ]  # in order of joining: nothing is ever removed

    def live(self, block):
        """{support: span of its restricted equalities (phi, y)}, of those on which they do not contradict."""

        def compute():
            return alive(self.supports, self.equalities(block))

        return self.answer(block, "live", compute)

    def values(self, t, x, a):
        """What each live support says of Q_t(x,a); None where it does not know."""
        block, phi = self.block(t), self.features[self.place(t, x, a)]

        def compute():
            return [value_on(support, span, phi) for support, span in self.live(block).items()]

        return self.answer(block, phi, compute)

    def unclipped_upper(self, t, x, a):
        values = self.values(t, x, a)
        return INFINITY if None in values else max(values)

    def unclipped_lower(self, t, x, a):
        values = self.values(t, x, a)
        return -INFINITY if None in values else min(values)

    def determined(self, t, x, a):
        values = self.values(t, x, a)
        return None not in values and len(set(values)) == 1

    def least_maximum(self, t, x):
        phis = [self.features[self.place(t, x, a)] for a in range(self.n_actions)]
        equalities = self.equalities(self.block(t))
        exact = min(
            infimum_of_maximum(
                [restricted(phi, support) for phi in phis],
                [(restricted(phi, support), y, y) for phi, y in equalities],
            )
            for support in self.live(self.block(t))
        )
        exact = self.clip(t, exact)
        lowers = [self.unclipped_lower(t, x, a) for a in range(self.n_actions)]
        if not self.weak or all(low > -INFINITY for low in lowers):
            return exact
        weaker = self.clip(t, max(lowers))
        assert weaker <= exact
        return weaker

    def join(self, owner, place, interval):
        low, high = interval
        prior_low, prior_high = self.bounds(place[0])
        if low != high or high < prior_low or low > prior_high:
            return False
        block = self.block(place[0])
        before = self.live(block)
        after = alive(self.supports, [*self.equalities(block), (self.features[place], high)])
        if not after:
            self.contradictions += 1
            return False
        if after.keys() == before.keys() and all(after[s].rank == before[s].rank for s in before):
            return False
        self.held[self.next_sequence] = Constraint(place, low, high, self.next_sequence)
        self.next_sequence += 1
        self.memo.pop(block, None)
        return True


def alive(supports, equalities):
    """{support: Span of (phi restricted, y)}; a span that contains (0, ..., 0, 1) contradicts itself."""
    result = {}
    for support in supports:
        span = Span([*restricted(phi, support), y] for phi, y in equalities)
        if not span.contains([0] * len(support) + [1]):
            result[support] = span
    return result


def value_on(support, span, phi):
    """The value of phi.theta for all theta on the support that satisfy the equalities; None where they differ."""
    left = span.residual([*restricted(phi, support), 0])
    return None if any(left[:-1]) else -left[-1]


def l_independent(row, before, size):
    """Whether a row is linearly independent of others on some `size` columns, from the definition."""
    columns = combinations(range(len(row)), min(size, len(row)))
    return any(not Span(restricted(b, c) for b in before).contains(restricted(row, c)) for c in columns)


def l_rank(rows, size):
    """The longest sequence of rows of which each is l-independent of those before it, by trying all of them."""

    def longest(taken):
        free = [r for r in range(len(rows)) if l_independent(rows[r], [rows[s] for s in taken], size)]
        return max((1 + longest([*taken, r]) for r in free), default=0)

    return longest([])
