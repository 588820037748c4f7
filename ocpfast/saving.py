r"""Agents as files: everything that an agent is and has learned, without pickle.

A checkpoint is, one after the other and little-endian:

==================  ============================================================================
8 bytes             what it is: ``\x89OCPFAST``
uint32              the version of this format
uint64              the length of the whole file
uint64              the length of the header
header              JSON: the agent's class, its arguments, its random generator, and the lengths of the blobs
blobs               arrays of the description, and the learned state as ``csrc/include/ocpfast/archive.hpp`` has it
uint32              CRC-32 of all that comes before
==================  ============================================================================

JSON knows neither arrays nor classes nor infinities: they are objects with one key that starts with ``$``. Classes are
made by calling the few constructors listed here, which check their arguments, and no code comes from a file.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ocpfast import _check
from ocpfast.files import write_atomically
from ocpfast.results import AGENT_MAGIC

if TYPE_CHECKING:
    from ocpfast.agent import Agent
    from ocpfast.hypothesis import Hypothesis

__all__ = ["load_agent"]

_MAGIC = AGENT_MAGIC
_VERSION = 1
_START = struct.Struct("<8sIQQ")
_CHECKSUM = struct.Struct("<I")

# What a file may name; all of them are in `ocpfast`.
_AGENTS = ("OCP", "LSVI", "QLearning", "RandomPolicy")
_DESCRIPTIONS = (
    "Grid", "TabulaRasa", "StateAggregation", "LinearFeatures", "Polytope", "Sigmoid", "SparseLinear", "FiniteClass",
    "Quadratic", "EpsilonGreedy", "Boltzmann",
)  # fmt: skip
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "|b1")
_GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")


class _NotInFilesError(Exception):
    """A function, say."""


class _Encoder:
    """Values as JSON and blobs."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []

    def __call__(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"$float": str(value)}
        if isinstance(value, bytes):
            return {"$bytes": self._blob(value)}
        if isinstance(value, np.ndarray) and value.dtype.newbyteorder("<").str in _DTYPES:
            array = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
            return {"$array": [array.dtype.str, list(value.shape), self._blob(array.tobytes())]}
        if isinstance(value, tuple):
            return {"$tuple": [self(one) for one in value]}
        if isinstance(value, list):
            return [self(one) for one in value]
        if isinstance(value, dict):
            return {"$dict": [[self(key), self(one)] for key, one in value.items()]}
        if hasattr(value, "tocsr"):
            rows = value.tocsr()
            return {"$csr": [self(list(rows.shape)), self(rows.data), self(rows.indices), self(rows.indptr)]}
        name = type(value).__name__
        if name in _DESCRIPTIONS and type(value).__module__.startswith("ocpfast."):
            return {"$class": [name, [self(one) for one in _arguments_of(value)]]}
        raise _NotInFilesError(repr(value))

    def _blob(self, content: bytes) -> int:
        self.blobs.append(content)
        return len(self.blobs) - 1


def _arguments_of(description: Any) -> tuple[Any, ...]:
    if type(description).__name__ in ("EpsilonGreedy", "Boltzmann"):
        return tuple(vars(description).values())
    arguments: tuple[Any, ...] = description.__reduce__()[1]
    return arguments


