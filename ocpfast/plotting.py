"""Pictures: what an agent knows of the values, and the pendulum. They need matplotlib, which is optional."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocpfast import _check
from ocpfast.hypothesis import Grid, StateAggregation, TabulaRasa
from ocpfast.results import new_figure, save_figure

if TYPE_CHECKING:
    from ocpfast.agents import OCP

__all__ = ["draw_pendulum", "pendulum_picture", "plot_values"]

_UNKNOWN = "0.8"  # grey: values that are infinite


def plot_values(agent: OCP, path: str | os.PathLike[str] | None = None, period: int = 0) -> Any:
    """Maps of the value function as an agent knows it; `OCP.plot_values` says more.

    Parameters
    ----------
    agent : OCP
        An agent that learns `TabulaRasa` or `StateAggregation`.
    path : str or path, optional
        Where to save the figure.
    period : int, default 0
        The period, where the class is over a grid and has periods.

    Returns
    -------
    matplotlib Figure
        The figure.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> from ocpfast.plotting import plot_values
    >>> figure = plot_values(ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4)))
    >>> figure.axes[0].get_xlabel()
    'period'
    """
    hypothesis = agent.hypothesis
    if not isinstance(hypothesis, (TabulaRasa, StateAggregation)):
        raise TypeError(
            "plot_values: expected an agent that learns TabulaRasa or StateAggregation, got one that learns "
            f"{type(hypothesis).__name__}"
        )
    grid = hypothesis.partition if isinstance(hypothesis, StateAggregation) else None
    with_lower = hypothesis.lower == "exact" or agent._options["selection"] in ("first", "eluder")
    if not isinstance(grid, Grid):
        assert hypothesis.n_states is not None
        periods = range(hypothesis.horizon or 1)
        maps = _Maps(agent, [[(x, t) for t in periods] for x in range(hypothesis.n_states)], with_lower)
        edges = np.arange(len(periods) + 1) - 0.5, np.arange(hypothesis.n_states + 1) - 0.5
        figure = _maps_figure(maps, edges, ("period", "state"))
    else:
        if grid.dimension > 2:
            raise ValueError(f"plot_values: expected a grid of one or two dimensions, got {grid.dimension}")
        last = (hypothesis.horizon or period + 1) - 1
        period = _check.integer(period, "period", 0, last)
        limits = [_closed(edges) for edges in grid.edges]
        middles = [(limit[:-1] + limit[1:]) / 2 for limit in limits]
        if grid.dimension == 1:
            maps = _Maps(agent, [[([x], period) for x in middles[0]]], with_lower)
            figure = _curves_figure(maps, limits[0])
        else:
            maps = _Maps(agent, [[([x, y], period) for x in middles[0]] for y in middles[1]], with_lower)
            figure = _maps_figure(maps, (limits[0], limits[1]), ("state[0]", "state[1]"))
    if path is not None:
        save_figure(figure, path)
    return figure


class _Maps:
    """max_a of upper and lower values, greedy actions, and what is undetermined, at a table of (state, period)."""

    def __init__(self, agent: OCP, points: list[list[tuple[Any, int]]], with_lower: bool) -> None:
        actions = range(agent.hypothesis.n_actions or 0)
        shape = len(points), len(points[0])
        self.n_actions = len(actions)
        self.upper, self.action = np.empty(shape), np.empty(shape, dtype=np.int64)
        self.lower = np.empty(shape) if with_lower else None
        self.undetermined = np.empty(shape, dtype=bool)
        for place in np.ndindex(shape):
            state, period = points[place[0]][place[1]]
            values = [agent.upper(state, action, period) for action in actions]
            best = int(np.argmax(values))
            self.upper[place], self.action[place] = values[best], best
            self.undetermined[place] = not agent.determined(state, best, period)
            if self.lower is not None:
                self.lower[place] = max(agent.lower(state, action, period) for action in actions)


def _closed(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges with the open outer bins closed, each as wide as its neighbour (or 1, where there is none)."""
    if len(edges) == 0:
        return np.array([-0.5, 0.5])
    first, last = (edges[1] - edges[0], edges[-1] - edges[-2]) if len(edges) > 1 else (1.0, 1.0)
    return np.concatenate([[edges[0] - first], edges, [edges[-1] + last]])


def _maps_figure(maps: _Maps, edges: tuple[Any, Any], labels: tuple[str, str]) -> Any:
    from matplotlib.colors import BoundaryNorm

    panels: list[tuple[str, NDArray[Any]]] = [("upper value", maps.upper)]
    if maps.lower is not None:
        panels.append(("lower value", maps.lower))
    panels.append(("action with the largest upper value", maps.action))
    figure = new_figure(4.8 * len(panels), 4.0, "plot_values")
    for axes, (title, values) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        is_action = values is maps.action
        look: dict[str, Any] = {}
        if is_action:
            look = {"cmap": "tab10", "norm": BoundaryNorm(np.arange(maps.n_actions + 1) - 0.5, 256)}
        mesh = axes.pcolormesh(*edges, np.ma.masked_invalid(values), **look)
        axes.set_facecolor(_UNKNOWN)
        if is_action:
            figure.colorbar(mesh, ax=axes, ticks=np.arange(maps.n_actions))
        elif np.isfinite(values).any():
            figure.colorbar(mesh, ax=axes)
        _hatch(axes, edges, maps.undetermined)
        axes.set(title=title, xlabel=labels[0], ylabel=labels[1])
        if labels[0] == "period":
            axes.locator_params(integer=True)
    figure.supxlabel(_legend(maps), fontsize="small")
    return figure


