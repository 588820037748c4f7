"""Figures that can be printed: curves with error bands, told apart by dashes and markers as well as by colour."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocpfast.files import write_atomically

__all__ = ["Curve", "Panel", "available", "draw"]

# dark and light in turn, so that neighbours differ in grey as well
_COLOURS = ("#111111", "#d6604d", "#2166ac", "#e8a33d", "#1b7837", "#b79fd6")
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1.2, 1.2)),
    (0, (6, 2, 1.2, 2)),
    (0, (3, 1.5)),
    (0, (9, 1.5, 3, 1.5)),
)
_MARKERS = "osD^vX"
_MARKS = 8  # on a curve of many points
# two panels are as wide as a page of text, one as a column
_WIDTH, _HEIGHT = 3.5, 3.0
_LOOK: Any = {
    "axes.grid": True, "grid.alpha": 0.3, "font.size": 8, "axes.titlesize": 8.5, "legend.fontsize": 7,
    "lines.linewidth": 1.2, "lines.markersize": 3.2,
    # the same bits each time: names that do not depend on chance (and no date, below)
    "svg.hashsalt": "ocpfast",
}  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """A mean over simulations with its standard error; without simulations, a line."""

    label: str
    x: NDArray[np.float64]
    values: NDArray[np.float64]  # (simulations, len(x)), or (len(x),)


@dataclass(frozen=True)
class Panel:
    """A set of axes."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]


def available() -> bool:
    """Whether figures can be drawn: matplotlib is optional."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(panels: Sequence[Panel], file: Path) -> list[Path]:
    """Draw panels, two in a row, and save them as PNG and SVG.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw.
    file : Path
        Where to, without a suffix.

    Returns
    -------
    list of Path
        The files written; none where there is no matplotlib.
    """
    if not available():
        return []
    import matplotlib
    from matplotlib.figure import Figure

    rows, columns = (len(panels) + 1) // 2, min(2, len(panels))
    with matplotlib.rc_context(_LOOK):
        figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for ax, panel in zip(axes.flat, panels, strict=False):
            _fill(ax, panel)
        for ax in axes.flat[len(panels) :]:
            ax.set_axis_off()
        written = []
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            written.append(file.with_name(f"{file.name}.{kind}"))
            options: dict[str, Any] = {"format": kind, "dpi": 200, "metadata": metadata}
            write_atomically(written[-1], lambda out, options=options: figure.savefig(out, **options))  # type: ignore[misc]
    return written


def _fill(ax: Any, panel: Panel) -> None:
    for i, curve in enumerate(panel.curves):
        mean, error = curve.values, None
        if curve.values.ndim == 2:
            mean = curve.values.mean(axis=0)
            if len(curve.values) > 1:
                error = curve.values.std(axis=0, ddof=1) / len(curve.values) ** 0.5
        # more curves than colours: the same colours again, with other dashes and markers
        colour, turn = _COLOURS[i % len(_COLOURS)], i + i // len(_COLOURS)
        every = max(1, len(mean) // _MARKS)
        ax.plot(
            curve.x, mean, color=colour, linestyle=_DASHES[turn % len(_DASHES)], label=curve.label,
            marker=_MARKERS[turn % len(_MARKERS)], markevery=(0 if every == 1 else (i + 1) * every // 7 % every, every),
        )  # fmt: skip
        if error is not None:
            ax.fill_between(curve.x, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.25, linewidth=0)
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if all((curve.values >= 0).all() for curve in panel.curves):
        ax.set_ylim(bottom=-0.02 * ax.get_ylim()[1])  # so that a curve at 0 is seen
    # below, where no curve is
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False, handlelength=3.2)
