"""The linear-quadratic class with continuous actions, literally and exactly: all equalities, in rational numbers."""

import itertools
from fractions import Fraction

INFINITY = float("inf")


def monomials(z):
    return [z[i] * z[j] for i in range(len(z)) for j in range(i, len(z))]


class Equalities:
    """f . theta = value, all of them, in reduced row echelon form."""

    def __init__(self):
        self.rows = []  # (pivot, row, value)

    def reduce(self, row, value):
        row = list(row)
        for pivot, known, known_value in self.rows:
            factor = row[pivot]
            if factor:
                row = [a - factor * b for a, b in zip(row, known, strict=True)]
                value -= factor * known_value
        return row, value

    def value(self, row):
        """The value that all solutions agree on; None where they do not."""
        left, value = self.reduce(row, Fraction(0))
        return None if any(left) else -value

    def add(self, row, value):
        """Returns False for a contradiction."""
        left, value = self.reduce(row, value)
        pivot = next((i for i, part in enumerate(left) if part), None)
        if pivot is None:
            return value == 0
        new = [part / left[pivot] for part in left]
        new_value = value / left[pivot]
        self.rows = [
            (p, [a - known[pivot] * b for a, b in zip(known, new, strict=True)], v - known[pivot] * new_value)
            for p, known, v in self.rows
        ]
        self.rows.append((pivot, new, new_value))
        return True


class Tried:
    """The inverse of 2^-40 + the sum of phi phi', phi with sqrt(2) at products of different components and length 1."""

    def __init__(self, n):
        size = n * (n + 1) // 2
        weights = [1 if i == j else 2 for i in range(n) for j in range(i, n)]
        small = Fraction(1, 2**40)
        self.inverse = [[weights[i] / small if i == j else Fraction(0) for j in range(size)] for i in range(size)]

    def novelty_squared(self, z):
        f = self.unit(z)
        return sum(a * b for a, b in zip(f, self.times(f), strict=True))

    def add(self, z):
        f = self.unit(z)
        product = self.times(f)
        scale = 1 + sum(a * b for a, b in zip(f, product, strict=True))
        self.inverse = [
            [part - product[i] * product[j] / scale for j, part in enumerate(row)] for i, row in enumerate(self.inverse)
        ]

    def times(self, f):
        return [sum(a * b for a, b in zip(row, f, strict=True)) for row in self.inverse]

    @staticmethod
    def unit(z):
        squared = sum(part * part for part in z)
        return [part / squared for part in monomials(z)] if squared else monomials(z)


