"""The paper's chain: regret of OCP against time and against the number of features, beside LSVI's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ocpfast as ocp
from ocpfast.experiments.claims import Claim, Estimate
from ocpfast.experiments.figures import Curve, Panel, draw
from ocpfast.experiments.jobs import Job

__all__ = ["claims", "figures", "jobs"]

_N = 50  # states, and periods
_EPISODES = 1_500
_FEATURES = range(2, 21, 2)  # K
_FEW = (2, 10, 20)  # of them, for LSVI where time is short
_MOST = max(_FEATURES)
_PLAIN, _REPLAY = "OCP", "OCP, replay and directed"
_LSVI = {
    "LSVI, epsilon 0.1": lambda: ocp.EpsilonGreedy(0.1),
    "LSVI, Boltzmann 1": lambda: ocp.Boltzmann(1.0),
}


@cache
def _optimal() -> NDArray[np.float64]:
    return ocp.solve(ocp.Chain(_N)).q


def _class(n_features: int, rng: np.random.Generator) -> ocp.LinearFeatures:
    """Features [Q*, 1, Gaussian, ...], drawn anew in each repetition."""
    phi = rng.standard_normal((_N, _N, 2, n_features))
    phi[..., 0], phi[..., 1] = _optimal(), 1.0
    return ocp.LinearFeatures(phi)


def _ocp(n_features: int, options: Mapping[str, object], rng: np.random.Generator) -> ocp.OCP:
    return ocp.OCP(_class(n_features, rng), **options)  # type: ignore[arg-type]


def _lsvi(n_features: int, exploration: Callable[[], object], rng: np.random.Generator) -> ocp.LSVI:
    return ocp.LSVI(_class(n_features, rng), exploration())  # type: ignore[arg-type]


def _name(agent: str, n_features: int) -> str:
    return f"chain-{agent}-K{n_features}".replace(", ", "-").replace(" ", "-").lower()


def jobs(quick: bool) -> list[Job]:
    """What to run: 100 repetitions as in the paper, or 10."""
    repetitions = 10 if quick else 100
    made = []
    for agent, options in ((_PLAIN, {}), (_REPLAY, {"replay": True, "ties": "directed"})):
        for k in _FEATURES:
            # with two features nothing is drawn
            times = 1 if k == 2 else repetitions
            made.append(Job(_name(agent, k), partial(_ocp, k, options), ocp.Chain(_N), _EPISODES, times))
    for agent, exploration in _LSVI.items():
        for k in _FEW if quick else _FEATURES:
            make = partial(_lsvi, k, exploration)
            made.append(Job(_name(agent, k), make, ocp.Chain(_N), _EPISODES, repetitions))
    return made


def _of_lsvi(results: Mapping[str, ocp.Result]) -> dict[int, NDArray[np.float64]]:
    """Regret by K, of all explorations together."""
    names = {k: [name for agent in _LSVI if (name := _name(agent, k)) in results] for k in _FEATURES}
    return {k: np.concatenate([results[name].regret() for name in those]) for k, those in names.items() if those}


def claims(results: Mapping[str, ocp.Result]) -> list[Claim]:
    """The paper's claims, and what was measured."""
    final = {k: results[_name(_PLAIN, k)].regret()[:, -1] for k in _FEATURES}
    means = np.array([final[k].mean() for k in _FEATURES])
    slope, intercept = np.polyfit(list(_FEATURES), means, 1)
    furthest = np.abs(means - (slope * np.array(_FEATURES) + intercept)).max() / means[-1]
    largest = max(float((final[k] / (_N * k)).max()) for k in _FEATURES)
    lost = np.diff(results[_name(_PLAIN, _MOST)].regret(), axis=1) > 0.5
    last = Estimate.of(lost.shape[1] + 1.0 - np.argmax(lost[:, ::-1], axis=1))
    suboptimal = Estimate.of(final[_MOST])
    ratio = suboptimal * (1 / (_N * _MOST))
    replayed = Estimate.of(results[_name(_REPLAY, _MOST)].regret()[:, -1])
    regrets = _of_lsvi(results)
    repetitions = sum(map(len, regrets.values()))
    rewarded = sum(int((regret[:, -1] < _EPISODES).sum()) for regret in regrets.values())
    missing = _missing_from_worst()
    return [
        Claim(
            "regret after 1,500 episodes is at most 50 K",
            f"at most {largest:.2f} of it, over all K and repetitions",
            largest <= 1,
        ),
        Claim(
            "regret is linear in K",
            f"{slope:.1f} K {intercept:+.1f}, nowhere further off than {100 * furthest:.1f}% of the regret at K = 20",
            bool(furthest < 0.02),
        ),
        Claim(
            "with K = 20 it takes about 900 episodes to learn to reach the end",
            f"{suboptimal} suboptimal episodes, the last of them number {last}",
            last.within(800, 1_000),
        ),
        Claim("the bound is not tight, but the gap is small", f"regret is {ratio} of it", ratio.within(0.5, 1.0)),
        Claim(
            "LSVI, Boltzmann or ε-greedy, never reaches the end, whatever the features: regret 1,500 "
            f"(expected: {ocp.theory.exploration_lower_bound(_N).episodes:.3g} episodes to the first reward)",
            f"{rewarded} of {repetitions} repetitions with K = {', '.join(map(str, regrets))} saw a reward",
            rewarded == 0,
        ),
        Claim(
            "its expected regret is at least 1,500 - 3e-12",
            f"the paper's formula gives 1,500 - {missing:.1e}",
            missing < 3e-12,
            f"3e-12 is {_EPISODES} · 2^-{_N - 1}, the first of the terms that the formula takes from 1,500; the second "
            "is larger",
        ),
        Claim(
            "(beyond the paper) replay and directed exploration: about 19",
            f"{replayed} with K = 20",
            replayed.below(30),
        ),
    ]


