"""Least-squares value iteration, literally: every datum is kept, every fit starts from nothing. Slow and obvious."""

import numpy as np


class LiteralLSVI:
    """LSVI on a linear class of features phi(t, x, a), a cell of an aggregation being an indicator.

    phi: shape (H, S, A, K), or (S, A, K) for one set of parameters and `sweeps` sweeps. shared: one theta for (H, ...).
    """

    def __init__(self, phi, sweeps=None, shared=False):
        self.phi = np.asarray(phi, dtype=float)
        self.sweeps = sweeps
        self.horizon = None if self.phi.ndim == 3 else len(self.phi)
        self.shared = shared or self.horizon is None
        self.data = []  # (period, state, action, reward, next state or None)
        n = 1 if self.shared else self.horizon
        self.theta = np.zeros((n, self.phi.shape[-1]))

    def feature(self, period, state, action=slice(None)):
        return self.phi[state, action] if self.horizon is None else self.phi[period, state, action]

    def values(self, period, state):
        return self.feature(period, state) @ self.theta[0 if self.shared else period]

    def record(self, period, state, action, reward, next_state):
        """next_state: None where nothing follows."""
        self.data.append((period, state, action, reward, next_state))

    def fit(self):
        if self.shared:
            self.theta = np.zeros_like(self.theta)
            for _ in range(self.sweeps if self.horizon is None else self.horizon):
                before = self.theta
                self.theta = np.array([self._fitted(self.data)])
                if np.array_equal(before, self.theta):
                    break
            return
        for period in reversed(range(self.horizon)):
            self.theta[period] = self._fitted([datum for datum in self.data if datum[0] == period])

    def _fitted(self, data):
        if not data:
            return np.zeros(self.phi.shape[-1])
        targets = [
            reward + (0.0 if following is None else self.values(period + 1, following).max())
            for period, _, _, reward, following in data
        ]
        features = np.array([self.feature(period, state, action) for period, state, action, _, _ in data])
        return np.linalg.lstsq(features, np.array(targets), rcond=None)[0]


class LiteralAverages(LiteralLSVI):
    """The same where phi are the indicators of cells, of which least squares is the average: `cells` instead of phi."""

    def __init__(self, cells, sweeps=None):
        self.cells = np.asarray(cells)
        super().__init__(np.eye(self.cells.max() + 1)[self.cells], sweeps)

    def _fitted(self, data):
        sums, counts = np.zeros(self.phi.shape[-1]), np.zeros(self.phi.shape[-1])
        best = {}
        for period, state, action, reward, following in data:
            cell = self.cells[state, action] if self.horizon is None else self.cells[period, state, action]
            if following is not None and (period + 1, following) not in best:
                best[period + 1, following] = self.values(period + 1, following).max()
            sums[cell] += reward + (0.0 if following is None else best[period + 1, following])
            counts[cell] += 1
        return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)


class PlainSweeps:
    """Value iteration over averaged outcomes of a time-homogeneous table, sweep after sweep, none left out."""

    def __init__(self, n_states, n_actions):
        self.count = np.zeros((n_states, n_actions))
        self.rewards = np.zeros((n_states, n_actions))
        self.outcomes = np.zeros((n_states, n_actions, n_states))

    def record(self, state, action, reward, next_state):
        self.count[state, action] += 1
        self.rewards[state, action] += reward
        if next_state is not None:
            self.outcomes[state, action, next_state] += 1

    def fitted(self, sweeps):
        n = np.maximum(self.count, 1)
        reward, outcomes = self.rewards / n, self.outcomes / n[..., np.newaxis]
        q = np.zeros_like(reward)
        for _ in range(sweeps):
            before = q
            q = reward + outcomes @ q.max(axis=1)
            if np.array_equal(before, q):
                break
        return q
