"""Our sine and cosine against mpmath, in units in the last place."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocpfast.systems.pendulum import _sincos


def ulp_error(got, exact):
    """|got - exact| in units of the last place that a double near `exact` has."""
    return float(abs(mpmath.mpf(got) - exact) / math.ulp(float(exact)))


def largest_errors(angles):
    sines, cosines = _sincos(angles)
    worst_sine = worst_cosine = 0.0
    with mpmath.workdps(60):
        for angle, sine, cosine in zip(angles, sines.tolist(), cosines.tolist(), strict=True):
            exact = mpmath.mpf(angle)
            worst_sine = max(worst_sine, ulp_error(sine, mpmath.sin(exact)))
            worst_cosine = max(worst_cosine, ulp_error(cosine, mpmath.cos(exact)))
    return worst_sine, worst_cosine


def neighbours(center, count=20):
    """`center` and the doubles next to it, near and a little farther away."""
    below = above = float(center)
    found = [below]
    for _ in range(count):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
        found += [below, above]
    return found + [center * (1 + sign * 2.0**-k) for k in range(5, 52) for sign in (-1, 1)]


ANGLES = {
    "uniform on [-pi, pi]": np.random.default_rng(0).uniform(-math.pi, math.pi, 20_000).tolist(),
    "every magnitude": [
        s * m * 2.0**e for e in range(-1074, 2) for m in (1.0, 1.375) for s in (-1, 1) if m * 2.0**e <= math.pi
    ],
    "near the multiples of pi/4": [x for k in range(-4, 5) if k for x in neighbours(k * math.pi / 4)],
    "up to 1e5": np.random.default_rng(1).uniform(-1e5, 1e5, 10_000).tolist(),
    "near large multiples of pi/2": [x for k in range(1, 60_000, 1999) for x in neighbours(k * math.pi / 2, 2)],
}


@pytest.mark.parametrize("angles", ANGLES.values(), ids=ANGLES.keys())
def test_error_is_below_one_ulp(angles):
    worst_sine, worst_cosine = largest_errors(angles)
    print(f"largest error: sine {worst_sine:.3f} ulp, cosine {worst_cosine:.3f} ulp")
    assert worst_sine < 0.9
    assert worst_cosine < 0.9


@given(st.floats(-math.pi, math.pi))
def test_error_is_below_one_ulp_wherever_hypothesis_looks(angle):
    assert max(largest_errors([angle])) < 0.9


def test_zeros_keep_their_sign():
    sines, cosines = _sincos([0.0, -0.0])
    assert sines.tobytes() == np.array([0.0, -0.0]).tobytes()
    assert cosines.tolist() == [1.0, 1.0]


def test_denormals_are_their_own_sine():
    tiny = [5e-324, -5e-324, 1e-310, 2.0**-1022]
    sines, cosines = _sincos(tiny)
    assert sines.tolist() == tiny
    assert cosines.tolist() == [1.0] * 4


@given(st.floats(-1e5, 1e5))
def test_sine_is_odd_and_cosine_even(angle):
    sines, cosines = _sincos([angle, -angle])
    assert sines[0] == -sines[1]
    assert cosines[0] == cosines[1]


@pytest.mark.parametrize("angle", [math.inf, -math.inf, math.nan])
def test_no_angle_no_value(angle):
    assert np.isnan(_sincos([angle])).all()