def _missing_from_worst() -> float:
    """1,500 minus the paper's lower bound on LSVI's regret, (2^49 - 1)(1 - (1 - 2^-49)^1500), exactly."""
    probability = Fraction(1, 2 ** (_N - 1))
    return float(_EPISODES - (1 / probability - 1) * (1 - (1 - probability) ** _EPISODES))


def figures(results: Mapping[str, ocp.Result], folder: Path) -> list[Path]:
    """Regret against time for K = 20, and against K, with the bounds."""
    steps = _N * np.arange(1.0, _EPISODES + 1)
    features = np.array(_FEATURES, dtype=float)
    lsvi = "LSVI, ε-greedy and Boltzmann"
    regrets = _of_lsvi(results)

    def against_time(agent: str) -> Curve:
        return Curve(agent, steps, results[_name(agent, _MOST)].regret())

    def against_features(agent: str) -> Curve:
        return _by_features(agent, {k: results[_name(agent, k)].regret() for k in _FEATURES})

    return draw(
        [
            Panel(
                f"Regret, K = {_MOST}",
                "T (time steps)",
                "regret(T)",
                [
                    against_time(_PLAIN),
                    Curve("bound 50 K", steps, np.full(_EPISODES, float(_N * _MOST))),
                    against_time(_REPLAY),
                    Curve(lsvi, steps, regrets[_MOST]),
                ],
            ),
            Panel(
                "Regret after 75,000 time steps",
                "K (features)",
                "regret(75000)",
                [
                    against_features(_PLAIN),
                    Curve("bound 50 K", features, _N * features),
                    against_features(_REPLAY),
                    _by_features(lsvi, regrets),
                ],
            ),
        ],
        folder / "chain",
    )


def _by_features(label: str, regrets: Mapping[int, NDArray[np.float64]]) -> Curve:
    """The last regret against K; the one repetition of K = 2 stands for as many as there are of the others."""
    most = max(map(len, regrets.values()))
    finals = [np.resize(regret[:, -1], most) for regret in regrets.values()]
    return Curve(label, np.array(list(regrets), dtype=float), np.stack(finals, axis=1))
