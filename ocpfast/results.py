"""What a run leaves: rewards of every episode of every simulation, and what follows from them."""

from __future__ import annotations

import csv
import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check
from ocpfast.files import write_atomically
from ocpfast.showing import count

if TYPE_CHECKING:
    from ocpfast.agent import Agent

__all__ = ["Result", "load_result"]

_FORMAT = "ocpfast result 1"
AGENT_MAGIC = b"\x89OCPFAST"  # with which the other kind of file begins, see saving.py
# what NumPy and zipfile raise when bytes of an archive are missing or changed
_DAMAGE = (
    AttributeError, EOFError, KeyError, NotImplementedError, OSError, TypeError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def new_figure(width: float, height: float, caller: str) -> Any:
    """An empty figure, or an error that says what `caller` needs."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(f"{caller}: needs matplotlib; pip install 'ocpfast[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format of the file's suffix; PNG without one."""
    kind = Path(path).suffix.lstrip(".") or "png"
    write_atomically(path, lambda file: figure.savefig(file, format=kind, dpi=150))


def _finite(value: ArrayLike, name: str) -> NDArray[np.float64]:
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        array = value  # a run's own arrays may be large: no copy
    else:
        array = _check.numeric(value, name, "finite numbers")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name}: expected finite numbers, got {array[~np.isfinite(array)].flat[0]}")
    return array


def compact(array: NDArray[np.float64]) -> NDArray[np.float64] | float:
    """An array for a pickle: its one number where all are the same, as optimal values nearly always are."""
    alike = array.size > 0 and np.array_equal(array, np.broadcast_to(array.flat[0], array.shape), equal_nan=True)
    return float(array.flat[0]) if alike else array


