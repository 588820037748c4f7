"""What is built is what users get: source distribution, editable install, wheel (with several releases of highspy)."""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from commands import ROOT, call
from highs_learning import PARTS, learn

import ocpfast as ocp

SMOKE = """
import ocpfast as ocp, os
result = ocp.run(ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5)), ocp.Chain(5), episodes=60, progress=False)
assert result.rewards[0, -1] == 1.0
assert os.path.exists(os.path.join(ocp.get_include(), "ocpfast", "agent", "ocp.hpp"))
assert os.path.exists(os.path.join(ocp.get_cmake_dir(), "ocpfastConfig.cmake"))
print(os.path.dirname(ocp.__file__))
"""

pytestmark = pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="needs the source tree")


def test_the_source_distribution_has_all_it_needs(built):
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {
        "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", "setup.py",
        "ocpfast/systems/base.pyx", "ocpfast/systems/__init__.pxd", "csrc/bindings/bindings.hpp",
        "csrc/include/ocpfast/system.h", "csrc/CMakeLists.txt", "csrc/c_api/c_api.cpp",
        "tests/reference.py", "benchmarks/conftest.py",
    } <= names  # fmt: skip
    assert not [name for name in names if re.search(r"\.(so|pyc)$|^ocpfast/.*\.cpp$", name)]