class _Decoder:
    """And back."""

    def __init__(self, blobs: list[memoryview]) -> None:
        self._blobs = blobs

    def __call__(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self(one) for one in value]
        if not isinstance(value, dict):
            return value
        [(kind, content)] = value.items()
        return getattr(self, f"_{kind.removeprefix('$')}")(content)

    def _float(self, text: str) -> float:
        return float(text)

    def _bytes(self, number: int) -> bytes:
        return bytes(self._blobs[number])

    def _array(self, content: list[Any]) -> Any:
        dtype, shape, number = content
        if dtype not in _DTYPES:
            raise ValueError(f"an array of {dtype}")
        return np.frombuffer(self._blobs[number], dtype=dtype).reshape(shape)

    def _tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self(one) for one in content)

    def _dict(self, content: list[Any]) -> dict[Any, Any]:
        return {self(key): self(one) for key, one in content}

    def _csr(self, content: list[Any]) -> Any:
        sparse = importlib.import_module("scipy.sparse")  # whoever has such features has it
        shape, data, indices, indptr = (self(one) for one in content)
        rows = sparse.csr_array((data, indices, indptr), shape=shape)
        rows.check_format(full_check=True)
        return rows

    def _class(self, content: list[Any]) -> Any:
        import ocpfast

        name, arguments = content
        if name not in _DESCRIPTIONS:
            raise ValueError(f"a {name}")
        return getattr(ocpfast, name)(*(self(one) for one in arguments))


def _generator_state(rng: np.random.Generator) -> dict[str, Any]:
    state: dict[str, Any] = dict(rng.bit_generator.state)
    if state.get("bit_generator") not in _GENERATORS:
        raise TypeError(
            f"rng: expected one of NumPy's bit generators ({', '.join(_GENERATORS)}) to save it, "
            f"got {rng.bit_generator!r}"
        )
    return state


def _generator_of(state: dict[str, Any]) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ValueError(f"a generator {name}")
    # NumPy takes positions as they come
    if name == "MT19937" and not 0 <= state["state"]["pos"] <= 624:
        raise ValueError("the position of a generator")
    if name == "Philox" and not 0 <= state["buffer_pos"] <= 4:
        raise ValueError("the position of a generator")
    bits = getattr(np.random, name)(0)
    bits.state = state
    return np.random.Generator(bits)


def save_agent(agent: Agent, path: str | os.PathLike[str]) -> None:
    """Write an agent to a file; `Agent.save` documents it."""
    encode = _Encoder()
    arguments = agent._arguments()
    given = None
    encoded = {}
    for name, value in arguments.items():
        try:
            encoded[name] = encode(value)
        except _NotInFilesError:
            given = repr(value)
    with agent._core.reading():
        rng, memory, state = _generator_state(agent._rng), agent._memory(), agent._core.state()
    header = {
        "agent": type(agent).__name__,
        "arguments": encoded,
        "given": given,  # what load_agent must be given: a class with a function in it
        "rng": encode(rng),
        "memory": encode(memory),
        "state": encode(state),
        "blobs": [len(blob) for blob in encode.blobs],
    }
    if header["agent"] not in _AGENTS or not type(agent).__module__.startswith("ocpfast."):
        raise TypeError(f"save: expected an agent of ocpfast itself, got a {type(agent).__qualname__}; pickle it")
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    length = _START.size + len(text) + sum(map(len, encode.blobs)) + _CHECKSUM.size
    parts = [_START.pack(_MAGIC, _VERSION, length, len(text)), text, *encode.blobs]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    parts.append(_CHECKSUM.pack(checksum))
    write_atomically(path, lambda file: file.writelines(parts))


