"""Argument checks: each returns the checked value or raises an error that names the argument."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Cells and transitions are numbered with 32 bits; half of that leaves room for every product of sizes.
MAX_CELLS = 2**30


def integer(value: SupportsIndex, name: str, least: int, most: int | None = None) -> int:
    """An integer (not a bool or a float) of at least `least` and at most `most`."""
    if type(value) is int and value >= least and (most is None or value <= most):
        return value  # what every step of a loop in Python comes with
    expected = f"{name}: expected an integer " + (f">= {least}" if most is None else f"in {least}..{most}")
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{expected}, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{expected}, got {value!r}") from None
    if number < least or (most is not None and number > most):
        raise ValueError(f"{expected}, got {number}")
    return number


def number(value: Any, name: str, expected: str = "a number") -> float:
    """A real number that is not NaN."""
    if type(value) is float and value == value:
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected {expected}, got {value!r}")
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
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def one_of(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """One of a few words."""
    for choice in choices:
        if type(value) is type(choice) and value == choice:
            return choice
    raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}")


def n_cells(count: int, what: str) -> int:
    """A number of parameters that the kernels can number."""
    if count > MAX_CELLS:
        raise ValueError(f"{what}: {count} parameters, expected at most {MAX_CELLS}")
    return count
