"""The inverted pendulum: its integrators against scipy, and the rules of the game."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from ocpfast.systems import InvertedPendulum


def derivative(states, forces):
    """The paper's equation as it stands there; (2, n) -> (2, n)."""
    g, m, M, length = 9.8, 2.0, 8.0, 0.5
    alpha = 1 / (m + M)
    x1, x2 = states
    numerator = g * np.sin(x1) - alpha * m * length * x2**2 * np.sin(2 * x1) / 2 - alpha * np.cos(x1) * forces
    return np.array([x2, numerator / (4 * length / 3 - alpha * m * length * np.cos(x1) ** 2)])


@pytest.fixture(scope="module")
def motions():
    """States, forces, and where DOP853 says they lead within 0.1 s."""
    rng = np.random.default_rng(0)
    n = 4000
    states = np.stack([rng.uniform(-math.pi / 2, math.pi / 2, n), rng.uniform(-7, 7, n)], axis=1)
    forces = rng.uniform(-52.5, 52.5, n)
    solution = solve_ivp(
        lambda _, y: derivative(y.reshape(2, n), forces).ravel(),
        (0.0, 0.1),
        states.T.ravel(),
        method="DOP853",
        rtol=1e-12,
        atol=1e-14,
        max_step=0.002,  # the error estimate averages over all states: this holds the worst of them too
        t_eval=[0.1],
    )
    return states, forces, solution.y[:, 0].reshape(2, n).T


def errors(motions, integrator, substeps):
    states, forces, exact = motions
    pendulum = InvertedPendulum(integrator=integrator, substeps=substeps)
    return np.abs(pendulum.advance(states, forces) - exact)


def orders(motions, integrator, substeps):
    """The measured order of convergence between each number of substeps and its double."""
    largest = np.array([errors(motions, integrator, n).max() for n in substeps])
    return np.log2(largest[:-1] / largest[1:])


def test_rk4_converges_to_dop853(motions):
    assert errors(motions, "rk4", 400).max() < 1e-12  # measured: 1.2e-13


def test_rk4_with_one_substep_is_close(motions):
    # measured: largest 2.5e-4 rad and 3.2e-3 rad/s (fast and near pi/2), median 1.9e-5 and 1.8e-4
    error = errors(motions, "rk4", 1)
    assert (error.max(axis=0) < [3e-4, 4e-3]).all()
    assert (np.median(error, axis=0) < [3e-5, 3e-4]).all()


def test_rk4_has_order_4(motions):
    np.testing.assert_allclose(orders(motions, "rk4", [4, 8, 16, 32, 64]), 4.0, atol=0.2)


def test_euler_has_order_1(motions):
    np.testing.assert_allclose(orders(motions, "euler", [64, 128, 256, 512]), 1.0, atol=0.05)


def test_euler_with_one_substep_is_the_textbook_formula(motions):
    states, forces, _ = motions
    expected = states + 0.1 * derivative(states.T, forces).T
    got = InvertedPendulum(integrator="euler").advance(states, forces)
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
@pytest.mark.parametrize("action, force", [(0, -50.0), (1, 0.0), (2, 50.0)])
def test_step_is_advance_with_the_action_s_force(integrator, action, force):
    pendulum = InvertedPendulum(integrator=integrator, substeps=3)
    state, reward, terminated = pendulum.step([0.2, -1.0], action)
    assert state.tolist() == pendulum.advance([[0.2, -1.0]], [force])[0].tolist()
    assert (reward, terminated) == (0.1, False)


