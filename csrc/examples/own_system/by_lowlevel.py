"""A system of one's own through scipy.LowLevelCallable, which takes functions of ctypes, cffi and Cython alike.

Here they are the functions of pendulum.c, and their parameters are SciPy's user data.
"""

import ctypes
from pathlib import Path

from scipy import LowLevelCallable

import ocpfast as ocp


def pendulum(disturbance=0.0, horizon=36_000):
    """The pendulum; worker processes import this module and call this again."""
    library = ctypes.CDLL(str(Path(__file__).with_name("libpendulum.so")))
    parameters = ctypes.cast(ctypes.pointer(ctypes.c_double(disturbance)), ctypes.c_void_p)
    return ocp.CompiledSystem(
        step=LowLevelCallable(ocp.signatures.STEP.ctypes(("step", library)), parameters),
        reset=LowLevelCallable(ocp.signatures.RESET.ctypes(("reset", library)), parameters),
        state_size=2,
        n_actions=3,
        horizon=horizon,
        reward_range=(0.1, 0.1),
        stochastic=disturbance > 0,
        homogeneous=True,
        factory="by_lowlevel:pendulum",
        factory_arguments={"disturbance": disturbance, "horizon": horizon},
    )
