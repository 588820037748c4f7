"""The paper's inverted pendulum: hours upright in 1,000 episodes, OCP beside LSVI and a random policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import ocpfast as ocp
from ocpfast.experiments.claims import Claim, mean_and_error
from ocpfast.experiments.figures import Curve, Panel, draw
from ocpfast.experiments.jobs import Job

__all__ = ["claims", "figures", "jobs"]

_EPISODES = 1_000
_DISTURBANCES = (0.0, 2.5)  # delta, in Newtons
_EPSILONS = (0.05, 0.1, 0.15)
_OCP: dict[str, dict[str, Any]] = {
    "OCP": {},
    "OCP, random ties": {"ties": "random"},
    "OCP, replay": {"replay": True},
    "OCP, replay, random ties": {"replay": True, "ties": "random"},
}
_RANDOM = "random policy"


def _lsvi(epsilon: float) -> str:
    return f"LSVI, epsilon {epsilon:g}"


def _name(agent: str, disturbance: float) -> str:
    return f"pendulum-{agent}-delta{disturbance:g}".replace(", ", "-").replace(" ", "-").lower()


def jobs(quick: bool) -> list[Job]:
    """What to run: 100 simulations as in the paper, or 4."""
    simulations = 4 if quick else 100
    made = []
    for disturbance in _DISTURBANCES:
        system = ocp.InvertedPendulum(disturbance)
        cells = ocp.StateAggregation(system.partition(), n_actions=3)
        agents: dict[str, tuple[Any, float]] = {_RANDOM: (ocp.RandomPolicy(3), 0.01)}
        agents |= {_lsvi(e): (ocp.LSVI(cells, ocp.EpsilonGreedy(e)), 0.7) for e in _EPSILONS}
        agents |= {name: (ocp.OCP(cells, **options), 2.0) for name, options in _OCP.items()}
        for name, (agent, seconds) in agents.items():
            # without a disturbance and with ties to the first nothing is drawn
            alone = disturbance == 0 and name in ("OCP", "OCP, replay")
            made.append(
                Job(_name(name, disturbance), agent, system, _EPISODES, 1 if alone else simulations, seconds, chunk=4)
            )
    return made


def _hours(results: Mapping[str, ocp.Result], agent: str, disturbance: float) -> Any:
    return results[_name(agent, disturbance)].rewards / 3600


def _best_lsvi(results: Mapping[str, ocp.Result], disturbance: float) -> str:
    return max(map(_lsvi, _EPSILONS), key=lambda name: float(_hours(results, name, disturbance).sum(axis=1).mean()))


def claims(results: Mapping[str, ocp.Result]) -> list[Claim]:
    """The paper's claims, and what was measured."""
    made = []
    total = {
        (name, d): mean_and_error(_hours(results, name, d).sum(axis=1))
        for name in (*_OCP, *map(_lsvi, _EPSILONS), _RANDOM)
        for d in _DISTURBANCES
    }

    def shown(name: str, disturbance: float) -> str:
        mean, error = total[name, disturbance]
        digits = 1 if mean < 10 else 0
        return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")

    for d in _DISTURBANCES:
        lsvi = [_lsvi(e) for e in _EPSILONS]
        best = _best_lsvi(results, d)
        measured = ", ".join(f"{shown(name, d)} h ({name[6:]})" for name in lsvi)
        above = [name[6:] for name in lsvi if total[name, d][0] >= 2]
        made += [
            Claim(
                f"δ={d:g}: LSVI is upright for less than 2 hours in all, for every epsilon",
                measured,
                not above,
                f"not for {', '.join(above)}; the order of magnitude agrees" if above else "",
            ),
            Claim(
                f"δ={d:g}: LSVI does much better than a random policy",
                f"random: {shown(_RANDOM, d)} h",
                all(total[name, d][0] > 2 * total[_RANDOM, d][0] for name in lsvi),
            ),
            Claim(
                f"δ={d:g}: the best epsilon is 0.1",
                f"{best[14:]}",
                best == _lsvi(0.1),
                "" if best == _lsvi(0.1) else "less exploration falls less often, and it finds no better policy later",
            ),
            Claim(
                f"δ={d:g}: OCP is orders of magnitude better than the best LSVI",
                f"{shown('OCP', d)} h, {total['OCP', d][0] / total[best, d][0]:.0f} times as much",
                total["OCP", d][0] > 100 * total[best, d][0],
            ),
        ]
    for name in ("OCP", _lsvi(0.1)):
        made.append(
            Claim(
                f"{name} does worse with a disturbance than without",
                f"{shown(name, 0.0)} h without, {shown(name, 2.5)} h with",
                total[name, 2.5][0] < total[name, 0.0][0],
            )
        )
    made.append(
        Claim(
            "(beyond the paper) replay does better with a disturbance",
            f"{shown('OCP, replay', 2.5)} h instead of {shown('OCP', 2.5)}; ties at random "
            f"{shown('OCP, replay, random ties', 2.5)} instead of {shown('OCP, random ties', 2.5)}",
            total["OCP, replay", 2.5][0] > total["OCP", 2.5][0],
        )
    )
    return made


def figures(results: Mapping[str, ocp.Result], folder: Path) -> list[Path]:
    """The paper's four panels: LSVI beside the random policy, and OCP beside the best LSVI."""
    episodes = np.arange(1.0, _EPISODES + 1)

    def curve(name: str, disturbance: float) -> Curve:
        return Curve(name, episodes, _hours(results, name, disturbance).cumsum(axis=1))

    panels = []
    for d in _DISTURBANCES:
        panels.append(
            Panel(
                f"δ = {d:g}: LSVI and a random policy",
                "episodes",
                "hours upright, cumulative",
                [curve(name, d) for name in (*map(_lsvi, _EPSILONS), _RANDOM)],
            )
        )
        panels.append(
            Panel(
                f"δ = {d:g}: OCP and the best LSVI",
                "episodes",
                "hours upright, cumulative",
                [curve(name, d) for name in (*_OCP, _best_lsvi(results, d))],
            )
        )
    return draw(panels, folder / "pendulum")
