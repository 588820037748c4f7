"""Commands that tests run, from the source tree that they stand in."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def call(*command, cwd, timeout=None, **environment):
    """What a command writes; fails with all it said if it fails."""
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
