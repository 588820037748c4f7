"""Who runs the simulations of `ocpfast.run`: threads that share our memory, or an executor's workers that do not.

`work_off` is the one loop that hands out parts of a run, watches them and cleans up, whoever does them. An executor is
the caller's: nothing here shuts it down.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import os
import pickle
import signal
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol, TypeAlias

# Of a worker's tasks one runs and the others wait, so that no worker is idle for want of us and what waits is bounded.
_TASKS_PER_WORKER = 3
_REFRESH_SECONDS = 0.1
_SMALL_BYTES = 100_000

# Python 3.14's subinterpreters are threads too, but share no objects.
_NOT_SHARED: tuple[type, ...] = tuple(filter(None, [getattr(concurrent.futures, "InterpreterPoolExecutor", None)]))

_TO_PICKLE = {
    "agent": "a callable must be a function at the top level of a module, not a lambda or a local function",
    "system": "a system of one's own states the arguments of its constructor in self.arguments, or names its factory",
}

Part: TypeAlias = tuple[int, int]  # simulations first .. last - 1

# Set when the interpreter exits, before it waits for the threads of pools. A run in a thread that is not the main one
# then ends: the pools take no more work, and whoever waits for what they have would wait for the simulations.
_exiting = threading.Event()
# Last in, first out, and a pool of processes that ends before would be an error of the pool.
with contextlib.suppress(ImportError):  # a platform without processes
    import concurrent.futures.process
threading._register_atexit(_exiting.set)  # type: ignore[attr-defined] # pools use it; Python's own atexit comes too late


class Place(Protocol):
    """Where parts of a run are done."""

    def submit(self, part: Part) -> Future[Any]:
        """Have a part done."""

    def settle(self, future: Future[Any], part: Part) -> None:
        """Take in what came of a part, or raise what it raised."""

    def give_up(self, pending: Mapping[Future[Any], Part]) -> None:
        """Leave off; parts that are complete by now still count."""


class Interrupts:
    """Ctrl-C, put off until it is asked for.

    It would be raised between any two lines of what the main thread does, which here are those of pools and futures:
    some take a lock and have not yet written down that they did, and then all wait for ever (in one of fifty runs that
    were interrupted at random). A second Ctrl-C is not put off, and a handler of the caller's own is left alone.
    """

    def __enter__(self) -> Interrupts:
        self._n_pressed = 0
        self._replaced = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._replaced:
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: object) -> None:
        self._n_pressed += 1
        if self._n_pressed > 1:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # here, as __exit__ may be what it interrupts
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise what there is to raise."""
        if self._n_pressed or _exiting.is_set():
            raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._replaced:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # also where something else was raised: the workers of a pool that die of the same Ctrl-C break it
        if self._n_pressed and (kind is None or not issubclass(kind, KeyboardInterrupt)):
            raise KeyboardInterrupt


def _interrupt_at_once() -> None:
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(getattr(handler, "__self__", None), Interrupts):
        signal.signal(signal.SIGINT, signal.default_int_handler)


# The workers of a pool are forked while Ctrl-C is put off, by a process that will ask for its own and not for theirs.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_interrupt_at_once)


def work_off(
    parts: Iterable[Part], place: Place, workers: int, watch: Callable[[], None], interrupts: Interrupts
) -> None:
    """Have all parts done, a few at a time, and call `watch` ten times a second; whatever is raised ends it all."""
    waiting = deque(parts)
    pending: dict[Future[Any], Part] = {}
    try:
        while waiting or pending:
            interrupts.check()
            while waiting and len(pending) < workers * _TASKS_PER_WORKER:
                future = place.submit(waiting[0])
                pending[future] = waiting.popleft()
            wait(pending, _REFRESH_SECONDS, FIRST_COMPLETED)
            # not what wait returns, which never has those that the shutdown of a pool of threads cancelled;
            # in order: of several errors the first is told
            for future in [one for one in pending if one.done()]:
                place.settle(future, pending[future])
                del pending[future]
            watch()
    except BaseException:
        place.give_up(pending)
        raise


class StoppableJob(Protocol):
    """Simulations in this process."""

    def simulate(self, first: int, last: int) -> None:
        """Do simulations first .. last - 1 in the calling thread."""

    def stop(self) -> None:
        """Make all threads return at once."""


class Threads:
    """Threads that work on the job itself."""

    def __init__(self, job: StoppableJob, pool: Executor) -> None:
        self._job = job
        self._pool = pool

    def submit(self, part: Part) -> Future[Any]:
        """See `Place`."""
        future: Future[Any] = _or_lost(lambda: self._pool.submit(self._job.simulate, *part))
        return future

    def settle(self, future: Future[Any], part: Part) -> None:
        """See `Place`."""
        if future.cancelled():  # by whoever shut down a pool of theirs
            _or_lost(future.result)
        future.result()

    def give_up(self, pending: Mapping[Future[Any], Part]) -> None:
        """See `Place`; no thread works on the job any more when this returns."""
        self._job.stop()
        wait([future for future in pending if not future.cancel()])


