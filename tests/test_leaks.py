"""Agents and systems that are made, run and thrown away leave nothing behind: ten thousand of them in all, and ten
thousand of each kind with OCPFAST_LEAK_ROUNDS=10000 (tests/sanitize.py leak)."""

import ctypes
import gc
import itertools
import os
import sys
from pathlib import Path

import pytest
from leaks import ROUNDS

N_ROUNDS = int(os.environ.get("OCPFAST_LEAK_ROUNDS", -(-10_000 // len(ROUNDS))))
WARM_UP = max(20, N_ROUNDS // 20)
PARTS = 4  # of the rounds; what leaks does so in each of them, what a table or a cache takes when it grows does not
# What may be left of a round. The smallest object of Python or of malloc has 16 bytes: one in two rounds would be seen.
BYTES, BLOCKS = 8, 0.25
RSS = 2 * 2**20  # of all rounds: fragments, and pages that are not given back

STATM = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not STATM.exists(), reason="needs /proc")


class Mallinfo2(ctypes.Structure):
    _NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = tuple((name, ctypes.c_size_t) for name in _NAMES)


MALLINFO2 = getattr(ctypes.CDLL(None), "mallinfo2", None)  # of glibc from 2.33 on
if MALLINFO2 is not None:
    MALLINFO2.restype = Mallinfo2


def used():
    """Bytes in use in all of malloc's arenas, blocks in use of Python's own, and the resident set in bytes."""
    sys._clear_type_cache()  # it keeps up to 4,096 names, and pybind11 asks with a new string each time
    gc.collect()
    of_malloc = 0
    if MALLINFO2 is not None:
        info = MALLINFO2()
        of_malloc = info.uordblks + info.hblkhd
    return of_malloc, sys.getallocatedblocks(), int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(once, n_rounds):
    """Of malloc's bytes and Python's blocks in the part where they grew least, a round; of the resident set in all."""
    for _ in range(WARM_UP):
        once()
    per_part = -(-n_rounds // PARTS)
    seen = [used()]
    for _ in range(PARTS):
        for _ in range(per_part):
            once()
        seen.append(used())
    least = [min(b[i] - a[i] for a, b in itertools.pairwise(seen)) / per_part for i in (0, 1)]
    return *least, seen[-1][2] - seen[0][2]


@pytest.mark.parametrize("once", ROUNDS, ids=lambda once: once.__name__)
def test_nothing_is_left(once):
    in_malloc, blocks, resident = growth(once, N_ROUNDS)
    assert in_malloc <= BYTES
    assert blocks <= BLOCKS
    assert resident <= RSS


@pytest.mark.parametrize("size", [24, 400, 10_000])
def test_what_is_left_is_seen(size):
    """The measurement itself: one object of Python's a round, one of malloc's."""
    kept = []
    assert growth(lambda: kept.append(bytes(size)), 400)[0 if size > 512 else 1] > (BYTES if size > 512 else BLOCKS)
    if MALLINFO2 is not None:
        malloc = ctypes.CDLL(None).malloc
        malloc.restype = ctypes.c_void_p
        assert growth(lambda: malloc(size), 400)[0] > BYTES
