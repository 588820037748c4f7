"""Files that are complete or not there, whatever happens to the process or the machine.

A file is written beside its place, brought to the disk, renamed, and the renaming is brought to the disk too: what was
reported as saved outlives a power cut. A process that is killed meanwhile leaves ``.ocpfast-*.part`` behind; whoever
next writes into that directory removes it. While one is being written its writer holds a lock on it (flock), which ends
with the process and so tells which are left over, on whatever machine the writer was. C++ does the same with the same
names, in ``csrc/include/ocpfast/files.hpp``.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ocpfast import _check

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where there are neither such locks nor directories that can be opened
    fcntl = None

_PREFIX, _SUFFIX = ".ocpfast-", ".part"


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Write beside the target and rename, so that the target is never half a file."""
    target = Path(_check.path(path))
    if not target.parent.exists():
        raise FileNotFoundError(f"path: there is no directory {str(target.parent)!r}; make it first")
    try:
        _remove_left_over(target.parent)  # before, as the disk may be full of them
        beside, lock = _create_in(target.parent)
        try:
            with open(beside, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):  # Ctrl-C may come when it is renamed already
                os.unlink(beside)
            raise
        finally:
            if lock is not None:
                lock.close()
        _bring_to_disk(target.parent)
    except OSError as error:
        if error.errno is None or not _is_ours(error.filename, target.parent):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error


def _is_ours(name: object, directory: Path) -> bool:
    """Whether an error names no file, the directory or the file beside the target: not one that `write` needs."""
    return name is None or Path(str(name)) == directory or Path(str(name)).name.startswith(_PREFIX)


def _create_in(directory: Path) -> tuple[Path, IO[bytes] | None]:
    """An empty file with a name of its own; and what must be closed once it is renamed, as it holds the lock."""
    for attempt in itertools.count(1):
        path = directory / f"{_PREFIX}{uuid.uuid4().hex}{_SUFFIX}"
        file = open(path, "xb")  # noqa: SIM115 (whoever asked closes it)
        if fcntl is None:
            file.close()
            return path, None
        with contextlib.suppress(OSError):  # a file system without locks, where nobody removes anything
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink or attempt == 100:
            break
        file.close()  # before it was locked, somebody took it for left over; or nothing has links here
    return path, file


def _remove_left_over(directory: Path) -> None:
    with contextlib.suppress(OSError):  # it cannot be listed
        for name in os.listdir(directory):
            if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
                with contextlib.suppress(OSError):  # in use, gone by now, or somebody else's
                    _remove_unlocked(directory / name)


def _remove_unlocked(path: Path) -> None:
    if fcntl is None:
        return
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(file).st_mode):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        os.close(file)


def _bring_to_disk(directory: Path) -> None:
    """What was renamed in it."""
    if fcntl is None:
        return
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:  # one that may be written to, but not read
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that does this by itself
            raise
    finally:
        os.close(handle)
