"""Files and faults: killed while saving, a full disk, a directory that cannot be written to, what is left behind."""

import errno
import gc
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from contextlib import contextmanager

import pytest
from commands import call
from embedding import COMPILERS, default_compiler

import ocpfast as ocp
from ocpfast import files
from ocpfast.cli import main
from ocpfast.files import write_atomically

KILLS = 40

SWEEP = """
episodes = 200
simulations = 2
[systems.chain]
type = "Chain"
n_states = 6
[classes.table]
type = "TabulaRasa"
[agents.plain]
type = "OCP"
"""


def left_over(folder):
    return [name for name in os.listdir(folder) if name.startswith(".ocpfast-")]


# ---- killed ----------------------------------------------------------------------------------------------------------

# Forks a child that saves in a loop and reports each save, kills it at a random moment, and looks at what is there.
KILLING = """
    import os, random, signal, sys, time
    import ocpfast as ocp

    path, kills = sys.argv[1], int(sys.argv[2])
    moments = random.Random(0)

    def made():  # half a megabyte, so that a part of the time is writing
        return ocp.QLearning(4000, 3, horizon=5)

    def step(agent, i):
        agent.act(i % 4000)
        agent.observe((7 * i + 1) % 4000, float(i % 11))

    serial, n_steps = made(), 0  # goes along
    agent, most_left, left = made(), 0, 0
    for kill in range(kills):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            i = agent.statistics()["periods"]
            while True:
                step(agent, i)
                i += 1
                agent.save(path)
                os.write(writing, i.to_bytes(8, "little"))
        os.close(writing)
        reported = int.from_bytes(os.read(reading, 8), "little")
        time.sleep(moments.uniform(0, 0.04))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while more := os.read(reading, 8):
            reported = int.from_bytes(more, "little")
        os.close(reading)
        parts = [name for name in os.listdir(os.path.dirname(path)) if name.startswith(".ocpfast-")]
        left, most_left = left + len(parts), max(most_left, len(parts))
        agent = ocp.load_agent(path)
        periods = agent.statistics()["periods"]
        assert reported <= periods <= reported + 1, (reported, periods)
        while n_steps < periods:
            step(serial, n_steps)
            n_steps += 1
        assert agent._core.state() == serial._core.state()
    agent.save(path)
    print(periods, left, most_left)
"""


def test_killed_at_any_moment_what_was_reported_as_saved_is_there(tmp_path):
    script = [sys.executable, "-c", textwrap.dedent(KILLING)]
    saves, left, most_left = map(int, call(*script, str(tmp_path / "agent.ocp"), str(KILLS), cwd=tmp_path).split())
    print(f"{KILLS} kills, {saves} saves, {left} files left behind and removed by the next save")
    assert saves > KILLS and left > 0  # some were killed while they wrote
    assert most_left == 1 and os.listdir(tmp_path) == ["agent.ocp"]


PROGRAM = """
#include <cstdio>
#include <string>
#include "ocpfast/files.hpp"

int main(int, char** arguments) {
    for (int i = 1;; ++i) {
        ocp::write_atomically(arguments[1], std::string(300000, static_cast<char>('a' + i % 26)));
        std::printf("%d\\n", i);
        std::fflush(stdout);
    }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A C++ program that writes letters, a file full of each, and says which it has written."""
    folder = tmp_path_factory.mktemp("program")
    compile_it = [COMPILERS[default_compiler()], "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{ocp.get_include()}"]
    (folder / "program.cpp").write_text(PROGRAM)
    call(*compile_it, "program.cpp", "-o", "program", cwd=folder)
    return folder / "program"


def test_killed_in_cpp(program, tmp_path):
    path, left = tmp_path / "letters", 0
    for kill in range(20):
        process = subprocess.Popen([program, path], stdout=subprocess.PIPE)
        said = [process.stdout.readline() for _ in range(1 + kill % 3)]
        process.kill()
        said += process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        content = path.read_bytes()
        reported = [int(line) for line in said if line.strip()]
        assert content in [bytes([97 + i % 26]) * 300_000 for i in (reported[-1], reported[-1] + 1)]
        left += len(left_over(tmp_path))
        assert len(left_over(tmp_path)) <= 1
    write_atomically(path, lambda file: file.write(b"Python removes what C++ left, and the other way round"))
    assert os.listdir(tmp_path) == ["letters"] and left > 0


# ---- what is left behind ---------------------------------------------------------------------------------------------

HALF_WAY = """
    import os, signal, sys
    from ocpfast.files import write_atomically

    def write(file):
        file.write(b"half of it")
        file.flush()
        print("half way", flush=True)
        if sys.argv[2] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        sys.stdin.read()

    write_atomically(sys.argv[1], write)
"""


def half_way(path, what):
    command = [sys.executable, "-c", textwrap.dedent(HALF_WAY), str(path), what]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=path.parent)
    assert process.stdout.readline() == b"half way\n"
    return process


