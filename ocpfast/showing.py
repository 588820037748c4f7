"""What objects look like in words: their reprs are calls that would make them, as far as they are short.

A repr without a "<" in it, evaluated with the names of `ocpfast`, gives an equal object.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEW = 12  # numbers that are shown; more are a shape


def changed(kind: type, options: Mapping[str, Any]) -> list[str]:
    """Those of a constructor's options that are not as by default, as ``name=value``."""
    parameters = inspect.signature(kind).parameters
    return [f"{name}={value!r}" for name, value in options.items() if value != parameters[name].default]


def count(number: int, what: str) -> str:
    """So many of something."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def array_in_words(values: NDArray[Any], what: str) -> str:
    """A few numbers as nested lists, many by their shape."""
    exact = values.size <= FEW and (values.dtype.kind in "iu" or bool(np.isfinite(values).all()))
    return repr(values.tolist()) if exact else f"<{what} of shape {values.shape}>"
