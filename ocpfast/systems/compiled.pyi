from collections.abc import Callable
from typing import Any

import numpy.typing as npt
from typing_extensions import Self

from ocpfast.systems.base import System, _Rng, _State

__all__ = ["CompiledSystem"]

__test__: dict[str, str]

class CompiledSystem(System):
    next_double: Callable[[Any], float]
    def __init__(
        self,
        step: Any,
        reset: Any,
        *,
        horizon: int,
        n_states: int | None = None,
        state_size: int | None = None,
        n_actions: int | None = None,
        action_size: int | None = None,
        reward_range: tuple[float, float] = ...,
        parameters: Any = None,
        mutable: bool = False,
        stochastic: bool = False,
        random_start: bool = False,
        adaptive: bool = False,
        homogeneous: bool = False,
        step_many: Any = None,
        optimal_value: Any = None,
        factory: str | None = None,
        factory_arguments: dict[str, Any] | None = None,
    ) -> None: ...
    def reset(self, rng: _Rng = None, episode: int = 0) -> _State: ...
    def step(
        self, state: npt.ArrayLike, action: npt.ArrayLike, period: int = 0, rng: _Rng = None
    ) -> tuple[_State, float, bool]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Self: ...
