from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from ocpfast.systems.base import System

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
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Self: ...