@pytest.mark.parametrize("language", ["Python", "C++"])
def test_only_what_nobody_writes_any_more_is_removed(language, tmp_path, request):
    with half_way(tmp_path / "dead", "die") as process:
        assert process.wait() == -signal.SIGKILL
    assert len(left_over(tmp_path)) == 1
    others = [".ocpfast-", ".ocpfast-mine", "ocpfast-1.part", ".other.part"]
    for name in others:
        (tmp_path / name).write_text("somebody's")
    (tmp_path / ".ocpfast-link.part").symlink_to(tmp_path / ".other.part")
    (tmp_path / ".ocpfast-folder.part").mkdir()
    os.mkfifo(tmp_path / ".ocpfast-pipe.part")
    with half_way(tmp_path / "alive", "wait") as process:
        assert len(left_over(tmp_path)) == 6  # it has removed the first
        if language == "Python":
            ocp.Result([[1.0]]).save(tmp_path / "result")
        else:
            with subprocess.Popen(
                [request.getfixturevalue("program"), tmp_path / "result"], stdout=subprocess.PIPE
            ) as writer:
                assert writer.stdout.readline() == b"1\n"
                writer.kill()
        process.communicate(b"")
        assert process.returncode == 0
    assert (tmp_path / "alive").read_bytes() == b"half of it"
    made_up = [".ocpfast-folder.part", ".ocpfast-link.part", ".ocpfast-pipe.part"]
    if language == "C++":
        ocp.Result([[1.0]]).save(tmp_path / "result")  # removes what was killed last
    assert sorted(os.listdir(tmp_path)) == sorted([*others, *made_up, "alive", "result"])


def test_permissions_are_those_of_any_file(tmp_path):
    before = os.umask(0o027)
    try:
        ocp.Result([[1.0]]).save(tmp_path / "result")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert (tmp_path / "result").stat().st_mode & 0o777 == 0o640


def test_names_may_be_as_long_as_the_file_system_allows(tmp_path):
    ocp.Result([[1.0]]).save(tmp_path / ("n" * 255))
    assert os.listdir(tmp_path) == ["n" * 255]


# ---- file systems and machines of other kinds ------------------------------------------------------------------------


def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    """Windows."""
    monkeypatch.setattr(files, "fcntl", None)
    (tmp_path / ".ocpfast-1.part").write_text("somebody may still write it")
    ocp.Result([[1.0]]).save(tmp_path / "result")
    assert sorted(os.listdir(tmp_path)) == [".ocpfast-1.part", "result"]


def fail_for_folders(patch, name, number):
    """Let a function of `os` fail where it is given a directory, or a descriptor of one."""
    function = getattr(os, name)

    def failing(place, *arguments):
        if os.path.isdir(place):
            raise OSError(number, os.strerror(number), None if isinstance(place, int) else str(place))
        return function(place, *arguments)

    patch.setattr(os, name, failing)


@pytest.mark.parametrize(
    "function, number", [("open", errno.EACCES), ("fsync", errno.EINVAL), ("listdir", errno.EACCES)]
)
def test_what_a_directory_need_not_allow(function, number, tmp_path, monkeypatch):
    """To be read, to be brought to the disk."""
    with monkeypatch.context() as patch:
        fail_for_folders(patch, function, number)
        ocp.Result([[1.0]]).save(tmp_path / "result")
    assert os.listdir(tmp_path) == ["result"]


@pytest.mark.parametrize("function", ["open", "fsync"])
def test_a_renaming_that_does_not_reach_the_disk_is_told(function, tmp_path, monkeypatch):
    fail_for_folders(monkeypatch, function, errno.EIO)
    with pytest.raises(OSError) as e:
        ocp.Result([[1.0]]).save(tmp_path / "result")
    assert (e.value.errno, e.value.filename) == (errno.EIO, str(tmp_path / "result"))


@pytest.mark.parametrize("times", [3, 10**9], ids=["sometimes", "always"])
def test_a_file_that_was_taken_for_left_over_before_it_was_locked(times, tmp_path, monkeypatch):
    """Another name then; but not for ever, where a file system counts no links."""
    locked, fstat = [], os.fstat

    def without_links(descriptor):
        status = list(fstat(descriptor))
        locked.append(descriptor)
        if len(locked) <= times:
            status[stat.ST_NLINK] = 0
        return os.stat_result(status)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", without_links)
        write_atomically(tmp_path / "file", lambda file: file.write(b"content"))
    assert (tmp_path / "file").read_bytes() == b"content"
    assert len(locked) >= min(times, 100)


def test_an_error_of_another_file_is_told_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError) as e:
        write_atomically(tmp_path / "file", lambda file: (tmp_path / "font").read_bytes())
    assert e.value.filename == str(tmp_path / "font") and os.listdir(tmp_path) == []


