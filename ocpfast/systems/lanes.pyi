from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from ocpfast.systems.base import System

__all__ = ["Lanes"]

__test__: dict[str, str]

class Lanes:
    def __new__(cls, system: System, n: int) -> Self: ...
    @property
    def states(self) -> npt.NDArray[Any]: ...
    @property
    def knows_optimum(self) -> bool: ...
    def seed(self, lane: int, bit_generator: np.random.BitGenerator) -> None: ...
    def reset(self, mask: npt.NDArray[np.bool_], state: npt.ArrayLike | None = None) -> None: ...
    def step(
        self, actions: npt.ArrayLike, mask: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]: ...
