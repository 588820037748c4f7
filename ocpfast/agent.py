"""What all agents share: one step at a time, copies, statistics. `ocpfast.run` runs them compiled."""

from __future__ import annotations

import abc
import copy
import os
from typing import Any, TypeVar

from ocpfast import _check, saving
from ocpfast.hypothesis import Hypothesis
from ocpfast.randomness import Seed, generator
from ocpfast.showing import count
from ocpfast.systems import System

__all__ = ["Agent"]

_Self = TypeVar("_Self", bound="Agent")  # typing.Self needs Python 3.11


class Agent(abc.ABC):
    """What acts and learns: `OCP`, and `LSVI`, `QLearning` and `RandomPolicy` to compare it with.

    An agent serves one call at a time. A second one meanwhile, from another thread or from inside the first (from a
    feature function, say), is a RuntimeError and changes nothing; `copy` makes an agent for each thread.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> isinstance(ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4)), ocp.Agent)
    True
    """

    _any_state = False  # whether it acts in any system with its number of actions

    def __init__(self, domain: Hypothesis, core: Any, rng: Seed) -> None:
        self._domain = domain  # the sizes of the systems that it fits
        self._core = core
        self._rng = generator(rng)
        self._capsule = self._rng.bit_generator.capsule
        self._stochastic = False  # whether `run` has met a system whose steps are

    @property
    def period(self) -> int:
        """The period of the present episode."""
        return int(self._core.period)

    def act(self, state: Any, learn: bool = True, period: int | None = None) -> Any:
        """Choose an action.

        Parameters
        ----------
        state : int or array_like
            The present state.
        learn : bool, default True
            If False, act on what is known (ties go to the lowest action) and record nothing: no `observe` follows.
        period : int, optional
            Only with learn=False: the period; by default that of the present episode.

        Returns
        -------
        int, or ndarray of shape (n_action,)
            The action.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4)).act(0)
        0
        """
        if learn is not True and not _check.flag(learn, "learn"):
            return self._greedy(state, period)
        if period is not None:
            raise ValueError(
                f"period: expected None with learn=True, got {period!r}; the agent counts periods itself "
                "(learn=False acts in any period)"
            )
        return self._core.act(state, self._capsule)

    def _greedy(self, state: Any, period: int | None) -> Any:
        return self._core.greedy(state, period)

    def observe(self, next_state: Any, reward: float, terminated: bool = False, truncated: bool = False) -> bool:
        """Take in the outcome of the last action; the order of arguments is Gymnasium's.

        Parameters
        ----------
        next_state : int or array_like
            The state after the action; not looked at if `terminated`.
        reward : float
            The reward.
        terminated : bool
            No value comes after this transition.
        truncated : bool
            The clock stopped a system that would have gone on.

        Returns
        -------
        bool
            True if this closed the episode: it terminated, was truncated, or the class's last period is over.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> agent = ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4))
        >>> action = agent.act(0)
        >>> agent.observe(1, 0.5)
        False
        >>> action = agent.act(1)
        >>> agent.observe(2, 1.0, terminated=True)
        True
        """
        reward = _check.number(reward, "reward", "a finite number")
        ending = _check.flag(terminated, "terminated"), _check.flag(truncated, "truncated")
        # before anything is learned, so that a warning that is an error leaves nothing half done
        self._before_observing(reward)
        return bool(self._core.observe(next_state, reward, *ending))

    def _before_observing(self, reward: float) -> None:  # noqa: B027 (most leave it as it is)
        """A chance to warn."""

    def _before_running(self, system: System) -> None:  # noqa: B027
        """A chance to warn."""

    def begin_episode(self) -> None:
        """Drop an unfinished episode.

        What it would have taught at its end is not learned; what joined at once stays, as do visits and stored
        transitions, which are facts.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> agent = ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4))
        >>> action = agent.act(0)
        >>> agent.begin_episode()
        >>> agent.period
        0
        """
        self._core.begin_episode()

    def statistics(self) -> dict[str, int]:
        """Counts that tell what the agent did and where time goes.

        Returns
        -------
        dict
            ``episodes`` and ``periods`` observed, and more; the agent's own documentation says what.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4)).statistics()["episodes"]
        0
        """
        return dict(self._core.statistics())

    def copy(self: _Self, rng: Seed = None) -> _Self:
        """Copy with everything learned so far.

        Parameters
        ----------
        rng : None, int, SeedSequence, BitGenerator or Generator
            The copy's randomness; None copies the generator as it stands.

        Returns
        -------
        Agent
            The copy, of the same kind; the two share nothing that changes.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> agent = ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4))
        >>> twin = agent.copy()
        >>> action = twin.act(0)
        >>> agent.period, twin.begin_episode()
        (0, None)
        """
        twin = object.__new__(type(self))
        with self._core.reading():
            twin.__dict__.update(self.__dict__)
            twin._core = self._core.copy()
            twin._rng = copy.deepcopy(self._rng) if rng is None else generator(rng)
        twin._capsule = twin._rng.bit_generator.capsule
        return twin

    def __copy__(self: _Self) -> _Self:
        return self.copy()

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:
        return self.copy()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a file: what it is, all that it has learned, and where it stands in its episode.

        `ocpfast.load_agent` reads it, and the agent it returns continues as this one, to the last bit. The file is
        complete or not there: it is written beside its place and then renamed. It has a version and a checksum, and no
        code in it.

        Parameters
        ----------
        path : str or path
            Where to.

        Examples
        --------
        >>> import os, tempfile
        >>> import ocpfast as ocp
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.ocp")
        >>> agent = ocp.QLearning(5, 2, horizon=5)
        >>> result = ocp.run(agent, ocp.Chain(5), episodes=30, progress=False, keep_agents=True)
        >>> result.agents[0].save(path)
        >>> ocp.load_agent(path).statistics()
        {'episodes': 30, 'periods': 150}
        """
        saving.save_agent(self, path)

    def __repr__(self) -> str:
        made = f"{type(self).__name__}({', '.join(self._described())})"
        try:
            reading = self._core.reading()
        except RuntimeError:  # in the middle of a call, where a debugger or a log may well ask
            return f"<{made}: in use>"
        with reading:
            seen = self._core.statistics()
            if not seen["episodes"] and not seen["periods"]:
                return made
            facts = [count(seen["episodes"], "episode"), *self._learned()]
            facts += [f"in period {self.period}"] if self.period else []
            return f"<{made}: {', '.join(facts)}>"

    @abc.abstractmethod
    def _described(self) -> list[str]:
        """The constructor's arguments in words, those that are as by default left out."""

    def _learned(self) -> list[str]:
        """What it knows, in numbers."""
        return []

    @abc.abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """What the constructor takes to make an agent of this kind, rng aside."""

    def _memory(self) -> dict[str, Any]:
        """What the agent knows beside its core."""
        return {"stochastic": self._stochastic}

    def _remember(self, memory: dict[str, Any]) -> None:
        self._stochastic = bool(memory["stochastic"])

    def __reduce__(self) -> tuple[Any, ...]:
        # the generator itself, as agents may share one, and where it stands: it is pickled after this
        with self._core.reading():
            learned = self._core.state(), self._memory(), self._rng.bit_generator.state
        return saving.revive, (type(self), self._arguments(), self._rng, *learned)