# Results are promised to depend on the seed alone: any change of these bits changes every simulation.
BITS = [
    ("rk4", 1, (0.0, 0.0), 2, "-0x1.6e91c9f0e64a6p-5", "-0x1.d090218cd5ee8p-1"),
    ("rk4", 1, (0.3, -1.25), 0, "0x1.ea89190d9662ep-3", "0x1.ccf0e18949b40p-6"),
    ("rk4", 1, (1.5, 6.0), 1, "0x1.16af261f8ba04p+1", "0x1.e5b1a190d8abfp+2"),
    ("rk4", 1, (-1.1, 2.5), 2, "-0x1.de5ed20742b9ap-1", "0x1.9c498e6dd9902p-1"),
    ("rk4", 10, (0.3, -1.25), 0, "0x1.ea8d60784f5a8p-3", "0x1.d477ee032c560p-6"),
    ("euler", 1, (0.3, -1.25), 0, "0x1.6666666666666p-3", "0x1.367cfe338cd80p-4"),
    ("euler", 5, (-1.1, 2.5), 2, "-0x1.d593234b71d3dp-1", "0x1.9ed63631d4fa5p-1"),
]


@pytest.mark.parametrize("integrator, substeps, state, action, angle, velocity", BITS)
def test_bits_do_not_change(integrator, substeps, state, action, angle, velocity):
    pendulum = InvertedPendulum(integrator=integrator, substeps=substeps)
    next_state, _, _ = pendulum.step(state, action)
    assert [x.hex() for x in next_state.tolist()] == [angle, velocity]


@given(st.floats(-1.57, 1.57), st.floats(-8, 8), st.sampled_from([0, 1, 2]))
def test_left_and_right_mirror_each_other(angle, velocity, action):
    pendulum = InvertedPendulum()
    one, _, _ = pendulum.step([angle, velocity], action)
    other, _, _ = pendulum.step([-angle, -velocity], 2 - action)
    assert one.tolist() == (-other).tolist()


def test_upright_and_at_rest_it_stays():
    state, reward, terminated = InvertedPendulum().step([0.0, 0.0], 1)
    assert (state.tolist(), reward, terminated) == ([0.0, 0.0], 0.1, False)


def test_falls_at_pi_over_2_and_is_paid_for_the_last_step():
    pendulum = InvertedPendulum()
    state, steps, terminated = pendulum.reset(), 0, False
    while not terminated:
        assert abs(state[0]) < math.pi / 2
        state, reward, terminated = pendulum.step(state, 2)
        assert reward == 0.1
        steps += 1
    assert abs(state[0]) >= math.pi / 2
    assert np.isfinite(state).all()
    assert steps == 6


def test_the_horizon_is_the_caller_s_business():
    pendulum = InvertedPendulum(horizon=3)
    _, _, terminated = pendulum.step([0.0, 0.0], 1, period=2)
    assert not terminated


@pytest.mark.parametrize(
    "integrator, expected",
    [("rk4", 6.2639126662583777), ("euler", 6.9903048100186975)],
)
def test_max_velocity(integrator, expected):
    assert InvertedPendulum(integrator=integrator).max_velocity() == expected


def test_max_velocity_is_the_largest_of_a_simulated_fall():
    pendulum = InvertedPendulum(substeps=7)
    state, largest, terminated = pendulum.reset(), 0.0, False
    while not terminated:
        largest = max(largest, abs(state[1]))
        state, _, terminated = pendulum.step(state, 2)
    assert pendulum.max_velocity() == largest


def test_partition_has_the_paper_s_962_labels():
    pendulum = InvertedPendulum()
    grid = pendulum.partition()
    assert grid.n_labels == 962
    angles, velocities = grid.edges
    np.testing.assert_allclose(np.diff(angles), math.pi / 31)
    np.testing.assert_allclose(np.diff(velocities), 2 * pendulum.max_velocity() / 29)
    assert angles[0] == pytest.approx(-math.pi / 2 + math.pi / 31)
    assert (velocities[0], velocities[-1]) == (-pendulum.max_velocity(), pendulum.max_velocity())


def test_a_disturbance_of_0_draws_nothing():
    pendulum = InvertedPendulum()
    rng = np.random.default_rng(5)
    pendulum.reset(rng)
    pendulum.step([0.0, 0.0], 2, rng=rng)
    assert rng.bit_generator.state == np.random.default_rng(5).bit_generator.state


