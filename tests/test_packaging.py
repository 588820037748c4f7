"""What is built is what users get: wheel, source distribution and editable install."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import ocpfast as ocp

ROOT = Path(__file__).parents[1]
SMOKE = """
import ocpfast as ocp, os
result = ocp.run(ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5)), ocp.Chain(5), episodes=60, progress=False)
assert result.rewards[0, -1] == 1.0
assert os.path.exists(os.path.join(ocp.get_include(), "ocpfast", "agent", "ocp.hpp"))
print(os.path.dirname(ocp.__file__))
"""

pytestmark = pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="needs the source tree")


def call(*command, cwd, **environment):
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the tracked files, so that nothing is built in the source tree."""
    copy = tmp_path_factory.mktemp("source") / "ocpfast"
    unwanted = shutil.ignore_patterns(
        ".git", ".venv*", "build", "dist", "*.egg-info", "*.so", "__pycache__", ".*_cache"
    )
    shutil.copytree(ROOT, copy, ignore=unwanted)
    return copy


@pytest.fixture(scope="module")
def built(source):
    """`python -m build`: the source distribution, and the wheel made from it."""
    call(sys.executable, "-m", "build", "--outdir", "built", cwd=source)
    return source / "built"


def test_the_source_distribution_has_all_it_needs(built):
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {
        "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", "setup.py",
        "ocpfast/systems.pyx", "ocpfast/systems.pxd", "csrc/bindings/bindings.hpp", "csrc/include/ocpfast/system.h",
        "tests/reference.py", "benchmarks/conftest.py",
    } <= names  # fmt: skip
    assert not [name for name in names if re.search(r"\.(so|pyc)$|systems\.cpp$", name)]


def test_the_wheel_carries_headers_and_types_and_works(built, tmp_path):
    [path] = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    headers = (ROOT / "csrc/include").rglob("*.h*")
    assert {f"ocpfast/include/{header.relative_to(ROOT / 'csrc/include').as_posix()}" for header in headers} <= names
    assert {"ocpfast/py.typed", "ocpfast/_core.pyi", "ocpfast/systems.pyi", "ocpfast/systems.pxd"} <= names
    assert not [name for name in names if name.endswith((".pyx", ".cpp")) or name.startswith(("tests", "benchmarks"))]
    call(sys.executable, "-m", "pip", "install", "--no-deps", "--target", "installed", str(path), cwd=tmp_path)
    where = call(sys.executable, "-c", SMOKE, cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert Path(where.strip()) == tmp_path / "installed" / "ocpfast"


def test_an_editable_install_works(source, tmp_path):
    call(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    python = str(tmp_path / "venv" / "bin" / "python")
    call(python, "-m", "pip", "install", "--quiet", "--editable", str(source), cwd=tmp_path)
    where = call(python, "-c", SMOKE, cwd=tmp_path)
    assert Path(where.strip()) == source / "ocpfast"


def test_users_can_compile_a_system_of_their_own(tmp_path):
    """From the installed .pxd and headers, with Cython; the compiled runner takes it as it takes ours."""
    pytest.importorskip("Cython")
    (tmp_path / "coin.pyx").write_text(
        """
# distutils: language = c++
from libc.stdint cimport int64_t
from ocpfast.systems cimport (OCP_CONTINUES, OCP_OK, OCP_STOCHASTIC, OCP_TERMINATED, System, ocp_bitgen)

cdef int reset(void *instance, int64_t episode, ocp_bitgen *bitgen, void *state) noexcept nogil:
    (<int64_t *>state)[0] = 0
    return OCP_OK

cdef int step(void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward,
              int *ending) noexcept nogil:
    reward[0] = 1.0 if (<const int64_t *>action)[0] == 2 else -1.0
    ending[0] = OCP_TERMINATED if bitgen.next_double(bitgen.state) < 0.5 else OCP_CONTINUES
    return OCP_OK

cdef class Coin(System):
    def __init__(self):
        self.contract.flags = OCP_STOCHASTIC
        self.contract.state_size = 1
        self.contract.n_actions = 3
        self.contract.horizon = 4
        self.contract.reset = reset
        self.contract.step = step
        self.arguments = {}
"""
    )
    (tmp_path / "setup.py").write_text(
        "import ocpfast\n"
        "from Cython.Build import cythonize\n"
        "from setuptools import Extension, setup\n"
        "coin = Extension('coin', ['coin.pyx'], include_dirs=[ocpfast.get_include()])\n"
        "setup(name='coin', ext_modules=cythonize([coin]))\n"
    )
    call(sys.executable, "setup.py", "build_ext", "--inplace", cwd=tmp_path)
    use = """
import ocpfast as ocp
from coin import Coin
result = ocp.run(ocp.OCP(ocp.TabulaRasa(1, 3, horizon=4)), Coin(), episodes=200, rng=0, progress=False)
assert result.rewards[0, -50:].min() >= 1.0, result.rewards
print(repr(Coin()), Coin().step(0, 2, rng=1)[1])
"""
    assert call(sys.executable, "-c", use, cwd=tmp_path).split() == ["Coin()", "1.0"]


def test_the_readme_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [example] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(example.splitlines()) <= 18
    names = {}
    exec(example, names)  # the README's own text
    assert names["ended"] and "[" in capsys.readouterr().out


def test_version():
    [declared] = re.findall(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert ocp.__version__ == declared
