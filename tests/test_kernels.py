"""The core in a program without Python: no allocation in a learned period; the guard of instruction counts can fail."""

import json
import os
import shutil

import instructions
import pytest

COMPILER = os.environ.get("CXX", "g++").split()[0]

# Once a call: the program has a list of simulations and simulate() a place for the state; or, for 7 simulations side by
# side, 19 lists of their length, and the instances of their systems.
PER_CALL = 2
PER_CALL_IN_LANES = 27

# Episodes after which nothing is learned any more.
LEARNED = {
    "chain": 1_000,
    "table": 300,
    "replay": 20_000,
    "pendulum": 3_000,
    "pendulum-replay": 3_000,
    "pendulum-lanes": 6_000,
    "linear": 400,
    "finite": 400,
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if shutil.which(COMPILER) is None:
        pytest.skip(f"no compiler {COMPILER!r}")
    # allocations are the same without all the optimisation, which takes twice as long to compile
    return instructions.build(tmp_path_factory.mktemp("kernels"), options=["-O1"])


@pytest.mark.parametrize("kernel", LEARNED)
def test_a_learned_period_allocates_nothing(program, kernel):
    allocations = []
    for episodes in (50, 500):
        played = instructions.play(program, kernel, LEARNED[kernel], episodes)
        assert played["periods"] >= 5 * episodes
        allocations.append(played["allocations"])
    assert allocations[0] == allocations[1] <= (PER_CALL_IN_LANES if kernel == "pendulum-lanes" else PER_CALL)


@pytest.mark.parametrize(
    "kernel, at_most",
    [
        ("chain", 10),
        ("pendulum", 10),
        ("pendulum-replay", 50),
        ("pendulum-lanes", 100),
        ("replay", 200),
        ("table", 500),
    ],
)
def test_aggregation_learns_without_allocating(program, kernel, at_most):
    """But for some vectors that double their size, with replay some in every layer: so many in all."""
    allocations = [instructions.play(program, kernel, 0, episodes)["allocations"] for episodes in (1_000, 4_000)]
    assert allocations[0] <= allocations[1] <= at_most


def test_allocations_are_seen(program):
    """The store keeps what is inserted, so that the count above could have been another one."""
    assert instructions.play(program, "store", 0, 100)["allocations"] > 100


def test_every_kernel_is_guarded(program):
    assert set(json.loads(instructions.BASELINE.read_text())["kernels"]) == set(instructions.EPISODES)
    with pytest.raises(instructions.GuardError, match="NAME is one of") as error:
        instructions.play(program, "none", 0, 1)
    assert set(str(error.value).split("one of ")[1].split()) == set(instructions.EPISODES)


class TestGuard:
    @pytest.fixture
    def guard(self, program, tmp_path, monkeypatch, capsys):
        """Runs the guard on two small counts; returns its exit code and what it printed."""
        if shutil.which("valgrind") is None:
            pytest.skip("no valgrind")
        monkeypatch.setattr(instructions, "EPISODES", {"chain": 20, "store": 20})
        monkeypatch.setattr(instructions, "build", lambda folder: program)
        self.baseline = tmp_path / "baseline.json"

        def run(*arguments):
            code = instructions.main([*arguments, "--baseline", str(self.baseline)])
            return code, "".join(capsys.readouterr())

        assert run("--update") == (0, "")
        return run

    def change(self, changed):
        described = json.loads(self.baseline.read_text())
        changed(described["kernels"])
        self.baseline.write_text(json.dumps(described))

    def test_the_same_program_passes(self, guard):
        code, text = guard()
        assert code == 0
        assert text.count("+0.00 %") == 2

    @pytest.mark.parametrize("factor, code, word", [(0.97, 1, "TOO MANY"), (1.03, 1, "fewer"), (0.99, 0, "+1.0")])
    def test_a_kernel_that_changed(self, guard, factor, code, word):
        def other(kernels):
            kernels["chain"]["instructions"] = round(kernels["chain"]["instructions"] * factor)

        self.change(other)
        found, text = guard()
        assert found == code
        assert word in text

    def test_another_result(self, guard):
        self.change(lambda kernels: kernels["store"].update(sum=1.0))
        code, text = guard()
        assert code == 1
        assert "ANOTHER RESULT" in text

    def test_a_kernel_without_a_baseline(self, guard):
        self.change(lambda kernels: kernels.pop("store"))
        code, text = guard()
        assert code == 1
        assert "store            is new" in text

    def test_another_compiler_is_not_compared(self, guard):
        self.baseline.write_text(self.baseline.read_text().replace(instructions.compiler_version(), "gcc 1.2.3 x86_64"))
        code, text = guard()
        assert code == 0
        assert text.startswith("baseline is for gcc 1.2.3 x86_64; counts from ")
        assert text.endswith(" not compared\n")

    def test_without_valgrind_it_fails(self, guard, monkeypatch):
        which = shutil.which
        monkeypatch.setattr(shutil, "which", lambda name: None if name == "valgrind" else which(name))
        code, text = guard()
        assert code == 2
        assert "apt-get install valgrind" in text


def test_only_the_program_itself_counts(tmp_path):
    """Lines as callgrind writes them: what a call cost is in the callee's own lines as well."""
    profile = """events: Ir

ob=/tmp/x/kernels
fl=???
fn=measured
0 10
cob=/lib/libc.so.6
cfn=malloc
calls=3 0
0 1000
0 5

ob=/lib/libc.so.6
fn=malloc
0 1000

ob=/tmp/x/kernels
fn=other
0 7
"""
    assert instructions.own_instructions(profile, tmp_path / "kernels") == 22
