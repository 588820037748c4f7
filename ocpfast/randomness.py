"""Seeds, generators and the independent streams of simulations."""

from __future__ import annotations

import copy
import types
from typing import TypeAlias

import numpy as np

from ocpfast import _check

__all__ = ["Seed", "generator", "simulation_streams"]

Seed: TypeAlias = int | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None


def _seed_sequence(rng: Seed, name: str = "rng") -> np.random.SeedSequence:
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if isinstance(rng, np.random.Generator):
        rng = rng.bit_generator
    if isinstance(rng, np.random.BitGenerator):
        sequence = rng.seed_seq
        if not isinstance(sequence, np.random.SeedSequence):
            raise TypeError(f"{name}: expected a generator that was seeded with a SeedSequence, got {rng!r}")
        return sequence
    if rng is None:
        return np.random.SeedSequence()
    try:
        return np.random.SeedSequence(_check.integer(rng, name, 0))
    except TypeError:
        remedy = _check.hint(rng, "int")
        if isinstance(rng, (np.random.RandomState, types.ModuleType)):
            remedy = "; numpy.random.default_rng() makes a Generator"
        raise TypeError(
            f"{name}: expected None, an integer >= 0, a SeedSequence, a BitGenerator or a Generator, got "
            f"{rng!r}{remedy}"
        ) from None


def generator(rng: Seed, name: str = "rng") -> np.random.Generator:
    """A NumPy generator from whatever `rng=` may be.

    Parameters
    ----------
    rng : None, int, SeedSequence, BitGenerator or Generator
        None takes fresh entropy; a generator is used as it is.
    name : str
        The name of the argument, for errors.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Examples
    --------
    >>> from ocpfast.randomness import generator
    >>> generator(7).bit_generator.state == generator(7).bit_generator.state
    True
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, np.random.BitGenerator):
        return np.random.Generator(rng)
    return np.random.Generator(np.random.PCG64(_seed_sequence(rng, name)))


class Streams:
    """The streams of a run's simulations, each made when it is asked for; `first` is the number of simulation 0."""

    def __init__(self, rng: Seed, first: int = 0) -> None:
        [self._root] = _seed_sequence(rng).spawn(1)
        self.first = first

    def starting_at(self, simulation: int) -> Streams:
        """The same streams, counted from a later simulation."""
        part = copy.copy(self)
        part.first += simulation
        return part

    def sequence(self, *key: int) -> np.random.SeedSequence:
        """A descendant of the run's seed, by its place in the family."""
        root = self._root
        return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key), pool_size=root.pool_size)

    def of(self, simulation: int) -> tuple[np.random.Generator, np.random.Generator]:
        """System's and agent's stream of a simulation."""
        number = self.first + simulation
        return generator(self.sequence(number, 0)), generator(self.sequence(number, 1))

    def of_factory(self, simulation: int) -> np.random.Generator:
        """For what makes the agent of a simulation: a stream of its own, so that ties do not depend on its draws."""
        return generator(self.sequence(self.first + simulation, 2))


def simulation_streams(rng: Seed, simulations: int) -> list[tuple[np.random.Generator, np.random.Generator]]:
    """Independent random streams of each simulation: one for the system, one for the agent.

    `ocpfast.run` draws from these, so a loop of one's own that uses them sees the same trajectories.

    Parameters
    ----------
    rng : None, int, SeedSequence, BitGenerator or Generator
        Where the streams come from. A SeedSequence or generator spawns children, and so gives other streams each
        time; an integer gives the same.
    simulations : int
        How many pairs.

    Returns
    -------
    list of (Generator, Generator)
        System's and agent's stream of each simulation.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> (system_rng, agent_rng), = ocp.simulation_streams(0, simulations=1)
    >>> pendulum = ocp.InvertedPendulum(disturbance=2.5)
    >>> bool(abs(pendulum.reset(system_rng)[1]) <= 2.5)
    True
    """
    count = _check.integer(simulations, "simulations", 1)
    streams = Streams(rng)
    return [streams.of(simulation) for simulation in range(count)]