def test_a_disturbance_draws_one_number_a_step():
    pendulum = InvertedPendulum(disturbance=2.5)
    uniform = np.random.default_rng(5).random(2)
    rng = np.random.default_rng(5)
    state = pendulum.reset(rng)
    assert state.tolist() == [0.0, 2.5 * (2 * uniform[0] - 1)]
    next_state, _, _ = pendulum.step(state, 2, rng=rng)
    expected = InvertedPendulum().advance([state], [50.0 + 2.5 * (2 * uniform[1] - 1)])[0]
    assert next_state.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", [7, np.int64(7), np.random.SeedSequence(7), np.random.PCG64(7)])
def test_every_kind_of_rng_gives_the_seed_s_numbers(seed):
    expected = 2.5 * (2 * np.random.default_rng(7).random() - 1)
    assert InvertedPendulum(disturbance=2.5).reset(seed)[1] == expected


def test_without_rng_disturbances_differ():
    pendulum = InvertedPendulum(disturbance=2.5)
    assert pendulum.reset()[1] != pendulum.reset()[1]


@pytest.mark.parametrize(
    "state",
    [[math.pi / 2, 0.0], [-2.0, 0.0], [0.0, 10001.0]],
)
def test_no_step_from_a_fallen_or_impossible_state(state):
    message = r"^state: expected \|angle\| < pi/2 and \|angular velocity\| <= 10000, got \["
    with pytest.raises(ValueError, match=message):
        InvertedPendulum().step(state, 1)


@pytest.mark.parametrize("velocity", [1e4, -1e4, 123.0])
@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_the_state_after_a_violent_step_is_finite(integrator, velocity):
    state, _, _ = InvertedPendulum(integrator=integrator).step([1.5, velocity], 0)
    assert np.isfinite(state).all()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"disturbance": -1.0}, ValueError, "disturbance: expected a number in 0..10000, got -1.0"),
        ({"disturbance": math.nan}, ValueError, "disturbance: expected finite numbers, got nan"),
        ({"disturbance": "2.5"}, TypeError, "disturbance: expected real numbers, got '2.5' (str)"),
        ({"horizon": 0}, ValueError, "horizon: expected an integer >= 1, got 0"),
        ({"horizon": 1.0}, TypeError, "horizon: expected an integer >= 1, got 1.0; int() makes it one"),
        (
            {"integrator": "rk5"},
            ValueError,
            "integrator: expected one of 'rk4', 'euler', got 'rk5'; did you mean 'rk4'?",
        ),
        ({"substeps": 0}, ValueError, "substeps: expected an integer in 1..1000000, got 0"),
    ],
)
def test_bad_constructor_arguments(arguments, error, message):
    with pytest.raises(error) as caught:
        InvertedPendulum(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "states, forces, message",
    [
        ([0.0, 0.0], [0.0], "states: expected shape (n, 2), got (2,)"),
        ([[0.0, 0.0]], [0.0, 0.0], "forces: expected shape (1,), got (2,)"),
        ([[0.0, math.inf]], [0.0], "states: expected finite numbers, got inf"),
        ([[2e5, 0.0]], [0.0], "states[:, 0]: expected numbers in -100000.0..100000.0, got 200000.0"),
        ([[0.0, 2e4]], [0.0], "states[:, 1]: expected numbers in -10000.0..10000.0, got 20000.0"),
        ([[0.0, 0.0]], [1e7], "forces: expected numbers in -1000000.0..1000000.0, got 10000000.0"),
    ],
)
def test_bad_arguments_of_advance(states, forces, message):
    with pytest.raises(ValueError) as caught:
        InvertedPendulum().advance(states, forces)
    assert str(caught.value) == message


def test_advance_leaves_its_input_alone_and_takes_none():
    states = np.array([[0.1, 0.2]])
    InvertedPendulum().advance(states, [50.0])
    assert states.tolist() == [[0.1, 0.2]]
    assert InvertedPendulum().advance(np.empty((0, 2)), []).shape == (0, 2)
