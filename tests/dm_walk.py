"""An environment with the interface of dm_env, for learn() and for tables of environments."""

import numpy as np
import pytest


class Walk:
    """A dm_env environment: three steps to the right end the episode, or the clock does."""

    def __init__(self, specs, restart, transition, termination, truncation, discount=1.0, first_action=1):
        self.specs, self.restart, self.transition = specs, restart, transition
        self.termination, self.truncation, self.discount = termination, truncation, discount
        self.first_action = first_action

    def action_spec(self):
        return self.specs.BoundedArray((), np.int32, self.first_action, self.first_action + 1)

    def observation_spec(self):
        return self.specs.DiscreteArray(4)

    def reset(self):
        self.place = self.steps = 0
        return self.restart(np.int32(0))

    def step(self, action):
        self.place += int(action > self.first_action)
        self.steps += 1
        if self.place == 3:
            return self.termination(1.0, np.int32(3))
        if self.steps == 5:
            return self.truncation(0.0, np.int32(self.place))
        return self.transition(0.0, np.int32(self.place), self.discount)


def walk(**options):
    module = pytest.importorskip("dm_env", reason="no dm_env: pip install dm-env")
    return Walk(module.specs, module.restart, module.transition, module.termination, module.truncation, **options)
