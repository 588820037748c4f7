"""C signatures of the compiled functions that users bring, and where such a function is in memory.

A compiled function comes as a `scipy.LowLevelCallable`, a numba cfunc or a ctypes function. Each of the constants here
is a `Signature` in all three spellings: `RESET`, `STEP`, `STEP_MANY` and `OPTIMAL_VALUE` are those of
`ocpfast.CompiledSystem` and of the header ``ocpfast/system.h``, `FEATURES` is that of `ocpfast.FeatureFunction` and of
``ocpfast/features.h``.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from typing import Any

from ocpfast import _core

__all__ = ["FEATURES", "OPTIMAL_VALUE", "RESET", "STEP", "STEP_MANY", "Signature"]


def __dir__() -> list[str]:
    """What there is for users, without what this module imports."""
    return sorted(__all__)


_CFUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]  # the base of all ctypes functions, which has no public name
_CTYPES: dict[str, Any] = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "double": ctypes.c_double}
# Other names of the same types: c_long is what c_int64 is called where a long has 64 bits.
_NAMES = {"int32_t": "int", "long": "int64_t", "long long": "int64_t", "bitgen_t": "ocp_bitgen"}
_SCALARS = {*_CTYPES, "char", "float", "unsigned"}
_NAME_OF = {kind: name for name, kind in _CTYPES.items()} | {ctypes.c_longlong: "int64_t", None: "void"}


class Signature:
    """A C signature, in the spellings of C, ctypes and numba.

    Parameters
    ----------
    c : str
        In C, with the names of the arguments.

    Attributes
    ----------
    c : str
        In C; also what `scipy.LowLevelCallable` takes as `signature`.
    ctypes : type
        The ctypes prototype: ``signature.ctypes(("name", library))`` is a function of a library that
        `ctypes.CDLL` opened.

    Examples
    --------
    >>> import ocpfast as ocp
    >>> ocp.signatures.RESET.c
    'int (void *instance, int64_t episode, ocp_bitgen *bitgen, void *state)'
    >>> ocp.signatures.RESET.ctypes(lambda instance, episode, bitgen, state: 7)(None, 0, None, None)
    7
    """

    def __init__(self, c: str) -> None:
        self.c = c
        self._kinds, names = _parsed(c)
        self._names = names[1:]
        self.ctypes = ctypes.CFUNCTYPE(*map(_ctypes_of, self._kinds))

    def numba(self, **pointees: str) -> Any:
        """The signature for `numba.cfunc`.

        Parameters
        ----------
        **pointees : {"double", "int64_t", "int"}
            What arguments of the type ``void *`` point to, by their names; those not named are ``types.voidptr``.

        Returns
        -------
        numba signature
            To be passed to `numba.cfunc`.

        Examples
        --------
        A system whose states are vectors and whose actions are indices::

            @numba.cfunc(ocp.signatures.STEP.numba(state="double", action="int64_t"))
            def step(instance, period, state, action, bitgen, reward, ending):
                ...
        """
        try:
            types: Any = importlib.import_module("numba").types
        except ImportError:
            raise ImportError("numba: it is not installed; pip install numba") from None
        known: dict[str, Any] = {"int": types.intc, "int64_t": types.int64, "double": types.float64}
        open_arguments = [name for name, kind in zip(self._names, self._kinds[1:], strict=True) if kind == "void*"]
        for name, pointee in pointees.items():
            if name not in open_arguments:
                raise TypeError(f"{name}: expected one of {', '.join(open_arguments)}, of {self.c!r}")
            if pointee not in known:
                raise ValueError(f"{name}: expected one of {', '.join(map(repr, known))}, got {pointee!r}")

        def type_of(name: str, kind: str) -> Any:
            pointee = pointees.get(name, kind.removesuffix("*"))
            if not kind.endswith("*"):
                return known[kind]
            return types.CPointer(known[pointee]) if pointee in known else types.voidptr

        arguments = [type_of(name, kind) for name, kind in zip(self._names, self._kinds[1:], strict=True)]
        return known[self._kinds[0]](*arguments)

    def address_of(self, function: Any, name: str) -> tuple[int, int] | None:
        """Where a compiled function is, and its user data; None for anything else.

        Parameters
        ----------
        function : object
            What the user gave.
        name : str
            The argument that errors name.

        Returns
        -------
        tuple of int, or None
            Address and user data, 0 where there is none.

        Raises
        ------
        ValueError
            If the function has another signature, or is NULL.

        Examples
        --------
        >>> import ocpfast as ocp
        >>> reset = ocp.signatures.RESET.ctypes(lambda instance, episode, bitgen, state: 0)
        >>> address, user_data = ocp.signatures.RESET.address_of(reset, "reset")
        >>> user_data
        0
        """
        user_data = 0
        if type(function).__name__ == "LowLevelCallable" and isinstance(function, tuple):
            address, user_data, described = _core.unpack_callable(tuple.__getitem__(function, 0))
            try:
                kinds, _ = _parsed(described)
            except ValueError:
                kinds = []
        else:
            function = getattr(function, "ctypes", function)  # a numba cfunc
            if not isinstance(function, _CFUNCTION):
                return None
            kinds = [_kind_of(kind) for kind in (function.restype, *(function.argtypes or ()))]
            described = f"{kinds[0]} ({', '.join(kinds[1:])})"
            if function.argtypes is None:
                described += ", without argtypes: use signature.ctypes((name, library)) of ocpfast.signatures"
            address = ctypes.cast(function, ctypes.c_void_p).value or 0
        if len(kinds) != len(self._kinds) or not all(map(_agree, self._kinds, kinds)):
            raise ValueError(f"{name}: expected the signature {self.c!r}, got {described!r}")
        if address == 0:
            raise ValueError(f"{name}: expected a function, got a pointer that is NULL")
        return address, user_data

    def __repr__(self) -> str:
        return f"Signature({self.c!r})"


def _parsed(c: str) -> tuple[list[str], list[str]]:
    """Types, without const and blanks, and names of what a signature returns and takes."""
    whole = re.fullmatch(r"\s*([^()]+)\(([^()]*)\)\s*", c)
    if whole is None:
        raise ValueError(f"expected a C signature, got {c!r}")
    kinds, names = [], []
    for part in (whole[1], *whole[2].split(",")):
        plain = re.sub(r"\s*\*\s*", "*", re.sub(r"\bconst\b", " ", part)).strip()
        found = re.fullmatch(r"(long\s+long|\w+)(\**)\s*(\w*)", plain)
        if found is None:
            raise ValueError(f"expected a C signature, got {c!r}")
        base = " ".join(found[1].split())
        kinds.append(_NAMES.get(base, base) + found[2])
        names.append(found[3])
    return kinds, names


def _ctypes_of(kind: str) -> Any:
    if not kind.endswith("*"):
        return _CTYPES[kind]
    pointee = _CTYPES.get(kind[:-1])
    return ctypes.c_void_p if pointee is None else ctypes.POINTER(pointee)


def _kind_of(kind: Any) -> str:
    if kind is ctypes.c_void_p:
        return "void*"
    if hasattr(kind, "contents"):
        return f"{_kind_of(kind._type_)}*"
    name = _NAME_OF.get(kind)
    return name if name is not None else getattr(kind, "__name__", str(kind))


def _agree(wanted: str, given: str) -> bool:
    """Whether a type will do. What a pointer to void points to, nobody tells; a struct may have any name."""
    if wanted == given or not (wanted.endswith("*") and given.endswith("*")):
        return wanted == given
    pointee, other = wanted.rstrip("*"), given.rstrip("*")
    return "void" in (pointee, other) or (pointee not in _CTYPES and other not in _SCALARS)


RESET = Signature("int (void *instance, int64_t episode, ocp_bitgen *bitgen, void *state)")
STEP = Signature(
    "int (void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward, "
    "int *ending)"
)
STEP_MANY = Signature(
    "int (void *const *instances, int64_t lanes, const int64_t *periods, void *states, const void *actions, "
    "ocp_bitgen *const *bitgens, double *rewards, int *endings)"
)
OPTIMAL_VALUE = Signature("int (void *instance, const void *state, double *value)")
FEATURES = Signature("int (int64_t period, const void *state, int64_t action, double *features, void *user_data)")
