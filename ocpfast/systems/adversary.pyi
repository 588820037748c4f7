import numpy.typing as npt

from ocpfast.linear import LinearFeatures
from ocpfast.systems.base import System, _Rng

__all__ = ["Adversary"]

__test__: dict[str, str]

class Adversary(System):
    def __init__(self, n_features: int, horizon: int, reward_bound: float = 1.0) -> None: ...
    def reset(self, rng: _Rng = None, episode: int = 0) -> int: ...
    def step(
        self, state: npt.ArrayLike, action: npt.ArrayLike, period: int = 0, rng: _Rng = None
    ) -> tuple[int, float, bool]: ...
    def hypothesis(self) -> LinearFeatures: ...