# ---- no room, no permission ------------------------------------------------------------------------------------------


@contextmanager
def mounted(folder, *options):
    """A file system in memory."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("cannot mount here")
    try:
        yield folder
    finally:
        call("umount", str(folder), cwd="/")


@contextmanager
def a_full_disk(folder):
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(512))
    try:
        yield errno.ENOSPC
    finally:
        filler.unlink()


@contextmanager
def a_limit_on_files(folder):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # Python ignores the signal
    try:
        yield errno.EFBIG
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def a_read_only_disk(folder):
    call("mount", "-o", "remount,ro", str(folder), cwd="/")
    try:
        yield errno.EROFS
    finally:
        call("mount", "-o", "remount,rw", str(folder), cwd="/")


@pytest.fixture
def small_disk(tmp_path, request):
    if request.param is a_limit_on_files:
        (tmp_path / "disk").mkdir()
        yield request.param, tmp_path / "disk"
    else:
        with mounted(tmp_path / "disk", "size=1m", "mode=755") as folder:
            yield request.param, folder


@pytest.mark.parametrize("small_disk", [a_full_disk, a_limit_on_files, a_read_only_disk], indirect=True)
def test_where_nothing_can_be_written_the_old_file_stays(small_disk, tmp_path, monkeypatch, capsys):
    trouble, folder = small_disk
    agent = ocp.OCP(ocp.TabulaRasa(20, 2, horizon=5))
    result = ocp.Result([[float(i % 7) for i in range(1000)]])
    writers = {
        "agent.ocp": agent.save,
        "result.npz": result.save,
        "result.csv": result.to_csv,
        "result.png": result.plot,
        "values.png": agent.plot_values,
    }
    unraised = []
    monkeypatch.setattr(sys, "unraisablehook", unraised.append)
    for name, write in writers.items():
        write(folder / name)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    before = {name: (folder / name).read_bytes() for name in writers}
    agent.act(3)
    agent.observe(4, 0.5)
    with trouble(folder) as number:
        listed = sorted(os.listdir(folder))
        for name, write in writers.items():
            with pytest.raises(OSError) as e:
                write(folder / name)
            assert (e.value.errno, e.value.filename) == (number, str(folder / name))
        for command in (["run", str(tmp_path / "sweep.toml")], ["reproduce", "chain"]):
            with pytest.raises(SystemExit) as left:
                main([*command, "--quiet", "--out", str(folder / "out")])
            assert left.value.code == 1
            told = capsys.readouterr().err
            assert told.startswith("ocpfast: [Errno ") and str(folder / "out") in told
        assert sorted({*os.listdir(folder)} - {"out"}) == listed
        assert {name: (folder / name).read_bytes() for name in writers} == before
        assert ocp.load_agent(folder / "agent.ocp").statistics()["periods"] == 0
        assert ocp.load_result(folder / "result.npz").rewards.shape == (1, 1000)
    gc.collect()
    assert not unraised
    for name, write in writers.items():  # once there is room again
        write(folder / name)
    assert ocp.load_agent(folder / "agent.ocp").statistics()["periods"] == 1
    if trouble is a_full_disk:
        assert main(["run", str(tmp_path / "sweep.toml"), "--quiet", "--resume", "--out", str(folder / "out")]) == 0
        assert not left_over(folder) + left_over(folder / "out") + left_over(folder / "out" / "raw")


UNPRIVILEGED = """
    import os, sys
    import ocpfast as ocp

    folder = sys.argv[1]
    agent, result = ocp.OCP(ocp.TabulaRasa(3, 2, horizon=4)), ocp.Result([[1.0]])
    writers = {"agent.ocp": agent.save, "result.npz": result.save, "result.csv": result.to_csv}
    for name, write in writers.items():
        write(os.path.join(folder, name))
    os.chmod(folder, 0o555)
    if os.geteuid() == 0:
        os.setuid(65534)
    for name, write in writers.items():
        path = os.path.join(folder, name)
        try:
            write(path)
        except PermissionError as error:
            assert error.filename == path, error
        else:
            raise AssertionError(name)
    assert sorted(os.listdir(folder)) == sorted(writers)
    assert ocp.load_agent(os.path.join(folder, "agent.ocp")).statistics()["periods"] == 0
    print("refused", len(writers))
"""


def test_a_directory_that_may_not_be_written_to(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    changed = [place for place in (tmp_path, *tmp_path.parents) if place.owner() and not place.stat().st_mode & 0o001]
    modes = {place: place.stat().st_mode for place in changed}
    try:
        for place in changed:  # whoever is nobody must get as far as that
            place.chmod(modes[place] | 0o011)
        script = [sys.executable, "-c", textwrap.dedent(UNPRIVILEGED)]
        assert call(*script, str(folder), cwd=tmp_path) == "refused 3\n"
    finally:
        for place in changed:
            place.chmod(modes[place])
        folder.chmod(0o755)
