"""A system of one's own in C++ whose simulations go side by side, in SIMD lanes: side_by_side.cpp, through ctypes."""

import ctypes
from pathlib import Path

import numpy as np

import ocpfast as ocp


def pendulum(disturbance=0.0, horizon=36_000):
    """The pendulum; worker processes import this module and call this again."""
    library = ctypes.CDLL(str(Path(__file__).with_name("libside_by_side.so")))
    return ocp.CompiledSystem(
        step=ocp.signatures.STEP.ctypes(("step", library)),
        reset=ocp.signatures.RESET.ctypes(("reset", library)),
        step_many=ocp.signatures.STEP_MANY.ctypes(("step_many", library)),
        parameters=np.array([disturbance]),
        state_size=2,
        n_actions=3,
        horizon=horizon,
        reward_range=(0.1, 0.1),
        stochastic=disturbance > 0,
        homogeneous=True,
        factory="by_lanes:pendulum",
        factory_arguments={"disturbance": disturbance, "horizon": horizon},
    )
