"""What the paper says, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Claim", "mean_and_error", "table"]


@dataclass(frozen=True)
class Claim:
    """A claim, what was measured, and whether they agree."""

    claim: str
    measured: str
    reproduced: bool
    note: str = ""  # the reason, where they do not


def mean_and_error(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean over simulations and its standard error; nan where there is only one."""
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return float(values.mean()), float(error)


def table(claims: Sequence[Claim]) -> str:
    """The claims as a Markdown table."""
    rows = ["| claim | measured | |", "|---|---|---|"]
    for one in claims:
        verdict = "reproduced" if one.reproduced else "**not reproduced**"
        rows.append(f"| {one.claim} | {one.measured} | {verdict}{': ' + one.note if one.note else ''} |")
    return "\n".join(rows)
