"""What the paper says, beside what was measured, and whether they agree as far as the simulations can tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SURE", "Claim", "Estimate", "all_of", "table"]

SURE = 3.0  # standard errors; what is closer than that is not told apart

# Whether a claim holds; None: the simulations are too few to tell.
Verdict = bool | None


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error, which is 0 where nothing is left to chance.

    Examples
    --------
    >>> import numpy as np
    >>> from ocpfast.experiments.claims import Estimate
    >>> hours = Estimate.of(np.array([1.2, 1.0, 1.4, 1.2]))
    >>> print(hours, hours.below(2.0), hours.below(1.0), hours.below(1.3))
    1.200 ± 0.082 True None None
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Estimate:
        """From one value for each simulation; a single one is taken as it is."""
        error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
        return cls(float(values.mean()), float(error))

    def __str__(self) -> str:
        """As many digits as the error has two of; without one, four."""
        if self.error <= 1e-12 * abs(self.mean):  # nothing but rounding
            return f"{self.mean:,.4g}" if abs(self.mean) < 1e4 else f"{self.mean:,.0f}"
        digits = max(0, 1 - math.floor(math.log10(self.error)))
        return f"{self.mean:,.{digits}f} ± {self.error:,.{digits}f}"

    def __sub__(self, other: Estimate) -> Estimate:
        return Estimate(self.mean - other.mean, float(np.hypot(self.error, other.error)))

    def __mul__(self, factor: float) -> Estimate:
        return Estimate(self.mean * factor, abs(factor) * self.error)

    def __truediv__(self, other: Estimate) -> Estimate:
        ratio = self.mean / other.mean
        return Estimate(ratio, abs(ratio) * float(np.hypot(self.error / self.mean, other.error / other.mean)))

    def below(self, bound: float) -> Verdict:
        """Whether the truth is below a bound."""
        margin = SURE * self.error
        return True if self.mean + margin < bound else False if self.mean - margin >= bound else None

    def less(self, other: Estimate) -> Verdict:
        """Whether this is less than another."""
        return (self - other).below(0.0)

    def within(self, low: float, high: float) -> Verdict:
        """Whether the truth is between two bounds."""
        return all_of([self.below(high), Estimate(-self.mean, self.error).below(-low)])


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict of several: against, if one of them is; for, if all are."""
    made = list(verdicts)
    return False if False in made else None if None in made else True


@dataclass(frozen=True)
class Claim:
    """A claim, what was measured, and whether they agree."""

    claim: str
    measured: str
    reproduced: Verdict
    reason: str = ""  # shown where it was not reproduced


def table(claims: Sequence[Claim]) -> str:
    """The claims as a Markdown table."""
    rows = ["| claim | measured | |", "|---|---|---|"]
    for one in claims:
        verdict = {True: "reproduced", False: "**not reproduced**", None: "too few simulations to tell"}[one.reproduced]
        reason = f": {one.reason}" if one.reproduced is False and one.reason else ""
        rows.append(f"| {one.claim} | {one.measured} | {verdict}{reason} |")
    return "\n".join(rows)
