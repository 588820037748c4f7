from ocpfast.linear import LinearFeatures
from ocpfast.systems.base import System

__all__ = ["Adversary"]

__test__: dict[str, str]

class Adversary(System):
    def __init__(self, n_features: int, horizon: int, reward_bound: float = 1.0) -> None: ...
    def hypothesis(self) -> LinearFeatures: ...
