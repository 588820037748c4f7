"""The paper's chain: regret of OCP against time and against the number of features, beside LSVI's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ocpfast as ocp
from ocpfast.experiments.claims import Claim, mean_and_error
from ocpfast.experiments.figures import Curve, Panel, draw
from ocpfast.experiments.jobs import Job

__all__ = ["claims", "figures", "jobs"]

_N = 50  # states, and periods
_EPISODES = 1_500
_FEATURES = range(2, 21, 2)  # K
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


def _lsvi(exploration: Callable[[], object], rng: np.random.Generator) -> ocp.LSVI:
    return ocp.LSVI(_class(_MOST, rng), exploration())  # type: ignore[arg-type]


def _name(agent: str, n_features: int) -> str:
    return f"chain-{agent}-K{n_features}".replace(", ", "-").replace(" ", "-").lower()


def jobs(quick: bool) -> list[Job]:
    """What to run: 100 repetitions as in the paper, or 10."""
    repetitions = 10 if quick else 100
    made = []
    for agent, options in ((_PLAIN, {}), (_REPLAY, {"replay": True, "ties": "directed"})):
        for k in _FEATURES:
            # with two features nothing is drawn
            made.append(
                Job(
                    _name(agent, k),
                    partial(_ocp, k, options),
                    ocp.Chain(_N),
                    _EPISODES,
                    1 if k == 2 else repetitions,
                    seconds=0.04,
                    chunk=100,
                )
            )
    for agent, exploration in _LSVI.items():
        made.append(
            Job(
                _name(agent, _MOST),
                partial(_lsvi, exploration),
                ocp.Chain(_N),
                _EPISODES,
                2 if quick else repetitions,
                seconds=0.3,
                chunk=10,
            )
        )
    return made


def claims(results: Mapping[str, ocp.Result]) -> list[Claim]:
    """The paper's claims, and what was measured."""
    final = {k: results[_name(_PLAIN, k)].regret()[:, -1] for k in _FEATURES}
    means = np.array([final[k].mean() for k in _FEATURES])
    slope, intercept = np.polyfit(list(_FEATURES), means, 1)
    spread = 1 - np.var(means - (slope * np.array(_FEATURES) + intercept)) / np.var(means)
    worst = max(float((final[k] / (_N * k)).max()) for k in _FEATURES)
    last, error = mean_and_error(final[_MOST])
    replayed, replayed_error = mean_and_error(results[_name(_REPLAY, _MOST)].regret()[:, -1])
    never = np.concatenate([results[_name(agent, _MOST)].rewards.max(axis=1) for agent in _LSVI])
    return [
        Claim(
            "regret after 1,500 episodes is at most 50 K",
            f"at most {worst:.2f} of it, over all K and repetitions",
            worst <= 1,
        ),
        Claim(
            "regret is linear in K",
            f"{slope:.1f} K {intercept:+.1f}, which leaves {100 * (1 - spread):.1f}% of the variance",
            bool(spread > 0.99),
        ),
        Claim(
            "with K = 20 it takes about 900 episodes to learn to reach the end",
            f"{last:.0f} ± {error:.0f} suboptimal episodes",
            800 <= last <= 1_000,
        ),
        Claim("the bound is not tight, but the gap is small", f"{last / (_N * _MOST):.2f} of it", 0.5 < last / 1e3 < 1),
        Claim(
            "LSVI never reaches the end: regret 1,500 (expected: 5.6e14 episodes to the first reward)",
            f"{int((never > 0).sum())} of {len(never)} repetitions saw a reward",
            not (never > 0).any(),
        ),
        Claim(
            "(beyond the paper) replay and directed exploration: about 19",
            f"{replayed:.1f} ± {replayed_error:.1f} with K = 20",
            replayed < 30,
        ),
    ]


def figures(results: Mapping[str, ocp.Result], folder: Path) -> list[Path]:
    """Regret against time for K = 20, and against K, with the bounds."""
    steps = _N * np.arange(1.0, _EPISODES + 1)
    features = np.array(_FEATURES, dtype=float)

    def against_time(agent: str) -> Curve:
        return Curve(agent, steps, results[_name(agent, _MOST)].regret())

    def against_features(agent: str) -> Curve:
        finals = [results[_name(agent, k)].regret()[:, -1] for k in _FEATURES]
        most = max(map(len, finals))
        return Curve(agent, features, np.stack([np.resize(f, most) for f in finals], axis=1), markers=True)

    lsvi = next(iter(_LSVI))
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
                    against_time(lsvi),
                ],
            ),
            Panel(
                "Regret after 75,000 time steps",
                "K (features)",
                "regret(75000)",
                [against_features(_PLAIN), Curve("bound 50 K", features, _N * features), against_features(_REPLAY)],
            ),
        ],
        folder / "chain",
    )
