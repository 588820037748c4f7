"""Figures that can be printed: curves with error bands, told apart by dashes as well as by colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "Panel", "draw"]

# dark to light, so that they differ in grey as well, each with dashes of its own
_STYLES: tuple[tuple[str, Any], ...] = (
    ("#111111", "-"),
    ("#b2182b", (0, (6, 2))),
    ("#2166ac", (0, (1.2, 1.2))),
    ("#e08214", (0, (6, 2, 1.2, 2))),
    ("#5aae61", (0, (3, 1.5))),
    ("#998ec3", (0, (6, 1.5, 1.2, 1.5, 1.2, 1.5))),
)


@dataclass(frozen=True)
class Curve:
    """A mean over simulations with its standard error; without simulations, a line."""

    label: str
    x: NDArray[np.float64]
    values: NDArray[np.float64]  # (simulations, len(x)), or (len(x),)
    markers: bool = False


@dataclass(frozen=True)
class Panel:
    """A set of axes."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    logarithmic: bool = False


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
        The files written.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = (len(panels) + 1) // 2
    columns = min(2, len(panels))
    # the same bits each time: no date, and names that do not depend on chance
    with plt.rc_context({"svg.hashsalt": "ocpfast", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}):
        figure, axes = plt.subplots(
            rows, columns, figsize=(4.6 * columns, 3.5 * rows), squeeze=False, layout="constrained"
        )
        for ax, panel in zip(axes.flat, panels, strict=False):
            _fill(ax, panel)
        for ax in axes.flat[len(panels) :]:
            ax.set_axis_off()
        written = []
        for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            written.append(file.with_suffix(suffix))
            figure.savefig(written[-1], dpi=200, metadata=metadata)
        plt.close(figure)
    return written


def _fill(ax: Any, panel: Panel) -> None:
    for (colour, dashes), curve in zip(_STYLES, panel.curves, strict=False):
        mean, error = curve.values, None
        if curve.values.ndim == 2:
            mean = curve.values.mean(axis=0)
            if len(curve.values) > 1:
                error = curve.values.std(axis=0, ddof=1) / len(curve.values) ** 0.5
        ax.plot(
            curve.x, mean, color=colour, linestyle=dashes, label=curve.label, marker="o" if curve.markers else None,
            markersize=3,
        )  # fmt: skip
        if error is not None:
            ax.fill_between(curve.x, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0)
    if panel.logarithmic:
        ax.set_yscale("log")
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    ax.legend(fontsize=7)
