"""What the paper proves, as functions: bounds to compute before learning and to check a run against.

The bounds are about OCP without ``discount``, with a hypothesis class that is not time-homogeneous, in a deterministic
system. "Episodes" always counts episodes; the paper's T counts periods, H for each episode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check
from ocpfast.hypothesis import Hypothesis, StateAggregation, Triple, _Aggregation

__all__ = [
    "ExplorationBound",
    "PartitionCount",
    "SuboptimalBound",
    "aggregation_error",
    "aggregation_loss_bound",
    "aggregation_value_bound",
    "best_partition_count",
    "exploration_lower_bound",
    "independent",
    "regret_bound",
    "suboptimal_bound",
]


def __dir__() -> list[str]:
    """What there is for users, without what this module imports."""
    return sorted(__all__)


class SuboptimalBound(NamedTuple):
    """At most `episodes` episodes lose more than `loss`.

    Attributes
    ----------
    episodes : int
        How many.
    loss : float
        V*_0(x) minus the reward of an episode.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> bound = ocp.theory.suboptimal_bound(ocp.TabulaRasa(n_states=50, n_actions=2, horizon=50))
    >>> bound.episodes
    5000
    """

    episodes: int
    loss: float


class PartitionCount(NamedTuple):
    """The best number of partitions, and the bound on regret with it.

    Attributes
    ----------
    partitions : int
        The number.
    bound : float
        The bound on regret.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> partitions, bound = ocp.theory.PartitionCount(partitions=3, bound=12.5)
    >>> partitions
    3
    """

    partitions: int
    bound: float


class ExplorationBound(NamedTuple):
    """What random exploration of the chain costs: episodes until the first reward, and regret, both in expectation.

    Attributes
    ----------
    episodes : float
        The expected number of episodes until the first reward.
    regret : float
        The expected regret.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.theory.exploration_lower_bound(n_states=50).episodes
    562949953421312.0
    """

    episodes: float
    regret: float


def suboptimal_bound(hypothesis: Hypothesis | int, rho: float = 0.0, horizon: int | None = None) -> SuboptimalBound:
    """Bound the number of episodes in which OCP loses more than a little (Theorems 1 and 3).

    If Q* is in the class, at most as many episodes as its eluder dimension are suboptimal. If the class is a state
    aggregation at a distance rho from Q*, at most as many episodes as it has parameters lose more than
    2 rho H (H + 1).

    Parameters
    ----------
    hypothesis : Hypothesis or int
        The class, or its eluder dimension.
    rho : float, default 0
        The distance between Q* and the class, see `aggregation_error`; above 0 only for a state aggregation.
    horizon : int, optional
        H; needed where rho > 0 and only a dimension is given.

    Returns
    -------
    SuboptimalBound
        ``episodes``, and the ``loss`` that no more than so many of them exceed.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.theory.suboptimal_bound(ocp.TabulaRasa(n_states=50, n_actions=2, horizon=50))
    SuboptimalBound(episodes=5000, loss=0.0)
    >>> halves = ocp.StateAggregation([0, 0, 1, 1], n_actions=2, horizon=3)
    >>> ocp.theory.suboptimal_bound(halves, rho=0.5)
    SuboptimalBound(episodes=12, loss=12.0)
    """
    rho = _not_negative(rho, "rho")
    dimension, periods = _sizes(hypothesis, horizon, rho)
    if rho == 0:
        return SuboptimalBound(dimension, 0.0)
    if periods is None:
        raise ValueError("horizon: expected an integer, as rho > 0 and hypothesis is only a dimension, got None")
    return SuboptimalBound(dimension, 2 * rho * periods * (periods + 1))


def regret_bound(
    hypothesis: Hypothesis | int,
    horizon: int | None,
    reward_bound: float,
    rho: float = 0.0,
    episodes: int | None = None,
) -> float:
    """Bound the regret of OCP: the sum over episodes of V*_0(x) minus the reward (the theorems' corollaries).

    If Q* is in the class, regret never exceeds 2 R H dim. If the class is a state aggregation at a distance rho from
    Q*, it is at most 2 R H dim + 2 rho (H + 1) T after T = H * episodes periods.

    Parameters
    ----------
    hypothesis : Hypothesis or int
        The class, or its eluder dimension.
    horizon : int or None
        H; None takes it from the class.
    reward_bound : float
        R: no reward is larger in absolute value.
    rho : float, default 0
        The distance between Q* and the class, see `aggregation_error`; above 0 only for a state aggregation.
    episodes : int, optional
        The number of episodes; needed where rho > 0. Without rho the bound is the same for all of them.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    The first bound is sharp: for every dimension some system and class make every agent's regret at least as large
    (Theorem 2).

    Examples
    --------
    >>> import ocpfast as ocp
    >>> table = ocp.TabulaRasa(n_states=50, n_actions=2, horizon=50)
    >>> ocp.theory.regret_bound(table, None, reward_bound=1.0)
    500000.0
    >>> ocp.theory.regret_bound(20, horizon=5, reward_bound=1.0, rho=0.01, episodes=1000)
    800.0
    """
    rho = _not_negative(rho, "rho")
    dimension, periods = _sizes(hypothesis, horizon, rho)
    if periods is None:
        raise ValueError("horizon: expected an integer, as hypothesis is only a dimension, got None")
    reward_bound = _not_negative(reward_bound, "reward_bound")
    if episodes is not None:
        episodes = _check.integer(episodes, "episodes", 0)
    elif rho > 0:
        raise ValueError("episodes: expected an integer, as regret may grow for ever with rho > 0, got None")
    return _regret(dimension, rho, periods, reward_bound, episodes or 0)


def aggregation_loss_bound(rho: float, horizon: int) -> float:
    """Bound the loss of an episode that taught OCP nothing: 6 rho H (Proposition 1).

    That is an episode in a state aggregation whose constraints were all redundant when they were made: every function
    that was left already satisfied them. With a fixed initial state all later episodes are like it.

    Parameters
    ----------
    rho : float
        The distance between Q* and the class, see `aggregation_error`.
    horizon : int
        H.

    Returns
    -------
    float
        How much less than V*_0(x) the episode pays at most.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.theory.aggregation_loss_bound(0.5, horizon=3)
    9.0
    """
    return 6 * _not_negative(rho, "rho") * _check.integer(horizon, "horizon", 1)


def aggregation_value_bound(rho: float, horizon: int) -> NDArray[np.float64]:
    """Bound the distance from Q* of upper values that are finite: 2 rho (H - t) in period t of a state aggregation.

    Parameters
    ----------
    rho : float
        The distance between Q* and the class, see `aggregation_error`.
    horizon : int
        H.

    Returns
    -------
    ndarray of shape (H,)
        The bound in each period.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.theory.aggregation_value_bound(0.5, horizon=3)
    array([3., 2., 1.])
    """
    return 2 * _not_negative(rho, "rho") * np.arange(_check.integer(horizon, "horizon", 1), 0, -1.0)


def aggregation_error(partition: _Aggregation | ArrayLike, q: ArrayLike) -> float:
    """Distance rho between Q* and the nearest function of a state aggregation, in the largest absolute difference.

    It is half of the largest range of Q* within a cell.

    Parameters
    ----------
    partition : StateAggregation, TabulaRasa or array_like of int
        The class, over states that are indices; or labels as in `StateAggregation`, with parameters of their own in
        every period.
    q : array_like of shape (H, S, A)
        Q*, as `solve` gives it.

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> q = ocp.solve(ocp.Chain(4)).q
    >>> ocp.theory.aggregation_error([0, 0, 1, 1], q)
    1.5
    >>> ocp.theory.aggregation_error(ocp.TabulaRasa(4, 2, horizon=4), q)
    0.0
    """
    values = _check.numeric(q, "q", "numbers of shape (H, S, A)")
    if values.ndim != 3 or values.size == 0:
        raise ValueError(f"q: expected shape (H, S, A), none of them 0, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"q: expected finite numbers, got {values[~np.isfinite(values)][0]}")
    horizon, n_states, n_actions = values.shape
    if isinstance(partition, _Aggregation):
        hypothesis = partition
    elif isinstance(partition, Hypothesis):
        raise TypeError(f"partition: expected a state aggregation, a table or labels, got {partition!r}")
    else:
        hypothesis = StateAggregation(partition, n_actions, horizon)
    if hypothesis.n_states is None:
        raise ValueError(f"partition: expected a class over {n_states} states, got one over vectors")
    sizes = hypothesis.horizon or horizon, hypothesis.n_states, hypothesis.n_actions
    if values.shape != sizes:
        raise ValueError(f"q: expected shape {sizes} as the class has it, got {values.shape}")
    layers = hypothesis._layers()
    if hypothesis.homogeneous:
        return _half_spread(layers, values.min(axis=0), values.max(axis=0))
    by_period = np.broadcast_to(layers, values.shape)
    return max(_half_spread(cells, q_t, q_t) for cells, q_t in zip(by_period, values, strict=True))


def best_partition_count(
    rho: Callable[[int], float] | ArrayLike,
    horizon: int,
    reward_bound: float,
    episodes: int,
    least: int | None = None,
    most: int | None = None,
    convex: bool = False,
) -> PartitionCount:
    """Choose the number K of partitions that minimises the bound on regret, 2 R K H + 2 rho(K) (H + 1) T.

    Parameters
    ----------
    rho : callable or array_like
        The distance between Q* and the class with K partitions in all periods together, or a bound on it: a function
        of K, or its values for K = least, least + 1, ...
    horizon : int
        H.
    reward_bound : float
        R: no reward is larger in absolute value.
    episodes : int
        How many episodes will be played; T = H * episodes.
    least, most : int, optional
        The range of K. It starts with H, a partition for each period, if nothing is said. With a function it may be
        left open: counts are tried until the first term alone is as large as the best bound.
    convex : bool, default False
        Whether rho(K) is known to be convex. A function is then called about 2 log2(most - least) times; otherwise
        for every K, which is right for any rho.

    Returns
    -------
    PartitionCount
        The best number K of ``partitions``, the smallest of several, and its ``bound``.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.theory.best_partition_count(lambda k: 1 / k, horizon=5, reward_bound=1.0, episodes=1000)
    PartitionCount(partitions=77, bound=1549.2207792207791)
    >>> ocp.theory.best_partition_count([0.5, 0.125, 0.125], horizon=2, reward_bound=1.0, episodes=10)
    PartitionCount(partitions=3, bound=27.0)
    """
    horizon = _check.integer(horizon, "horizon", 1)
    reward_bound = _not_negative(reward_bound, "reward_bound")
    episodes = _check.integer(episodes, "episodes", 0)
    first = horizon if least is None else _check.integer(least, "least", horizon)
    last = None if most is None else _check.integer(most, "most", first)
    convex = _check.flag(convex, "convex")

    def bound(count: int, error: float) -> float:
        return _regret(count, error, horizon, reward_bound, episodes)

    if not callable(rho):
        errors = _check.numeric(rho, "rho", "a function or numbers, one for each count")
        if errors.ndim != 1 or errors.size == 0 or (last is not None and errors.size != last - first + 1):
            expected = "at least one number" if last is None else f"{last - first + 1} numbers, for {first}..{last}"
            raise ValueError(f"rho: expected {expected}, got shape {errors.shape}")
        if not np.isfinite(errors).all() or errors.min() < 0:
            raise ValueError("rho: expected finite numbers >= 0")
        bounds = [bound(first + i, error) for i, error in enumerate(errors.tolist())]
        smallest = min(bounds)
        return PartitionCount(first + bounds.index(smallest), smallest)

    def error_of(count: int) -> float:
        return _not_negative(rho(count), f"rho({count})")

    slope = bound(1, 0.0)  # what a partition costs
    best = PartitionCount(first, bound(first, error_of(first)))
    if last is None:
        if slope * 2**53 <= best.bound:
            raise ValueError(f"most: expected an integer, as reward_bound={reward_bound} hardly limits it, got None")
        last = max(first, math.ceil(best.bound / slope))  # from there on partitions alone cost as much
    if convex:
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            # the terms apart: their sums would lose small differences of rho
            gain = bound(0, error_of(middle)) - bound(0, error_of(middle + 1))
            low, high = (low, middle) if gain <= slope else (middle + 1, high)
        return PartitionCount(low, bound(low, error_of(low)))
    for count in range(first + 1, last + 1):
        if bound(count, 0.0) >= best.bound:
            break
        now = bound(count, error_of(count))
        if now < best.bound:
            best = PartitionCount(count, now)
    return best


def exploration_lower_bound(n_states: int, episodes: int | None = None) -> ExplorationBound:
    """Bound from below what random exploration costs on the chain of Example 1 (Boltzmann, epsilon-greedy).

    An agent whose estimates start at 0 acts at random until it has seen a reward, and an episode in which it does so
    reaches the last of N states with probability 2^-(N-1).

    Parameters
    ----------
    n_states : int
        N, also the horizon.
    episodes : int, optional
        The number J of episodes; None for arbitrarily many.

    Returns
    -------
    ExplorationBound
        ``episodes``: the expected number of episodes up to the first that is rewarded, 2^(N-1). ``regret``: the
        expected regret is at least (2^(N-1) - 1) (1 - (1 - 2^-(N-1))^J), which tends to 2^(N-1) - 1. Infinite where a
        float cannot hold it.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.theory.exploration_lower_bound(50, episodes=1500)
    ExplorationBound(episodes=562949953421312.0, regret=1499.999999998...)
    >>> ocp.theory.exploration_lower_bound(5)
    ExplorationBound(episodes=16.0, regret=15.0)
    """
    n_states = _check.integer(n_states, "n_states", 2)
    try:
        expected = math.ldexp(1.0, n_states - 1)
    except OverflowError:
        expected = math.inf
    if episodes is None:
        return ExplorationBound(expected, expected - 1)
    episodes = _check.integer(episodes, "episodes", 0, 2**63 - 1)
    # a smaller probability p makes no difference to (1 - p) (1 - (1 - p)^J) / p, which is then J
    probability = math.ldexp(1.0, max(1 - n_states, -1000))
    seen = -math.expm1(episodes * math.log1p(-probability))
    return ExplorationBound(expected, (1 - probability) * (seen / probability))


def independent(hypothesis: Hypothesis, triple: Triple, triples: Iterable[Triple]) -> bool:
    """Whether a triple is independent of others with respect to a hypothesis class.

    It is, if two functions of the class can be equal at all the others but not at this one. The eluder dimension is
    the length of the longest sequence of triples of which each is independent of those before it.

    Parameters
    ----------
    hypothesis : Hypothesis
        The class.
    triple : tuple
        (state, action, period).
    triples : iterable of tuple
        The others.

    Returns
    -------
    bool
        Whether it is independent of them. Features of linear classes are dependent if no more than 1e-9 of their
        length is outside of a span.

    Examples
    --------
    >>> import numpy as np, ocpfast as ocp
    >>> halves = ocp.StateAggregation([0, 0, 1, 1], n_actions=2, horizon=3)
    >>> ocp.theory.independent(halves, (1, 0, 2), [(0, 0, 2)])  # the same cell
    False
    >>> ocp.theory.independent(halves, (1, 0, 2), [(0, 1, 2), (0, 0, 1), (2, 0, 2)])
    True
    >>> plane = ocp.LinearFeatures(np.array([[[1, 0]], [[0, 1]], [[1, 1]]]), horizon=1)
    >>> ocp.theory.independent(plane, (2, 0, 0), [(0, 0, 0)])
    True
    >>> ocp.theory.independent(plane, (2, 0, 0), [(0, 0, 0), (1, 0, 0)])
    False
    """
    if not isinstance(hypothesis, Hypothesis):
        raise TypeError(f"hypothesis: expected a hypothesis class, got {hypothesis!r}")
    if not isinstance(triples, Iterable):
        raise TypeError(f"triples: expected an iterable of (state, action, period), got {triples!r}")
    others = [_checked_triple(hypothesis, one, f"triples[{i}]") for i, one in enumerate(triples)]
    return hypothesis._independent(_checked_triple(hypothesis, triple, "triple"), others)


def _regret(dimension: int, rho: float, horizon: int, reward_bound: float, episodes: int) -> float:
    return 2 * reward_bound * dimension * horizon + 2 * rho * (horizon + 1) * (horizon * episodes)


def _not_negative(value: Any, name: str) -> float:
    expected = "a finite number >= 0"
    number = _check.number(value, name, expected)
    if not 0 <= number < math.inf:
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
    return number


def _sizes(hypothesis: Hypothesis | int, horizon: int | None, rho: float) -> tuple[int, int | None]:
    """The eluder dimension and the horizon that a class, or the user, gives."""
    if horizon is not None:
        horizon = _check.integer(horizon, "horizon", 1)
    if not isinstance(hypothesis, Hypothesis):
        if not hasattr(hypothesis, "__index__"):
            raise TypeError(f"hypothesis: expected a hypothesis class or its eluder dimension, got {hypothesis!r}")
        return _check.integer(hypothesis, "hypothesis", 0), horizon
    if hypothesis.horizon is None:
        raise ValueError(f"hypothesis: expected a class with a horizon, got the time-homogeneous {hypothesis!r}")
    if horizon not in (None, hypothesis.horizon):
        raise ValueError(f"horizon: expected {hypothesis.horizon} as the class has it, or None, got {horizon}")
    if rho > 0 and not isinstance(hypothesis, _Aggregation):
        raise ValueError(f"rho: expected 0, as only state aggregation has a bound for rho > 0, got {rho}")
    return hypothesis.eluder_dimension(), hypothesis.horizon


def _half_spread(cells: NDArray[np.int64], smallest: NDArray[np.float64], largest: NDArray[np.float64]) -> float:
    """Half of the largest difference within a cell between the largest and the smallest values."""
    low = np.full(int(cells.max()) + 1, np.inf)
    high = np.full(len(low), -np.inf)
    np.minimum.at(low, cells.ravel(), smallest.ravel())
    np.maximum.at(high, cells.ravel(), largest.ravel())
    return float((high / 2 - low / 2).max())  # the difference itself may overflow


def _checked_triple(hypothesis: Hypothesis, triple: Any, name: str) -> Triple:
    if not isinstance(triple, Sequence) or len(triple) != 3:
        raise TypeError(f"{name}: expected (state, action, period), got {triple!r}")
    state = _index_or_vector(triple[0], f"{name}[0]", hypothesis.n_states, hypothesis.state_size)
    action_size = getattr(hypothesis, "action_size", None)  # of classes whose actions may be vectors
    action = _index_or_vector(triple[1], f"{name}[1]", hypothesis.n_actions, action_size)
    last = None if hypothesis.horizon is None else hypothesis.horizon - 1
    return state, action, _check.integer(triple[2], f"{name}[2]", 0, last)


def _index_or_vector(value: Any, name: str, count: int | None, size: int | None) -> int | NDArray[np.float64]:
    if count is not None:
        return _check.integer(value, name, 0, count - 1)
    vector = _check.numeric(value, name, f"{size} numbers")
    if vector.shape != (size,):
        raise ValueError(f"{name}: expected {size} numbers, got shape {vector.shape}")
    return vector
