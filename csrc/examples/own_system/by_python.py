"""A system of one's own in plain Python, at Python's speed."""

import math

import ocpfast as ocp


def acceleration(angle, velocity, force):
    """The paper's equation."""
    g, m, l, alpha = 9.8, 2.0, 0.5, 1.0 / (2.0 + 8.0)  # noqa: E741
    s, c = math.sin(angle), math.cos(angle)
    return (g * s - alpha * m * l * velocity * velocity * s * c - alpha * c * force) / (
        4.0 / 3.0 * l - alpha * m * l * c * c
    )


class Pendulum(ocp.PythonSystem):
    """The paper's inverted pendulum."""

    def __init__(self, disturbance=0.0, horizon=36_000):
        super().__init__(
            state_size=2,
            n_actions=3,
            horizon=horizon,
            reward_range=(0.1, 0.1),
            stochastic=disturbance > 0,
            homogeneous=True,
        )
        self.disturbance = disturbance

    def reset(self, rng):
        """At rest, or almost."""
        return 0.0, self._noise(rng)

    def step(self, state, action, rng):
        """One step of the Runge-Kutta method, of 0.1 s."""
        h = 0.1
        angle, v1 = state.tolist()
        force = 50.0 * (action - 1) + self._noise(rng)
        a1 = acceleration(angle, v1, force)
        v2 = v1 + h / 2 * a1
        a2 = acceleration(angle + h / 2 * v1, v2, force)
        v3 = v1 + h / 2 * a2
        a3 = acceleration(angle + h / 2 * v2, v3, force)
        v4 = v1 + h * a3
        a4 = acceleration(angle + h * v3, v4, force)
        angle += h / 6 * (v1 + 2 * (v2 + v3) + v4)
        velocity = v1 + h / 6 * (a1 + 2 * (a2 + a3) + a4)
        return (angle, velocity), h, abs(angle) >= math.pi / 2

    def _noise(self, rng):
        return self.disturbance * (2.0 * rng.random() - 1.0) if self.disturbance > 0 else 0.0


def pendulum(disturbance=0.0, horizon=36_000):
    """The pendulum, as the other examples make it."""
    return Pendulum(disturbance, horizon)
