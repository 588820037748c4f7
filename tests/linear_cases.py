"""Random linear classes as arrays: what the compiled and the literal one are both made from."""

import itertools
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from reference import INFINITY
from reference_linear import LiteralLinearOCP, eluder_dimension

import ocpfast as ocp


def random_prior(rng, n_features):
    """a_ub, b_ub of a polytope that is not empty: a box, a simplex, something unbounded, or anything."""
    unit = np.eye(n_features, dtype=int)
    draw = rng.randrange(4)
    if draw == 0:
        return np.vstack([unit, -unit]), np.full(2 * n_features, rng.randint(1, 3))
    if draw == 1:  # an equality in two halves
        ones = np.ones((1, n_features), dtype=int)
        return np.vstack([ones, -ones, -unit]), np.array([2, -2] + [0] * n_features)
    if draw == 2:
        return unit[:1], np.array([rng.randint(-1, 2)])
    a = np.array([[rng.randint(-2, 2) for _ in range(n_features)] for _ in range(rng.randint(1, 5))])
    theta = np.array([rng.randint(-1, 1) for _ in range(n_features)])
    return a, a @ theta + np.array([rng.randint(0, 2) for _ in range(len(a))])


def exact(number):
    return number if abs(number) == INFINITY else Fraction(float(number))


def as_rows(a_ub, b_ub):
    return [(tuple(exact(c) for c in a), -INFINITY, exact(b)) for a, b in zip(a_ub, b_ub, strict=True)]


class Description(NamedTuple):
    """A class as arrays: what both the compiled and the literal one are made from."""

    phi: np.ndarray  # (H,S,A,K) or (S,A,K)
    horizon: object  # None: as the features say
    shared: bool
    prior: object  # None, or (a_ub, b_ub)

    def hypothesis(self):
        if self.prior is None:
            return ocp.LinearFeatures(self.phi, horizon=self.horizon, shared=self.shared)
        a_ub, b_ub = self.prior
        return ocp.Polytope(self.phi, a_ub, b_ub, horizon=self.horizon, shared=self.shared)

    @property
    def periods(self):
        """None: time-homogeneous."""
        return len(self.phi) if self.phi.ndim == 4 else self.horizon

    def feature(self, t, x, a):
        phi = self.phi[t, x, a] if self.phi.ndim == 4 else self.phi[x, a]
        return tuple(exact(v) for v in phi)

    def literal(self, **options):
        return LiteralLinearOCP(
            self.feature,
            self.phi.shape[-2],
            self.periods,
            block=(lambda t: 0) if self.shared else (lambda t: t),
            prior_rows=() if self.prior is None else as_rows(*self.prior),
            **options,
        )

    def eluder_dimension(self):
        periods = range(self.periods or 1)
        features = [[self.feature(t, x, a) for x, a in np.ndindex(self.phi.shape[-3:-1])] for t in periods]
        blocks = [list(itertools.chain(*features))] if self.shared else features
        return eluder_dimension(blocks, () if self.prior is None else as_rows(*self.prior))
