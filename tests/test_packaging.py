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
