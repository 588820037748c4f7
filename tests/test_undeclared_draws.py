"""Compiled functions that draw random numbers and do not say so: an error that says what to say, never a crash."""

import ctypes
import re

import numpy as np
import pytest
from own_systems import compile_library

import ocpfast as ocp
from ocpfast.signatures import RESET, STEP, STEP_MANY
from ocpfast.systems.lanes import Lanes

SOURCE = """
#include <ocpfast/system.h>

int still_reset(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state) {
    (void)instance, (void)episode, (void)bitgen;
    *(int64_t*)state = 0;
    return OCP_OK;
}
int drawing_reset(void* instance, int64_t episode, ocp_bitgen* bitgen, void* state) {
    (void)instance, (void)episode;
    *(int64_t*)state = (int64_t)(bitgen->next_uint32(bitgen->state) % 2);
    return OCP_OK;
}
int still_step(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
               int* ending) {
    (void)instance, (void)period, (void)bitgen;
    *(int64_t*)state = *(const int64_t*)action;
    *reward = 0.5;
    *ending = OCP_CONTINUES;
    return OCP_OK;
}
int drawing_step(void* instance, int64_t period, void* state, const void* action, ocp_bitgen* bitgen, double* reward,
                 int* ending) {
    (void)instance, (void)period, (void)action;
    *(int64_t*)state = (int64_t)((bitgen->next_uint64(bitgen->state) ^ bitgen->next_raw(bitgen->state)) % 2);
    *reward = bitgen->next_double(bitgen->state);
    *ending = OCP_CONTINUES;
    return OCP_OK;
}
int drawing_step_many(void* const* instances, int64_t lanes, const int64_t* periods, void* states, const void* actions,
                      ocp_bitgen* const* bitgens, double* rewards, int* endings) {
    for (int64_t k = 0; k < lanes; ++k) {
        drawing_step(instances[k], periods[k], (int64_t*)states + k, (const int64_t*)actions + k, bitgens[k],
                     &rewards[k], &endings[k]);
    }
    return OCP_OK;
}
"""

FLAGS = "(in a C struct: the flags OCP_STOCHASTIC and OCP_RANDOM_START)"
STEP_DRAWS = (
    "stochastic: CompiledSystem was said not to draw random numbers, but its step draws them: say stochastic=True "
)
RESET_DRAWS = (
    "stochastic: CompiledSystem was said not to draw random numbers, but its reset draws them: say random_start=True, "
    "or stochastic=True if step draws as well "
)
EITHER_DRAWS = (
    "stochastic: CompiledSystem was said not to draw random numbers, but its functions draw them: say "
    "stochastic=True, or random_start=True if it is reset alone that draws "
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawing")
    (folder / "drawing.c").write_text(SOURCE)
    return ctypes.CDLL(str(compile_library(folder, "drawing.c")))


@pytest.fixture
def system(library):
    def make(step, reset, many=False, **said):
        if many:
            said["step_many"] = STEP_MANY.ctypes(("drawing_step_many", library))
        return ocp.CompiledSystem(
            STEP.ctypes((f"{step}_step", library)),
            RESET.ctypes((f"{reset}_reset", library)),
            n_states=2, n_actions=2, horizon=3, **said,
        )  # fmt: skip

    return make


def agent():
    return ocp.OCP(ocp.TabulaRasa(2, 2, horizon=3))


@pytest.mark.parametrize("rng", [None, 0])
def test_by_hand(system, rng):
    drawing = system("drawing", "drawing")
    with pytest.raises(ValueError, match=re.escape(STEP_DRAWS + FLAGS)):
        drawing.step(0, 1, rng=rng)
    with pytest.raises(ValueError, match=re.escape(RESET_DRAWS + FLAGS)):
        drawing.reset(rng)
    still = system("still", "still")
    assert still.reset(rng) == 0 and still.step(0, 1, rng=rng) == (1, 0.5, False)


def test_by_hand_where_only_the_start_is_said_to_be_random(system):
    drawing = system("drawing", "drawing", random_start=True)
    assert {drawing.reset(seed) for seed in range(20)} == {0, 1}
    with pytest.raises(ValueError, match=re.escape(STEP_DRAWS + FLAGS)):
        drawing.step(0, 1, rng=0)


@pytest.mark.parametrize("said", [{}, {"random_start": True}])
def test_in_solve(system, said):
    with pytest.raises(ValueError, match=re.escape(STEP_DRAWS + FLAGS)):
        ocp.solve(system("drawing", "still", **said))
    assert ocp.solve(system("still", "drawing", **said)).v[0].tolist() == [1.5, 1.5]


@pytest.mark.parametrize("step, reset", [("drawing", "still"), ("still", "drawing")])
@pytest.mark.parametrize("many", [False, True])
def test_in_run(system, step, reset, many):
    many = many and step == "drawing"
    with pytest.raises(ValueError, match=re.escape(EITHER_DRAWS + FLAGS)):
        ocp.run(agent(), system(step, reset, many), episodes=5, simulations=30, progress=False)


@pytest.mark.parametrize("many", [False, True])
def test_in_lanes(system, many):
    all_of_them = np.ones(3, dtype=bool)
    lanes = Lanes(system("drawing", "drawing", many), 3)
    with pytest.raises(ValueError, match=re.escape(RESET_DRAWS + FLAGS)):
        lanes.reset(all_of_them)
    for said in ({}, {"random_start": True}):
        lanes = Lanes(system("drawing", "drawing" if said else "still", many, **said), 3)
        lanes.reset(all_of_them)
        before = lanes.states
        with pytest.raises(ValueError, match=re.escape(STEP_DRAWS + FLAGS)):
            lanes.step(np.zeros(3, dtype=int), all_of_them)
        assert (lanes.states == before).all()
    lanes = Lanes(system("still", "still"), 3)
    lanes.reset(all_of_them)
    assert lanes.step(np.array([0, 1, 0]), all_of_them)[0].tolist() == [0.5, 0.5, 0.5]


def test_what_is_said_runs(system):
    drawing = system("drawing", "drawing", stochastic=True)
    rewards = ocp.run(agent(), drawing, episodes=20, simulations=3, rng=0, progress=False).rewards
    assert len(np.unique(rewards)) == rewards.size
    assert drawing.step(0, 1, rng=7) == drawing.step(0, 1, rng=7) != drawing.step(0, 1, rng=8)
    started = ocp.run(agent(), system("still", "drawing", random_start=True), episodes=20, rng=0, progress=False)
    assert (started.rewards == 1.5).all()
