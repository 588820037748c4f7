"""HiGHS at C speed: the library inside highspy, opened once."""

from __future__ import annotations

import threading
from pathlib import Path

from ocpfast import _core

_lock = threading.Lock()


def load() -> None:
    """Make the functions of HiGHS available to the compiled classes, if they are not yet."""
    with _lock:
        if _core.highs_is_loaded():
            return
        import highspy

        folder = Path(highspy.__file__).parent
        # newer releases keep the library beside the binding, older ones inside it
        candidates = [*sorted(folder.glob("libhighs*")), *sorted(folder.glob("_core*.so")), *folder.glob("*.so")]
        tried = []
        for candidate in candidates:
            try:
                return _core.load_highs(str(candidate))
            except RuntimeError as error:
                tried.append(f"{candidate.name}: {error}")
        raise ImportError(f"no usable HiGHS library in {folder}; tried {'; '.join(tried) or 'nothing'}")
