# cython: language_level=3
"""The adversary of the paper's lower bound."""

from libc.stdint cimport int64_t

import numpy as np

from ocpfast import _check
from ocpfast.systems.base cimport System
from ocpfast.systems.contract cimport contract_of
from ocpfast.systems.base import _count, _floats

__all__ = ["Adversary"]


cdef extern from "ocpfast/system/adversary.hpp" namespace "ocp":
    cppclass CppAdversary "ocp::Adversary":
        CppAdversary(int64_t n_pairs, int64_t horizon, double reward_bound) except +


cdef class Adversary(System):
    """Adversary(n_features, horizon, reward_bound=1.0)\n--\n
    A system that decides on its rewards as the agent acts: no agent can do better here than OCP does.

    This is the paper's proof that its bounds are tight. The 2K states come in K pairs; episode j starts in pair
    j modulo K. The action of period 0 chooses one side of the pair (action 0 the even state, action 1 the odd one),
    where the episode stays. In every period one side of a pair pays `reward_bound`, the other one minus that: the
    side that the agent chooses when it first acts in the pair is made the bad one, for good.

    So any agent loses the first K episodes, and with them ``2 * reward_bound * horizon * n_features`` of reward;
    OCP with `hypothesis` loses no more than that. With a reward bound of 0 nothing can be lost.

    Parameters
    ----------
    n_features : int
        K, the eluder dimension of `hypothesis`, at most 2^20.
    horizon : int
        Number of periods.
    reward_bound : float, optional
        The size of all rewards, at least 0.

    Notes
    -----
    The system remembers what it has decided. In `ocpfast.run` each simulation has a memory of its own, and so has
    `step`, which keeps it as long as this object lives; a copy of the object starts with an empty memory.
    The optimal value is that of the system that the adversary ends up with: the same, whatever it decides.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> adversary = ocp.Adversary(n_features=5, horizon=10, reward_bound=1.0)
    >>> agent = ocp.OCP(adversary.hypothesis(), ties="random")
    >>> result = ocp.run(agent, adversary, episodes=100, simulations=3, progress=False)
    >>> result.suboptimal(), result.regret()[:, -1]
    (array([5, 5, 5]), array([100., 100., 100.]))
    """

    def __init__(self, n_features, horizon, reward_bound=1.0):
        cdef int64_t pairs = _check.integer(n_features, "n_features", 1, 2**20)
        cdef int64_t periods = _count(horizon, "horizon", 1)
        bound = float(_floats("reward_bound", reward_bound, ()))
        if bound < 0:
            raise ValueError(f"reward_bound: expected a number >= 0, got {bound}")
        if not np.isfinite(2.0 * bound * periods):
            raise ValueError(
                f"reward_bound: expected less for a horizon of {periods}, so that an episode's rewards add up to a "
                f"finite number, got {bound}"
            )
        self.adopt(contract_of(new CppAdversary(pairs, periods, bound)))
        self.arguments = {"n_features": pairs, "horizon": periods, "reward_bound": bound}

    def hypothesis(self):
        """Return the paper's class for this system: K features of each triple, and one theta for all periods.

        Whatever the adversary decides, Q* is in the class.

        Returns
        -------
        ocpfast.LinearFeatures
            Features of shape (horizon, 2K, 2, K).

        Examples
        --------
        >>> import ocpfast as ocp
        >>> features = ocp.Adversary(n_features=2, horizon=3).hypothesis()
        >>> features.eluder_dimension()
        2
        >>> features.phi[1, :, 0]  # the states of period 1
        array([[ 2.,  0.],
               [-2.,  0.],
               [ 0.,  2.],
               [ 0., -2.]])
        """
        from ocpfast.linear import LinearFeatures

        self.instance()
        cdef int64_t pairs = self.contract.state_size // 2
        cdef int64_t periods = self.contract.horizon
        try:
            phi = np.zeros((periods, pairs, 2, 2, pairs))  # a state is a pair and a side
        except (MemoryError, ValueError):
            raise MemoryError(
                f"hypothesis: no memory for features of shape ({periods}, {2 * pairs}, 2, {pairs})"
            ) from None
        sign = np.array([1.0, -1.0])
        worth = np.empty((periods, 2, 2))
        worth[0] = periods * sign  # in period 0 the action decides
        worth[1:] = (np.arange(periods - 1, 0, -1)[:, np.newaxis] * sign)[:, :, np.newaxis]  # then the side does
        for pair in range(pairs):
            phi[:, pair, :, :, pair] = worth
        return LinearFeatures(phi.reshape(periods, 2 * pairs, 2, pairs), shared=True)
