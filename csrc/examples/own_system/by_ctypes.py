"""A system of one's own in C, through ctypes: functions of a library that the C compiler made of pendulum.c."""

import ctypes
from pathlib import Path

import ocpfast as ocp


class Parameters(ctypes.Structure):
    """The struct of pendulum.c."""

    _fields_ = (("disturbance", ctypes.c_double),)


def pendulum(disturbance=0.0, horizon=36_000):
    """The pendulum; worker processes import this module and call this again."""
    library = ctypes.CDLL(str(Path(__file__).with_name("libpendulum.so")))
    return ocp.CompiledSystem(
        step=ocp.signatures.STEP.ctypes(("step", library)),
        reset=ocp.signatures.RESET.ctypes(("reset", library)),
        parameters=Parameters(disturbance),
        state_size=2,
        n_actions=3,
        horizon=horizon,
        reward_range=(0.1, 0.1),
        stochastic=disturbance > 0,
        homogeneous=True,
        factory="by_ctypes:pendulum",
        factory_arguments={"disturbance": disturbance, "horizon": horizon},
    )
