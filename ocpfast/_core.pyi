import enum
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Selection(enum.Enum):
    all = 0
    eluder = 1
    first = 2
    window = 3

class Ties(enum.Enum):
    first = 0
    random = 1
    least_visited = 2
    directed = 3

class ReplayMode(enum.Enum):
    off = 0
    on = 1
    stationary = 2

class Grid:
    def __init__(self, edges: Sequence[ArrayLike], extra: int) -> None: ...
    @property
    def n_labels(self) -> int: ...
    def labels(self, states: ArrayLike) -> NDArray[np.int64]: ...

class Partition:
    def __init__(
        self,
        n_points: int,
        n_actions: int,
        horizon: int,
        points: ArrayLike | None = None,
        cells: ArrayLike | None = None,
        n_cells: int = 0,
        grid: Grid | None = None,
        vector_size: int | None = 0,
    ) -> None: ...
    @property
    def n_points(self) -> int: ...
    @property
    def n_cells(self) -> int: ...

class _Store:
    def insert(self, index: int, lower: float, upper: float) -> int: ...
    def erase(self, sequence: int) -> bool: ...
    def end_episode(self) -> None: ...
    @property
    def n_contradictions(self) -> int: ...
    def kept(self) -> list[tuple[int, int, float, float]]: ...
    def rejected(self) -> list[tuple[int, int, float, float]]: ...

class BoxStore(_Store):
    def __init__(
        self, lower: Sequence[float], upper: Sequence[float], selection: Selection = ..., window: int = 0
    ) -> None: ...
    def interval(self, index: int) -> tuple[float, float]: ...

def load_highs(path: str) -> None: ...
def use_highspy() -> None: ...
def highs_in_use() -> str | None: ...  # a path, or "highspy"
def unpack_callable(capsule: object) -> tuple[int, int, str]: ...

class Features:
    @overload
    def __init__(
        self,
        *,
        domain: Partition,
        table: ArrayLike,
        n_features: int,
        shared: bool,
        prior_a: ArrayLike,
        prior_b: ArrayLike,
        prior_equality: Sequence[bool],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        domain: Partition,
        start: ArrayLike,
        column: ArrayLike,
        value: ArrayLike,
        n_features: int,
        shared: bool,
        prior_a: ArrayLike,
        prior_b: ArrayLike,
        prior_equality: Sequence[bool],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        domain: Partition,
        address: int,
        user_data: int,
        function: object,
        unit: float,
        n_features: int,
        shared: bool,
        prior_a: ArrayLike,
        prior_b: ArrayLike,
        prior_equality: Sequence[bool],
    ) -> None: ...

class LinearStore(_Store):
    def __init__(
        self,
        features: ArrayLike,
        prior_a: ArrayLike,
        prior_b: ArrayLike,
        prior_equality: Sequence[bool] = ...,
        selection: Selection = ...,
        window: int = 0,
    ) -> None: ...
    def upper(self, index: int) -> float: ...
    def lower(self, index: int) -> float: ...
    def infimum_of_maximum(self, indices: Sequence[int]) -> float: ...
    @property
    def lps(self) -> int: ...

class _Agent:
    def act(self, state: Any, bitgen: object) -> Any: ...  # int, or an array where actions are vectors
    def greedy(self, state: Any, period: int | None) -> Any: ...
    def observe(self, next_state: Any, reward: float, terminated: bool, truncated: bool) -> bool: ...
    def begin_episode(self) -> None: ...
    def upper(self, state: Any, action: Any, period: int) -> float: ...
    def lower(self, state: Any, action: Any, period: int) -> float: ...
    def determined(self, state: Any, action: Any, period: int) -> bool: ...
    @property
    def n_constraints(self) -> int: ...
    @property
    def period(self) -> int: ...
    @property
    def last_episode_determined(self) -> bool: ...
    @property
    def coherent(self) -> bool: ...
    def statistics(self) -> dict[str, int]: ...
    def copy(self) -> _Agent: ...

class AgentOptions:
    def __init__(
        self,
        *,
        selection: Selection,
        window: int,
        lower: Sequence[float],
        upper: Sequence[float],
        ties: Ties,
        replay: ReplayMode,
        immediate: bool,
        discount: float,
        replay_sweeps: int,
        replay_capacity: int,
    ) -> None: ...
    @property
    def selection(self) -> Selection: ...
    @property
    def ties(self) -> Ties: ...
    @property
    def replay(self) -> ReplayMode: ...
    @property
    def discount(self) -> float: ...

class AggregationOcp(_Agent):
    def __init__(self, partition: Partition, track_lower: bool, options: AgentOptions) -> None: ...

class LinearOcp(_Agent):
    def __init__(self, features: Features, options: AgentOptions) -> None: ...

class SigmoidOcp(_Agent):
    def __init__(self, features: Features, clip: float, options: AgentOptions) -> None: ...

class FiniteTables32:
    def __init__(self, domain: Partition, values: NDArray[np.float32], tolerance: float) -> None: ...
    def distinct(self) -> list[int]: ...
    def n_telling(self) -> int: ...
    def independent(self, index: int, indices: Sequence[int]) -> bool: ...

class FiniteTables64:
    def __init__(self, domain: Partition, values: NDArray[np.float64], tolerance: float) -> None: ...
    def distinct(self) -> list[int]: ...
    def n_telling(self) -> int: ...
    def independent(self, index: int, indices: Sequence[int]) -> bool: ...

class FiniteOcp32(_Agent):
    def __init__(self, tables: FiniteTables32, options: AgentOptions) -> None: ...

class FiniteOcp64(_Agent):
    def __init__(self, tables: FiniteTables64, options: AgentOptions) -> None: ...

class SparseOcp(_Agent):
    def __init__(self, features: Features, sparsity: int, options: AgentOptions) -> None: ...

class SparseProgramOcp(_Agent):
    def __init__(
        self, features: Features, sparsity: int, theta_bound: float, max_nodes: int, options: AgentOptions
    ) -> None: ...

class QuadraticList:
    def __init__(self, n_state: int, actions: ArrayLike) -> None: ...
    address: int
    @property
    def user_data(self) -> int: ...

class QuadraticOcp(_Agent):
    def __init__(self, n_state: int, n_action: int, horizon: int, options: AgentOptions) -> None: ...

class Control:
    def __init__(self) -> None: ...
    def stop(self) -> None: ...
    @property
    def episodes_done(self) -> int: ...

def simulate(
    agent: _Agent,
    system: object,
    system_bitgen: object,
    agent_bitgen: object,
    rewards: NDArray[np.float64],
    optimal: NDArray[np.float64],
    simulation: int,
    control: Control,
) -> bool: ...
def solve(system: object, q: NDArray[np.float64], v: NDArray[np.float64]) -> None: ...
