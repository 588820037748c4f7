"""Types as users get them: mypy, strict, on a script that uses everything; and the stubs beside what is compiled."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ocpfast as ocp

HERE = Path(__file__).parent
SCRIPT = HERE / "typed_user.py"

pytest.importorskip("mypy", reason="pip install '.[test]'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A place outside of the source tree, so that the installed package is what is found."""
    return tmp_path_factory.mktemp("types")


def said(folder, *command):
    """What a command of mypy prints; a cache that both share saves ten seconds."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_script_runs_and_uses_everything(folder):
    done = subprocess.run([sys.executable, str(SCRIPT)], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    tree = ast.parse(SCRIPT.read_text())
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ocp"
    }
    assert set(ocp.__all__) <= used


def test_mypy_accepts_the_script(folder):
    shutil.copy(SCRIPT, folder)
    assert said(folder, "mypy", "--strict", "-m", SCRIPT.stem) == (0, "Success: no issues found in 1 source file\n")


def test_mypy_sees_mistakes(folder):
    (folder / "wrong.py").write_text(
        "import ocpfast as ocp\n"
        "ocp.OCP(ocp.TabulaRasa)\n"
        "ocp.OCP(ocp.TabulaRasa(4, 2, 4), selection='eludr')\n"
        "ocp.run(ocp.Chain(4), ocp.OCP(ocp.TabulaRasa(4, 2, 4)))\n"
        "ocp.Chain('4')\n"
        "ocp.Chain(4).stepp(0, 1)\n"
    )
    code, words = said(folder, "mypy", "--strict", "-m", "wrong")
    assert code == 1
    assert [int(line.split(":")[1]) for line in words.splitlines() if ": error: " in line] == [2, 3, 4, 4, 5, 6]


def test_stubs_agree_with_what_is_compiled(folder):
    pytest.importorskip("matplotlib", reason="pip install '.[plot]'")
    (folder / "stubtest.ini").write_text("[mypy]\nignore_missing_imports = true\n")  # bsuite is optional
    options = ["--concise", "--ignore-disjoint-bases", "--mypy-config-file", "stubtest.ini"]
    options += ["--allowlist", str(HERE / "stubtest_allowlist.txt"), "--ignore-unused-allowlist"]
    code, words = said(folder, "mypy.stubtest", "ocpfast", *options)
    assert code == 0, words
