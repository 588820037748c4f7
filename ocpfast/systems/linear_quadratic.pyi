import numpy as np
import numpy.typing as npt

from ocpfast.systems.base import System, _Rng

__all__ = ["LinearQuadratic"]

__test__: dict[str, str]

class LinearQuadratic(System):
    def __init__(
        self,
        A: npt.ArrayLike,
        B: npt.ArrayLike,
        state_cost: npt.ArrayLike,
        action_cost: npt.ArrayLike,
        horizon: int,
        initial_state: npt.ArrayLike | None = None,
        initial_scale: npt.ArrayLike | None = None,
        actions: npt.ArrayLike | None = None,
    ) -> None: ...
    def reset(self, rng: _Rng = None, episode: int = 0) -> npt.NDArray[np.float64]: ...
    def step(
        self, state: npt.ArrayLike, action: npt.ArrayLike, period: int = 0, rng: _Rng = None
    ) -> tuple[npt.NDArray[np.float64], float, bool]: ...
    @property
    def A(self) -> npt.NDArray[np.float64]: ...  # noqa: N802
    @property
    def B(self) -> npt.NDArray[np.float64]: ...  # noqa: N802
    @property
    def state_cost(self) -> npt.NDArray[np.float64]: ...
    @property
    def action_cost(self) -> npt.NDArray[np.float64]: ...
    @property
    def actions(self) -> npt.NDArray[np.float64] | None: ...
    def riccati(self) -> npt.NDArray[np.float64]: ...
    def q(self, period: int) -> npt.NDArray[np.float64]: ...
