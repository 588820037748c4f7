"""Checkpoints that are not what they should be: an error that says so, and never a crash."""

import contextlib
import itertools
import json
import re
import struct
import zlib

import numpy as np
import pytest
from saving_cases import (
    KINDS,
    Loop,
    World,
    known,
    linear_features,
    made,
    rewritten,
    sealed,
    small_agent,
    sparse_programs,
)
from saving_cases import small as small  # a fixture

import ocpfast as ocp
from ocpfast import saving


def test_every_flipped_bit_is_noticed(small):
    content = small.read_bytes()
    for i in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[i] ^= 1 << bit
            with pytest.raises(ValueError, match=r"^path: "):  # as load_agent does, but for reading the file
                saving.checked(bytes(damaged), small)
        small.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"^path: "):
            ocp.load_agent(small)


def test_every_truncation_is_noticed(small):
    content = small.read_bytes()
    for n in range(len(content)):
        small.write_bytes(content[:n])
        with pytest.raises(ValueError, match=r"^path: "):
            ocp.load_agent(small)
    small.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match=r"is damaged: expected .* bytes, got"):
        ocp.load_agent(small)


def test_what_is_said_of_other_files(small, tmp_path):
    content = small.read_bytes()
    small.write_bytes(b"\x93NUMPY and so on")
    with pytest.raises(ValueError, match=rf"path: expected a checkpoint that Agent.save wrote, got .* in {small}"):
        ocp.load_agent(small)
    small.write_bytes(b"")
    with pytest.raises(ValueError, match="path: expected a checkpoint that Agent"):
        ocp.load_agent(small)
    small.write_bytes(sealed(content[:8] + struct.pack("<I", 2) + content[12:]))
    with pytest.raises(
        ValueError, match=r"path: expected an ocpfast checkpoint of version <= 1, got version 2 in .*upgrade"
    ):
        ocp.load_agent(small)
    for version, header_length in ((0, 2), (1, len(content))):
        start = struct.pack("<IQQ", version, len(content), header_length)
        small.write_bytes(sealed(content[:8] + start + content[28:]))
        with pytest.raises(ValueError, match=f"path: {small} is damaged: "):
            ocp.load_agent(small)
    small.write_bytes(content[:-5])
    with pytest.raises(ValueError, match=f"path: {small} is damaged: expected {len(content)} bytes"):
        ocp.load_agent(small)
    small.write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(ValueError, match=f"path: {small} is damaged: its checksum is wrong"):
        ocp.load_agent(small)
    with pytest.raises(FileNotFoundError):
        ocp.load_agent(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        ocp.load_agent(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(agent="System"),
        lambda header: header.update(agent="Agent"),
        lambda header: header.pop("state"),
        lambda header: header.update(state=None),
        lambda header: header.update(blobs=[10**15]),
        lambda header: header.update(blobs=[]),
        lambda header: header.update(blobs=[-1] * 9),
        lambda header: header["arguments"].update(ties="no such"),
        lambda header: header["arguments"].update(hypothesis={"$class": ["eval", ["1"]]}),
        lambda header: header["arguments"].update(hypothesis={"$class": ["TabulaRasa", [3, 2, 9]]}),
        lambda header: header["arguments"].update(hypothesis={"$class": ["TabulaRasa", [10**40, 2, 9]]}),
        lambda header: header["arguments"].update(hypothesis={"$array": ["|O8", [1], 0]}),
        lambda header: header["arguments"].update(hypothesis={"$nothing": 0}),
        lambda header: header["arguments"].update(hypothesis={"$call__": 0}),
        lambda header: header["arguments"].update(replay=False),
        lambda header: header["arguments"].update(discount=0.5, bounds={"$tuple": [0.0, 1.0]}),
        lambda header: header["arguments"].pop("hypothesis"),
        lambda header: header.update(rng={"$dict": [["bit_generator", "Other"]]}),
        lambda header: header.update(rng=None),
        lambda header: header.update(memory={"$dict": []}),
    ],
)
def test_made_up_headers(small, change):
    small.write_bytes(rewritten(small.read_bytes(), change))
    with pytest.raises(ValueError, match=r"^path: .* is damaged"):
        ocp.load_agent(small)


def test_generators_are_not_led_out_of_their_arrays(tmp_path):
    for bit_generator in (np.random.MT19937(0), np.random.Philox(0)):
        ocp.RandomPolicy(3, rng=bit_generator).save(tmp_path / "a")

        def move(header):
            text = json.dumps(header["rng"])
            header["rng"] = json.loads(re.sub(r'("pos"|"buffer_pos"), \d+', r"\1, 9999", text))

        (tmp_path / "a").write_bytes(rewritten((tmp_path / "a").read_bytes(), move))
        with pytest.raises(ValueError, match="the position of a generator"):
            ocp.load_agent(tmp_path / "a")


