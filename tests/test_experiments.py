"""The pendulum's figures: hours upright in 1,000 episodes, against independent prototypes."""

import functools

import numpy as np
import pytest

import ocpfast as ocp

# disturbance, ties, replay, mean hours and its standard error, of prototypes that share no code with this library. With
# replay they came as 630 and 575 without an error: a simulation's standard deviation is 24, so 5.4 is the error of a
# mean over 20 of them. The 638 is of a second prototype, over 128 simulations.
EXPERIMENTS = [
    (2.5, "first", False, 513, 2),
    (2.5, "random", False, 311, 2),
    (2.5, "first", True, 630, 5.4),
    (2.5, "first", True, 638.0, 2.1),
    (2.5, "random", True, 575, 5.4),
    (0.0, "random", False, 455, 2),
]
SIMULATIONS = 20


@functools.cache  # which tells arguments by name from arguments by place: always by place here
def hours(disturbance, ties, replay, simulations, /):
    pendulum = ocp.InvertedPendulum(disturbance)
    agent = ocp.OCP(ocp.StateAggregation(pendulum.partition(), n_actions=3), ties=ties, replay=replay)
    result = ocp.run(agent, pendulum, episodes=1000, simulations=simulations, rng=2026, progress=False)
    return result.rewards / 3600


@pytest.mark.parametrize("disturbance, ties, replay, expected, error", EXPERIMENTS)
def test_hours_upright(disturbance, ties, replay, expected, error):
    total = hours(disturbance, ties, replay, SIMULATIONS).sum(axis=1)
    standard_error = total.std(ddof=1) / np.sqrt(SIMULATIONS)
    # both sampling errors together, at three standard deviations
    assert abs(total.mean() - expected) < 3 * np.hypot(standard_error, error), (total.mean(), standard_error)


def test_hours_upright_without_disturbance():
    """One deterministic number, sensitive to rounding: the prototypes had 725 to 740."""
    [total] = hours(0.0, "first", False, 1).sum(axis=1)
    assert 725 <= total <= 740


def test_replay_reaches_the_first_full_hour_in_about_half_the_episodes():
    def first_full_hour(replay):
        return np.argmax(hours(2.5, "first", replay, SIMULATIONS) >= 1, axis=1).mean()

    ratio = first_full_hour(True) / first_full_hour(False)
    assert 0.3 < ratio < 0.75