def _curves_figure(maps: _Maps, edges: NDArray[np.float64]) -> Any:
    figure = new_figure(6.4, 4.0, "plot_values")
    axes = figure.add_subplot()
    for name, values in (("upper", maps.upper), ("lower", maps.lower)):
        if values is not None:
            axes.stairs(np.where(np.isfinite(values[0]), values[0], np.nan), edges, baseline=None, label=name)
    for i in np.flatnonzero(maps.undetermined[0]):
        axes.axvspan(edges[i], edges[i + 1], facecolor=_UNKNOWN, hatch="////", edgecolor="0.65", lw=0, zorder=0)
    axes.set(title="values", xlabel="state[0]", ylabel="largest value of an action", xlim=(edges[0], edges[-1]))
    axes.legend()
    figure.supxlabel(_legend(maps), fontsize="small")
    return figure


def _hatch(axes: Any, edges: tuple[Any, Any], undetermined: NDArray[np.bool_]) -> None:
    """Mark the cells whose value is not determined."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    cells = [
        Path([(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1]), (x[0], y[0])], closed=True)
        for row, column in np.argwhere(undetermined)
        for x, y in [(edges[0][column : column + 2], edges[1][row : row + 2])]
    ]
    if cells:  # one patch: hatching them one by one takes seconds
        path = Path.make_compound_path(*cells)
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor="0.65", hatch="////", lw=0))


def _legend(maps: _Maps) -> str:
    count, total = int(maps.undetermined.sum()), maps.undetermined.size
    return f"hatched: not determined ({count:,} of {total:,}); grey: infinite"


def draw_pendulum(state: ArrayLike, path: str | os.PathLike[str] | None = None, axes: Any = None) -> Any:
    """Draw the inverted pendulum on its cart.

    Parameters
    ----------
    state : array_like of 2 numbers
        The angle from the vertical, in radians, and the angular velocity, which an arc with an arrow shows.
    path : str or path, optional
        Where to save the figure.
    axes : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        What was drawn on.

    Examples
    --------
    >>> import os, tempfile
    >>> from ocpfast.plotting import draw_pendulum
    >>> path = os.path.join(tempfile.mkdtemp(), "pendulum.png")
    >>> axes = draw_pendulum([0.3, -1.0], path)
    >>> os.path.getsize(path) > 0
    True
    """
    numbers = _check.numeric(state, "state", "an angle and an angular velocity")
    if numbers.shape != (2,) or not np.isfinite(numbers).all():
        raise ValueError(f"state: expected an angle and an angular velocity, finite numbers, got {numbers}")
    if axes is None:
        axes = new_figure(6.0, 4.0, "draw_pendulum").add_subplot()
    from matplotlib.patches import Arc, Circle, Rectangle

    angle, velocity = float(numbers[0]), float(numbers[1])
    up = abs(angle) < np.pi / 2
    axes.axhline(0.0, color="0.3", lw=1)
    for wheel in (-0.2, 0.2):
        axes.add_patch(Circle((wheel, 0.05), 0.05, color="0.3"))
    axes.add_patch(Rectangle((-0.35, 0.1), 0.7, 0.2, facecolor="tab:blue"))
    tip = np.sin(angle), 0.3 + np.cos(angle)
    axes.plot([0.0, tip[0]], [0.3, tip[1]], color="tab:orange" if up else "tab:red", lw=6, solid_capstyle="round")
    axes.add_patch(Circle((0.0, 0.3), 0.04, color="0.2"))
    # the angle that the velocity would sweep in 0.2 s, at most a quarter of a turn; a positive one turns clockwise
    sweep = np.degrees(np.clip(0.2 * velocity, -np.pi / 2, np.pi / 2))
    if sweep != 0.0:
        at = 90.0 - np.degrees(angle)
        axes.add_patch(Arc((0.0, 0.3), 2.2, 2.2, theta1=min(at, at - sweep), theta2=max(at, at - sweep), color="0.5"))
        end = np.radians(at - sweep)
        axes.plot(1.1 * np.cos(end), 0.3 + 1.1 * np.sin(end), marker="o", ms=4, color="0.5")
    axes.plot([0.0, 0.0], [0.3, 1.3], color="0.6", lw=1, ls=":", zorder=0)
    axes.set_title(f"angle {np.degrees(angle):.1f}°, {velocity:.2f} rad/s" + ("" if up else ": fallen"))
    axes.set(xlim=(-2.0, 2.0), ylim=(-0.9, 1.6), aspect="equal")
    axes.axis("off")
    if path is not None:
        save_figure(axes.figure, path)
    return axes


def pendulum_picture(state: ArrayLike) -> NDArray[np.uint8]:
    """The pendulum as pixels.

    Parameters
    ----------
    state : array_like of 2 numbers
        The angle and the angular velocity.

    Returns
    -------
    ndarray of uint8, shape (400, 600, 3)
        Red, green and blue.

    Examples
    --------
    >>> from ocpfast.plotting import pendulum_picture
    >>> pendulum_picture([0.0, 0.0]).shape
    (400, 600, 3)
    """
    axes = draw_pendulum(state)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(axes.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
