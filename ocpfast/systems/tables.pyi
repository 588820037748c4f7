from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ocpfast.systems.base import System, _Rng

__all__ = ["Chain", "DeepSea", "TableSystem"]

__test__: dict[str, str]

class Chain(System):
    def __init__(self, n_states: int) -> None: ...
    def reset(self, rng: _Rng = None, episode: int = 0) -> int: ...
    def step(
        self, state: npt.ArrayLike, action: npt.ArrayLike, period: int = 0, rng: _Rng = None
    ) -> tuple[int, float, bool]: ...

class DeepSea(System):
    def __init__(self, size: int, mapping_seed: int | None = None) -> None: ...
    @property
    def mapping(self) -> npt.NDArray[np.uint8]: ...
    def reset(self, rng: _Rng = None, episode: int = 0) -> int: ...
    def step(
        self, state: npt.ArrayLike, action: npt.ArrayLike, period: int = 0, rng: _Rng = None
    ) -> tuple[int, float, bool]: ...

class TableSystem(System):
    def __init__(
        self,
        next_state: npt.ArrayLike,
        reward: npt.ArrayLike,
        initial_state: int | Sequence[int] | Sequence[float] | npt.NDArray[Any] = 0,
        horizon: int | None = None,
    ) -> None: ...
    def reset(self, rng: _Rng = None, episode: int = 0) -> int: ...
    def step(
        self, state: npt.ArrayLike, action: npt.ArrayLike, period: int = 0, rng: _Rng = None
    ) -> tuple[int, float, bool]: ...
    @property
    def next_state(self) -> npt.NDArray[np.int64]: ...
    @property
    def reward(self) -> npt.NDArray[np.float64]: ...
    @property
    def initial_state(self) -> int | npt.NDArray[np.int64] | npt.NDArray[np.float64]: ...