def test_the_wheel_carries_headers_and_types_and_works(built, tmp_path):
    [path] = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    headers = (ROOT / "csrc/include").rglob("*.h*")
    assert {f"ocpfast/include/{header.relative_to(ROOT / 'csrc/include').as_posix()}" for header in headers} <= names
    stubs = {path.relative_to(ROOT).as_posix() for kind in ("pxd", "pyi") for path in ROOT.glob(f"ocpfast/**/*.{kind}")}
    assert {"ocpfast/_core.pyi", "ocpfast/systems/__init__.pxd", "ocpfast/systems/base.pyi"} <= stubs
    assert stubs | {"ocpfast/py.typed"} <= names
    assert not [name for name in names if name.endswith(".pyx") or name.startswith(("tests", "benchmarks"))]
    assert [name for name in names if name.endswith(".cpp")] == ["ocpfast/c_api/c_api.cpp"]
    assert {f"ocpfast/cmake/ocpfast{part}.cmake" for part in ("Config", "ConfigVersion", "Place", "Targets")} <= names
    call(sys.executable, "-m", "pip", "install", "--no-deps", "--target", "installed", str(path), cwd=tmp_path)
    where = call(sys.executable, "-c", SMOKE, cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert Path(where.strip()) == tmp_path / "installed" / "ocpfast"


def test_an_editable_install_works(source, built, unoptimised, tmp_path):
    """From the objects of the wheel, which `unoptimised` hands out again."""
    call(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    python = str(tmp_path / "venv" / "bin" / "python")
    call(python, "-m", "pip", "install", "--quiet", "--editable", str(source), cwd=tmp_path, **unoptimised)
    where = call(python, "-c", SMOKE, cwd=tmp_path)
    assert Path(where.strip()) == source / "ocpfast"


def allowed():
    """The oldest highspy that pyproject.toml allows."""
    [oldest] = re.findall(r'"highspy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    return oldest if oldest.count(".") == 2 else f"{oldest}.0"


@pytest.mark.parametrize("release", ["oldest", "newest"])
def test_the_library_of_other_releases(release, built, learned, tmp_path):
    """A fresh environment with the wheel: HiGHS is opened, not replaced by Python, and learns the same."""
    if release == "oldest" and sys.version_info >= (3, 14):
        pytest.skip("the oldest highspy has no wheel for this Python")
    call(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    [wheel] = built.glob("*.whl")
    wanted = f"highspy=={allowed()}" if release == "oldest" else "highspy"
    call(python, "-m", "pip", "install", "--quiet", "--only-binary", "highspy", wheel, wanted, cwd=tmp_path)
    answer = learn(python, cwd=tmp_path, OCPFAST_HIGHS="")
    if release == "oldest":
        assert answer["highspy"] == allowed()
    assert answer["warnings"] == []
    assert (tmp_path / "venv").resolve() in Path(answer["highs"]).resolve().parents
    assert answer["rewards"] == learned["rewards"]
    np.testing.assert_allclose(answer["values"], learned["values"], rtol=0, atol=1e-9)
    by_python = learn(python, cwd=tmp_path, OCPFAST_HIGHS="python")
    assert by_python["highs"] == "highspy"
    assert [by_python[part] for part in PARTS] == [answer[part] for part in PARTS]


@pytest.fixture(scope="module")
def own_system(tmp_path_factory):
    """A directory with a system that a user compiled from the installed .pxd and headers, with Cython."""
    pytest.importorskip("Cython")
    folder = tmp_path_factory.mktemp("own_system")
    (folder / "coin.pyx").write_text(
        """
# distutils: language = c++
from libc.math cimport NAN
from libc.stdint cimport int64_t
from ocpfast.systems cimport (OCP_CONTINUES, OCP_NEEDS_GIL, OCP_OK, OCP_STOCHASTIC, OCP_TERMINATED,
                              StepFunction, System, ocp_bitgen)

cdef int reset(void *instance, int64_t episode, ocp_bitgen *bitgen, void *state) noexcept nogil:
    (<int64_t *>state)[0] = 99 if <size_t>instance == 1 else 0
    return 4242 if <size_t>instance == 2 else OCP_OK

cdef int step(void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward,
              int *ending) noexcept nogil:
    reward[0] = 1.0 if (<const int64_t *>action)[0] == 2 else -1.0
    ending[0] = OCP_TERMINATED if bitgen.next_double(bitgen.state) < 0.5 else OCP_CONTINUES
    if <size_t>instance == 3:
        reward[0] = NAN
    elif <size_t>instance == 4:
        (<int64_t *>state)[0] = -7
        ending[0] = OCP_CONTINUES
    elif <size_t>instance == 5:
        return 4243
    elif <size_t>instance == 13:
        (<int64_t *>state)[0] = -7 if period == 3 else 0
        ending[0] = OCP_CONTINUES
    return OCP_OK

cdef void *clone(const void *parameters) noexcept nogil:
    return NULL

cdef int64_t alive = 0

def instances():
    return alive

cdef void *counted(const void *parameters) noexcept nogil:
    global alive
    alive += 1
    return <void *>parameters

cdef void forgotten(void *instance) noexcept nogil:
    global alive
    alive -= 1

cdef int raising(void *instance, int64_t period, void *state, const void *action, ocp_bitgen *bitgen, double *reward,
                 int *ending) except -1:
    raise RuntimeError(f"raised with the GIL in period {period}")

cdef class Coin(System):
    def __init__(self, fault=0):
        self.contract.flags = OCP_STOCHASTIC
        self.contract.state_size = 1
        self.contract.n_actions = 3
        self.contract.horizon = 4
        self.contract.reset = reset
        self.contract.step = step
        self.contract.parameters = <void *><size_t>fault
        if fault == 6:
            self.contract.abi_version = 77
        elif fault == 7:
            self.contract.struct_size = 8
        elif fault == 8:
            self.contract.flags |= OCP_NEEDS_GIL
            self.contract.step = <StepFunction><void *>raising
        elif fault in (14, 15):
            self.contract.flags |= OCP_NEEDS_GIL
            self.contract.clone = counted
            self.contract.destroy = forgotten
            if fault == 15:
                self.contract.step = <StepFunction><void *>raising
        elif fault == 9:
            self.contract.clone = clone
        elif fault == 10:
            self.contract.horizon = 0
        elif fault == 11:
            self.contract.action_size = 1
        elif fault == 12:
            self.contract.step = NULL
        self.arguments = {"fault": fault}
"""
    )
    (folder / "setup.py").write_text(
        "import ocpfast\n"
        "from Cython.Build import cythonize\n"
        "from setuptools import Extension, setup\n"
        "coin = Extension('coin', ['coin.pyx'], include_dirs=[ocpfast.get_include()])\n"
        "setup(name='coin', ext_modules=cythonize([coin]))\n"
    )
    call(sys.executable, "setup.py", "build_ext", "--inplace", cwd=folder)
    return folder


def use(own_system, code):
    start = """
import ocpfast as ocp
from coin import Coin
def run(fault=0):
    agent = ocp.OCP(ocp.TabulaRasa(1, 3, horizon=4))
    return ocp.run(agent, Coin(fault), episodes=200, rng=0, progress=False)
"""
    return call(sys.executable, "-c", start + code, cwd=own_system)


def test_users_can_compile_a_system_of_their_own(own_system):
    code = "assert run().rewards[0, -50:].min() >= 1.0\nprint(repr(Coin()), Coin().step(0, 2, rng=1)[1])"
    assert use(own_system, code).split() == ["Coin(fault=0)", "1.0"]


def test_a_system_that_needs_the_gil_has_its_clones(own_system):
    """One for each simulation, also where a step raises; and none is left."""
    code = """
import gc
from coin import instances
assert (run(14).rewards == run().rewards).all() and instances() == 0
try:
    run(15)
except RuntimeError as error:
    print(error)
gc.collect()  # tracebacks refer to each other
print(instances())
"""
    assert use(own_system, code) == "raised with the GIL in period 0\n0\n"


def test_what_a_faulty_system_does_is_said(own_system):
    """Never a crash: one message for each way in which a user's system can go wrong."""
    place = "simulation 0, episode 0, period"
    expected = {
        1: f"{place} 0: the system is in a state that the hypothesis class has no place for",
        2: f"{place} -1: the system returned error 4242",
        3: f"{place} 0: the system paid a reward of nan, expected a finite number",
        4: f"{place} 1: the system is in a state that the hypothesis class has no place for",
        5: f"{place} 0: the system returned error 4243",
        6: "system: it was compiled for version 77 (",
        7: "system: it was compiled for version 1 (8 bytes) of ocpfast/system.h, this is version 1 (",
        8: "raised with the GIL in period 0",
        9: "Coin: contract.clone needs contract.destroy",
        10: "Coin: expected contract.horizon and contract.state_size >= 1, got 0 and 1",
        11: "Coin: expected one of contract.n_actions and contract.action_size >= 1, got 3 and 1",
        12: "Coin.__init__ has not filled in the contract",
        13: f"{place} 4: the system is in a state that the hypothesis class has no place for",
    }
    code = """
for fault in range(1, 14):
    try:
        run(fault)
        print("no error")
    except (RuntimeError, ValueError) as error:
        print(error)
"""
    said = use(own_system, code).splitlines()
    assert len(said) == len(expected)
    for line, (fault, message) in zip(said, expected.items(), strict=True):
        assert line.startswith(message), fault


def test_the_readme_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # the first of two: the one with Gymnasium is in test_learn
    example, _ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(example.splitlines()) <= 18
    names = {}
    exec(example, names)  # the README's own text
    assert names["ended"] and "[" in capsys.readouterr().out


def test_version():
    [declared] = re.findall(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert ocp.__version__ == declared
