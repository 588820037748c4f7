"""What an agent can promise about the episodes to come."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """What the theorems say of an agent as it stands, if Q* is in its hypothesis class.

    Attributes
    ----------
    valid : bool
        Whether the theorems apply. If not, the other two say nothing.
    remaining : int or None
        At most so many of the episodes to come are suboptimal; 0: none will be.
    last_episode_optimal : bool
        Whether the last episode was provably optimal: each of its actions had a determined value when it was taken.
    reason : str
        Why it is not valid; empty if it is.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> result = ocp.run(ocp.OCP(ocp.TabulaRasa(4, 2, horizon=4)), ocp.Chain(4), 40, progress=False, keep_agents=True)
    >>> result.agents[0].certificate()
    Certificate(valid=True, remaining=12, last_episode_optimal=True, reason='')
    """

    valid: bool
    remaining: int | None
    last_episode_optimal: bool
    reason: str = ""
