"""The C API from here, by ctypes: its structures, functions and codes, and an agent with the names of Python's."""

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

import numpy as np

OK, BAD_STATE, BAD_ACTION, BAD_PERIOD, NO_MEMORY, FAILED = range(6)
BAD_ARGUMENT, BAD_REWARD, BAD_ORDER, BAD_FILE = range(16, 20)
CONTINUES, TERMINATED, TRUNCATED = range(3)


class State(Structure):
    _fields_ = (("vector", POINTER(c_double)), ("number", c_int64))


class Description(Structure):
    _fields_ = (
        ("struct_size", c_size_t), ("hypothesis", c_int32), ("n_states", c_int64), ("n_actions", c_int64),
        ("horizon", c_int64), ("track_lower", c_int32), ("labels", POINTER(c_int64)), ("label_axes", c_int32),
        ("n_dimensions", c_int64), ("n_edges", POINTER(c_int64)), ("edges", POINTER(c_double)), ("extra", c_int64),
        ("n_features", c_int64), ("phi", POINTER(c_double)), ("by_period", c_int32), ("shared", c_int32),
        ("function", c_void_p), ("user_data", c_void_p), ("state_size", c_int64), ("scale", c_double),
        ("selection", c_int32), ("window", c_int64), ("ties", c_int32), ("replay", c_int32), ("update", c_int32),
        ("discount", c_double), ("lower_bound", c_double), ("upper_bound", c_double), ("reward_bound", c_double),
        ("replay_sweeps", c_int64), ("replay_capacity", c_int64), ("seed", c_uint64),
    )  # fmt: skip


class ApiError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Library:
    """Functions by their names without "ocp_"; ApiError where they fail."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._library.ocp_last_error.restype = c_char_p
        self._library.ocp_version.restype = c_char_p
        state, agent = State, c_void_p
        arguments = {
            "agent_create": [POINTER(Description), POINTER(agent)], "agent_destroy": [agent],
            "agent_act": [agent, state, POINTER(c_int64)],
            "agent_observe": [agent, state, c_double, c_int, POINTER(c_int)],
            "agent_begin_episode": [agent], "agent_greedy": [agent, state, c_int64, POINTER(c_int64)],
            "agent_upper": [agent, state, c_int64, c_int64, POINTER(c_double)],
            "agent_lower": [agent, state, c_int64, c_int64, POINTER(c_double)],
            "agent_determined": [agent, state, c_int64, c_int64, POINTER(c_int)],
            "agent_n_constraints": [agent, POINTER(c_int64)], "agent_period": [agent, POINTER(c_int64)],
            "agent_n_episodes": [agent, POINTER(c_int64)], "agent_save": [agent, c_char_p],
            "agent_load": [c_char_p, POINTER(Description), POINTER(agent)], "load_highs": [c_char_p],
        }  # fmt: skip
        for name, types in arguments.items():
            getattr(self._library, f"ocp_{name}").argtypes = types
        self._library.ocp_agent_destroy.restype = None
        self._library.ocp_describe.restype = None

    def describe(self, **options):
        description = Description()
        self._library.ocp_describe(byref(description))
        for name, value in options.items():
            setattr(description, name, value)
        return description

    def last_error(self):
        return self._library.ocp_last_error().decode()

    def __getattr__(self, name):
        function = getattr(self._library, f"ocp_{name}")

        def call_it(*arguments):
            code = function(*arguments)
            if code:
                raise ApiError(code, self.last_error())

        return call_it

    def destroy(self, handle):
        self._library.ocp_agent_destroy(handle)


def numbers(values, kind):
    flat = np.ravel(values).tolist()
    return (kind * len(flat))(*flat)


class CAgent:
    """An agent behind the C API, with the names of Python's."""

    def __init__(self, library, handle):
        self._library, self._handle = library, handle

    @classmethod
    def create(cls, library, **options):
        handle = c_void_p()
        library.agent_create(byref(library.describe(**options)), byref(handle))
        return cls(library, handle)

    @classmethod
    def load(cls, library, path, description=None):
        handle = c_void_p()
        library.agent_load(os.fsencode(path), None if description is None else byref(description), byref(handle))
        return cls(library, handle)

    def __del__(self):
        self._library.destroy(self._handle)

    @staticmethod
    def state(value):
        if np.ndim(value) == 0:
            return State(None, value)
        return State(numbers(value, c_double), len(value))

    def _out(self, name, kind, *arguments):
        out = kind()
        getattr(self._library, f"agent_{name}")(self._handle, *arguments, byref(out))
        return out.value

    def act(self, state):
        return self._out("act", c_int64, self.state(state))

    def observe(self, next_state, reward, ending=CONTINUES):
        return bool(self._out("observe", c_int, self.state(next_state), reward, ending))

    def greedy(self, state, period=0):
        return self._out("greedy", c_int64, self.state(state), period)

    def upper(self, state, action, period=0):
        return self._out("upper", c_double, self.state(state), action, period)

    def lower(self, state, action, period=0):
        return self._out("lower", c_double, self.state(state), action, period)

    def determined(self, state, action, period=0):
        return bool(self._out("determined", c_int, self.state(state), action, period))

    def begin_episode(self):
        self._library.agent_begin_episode(self._handle)

    def save(self, path):
        self._library.agent_save(self._handle, os.fsencode(path))

    n_constraints = property(lambda self: self._out("n_constraints", c_int64))
    period = property(lambda self: self._out("period", c_int64))
    n_episodes = property(lambda self: self._out("n_episodes", c_int64))
