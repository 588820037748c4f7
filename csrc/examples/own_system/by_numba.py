"""A system of one's own in Python that numba compiles: no C compiler, and the speed of C."""

import math

import numba
import numpy as np

import ocpfast as ocp

next_double = ocp.CompiledSystem.next_double


@numba.njit(error_model="numpy")  # Python's would look for a division by zero
def acceleration(angle, velocity, force):
    """The paper's equation."""
    g, m, l, alpha = 9.8, 2.0, 0.5, 1.0 / (2.0 + 8.0)  # noqa: E741
    s, c = math.sin(angle), math.cos(angle)
    return (g * s - alpha * m * l * velocity * velocity * s * c - alpha * c * force) / (
        4.0 / 3.0 * l - alpha * m * l * c * c
    )


@numba.cfunc(ocp.signatures.RESET.numba(instance="double", state="double"))
def reset(disturbance, episode, bitgen, state):
    """At rest, or almost."""
    state[0] = 0.0
    state[1] = disturbance[0] * (2.0 * next_double(bitgen) - 1.0) if disturbance[0] > 0 else 0.0
    return 0


@numba.cfunc(ocp.signatures.STEP.numba(instance="double", state="double", action="int64_t"))
def step(disturbance, period, state, action, bitgen, reward, ending):
    """One step of the Runge-Kutta method, of 0.1 s."""
    h = 0.1
    angle, v1 = state[0], state[1]
    force = 50.0 * (action[0] - 1)
    if disturbance[0] > 0:
        force += disturbance[0] * (2.0 * next_double(bitgen) - 1.0)
    a1 = acceleration(angle, v1, force)
    v2 = v1 + h / 2 * a1
    a2 = acceleration(angle + h / 2 * v1, v2, force)
    v3 = v1 + h / 2 * a2
    a3 = acceleration(angle + h / 2 * v2, v3, force)
    v4 = v1 + h * a3
    a4 = acceleration(angle + h * v3, v4, force)
    state[0] = angle + h / 6 * (v1 + 2 * (v2 + v3) + v4)
    state[1] = v1 + h / 6 * (a1 + 2 * (a2 + a3) + a4)
    if not (math.isfinite(state[0]) and math.isfinite(state[1])):
        return 6  # OCP_OVERFLOW
    reward[0] = h
    ending[0] = 0 if abs(state[0]) < math.pi / 2 else 1
    return 0


def pendulum(disturbance=0.0, horizon=36_000):
    """The pendulum; worker processes import this module and call this again."""
    return ocp.CompiledSystem(
        step=step,
        reset=reset,
        parameters=np.array([disturbance]),
        state_size=2,
        n_actions=3,
        horizon=horizon,
        reward_range=(0.1, 0.1),
        stochastic=disturbance > 0,
        homogeneous=True,
        factory="by_numba:pendulum",
        factory_arguments={"disturbance": disturbance, "horizon": horizon},
    )
