from typing import Literal

import numpy as np
import numpy.typing as npt

from ocpfast.hypothesis import Grid
from ocpfast.systems.base import System, _Rng

__all__ = ["InvertedPendulum"]

__test__: dict[str, str]

def _sincos(angles: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...

class InvertedPendulum(System):
    def __init__(
        self,
        disturbance: float = 0.0,
        horizon: int = 36_000,
        integrator: Literal["rk4", "euler"] = "rk4",
        substeps: int = 1,
    ) -> None: ...
    def reset(self, rng: _Rng = None, episode: int = 0) -> npt.NDArray[np.float64]: ...
    def step(
        self, state: npt.ArrayLike, action: npt.ArrayLike, period: int = 0, rng: _Rng = None
    ) -> tuple[npt.NDArray[np.float64], float, bool]: ...
    @property
    def instructions(self) -> str: ...
    def max_velocity(self) -> float: ...
    def partition(self) -> Grid: ...
    def advance(self, states: npt.ArrayLike, forces: npt.ArrayLike) -> npt.NDArray[np.float64]: ...
