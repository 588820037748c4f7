"""Argument checks: each returns the checked value or raises an error that names the argument."""

from __future__ import annotations

import difflib
import numbers
import operator
import os
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Cells and transitions are numbered with 32 bits; half of that leaves room for every product of sizes.
MAX_CELLS = 2**30
# As in limits.hpp: with these no sum of rewards overflows.
LARGEST_REWARD = 1e80
LARGEST_VALUE = 1e100


def hint(value: object, wanted: str) -> str:
    """What to do about a value that is no "int" or "float", or nothing of some other kind, as the end of an error."""
    if isinstance(value, type):
        return f"; that is the class itself, make one: {value.__name__}(...)"
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        return "; Gymnasium's reset() returns (state, info): pass the first of them"
    if wanted not in ("int", "float"):
        return ""
    if (isinstance(value, (list, tuple)) and len(value) == 1) or (getattr(value, "shape", ()) == (1,)):
        return "; pass its one element"
    if getattr(value, "ndim", 0) > 0:
        return ""
    try:
        converts = float(value) == int(value) or wanted == "float"  # type: ignore[call-overload,arg-type]
    except (TypeError, ValueError, OverflowError):
        return ""
    return f"; {wanted}() makes it one" if converts else ""


def path(value: object) -> str:
    """The name of a file. An integer would be taken for a file that is open already, with that number."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"path: expected a str or a path such as pathlib.Path, got {value!r}")
    name = os.fspath(value)
    if not isinstance(name, str):
        raise TypeError(f"path: expected a str or a path such as pathlib.Path, got {value!r}")
    if os.path.isdir(name):
        raise IsADirectoryError(f"path: {name!r} is a directory; give the name of a file in it")
    return name


def integer(value: SupportsIndex, name: str, least: int, most: int | None = None) -> int:
    """An integer (not a bool or a float) of at least `least` and at most `most`."""
    if type(value) is int and value >= least and (most is None or value <= most):
        return value  # what every step of a loop in Python comes with
    expected = f"{name}: expected an integer " + (f">= {least}" if most is None else f"in {least}..{most}")
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{expected}, got {value!r}{hint(value, 'int')}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{expected}, got {value!r}{hint(value, 'int')}") from None
    if number < least or (most is not None and number > most):
        raise ValueError(f"{expected}, got {number}")
    return number


def number(value: Any, name: str, expected: str = "a number") -> float:
    """A real number that is not NaN."""
    if type(value) is float and value == value:
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected {expected}, got {value!r}{hint(value, 'float')}")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected {expected}, got one beyond the range of floats") from None
    if result != result:
        raise ValueError(f"{name}: expected {expected}, got nan")
    return result


def numeric(value: ArrayLike, name: str, expected: str) -> NDArray[np.float64]:
    """A new float64 array of what is already numbers: no strings, bools or objects."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}: expected {expected}, got ragged rows") from None
    if array.dtype.kind not in "iuf" and array.size > 0:
        raise TypeError(f"{name}: expected {expected}, got dtype {array.dtype}")
    return np.array(array, dtype=np.float64)


def flag(value: Any, name: str) -> bool:
    """A bool, NumPy's included."""
    if value is True or value is False:
        return value
    if not isinstance(value, (bool, np.bool_)):
        made = "; bool() makes it one" if isinstance(value, (int, np.integer)) else ""
        raise TypeError(f"{name}: expected True or False, got {value!r}{made}")
    return bool(value)


def one_of(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """One of a few words."""
    for choice in choices:
        if type(value) is type(choice) and value == choice:
            return choice
    meant = ""
    if isinstance(value, str):
        words = [choice for choice in choices if isinstance(choice, str)]
        close = difflib.get_close_matches(value.lower().replace("-", "_"), words, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}{meant}")


def n_cells(count: int, what: str) -> int:
    """A number of parameters that the kernels can number."""
    if count > MAX_CELLS:
        raise ValueError(f"{what}: {count} parameters, expected at most {MAX_CELLS}")
    return count