def load_agent(path: str | os.PathLike[str], hypothesis: Hypothesis | None = None) -> Agent:
    """Read an agent that `Agent.save` wrote: it continues as the saved one would have, to the last bit.

    Parameters
    ----------
    path : str or path
        The file.
    hypothesis : Hypothesis, optional
        The hypothesis class. It must be given where it has a function in it (`FeatureFunction` of vector states), as
        functions cannot be saved, and must be the one that the agent had; else the file has it.

    Returns
    -------
    Agent
        The agent, in the middle of its episode if it was saved there.

    Raises
    ------
    ValueError
        Where the file is damaged, of another kind, or of a newer version.
    OSError
        Where it cannot be read.

    Notes
    -----
    Linear programs go on to the last bit with the same version of HiGHS; with another one, to rounding.

    No code comes from a file, and what is learned is checked wherever it is used to address memory. So a file that
    somebody made up gives an error or an agent that knows nonsense; it can also describe one that needs more memory or
    time than there is.

    Examples
    --------
    >>> import os, tempfile
    >>> import ocpfast as ocp
    >>> path = os.path.join(tempfile.mkdtemp(), "agent.ocp")
    >>> agent = ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4))
    >>> action = agent.act(0)
    >>> agent.save(path)
    >>> agent.observe(1, 0.5), ocp.load_agent(path).observe(1, 0.5)
    (False, False)
    """
    with open(_check.path(path), "rb") as file:
        content = file.read()
    header, blobs = checked(content, path)
    given = header["given"]
    if given is not None and hypothesis is None:
        raise ValueError(
            f"hypothesis: expected the class that the agent was saved with, {given}, which has a function in it and is "
            f"not in {os.fspath(path)}; load_agent(path, hypothesis=...)"
        )
    try:
        return _decoded(header, blobs, hypothesis)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        if hypothesis is not None:
            raise ValueError(
                f"hypothesis: {hypothesis!r} is not what the agent in {os.fspath(path)} was saved with ({error})"
            ) from error
        raise ValueError(f"path: {os.fspath(path)} is damaged: {error}") from error


def checked(content: bytes, path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[memoryview]]:
    """The header and the blobs of a file whose checksum is right."""
    name = os.fspath(path)
    if not content.startswith(_MAGIC):
        remedy = "; a result is read by load_result" if content.startswith(b"PK") else ""
        raise ValueError(f"path: expected a checkpoint that Agent.save wrote, got something else in {name}{remedy}")
    if len(content) < _START.size + _CHECKSUM.size:
        raise ValueError(f"path: {name} is damaged: it ends after {len(content)} bytes")
    _, version, length, header_length = _START.unpack_from(content)
    if version > _VERSION:
        raise ValueError(
            f"path: expected an ocpfast checkpoint of version <= {_VERSION}, got version {version} in {name}; "
            "upgrade ocpfast"
        )
    if length != len(content):
        raise ValueError(f"path: {name} is damaged: expected {length} bytes, got {len(content)}")
    view = memoryview(content)
    end = len(content) - _CHECKSUM.size
    if zlib.crc32(view[:end]) != _CHECKSUM.unpack_from(content, end)[0]:
        raise ValueError(f"path: {name} is damaged: its checksum is wrong")
    try:
        if version < 1 or header_length > end - _START.size:
            raise ValueError("version or length")
        header = json.loads(content[_START.size : _START.size + header_length])
        blobs = []
        first = _START.size + header_length
        for size in header["blobs"]:
            if not 0 <= size <= end - first:
                raise ValueError("the length of a blob")
            blobs.append(view[first : first + size])
            first += size
        return header, blobs
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"path: {name} is damaged: {error}") from error


def _decoded(header: dict[str, Any], blobs: list[memoryview], hypothesis: Hypothesis | None) -> Agent:
    import ocpfast

    decode = _Decoder(blobs)
    if header["agent"] not in _AGENTS:
        raise ValueError(f"an agent {header['agent']}")
    arguments = {name: decode(value) for name, value in header["arguments"].items()}
    if hypothesis is not None and arguments.setdefault("hypothesis", hypothesis) != hypothesis:
        raise ValueError(f"that was {arguments['hypothesis']!r}")
    return revive(
        getattr(ocpfast, header["agent"]),
        arguments,
        _generator_of(decode(header["rng"])),
        decode(header["state"]),
        decode(header["memory"]),
    )


def revive(
    kind: type[Agent],
    arguments: dict[str, Any],
    rng: np.random.Generator,
    state: bytes,
    memory: dict[str, Any],
    standing: dict[str, Any] | None = None,
) -> Agent:
    """An agent from what `Agent.__reduce__` says of it; `standing` is where its generator stands."""
    if standing is not None:
        rng.bit_generator.state = standing
    agent = kind(**arguments, rng=rng)
    agent._core.restore(state)
    agent._remember(memory)
    return agent