class LiteralQuadraticOCP:
    """Algorithm 2 with selection="eluder", as ocpfast.Quadratic describes it."""

    def __init__(self, n, m, horizon, replay=False, update="episode", discount=1, bounds=(-INFINITY, INFINITY)):
        self.n, self.m, self.horizon = n, m, horizon
        self.replay, self.update, self.discount, self.bounds = replay, update, discount, bounds
        self.known = [Equalities() for _ in range(horizon)]
        trials = [Tried(n + m) for _ in range(1 if replay == "stationary" else horizon)]
        self.tried = trials * horizon if replay == "stationary" else trials
        self.staged, self.stored = [], []
        self.period = 0
        self.last_scale = Fraction(1)
        self.contradictions = 0

    # what is known

    def scale(self, x):
        most = max(abs(part) for part in x)
        if most == 0:
            return self.last_scale
        scale = Fraction(1)
        while scale > most:
            scale /= 2
        while 2 * scale <= most:
            scale *= 2
        return scale

    def members(self, x):
        s = self.scale(x)
        unit = [[s if i == j else Fraction(0) for j in range(self.m)] for i in range(self.m)]
        yield [Fraction(0)] * self.m
        for one in unit:
            yield one
            yield [-part for part in one]
        for one, other in itertools.combinations(unit, 2):
            yield [a + b for a, b in zip(one, other, strict=True)]

    def value(self, t, x, u):
        """Q_t(x, u) where it is determined, else None."""
        return self.known[t].value(monomials([*x, *u]))

    def best(self, t, x):
        """(determined, action, value): the quadratic in u is recovered from the unisolvent set."""
        members = list(self.members(x))
        values = [self.value(t, x, u) for u in members]
        least, most = self.bounds
        if None in values:
            determined = [(v, -i) for i, v in enumerate(values) if v is not None]
            if determined and max(determined)[0] >= most:
                return True, members[-max(determined)[1]], most
            best, newest = None, Fraction(0)
            for u, v in zip(members, values, strict=True):
                if v is None and self.tried[t].novelty_squared([*x, *u]) > newest * (1 + Fraction(1e-6)) ** 2:
                    best, newest = u, self.tried[t].novelty_squared([*x, *u])
            return False, best, None
        s, constant = self.scale(x), values[0]
        plus, minus, both = values[1 : 2 * self.m + 1 : 2], values[2 : 2 * self.m + 1 : 2], values[2 * self.m + 1 :]
        slope = [(p - q) / (2 * s) for p, q in zip(plus, minus, strict=True)]
        hessian = [[Fraction(0)] * self.m for _ in range(self.m)]
        for i in range(self.m):
            hessian[i][i] = (plus[i] + minus[i] - 2 * constant) / s**2
        for (i, j), v in zip(itertools.combinations(range(self.m), 2), both, strict=True):
            hessian[i][j] = hessian[j][i] = (v - plus[i] - plus[j] + constant) / s**2
        # -hessian u = slope, by elimination; its pivots are positive iff it is positive definite
        rows = [[-part for part in row] + [b] for row, b in zip(hessian, slope, strict=True)]
        for k in range(self.m):
            if rows[k][k] <= 0:
                return None, members[max(range(len(values)), key=lambda i: (values[i], -i))], None
            for i in range(self.m):
                if i != k:
                    factor = rows[i][k] / rows[k][k]
                    rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
        u = [row[-1] / row[k] for k, row in enumerate(rows)]
        value = constant + sum(b * part for b, part in zip(slope, u, strict=True)) / 2
        return True, u, min(max(value, least), most)

    # learning

    def act(self, x):
        determined, u, value = self.best(self.period, x)
        if determined is None:
            self.contradictions += 1
        if determined is False:
            self.tried[self.period].add([*x, *u])
        if any(x):
            self.last_scale = self.scale(x)
        return determined, u, value

    def observe(self, x, u, reward, following, terminated=False):
        t = self.period
        value = self.target(t, reward, following, terminated)
        if value is not None:
            self.staged.append((t, x, u, value))
        periods = range(self.horizon) if self.replay == "stationary" else [t] if self.replay else []
        self.stored += [(p, x, u, reward, following, terminated) for p in periods if p != t or value is None]
        if self.update == "period":
            self.join()
        self.period += 1
        ended = terminated or self.period == self.horizon
        if ended:
            self.join()
            self.period = 0
        return ended

    def begin_episode(self):
        self.staged = []
        self.period = 0

    def target(self, t, reward, following, terminated):
        if terminated or t == self.horizon - 1:
            return reward
        determined, _, value = self.best(t + 1, following)
        return reward + self.discount * value if determined else None

    def join(self):
        for t, x, u, value in self.staged:
            self.add(t, x, u, value)
        self.staged = []
        for t in reversed(range(self.horizon)):
            for period, x, u, reward, following, terminated in self.stored:
                if period == t:
                    value = self.target(t, reward, following, terminated)
                    if value is not None:
                        self.add(t, x, u, value)

    def add(self, t, x, u, value):
        if self.bounds[0] <= value <= self.bounds[1]:
            self.known[t].add(monomials([*x, *u]), value)

    def rank(self):
        return sum(len(known.rows) for known in self.known)
