from ocpfast.systems.base import System

__all__ = ["PythonSystem"]

__test__: dict[str, str]

class PythonSystem(System):
    def __init__(
        self,
        *,
        horizon: int,
        n_states: int | None = None,
        state_size: int | None = None,
        n_actions: int | None = None,
        action_size: int | None = None,
        reward_range: tuple[float, float] = ...,
        stochastic: bool = False,
        random_start: bool = False,
        adaptive: bool = False,
        homogeneous: bool = False,
    ) -> None: ...