@pytest.mark.filterwarnings("ignore:a time-homogeneous class without bounds")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_made_up_states_do_no_harm(kind):
    """Changed bytes under a right checksum: an error, or an agent that knows nonsense, but never a crash."""
    n_refused = n_taken = 0
    for seed in range(4 if kind is not sparse_programs else 1):
        agent, world = made(kind, seed)
        loop = Loop(agent, world, seed)
        for _ in range(60):
            loop.half_step()
        state = agent._core.state()
        rng = np.random.default_rng(seed)
        for _ in range(15 if kind in (linear_features, sparse_programs) else 60):  # nonsense can take long to solve
            changed = bytearray(state)
            for _ in range(int(rng.integers(1, 4))):
                changed[rng.integers(len(changed))] = rng.choice([0, 1, 2, 127, 128, 255, rng.integers(256)])
            if rng.random() < 0.2:
                cut = rng.integers(len(changed) - 4)
                del changed[cut : cut + int(rng.integers(1, 9))]
            twin, _ = made(kind, seed)
            try:
                twin._core.restore(sealed(bytes(changed)))
            except ValueError as error:
                assert "damaged" in str(error) or "made for" in str(error) or "expected" in str(error)
                n_refused += 1
                continue
            n_taken += 1
            try:  # what it knows may be nonsense, and what it is told then impossible
                twin_loop = loop.with_agent(twin)
                twin_loop.action = None
                twin.begin_episode()
                for _ in range(20):
                    twin_loop.half_step()
                known(twin_loop)
            except (RuntimeError, ValueError, IndexError, OverflowError):
                pass
    assert n_refused > 0 and n_taken > 0


SMALL = {
    "table": lambda: ocp.OCP(ocp.TabulaRasa(3, 2, 3), update="period"),
    "cells": lambda: ocp.OCP(ocp.StateAggregation([0, 0, 1], 2, horizon=3), replay=True, ties="directed"),
    "homogeneous": lambda: ocp.OCP(ocp.StateAggregation([0, 0, 1], 2), ties="least_visited", bounds=(-9, 9)),
    "window": lambda: ocp.OCP(ocp.TabulaRasa(3, 2, 3), selection="window", window=2, ties="random", rng=0),
    "linear": lambda: ocp.OCP(ocp.LinearFeatures(np.eye(6).reshape(3, 2, 6), 3), selection="eluder", update="period"),
    "finite": lambda: ocp.OCP(ocp.FiniteClass(np.arange(54.0).reshape(3, 3, 3, 2) % 5), update="period"),
    "Q-learning": lambda: ocp.QLearning(3, 2, 3),
}


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("half_steps", [8, 9])
def test_a_wrong_number_anywhere_leads_to_no_action_that_is_none(kind, half_steps):
    """Before the first of something, after the last, far after it; at every place of a state. The loop then goes on."""
    agent = SMALL[kind]()
    loop = Loop(agent, World(np.random.default_rng(1), n_states=3, n_actions=2), 0)
    for _ in range(half_steps):
        loop.half_step()
    state = agent._core.state()
    n_refused = n_taken = 0
    for place, wrong in itertools.product(range(len(state) - 12), (-2, 5, 2**40, 2**63 - 1)):
        twin = SMALL[kind]()
        try:
            twin._core.restore(sealed(state[:place] + struct.pack("<q", wrong) + state[place + 8 :]))
        except ValueError:
            n_refused += 1
            continue
        n_taken += 1
        goes_on = loop.with_agent(twin)
        with contextlib.suppress(RuntimeError, ValueError, OverflowError):
            for _ in range(4):
                goes_on.half_step()
                assert goes_on.action in (None, 0, 1), (place, wrong)
    assert n_refused > 100 and n_taken > 20


def test_a_state_that_says_two_things_of_what_is_kept():
    """A class that holds a constraint which is listed as rejected would never let go of it."""
    agent = ocp.OCP(ocp.LinearFeatures(np.eye(4).reshape(2, 2, 4), horizon=1))
    agent.act(0)
    agent.observe(0, 0.375)
    state = agent._core.state()
    constraint = struct.pack("<qdd", 0, 0.375, 0.375)
    [_, listed] = [match.start() for match in re.finditer(re.escape(constraint), state)]  # the class has it too
    kept = listed + struct.calcsize("<qddqqq")
    assert state[kept] == 1
    with pytest.raises(ValueError, match="damaged: the number of constraints"):
        agent._core.restore(sealed(state[:kept] + b"\0" + state[kept + 1 :]))


def test_states_of_others(small):
    state = small_agent()._core.state()
    table = ocp.OCP(ocp.TabulaRasa(3, 2, 2))._core
    for core, text in (
        (ocp.QLearning(3, 2, 2)._core, "expected the state of Q-learning, got that of OCP on cells"),
        (table, "made for another ties"),
        (ocp.OCP(ocp.TabulaRasa(3, 2, 2), ties="directed", replay=True)._core, "made for another lower"),
        (
            ocp.OCP(ocp.TabulaRasa(3, 2, 2, lower="exact"), ties="directed", replay=True)._core,
            "made for a class of another size",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            core.restore(state)
    with pytest.raises(ValueError, match="damaged: it ends too early"):
        table.restore(b"")
    newer = struct.pack("<I", 9) + state[4:]
    with pytest.raises(ValueError, match="expected version 2 of what agents keep, got 9"):
        table.restore(sealed(newer))


def test_the_checksum_is_zlibs():
    state = small_agent()._core.state()
    assert zlib.crc32(state[:-4]) == struct.unpack("<I", state[-4:])[0]
    assert state == sealed(state)