class LostError(BrokenExecutor):
    """A task of which the executor, rather than the simulation, says that it failed; its cause is what was said."""


class Failure:
    """What a simulation raised in another process, on its way back.

    As a value, so that it is told from what the executor itself raises; checked to arrive, because an exception that
    does not unpickle breaks a process pool.
    """

    def __init__(self, error: Exception) -> None:
        self._traceback = "".join(traceback.format_exception(error))
        try:
            pickle.loads(pickle.dumps(error))
            self._error = error
        except Exception:
            self._error = RuntimeError(f"{type(error).__name__}: {error}")

    def throw(self) -> None:
        """Raise it here, with the traceback of there as its cause."""
        raise self._error from _ElsewhereError(f"\n{self._traceback}")


class _ElsewhereError(Exception):
    """The traceback of another process, in words."""


class Workers:
    """An executor whose workers share nothing with us.

    `call` submits a part to it; its value is a `Failure`, or goes to `take` with the part.
    """

    def __init__(self, call: Callable[[Part], Future[Any]], take: Callable[[Part, Any], None]) -> None:
        self._call = call
        self._take = take

    def submit(self, part: Part) -> Future[Any]:
        """See `Place`."""
        future: Future[Any] = _or_lost(lambda: self._call(part))
        return future

    def settle(self, future: Future[Any], part: Part) -> None:
        """See `Place`."""
        value = _or_lost(future.result)
        if isinstance(value, Failure):
            value.throw()
        self._take(part, value)

    def give_up(self, pending: Mapping[Future[Any], Part]) -> None:
        """See `Place`; what runs already cannot be stopped from here, and is left to itself."""
        for future, part in pending.items():
            if not future.cancel() and future.done() and not future.exception():
                value = future.result()
                if not isinstance(value, Failure):
                    self._take(part, value)


def _or_lost(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        raise LostError from error


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_executor(executor: object) -> None:
    """Raise where `executor` is neither None nor an executor."""
    if executor is None or isinstance(executor, Executor):
        return
    hint = ""
    if isinstance(executor, type) and issubclass(executor, Executor):
        hint = "; make one: executor()"
    elif hasattr(executor, "get_executor"):
        hint = "; its get_executor() makes one"
    raise TypeError(
        f"executor: expected a concurrent.futures.Executor such as a ProcessPoolExecutor, got {executor!r}{hint}"
    )


def in_this_process(executor: Executor) -> bool:
    """Whether tasks see our memory, so that nothing needs to be sent."""
    return isinstance(executor, ThreadPoolExecutor) and not isinstance(executor, _NOT_SHARED)


def workers_of(executor: Executor) -> int:
    """How many tasks an executor runs at the same time; each kind says so in its own way, some not at all."""
    # the standard library's and loky's; mpi4py's
    for name in ("_max_workers", "num_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    # dask's: the threads of all workers that are there now
    ask = getattr(getattr(executor, "_client", None), "nthreads", None)
    threads = ask() if callable(ask) else None
    return (sum(threads.values()) if isinstance(threads, dict) else 0) or available_cores()


def pickled(value: object, name: str, executor: Executor) -> bytes:
    """A value in bytes for the executor's workers; `name` is the argument that errors name."""
    dumps: Callable[[object], bytes] = pickle.dumps
    if _is_dask(executor):
        # its workers do not import the caller's script: what stands in it, or in a notebook, is sent by value
        dumps = importlib.import_module("cloudpickle").dumps
    try:
        return dumps(value)
    except Exception as error:
        raise TypeError(
            f"{name}: expected what can be pickled and so sent to the executor's workers, got {value!r} "
            f"({error}); {_TO_PICKLE[name]}"
        ) from error


def shared(data: bytes, executor: Executor) -> Any:
    """What to pass to every task for bytes that all of them need.

    Dask, given a large part of a call by itself, brings it to each worker once, and again where it was lost with one.
    """
    if len(data) <= _SMALL_BYTES or not _is_dask(executor):
        return data
    with warnings.catch_warnings():
        # beyond 10 MB dask advises to do what is done here
        warnings.filterwarnings("ignore", message="Sending large graph")
        return executor._client.submit(bytes, data)  # type: ignore[attr-defined]


def _is_dask(executor: Executor) -> bool:
    return type(executor).__module__.partition(".")[0] == "distributed"


def unpickled(data: bytes, name: str) -> Any:
    """In a worker: what `pickled` made bytes of."""
    try:
        return pickle.loads(data)
    except Exception as error:
        raise RuntimeError(
            f"{name}: a worker of the executor cannot unpickle it ({type(error).__name__}: {error}); what it is made "
            "of must be importable there"
        ) from error
