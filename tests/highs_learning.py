"""A learning run that asks HiGHS, in a process and an environment of its own."""

import json
import sys

from commands import call

# without the random numbers of any library
LEARN = """
import json, random, sys, warnings
import highspy, numpy as np
import ocpfast as ocp
from importlib.metadata import version
from ocpfast import _core

rng = random.Random(7)
def integers(most, *shape):
    return np.array([rng.randint(-most, most) for _ in range(int(np.prod(shape)))], dtype=float).reshape(shape)

phi, rows = integers(2, 3, 4, 2, 4), integers(2, 4, 4)
a_ub, b_ub = np.vstack([np.eye(4), -np.eye(4), rows]), np.concatenate([np.full(8, 4.0), np.full(4, 2.0)])
system = ocp.TableSystem(np.abs(integers(3, 3, 4, 2)).astype(int), integers(4, 3, 4, 2) / 4, initial_state=[0, 1, 2, 3])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    agents = [ocp.OCP(ocp.Polytope(phi, a_ub, b_ub, shared=i % 2 == 0)) for i in range(8)]
result = ocp.run(agents, system, episodes=30, rng=0, workers=int(sys.argv[1]), progress=False, keep_agents=True)
print(json.dumps({
    "highs": _core.highs_in_use(),
    "highspy": version("highspy"),
    "numpy": version("numpy"),
    "warnings": [(w.category.__name__, str(w.message), w.filename) for w in caught],
    "rewards": result.rewards.tolist(),
    "values": [[agent.lower(x, a, t), agent.upper(x, a, t)]
               for agent in result.agents for t in range(3) for x in range(4) for a in range(2)],
    "lps": [agent.statistics()["lps"] for agent in result.agents],
}))
"""
PARTS = ("rewards", "values", "lps")


def learn(python=sys.executable, *, cwd, workers=2, **environment):
    # a deadlock ends in a failure
    answer = json.loads(call(str(python), "-c", LEARN, str(workers), cwd=cwd, timeout=300, **environment))
    assert min(answer["lps"]) > 20  # HiGHS is asked by each of them
    return answer
