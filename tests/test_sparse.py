"""Sparse linear classes: against the literal algorithm over supports, and the theorems.

A failing random case is run again with check(configuration, case), both of which are in the message.
"""

import itertools
import math
import pickle
import random

import numpy as np
import pytest
from linear_cases import Description
from reference import INFINITY
from reference_sparse import LiteralSparseOCP, l_independent, l_rank
from test_linear import Case, Configuration, Pair
from test_linear_chain import N_STATES, chain_features

import ocpfast as ocp
from ocpfast.sparse import is_full_rank

METHODS = list(itertools.product((False, True, "stationary"), ("episode", "period")))
CLASSES = ("(H,S,A,K)", "(H,S,A,K) shared", "(S,A,K)", "(S,A,K) homogeneous")
CASES = 25  # of each configuration


# against the literal algorithm


class SparseDescription(Description):
    sparsity = 1
    arguments = {}  # noqa: RUF012

    def hypothesis(self):
        return ocp.SparseLinear(self.phi, self.sparsity, horizon=self.horizon, shared=self.shared, **self.arguments)

    def literal(self, **options):
        options.pop("ties", None)  # it follows the compiled agent
        return LiteralSparseOCP(
            self.feature,
            self.phi.shape[-2],
            self.periods,
            block=(lambda t: 0) if self.shared else (lambda t: t),
            sparsity=self.sparsity,
            n_features=self.phi.shape[-1],
            **options,
        )


class SparseCase(Case):
    def random_description(self):
        rng = self.rng
        description = SparseDescription(*super().random_description())
        scale = 2.0 ** rng.choice([0, 0, -10, 10])  # exact, and so are the literal's fractions
        columns = np.array([2.0 ** rng.choice([0, 0, -10, 10]) for _ in range(self.n_features)])
        description = SparseDescription(description.phi * columns * scale, *description[1:])
        description.sparsity = rng.randint(1, self.n_features)
        return description

    def random_options(self):
        return super().random_options() | {"ties": self.rng.choice(["first", "least_visited", "directed", "random"])}


def check(configuration, case):
    """Run one case; None, or what went wrong and how to get there again."""
    trace = []
    try:
        trial = SparseCase(configuration, case)
        trace = trial.pair.trace
        trial.run()
    except Exception as error:  # also what the library itself raises
        return "\n  ".join([f"{error!r}\ncheck({configuration}, {case})", *trace])
    return None


@pytest.mark.parametrize("replay, update", METHODS)
@pytest.mark.parametrize("features", CLASSES)
def test_compiled_is_literal(features, replay, update):
    configuration = Configuration("eluder", replay, update, features, "none")
    results = [check(configuration, case) for case in range(CASES)]
    failures = [result for result in results if result is not None]
    shortest = min(failures, key=len, default="")
    assert not failures, f"{len(failures)} of {len(results)} random cases differ; the shortest:\n{shortest}"
