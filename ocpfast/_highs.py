"""HiGHS at C speed: the library inside highspy, opened once, or else highspy's Python API.

The environment variable ``OCPFAST_HIGHS`` decides which when HiGHS is first needed: ``library`` (an ImportError where
it cannot be opened), ``python`` (the same results, slower), or unset: the library and, where it cannot be
opened, Python with a RuntimeWarning.
"""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

from ocpfast import _core

_VARIABLE = "OCPFAST_HIGHS"
_lock = threading.RLock()


def _before_fork() -> None:
    """Nobody is loading, and HiGHS has no threads that the child would lack.

    It starts them where a user's model asks for several; a child in which it joins them when a model goes, or at the
    end, aborts. They start again when they are needed.
    """
    _lock.acquire()
    if _core.highs_in_use() is not None:
        import highspy

        highspy.Highs.resetGlobalScheduler(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)


def load() -> None:
    """Make the functions of HiGHS available to the compiled classes, if they are not yet."""
    with _lock:
        if _core.highs_in_use() is not None:
            return
        choice = os.environ.get(_VARIABLE, "")
        if choice not in ("", "library", "python"):
            raise ValueError(f"{_VARIABLE}: expected 'library' or 'python', or no such variable, got {choice!r}")
        if choice == "python":
            return _core.use_highspy()
        failure = _open_library()
        if failure is None:
            return
        if choice == "library":
            raise ImportError(f"{failure} ({_VARIABLE}=library)")
        _core.use_highspy()
    warnings.warn(
        f"{failure}; linear programs go through highspy's Python API instead, which gives the same results but is "
        f"slower ({_VARIABLE}=python says that this is meant)",
        RuntimeWarning,
        stacklevel=4,  # whoever made the class or the agent
    )


def _open_library() -> str | None:
    """Open the library that highspy itself uses. None, or what was tried and why it failed."""
    import highspy

    folder = Path(highspy.__file__).parent
    # What the binding is linked with is found through it, so that it is the very same library; older releases have it
    # inside the binding. Then by name, for loaders that do not look through.
    candidates = [Path(highspy._core.__file__), *sorted(folder.glob("libhighs*"))]
    tried = []
    for candidate in candidates:
        try:
            _core.load_highs(str(candidate))
        except RuntimeError as error:
            tried.append(f"{candidate.name}: {error}")
        else:
            return None
    return f"no usable HiGHS library in {folder}; tried {'; '.join(tried)}"
