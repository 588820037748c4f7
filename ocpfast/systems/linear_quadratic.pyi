import numpy as np
import numpy.typing as npt

from ocpfast.systems.base import System

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
