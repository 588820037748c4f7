"""Results: regret, counts, files and figures."""

import os

import numpy as np
import pytest

import ocpfast as ocp

RESULT = ocp.Result([[0.0, 1.0, 2.0], [2.0, 2.0, 2.0 - 1e-12]], np.full((2, 3), 2.0))


def test_regret_and_suboptimal():
    assert RESULT.regret().tolist() == [[2.0, 3.0, 3.0], [0.0, 0.0, pytest.approx(0, abs=1e-11)]]
    assert RESULT.suboptimal().tolist() == [2, 0]
    assert RESULT.suboptimal(epsilon=1.5).tolist() == [1, 0]
    assert RESULT.suboptimal(epsilon=0).tolist() == [2, 1]
    assert RESULT.regret(optimal_value=3.0)[:, -1].tolist() == pytest.approx([6.0, 3.0])
    assert RESULT.regret(optimal_value=[2.0, 3.0, 2.0])[0].tolist() == [2.0, 4.0, 4.0]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ocp.Result([1.0]), r"rewards: expected shape \(simulations, episodes\), got \(1,\)"),
        (lambda: ocp.Result([[1.0]], [[1.0, 2.0]]), r"optimal: expected shape \(1, 1\), got \(1, 2\)"),
        (lambda: ocp.Result([[1.0]]).regret(), r"optimal_value: the system does not know its optimum"),
        (lambda: RESULT.regret(np.nan), r"optimal_value: expected finite numbers, got nan"),
        (
            lambda: RESULT.regret([1.0, 2.0]),
            r"optimal_value: expected a number or a shape that fits \(2, 3\)",
        ),
        (lambda: ocp.Result([[np.nan]]), r"rewards: expected finite numbers, got nan"),
        (lambda: RESULT.suboptimal(-1.0), r"epsilon: expected a number >= 0, got -1.0"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("rewards", ["abc", [["1"]], [[None]]])
def test_rewards_are_numbers(rewards):
    with pytest.raises(TypeError, match="rewards: expected finite numbers, got dtype"):
        ocp.Result(rewards)


def test_agents_must_have_been_kept():
    with pytest.raises(AttributeError, match=r"agents: not kept; call run\(\.\.\., keep_agents=True\)"):
        _ = RESULT.agents


def test_save_and_load(tmp_path):
    path = tmp_path / "result.npz"
    for result in (RESULT, ocp.Result([[1.0]])):
        result.save(path)
        loaded = ocp.load_result(path)
        assert np.array_equal(loaded.rewards, result.rewards)
        assert (loaded.optimal is None) == (result.optimal is None)
    assert os.listdir(tmp_path) == ["result.npz"]


def test_damaged_and_foreign_files(tmp_path):
    path = tmp_path / "result.npz"
    RESULT.save(path)
    whole = path.read_bytes()
    for broken in (whole[:-30], whole[: len(whole) // 2], b"", b"nonsense", whole[:100] + b"x" + whole[101:]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="result"):
            ocp.load_result(path)
    rng = np.random.default_rng(0)
    for _ in range(300):
        flipped = bytearray(whole)
        flipped[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(flipped)
        try:
            loaded = ocp.load_result(path)  # a bit that nothing depends on
        except ValueError:
            continue
        assert np.array_equal(loaded.rewards, RESULT.rewards)
    np.save(path.with_suffix(".npy"), np.zeros(3))
    with pytest.raises(ValueError, match="is not a result saved by ocpfast, or is damaged"):
        ocp.load_result(path.with_suffix(".npy"))
    np.savez(path, format="ocpfast result 1")
    with pytest.raises(ValueError, match="is not a result saved by ocpfast, or is damaged"):
        ocp.load_result(path)
    np.savez(path, rewards=np.zeros((1, 1)))
    with pytest.raises(ValueError, match="is not a result saved by ocpfast, or is damaged"):
        ocp.load_result(path)
    np.savez(path, format="ocpfast result 99")
    with pytest.raises(ValueError, match="expected a file of format 'ocpfast result 1', got 'ocpfast result 99'"):
        ocp.load_result(path)
    with pytest.raises(FileNotFoundError):
        ocp.load_result(tmp_path / "none")


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "result.npz"
    RESULT.save(path)
    before = path.read_bytes()

    def fail(*_args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        ocp.Result([[5.0]]).save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["result.npz"]


def test_csv(tmp_path):
    RESULT.to_csv(tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[:3] == ["simulation,episode,reward,regret", "0,0,0.0,2.0", "0,1,1.0,3.0"]
    assert len(lines) == 7


@pytest.mark.parametrize("name, start", [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_plot(tmp_path, name, start):
    axes = RESULT.plot(tmp_path / name, label="OCP")
    assert (tmp_path / name).read_bytes().startswith(start)
    ocp.Result([[1.0, 1.0]]).plot(axes=axes, label="another")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["OCP", "another"]
    assert axes.lines[0].get_ydata().tolist() == pytest.approx([1.0, 2.5, 4.5])