class Result:
    """Rewards of a run.

    Parameters
    ----------
    rewards : array_like of shape (simulations, episodes)
        The total reward of each episode.
    optimal : array_like of the same shape, optional
        The optimal value V*_0 of each episode's initial state, where the system knows it.
    agents : list of agents, optional
        The agents as they were at the end of their simulation.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5))
    >>> result = ocp.run(agent, ocp.Chain(5), episodes=100, progress=False)
    >>> result.rewards.shape
    (1, 100)
    >>> float(result.regret()[0, -1])
    24.0
    """

    def __init__(self, rewards: ArrayLike, optimal: ArrayLike | None = None, agents: list[Agent] | None = None) -> None:
        self._rewards = _finite(rewards, "rewards")
        if self._rewards.ndim != 2:
            one = "; of one simulation: [rewards]" if self._rewards.ndim == 1 else ""
            raise ValueError(f"rewards: expected shape (simulations, episodes), got {self._rewards.shape}{one}")
        self._optimal: NDArray[np.float64] | None = None
        if optimal is not None:
            self._optimal = _finite(optimal, "optimal")
            if self._optimal.shape != self._rewards.shape:
                raise ValueError(f"optimal: expected shape {self._rewards.shape}, got {self._optimal.shape}")
        self._agents = agents

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Total reward of each episode, shape (simulations, episodes)."""
        return self._rewards

    @property
    def optimal(self) -> NDArray[np.float64] | None:
        """Optimal value of each episode's initial state; None where the system does not know it."""
        return self._optimal

    @property
    def agents(self) -> list[Agent]:
        """The agents at the end of their simulations, if the run was told to keep them."""
        if self._agents is None:
            raise AttributeError("agents: not kept; call run(..., keep_agents=True)")
        return self._agents

    def _loss(self, optimal_value: ArrayLike | None) -> NDArray[np.float64]:
        optimal: NDArray[np.float64] | None = self._optimal
        if optimal_value is not None:
            optimal = _finite(optimal_value, "optimal_value")
        if optimal is None:
            raise ValueError(
                "optimal_value: the system does not know its optimum, so it must be given: optimal_value=V*_0, from "
                "solve(system).v[0] if it has finitely many states"
            )
        try:
            return np.broadcast_to(optimal, self._rewards.shape) - self._rewards
        except ValueError:
            raise ValueError(
                f"optimal_value: expected a number or a shape that fits {self._rewards.shape}, got {optimal.shape}"
            ) from None

    def regret(self, optimal_value: ArrayLike | None = None) -> NDArray[np.float64]:
        """Cumulative regret.

        Parameters
        ----------
        optimal_value : float or array_like, optional
            V*_0 of the initial states; by default the system's own where it knows it.

        Returns
        -------
        ndarray of shape (simulations, episodes)
            The sum of V*_0 - reward over the episodes so far.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.Result([[0.0, 1.0, 1.0]]).regret(optimal_value=1.0)
        array([[1., 1., 1.]])
        """
        return np.cumsum(self._loss(optimal_value), axis=1)

    def suboptimal(self, epsilon: float = 1e-9, optimal_value: ArrayLike | None = None) -> NDArray[np.int64]:
        """Count suboptimal episodes.

        Parameters
        ----------
        epsilon : float, default 1e-9
            An episode counts if its reward is below V*_0 - epsilon.
        optimal_value : float or array_like, optional
            As in `regret`.

        Returns
        -------
        ndarray of shape (simulations,)
            The number in each simulation.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> ocp.Result([[0.0, 1.0, 1.0]]).suboptimal(optimal_value=1.0)
        array([1])
        """
        epsilon = _check.number(epsilon, "epsilon", "a number >= 0")
        if epsilon < 0:
            raise ValueError(f"epsilon: expected a number >= 0, got {epsilon}")
        counts: NDArray[np.int64] = np.count_nonzero(self._loss(optimal_value) > epsilon, axis=1).astype(np.int64)
        return counts

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file; agents are not part of it.

        The file is complete or not there: it is written beside its place and then renamed.

        Parameters
        ----------
        path : str or path
            Where to; the file is a NumPy .npz archive.

        Examples
        --------
        >>> import os, tempfile
        >>> import ocpfast as ocp
        >>> path = os.path.join(tempfile.mkdtemp(), "result.npz")
        >>> ocp.Result([[0.0, 1.0]]).save(path)
        >>> ocp.load_result(path).rewards
        array([[0., 1.]])
        """
        arrays: dict[str, Any] = {"format": np.array(_FORMAT), "rewards": self._rewards}
        if self._optimal is not None:
            arrays["optimal"] = self._optimal
        write_atomically(path, lambda file: np.savez_compressed(file, **arrays))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row for each episode of each simulation.

        Parameters
        ----------
        path : str or path
            Where to. Columns: simulation, episode, reward and, where the optimum is known, regret so far.

        Examples
        --------
        >>> import os, tempfile
        >>> from pathlib import Path
        >>> import ocpfast as ocp
        >>> path = os.path.join(tempfile.mkdtemp(), "result.csv")
        >>> ocp.Result([[0.0, 1.0]]).to_csv(path)
        >>> print(Path(path).read_text().strip())
        simulation,episode,reward
        0,0,0.0
        0,1,1.0
        """
        regret = self.regret().tolist() if self._optimal is not None else None

        def write(file: IO[bytes]) -> None:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(["simulation", "episode", "reward", *(["regret"] if regret else [])])
            for i, simulation in enumerate(self._rewards.tolist()):
                for j, reward in enumerate(simulation):
                    rows.writerow([i, j, reward, *([regret[i][j]] if regret else [])])
            text.flush()
            text.detach()

        write_atomically(path, write)

    def plot(self, path: str | os.PathLike[str] | None = None, label: str | None = None, axes: Any = None) -> Any:
        """Plot cumulative reward against the episode: the mean over simulations and twice its standard error.

        Parameters
        ----------
        path : str or path, optional
            Where to save the figure.
        label : str, optional
            For the legend.
        axes : matplotlib Axes, optional
            Where to draw, so that several results share a figure; by default a new figure.

        Returns
        -------
        matplotlib Axes
            What was drawn on.

        Examples
        --------
        >>> import os, tempfile
        >>> import ocpfast as ocp
        >>> path = os.path.join(tempfile.mkdtemp(), "result.png")
        >>> axes = ocp.Result([[0.0, 1.0], [1.0, 1.0]]).plot(path)
        >>> axes.get_xlabel()
        'episode'
        """
        if axes is None:
            axes = new_figure(6.4, 4.0, "plot").add_subplot()
        total = np.cumsum(self._rewards, axis=1)
        n, episodes = total.shape
        mean = total.mean(axis=0)
        error = total.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(episodes)
        count = np.arange(1, episodes + 1)
        (line,) = axes.plot(count, mean, label=label)
        axes.fill_between(count, mean - 2 * error, mean + 2 * error, color=line.get_color(), alpha=0.25, lw=0)
        axes.set_xlabel("episode")
        axes.set_ylabel("cumulative reward")
        if label is not None:
            axes.legend()
        if path is not None:
            save_figure(axes.figure, path)
        return axes

    def __reduce__(self) -> tuple[Any, ...]:
        optimal = None if self._optimal is None else compact(self._optimal)
        return _rebuilt, (self._rewards, optimal, self._agents)

    def __repr__(self) -> str:
        simulations, episodes = self._rewards.shape
        facts = [f"{count(simulations, 'simulation')} x {count(episodes, 'episode')}"]
        if self._rewards.size:
            facts.append(f"mean reward {self._rewards.mean():.6g}")
            facts += [f"{self.suboptimal().mean():.6g} suboptimal each"] if self._optimal is not None else []
        facts += ["with agents"] if self._agents is not None else []
        return f"<Result: {', '.join(facts)}>"


def _rebuilt(rewards: NDArray[np.float64], optimal: ArrayLike | None, agents: list[Agent] | None) -> Result:
    return Result(rewards, None if optimal is None else np.full(rewards.shape, optimal), agents)


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Result
        The result, without agents.

    Examples
    --------
    >>> import os, tempfile
    >>> import ocpfast as ocp
    >>> path = os.path.join(tempfile.mkdtemp(), "result.npz")
    >>> ocp.Result([[0.0, 1.0]]).save(path)
    >>> ocp.load_result(path)
    <Result: 1 simulation x 2 episodes, mean reward 0.5>
    """
    with open(_check.path(path), "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                found = str(archive["format"])
                arrays = dict(archive) if found == _FORMAT else {}
            if found == _FORMAT:
                return Result(arrays["rewards"], arrays.get("optimal"))
        except _DAMAGE as error:
            file.seek(0)
            remedy = "; it is an agent, load_agent reads it" if file.read(len(AGENT_MAGIC)) == AGENT_MAGIC else ""
            raise ValueError(f"path: {path} is not a result saved by ocpfast, or is damaged{remedy}") from error
    raise ValueError(f"path: expected a file of format {_FORMAT!r}, got {found!r} in {path}")
