"""run(executor=): the same bits wherever simulations run; workers that die, Ctrl-C, errors; what is sent."""

import functools
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import elsewhere
import numpy as np
import pytest
from elsewhere import PENDULUM, TABLE, Notes

import ocpfast as ocp

TESTS = Path(__file__).parent
ADVERSARY = ocp.Adversary(6, 4, 1.0)
CASES = [  # with enough episodes for simulations to differ
    (elsewhere.on_chain, ocp.Chain(20), 300),
    (elsewhere.on_pendulum, PENDULUM, 20),
    (elsewhere.on_table, TABLE, 10),
    (elsewhere.on_adversary, ADVERSARY, 30),
]


def pool_of(method, workers=2):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context(method))


@pytest.fixture(scope="module")
def spawned():
    with pool_of("spawn") as executor:
        yield executor
        processes = list(executor._processes.values())
    assert processes and not any(process.is_alive() for process in processes)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def dask():
    """A scheduler and two worker processes, over TCP."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    # a worker that is not there 15 seconds after it was killed, because it was killed again, does not come back
    patience = pytest.importorskip("dask").config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    with (
        patience,
        distributed.LocalCluster(protocol="tcp://", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
        yield client


def assert_same(one, other):
    assert np.array_equal(one.rewards, other.rewards)
    assert (one.optimal is None) == (other.optimal is None)
    assert one.optimal is None or np.array_equal(one.optimal, other.optimal)


def one_thread(agent, system, *args, **options):
    return ocp.run(agent, system, *args, workers=1, progress=False, **options)


def check_agents(executor):
    """Agents go there with what they know, and come back with what they learned."""
    cells = ocp.StateAggregation(PENDULUM.partition(), n_actions=3)
    novice = ocp.OCP(cells, ties="random", replay=True)
    [expert] = one_thread(novice, PENDULUM, 50, rng=1, keep_agents=True).agents
    several = [novice, expert, ocp.LSVI(cells), expert, ocp.RandomPolicy(3), novice, ocp.OCP(cells)]
    for agent, simulations in ((novice, 7), (expert, 7), (several, None)):
        options = {"simulations": simulations, "rng": 7, "keep_agents": True, "progress": False}
        here = ocp.run(agent, PENDULUM, 20, workers=1, **options)
        there = ocp.run(agent, PENDULUM, 20, executor=executor, **options)
        assert_same(there, here)
        assert [one.statistics() for one in there.agents] == [one.statistics() for one in here.agents]
        # they stand where the others stand, their generators too
        assert_same(one_thread(there.agents, PENDULUM, 5, rng=2), one_thread(here.agents, PENDULUM, 5, rng=2))
        assert [one._rng.random() for one in there.agents] == [one._rng.random() for one in here.agents]
    assert novice.statistics()["episodes"] == 0 and expert.statistics()["episodes"] == 50


def check_cases(executor):
    check_agents(executor)
    for agent, system, episodes in CASES:
        alone = one_thread(agent, system, episodes, 13, rng=7)
        assert_same(ocp.run(agent, system, episodes, 13, rng=7, executor=executor, progress=False), alone)
        assert len({tuple(row) for row in alone.rewards}) == (1 if system is ADVERSARY else 13)


class TestTheSameBits:
    def test_spawned_processes(self, spawned):
        check_cases(spawned)

    def test_dask_over_tcp(self, dask):
        check_cases(dask.get_executor())

    @pytest.mark.skipif(sys.platform != "linux", reason="forks")
    @pytest.mark.parametrize("method", ["fork", "forkserver"])
    def test_forked_processes(self, method, tmp_path):
        """In a process of its own without threads, as forking wants it, but one that has solved linear programs."""
        run_script(
            tmp_path,
            f"""
            from test_executor import CASES, check_cases, one_thread, pool_of
            if __name__ == "__main__":
                one_thread(*CASES[2])
                with pool_of({method!r}) as executor:
                    check_cases(executor)
            """,
        )

    def test_threads_of_the_caller(self):
        with ThreadPoolExecutor(3) as executor:
            check_cases(executor)
            # nothing is pickled
            lambdas = ocp.run(lambda rng: elsewhere.on_chain(rng), ocp.Chain(20), 20, 4, executor=executor, rng=1)
            assert executor.submit(int, "3").result() == 3
        assert_same(lambdas, one_thread(elsewhere.on_chain, ocp.Chain(20), 20, 4, rng=1))

    @pytest.mark.parametrize("workers", [1, 2, 5, 100])
    def test_any_division_into_tasks(self, spawned, workers):
        alone = one_thread(elsewhere.on_pendulum, PENDULUM, 5, 37, rng=3, first_simulation=11)
        told = []
        result = ocp.run(
            elsewhere.on_pendulum, PENDULUM, 5, 37, rng=3, first_simulation=11,
            executor=spawned, workers=workers, progress=told.append,
        )  # fmt: skip
        assert_same(result, alone)
        assert told == sorted(told) and told[-1] == 5 * 37 and all(done % 5 == 0 for done in told)

    def test_generators_go_on_as_with_threads(self, spawned):
        here, there = np.random.default_rng(5), np.random.default_rng(5)
        for _ in range(2):
            result = ocp.run(elsewhere.on_chain, ocp.Chain(20), 50, 3, rng=there, executor=spawned, progress=False)
            assert_same(result, one_thread(elsewhere.on_chain, ocp.Chain(20), 50, 3, rng=here))

    def test_dask_takes_functions_by_value(self, dask):
        """As in a notebook, whose functions no worker can import."""
        table = ocp.TabulaRasa(20, 2, horizon=20)
        agent = lambda rng: ocp.OCP(table, ties="random", replay=True)  # noqa: E731
        result = ocp.run(agent, ocp.Chain(20), 20, 5, rng=2, executor=dask.get_executor(), progress=False)
        assert_same(result, one_thread(agent, ocp.Chain(20), 20, 5, rng=2))

    def test_mpi(self, tmp_path):
        pytest.importorskip("mpi4py")
        mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if mpiexec is None:
            pytest.skip("needs mpiexec")
        run_script(
            tmp_path,
            """
            import mpi4py.futures
            from test_executor import check_cases
            if __name__ == "__main__":
                with mpi4py.futures.MPIPoolExecutor() as executor:
                    check_cases(executor)
            """,
            mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures",
        )  # fmt: skip


class TestADaskWorkerThatDies:
    def test_is_recovered_from(self, dask, tmp_path):
        """Killed in the middle of a task; others do it again, to the same bits."""
        agent = functools.partial(elsewhere.killing_once, str(tmp_path / "calls"), 20, elsewhere.on_chain)
        executor = dask.get_executor()
        result = ocp.run(agent, ocp.Chain(20), 300, 60, rng=4, executor=executor, progress=False)
        assert_same(result, one_thread(elsewhere.on_chain, ocp.Chain(20), 300, 60, rng=4))
        assert (tmp_path / "calls.killed").exists()
        assert (tmp_path / "calls").stat().st_size > 60  # some were made twice

    def test_again_and_again_is_an_error_with_what_was_done(self, dask, tmp_path, monkeypatch):
        monkeypatch.setattr(dask.cluster.scheduler, "allowed_failures", 0)
        agent = functools.partial(elsewhere.killing_once, str(tmp_path / "calls"), 20, elsewhere.on_chain)
        with pytest.raises(ocp.ExecutorError, match=r"after \d+ complete simulations.*KilledWorker") as e:
            ocp.run(agent, ocp.Chain(20), 300, 60, rng=4, executor=dask.get_executor(), progress=False)
        assert type(e.value.__cause__).__name__ == "KilledWorker"
        alone = one_thread(elsewhere.on_chain, ocp.Chain(20), 300, 60, rng=4)
        assert 0 < len(e.value.simulations) < 60
        assert np.array_equal(e.value.result.rewards, alone.rewards[e.value.simulations])


class TestABrokenPool:
    def test_carries_what_was_done(self):
        alone = one_thread(elsewhere.on_chain, ocp.Chain(20), 300, 60, rng=4)

        def watch(done):
            if done and not killed:
                killed.append(next(iter(executor._processes)))
                os.kill(killed[0], signal.SIGKILL)

        killed, message = [], r"^the executor failed after \d+ complete simulations, which .*: BrokenProcessPool: "
        with pool_of("spawn") as executor:
            with pytest.raises(ocp.ExecutorError, match=message) as e:
                ocp.run(
                    elsewhere.slowly, ocp.Chain(20), 300, 60,
                    rng=4, executor=executor, progress=watch, keep_agents=True,
                )  # fmt: skip
            error = e.value
            assert [agent.statistics()["episodes"] for agent in error.result.agents] == [300] * len(error.simulations)
            assert isinstance(error, BrokenExecutor) and isinstance(error.__cause__, BrokenProcessPool)
            assert 0 < len(error.simulations) < 60
            assert np.array_equal(error.result.rewards, alone.rewards[error.simulations])
            # it can be gone on from, by whom you like
            for i in range(60):
                if i not in error.simulations:
                    again = one_thread(elsewhere.on_chain, ocp.Chain(20), 300, 1, rng=4, first_simulation=i)
                    assert np.array_equal(again.rewards[0], alone.rewards[i])
            twin = pickle.loads(pickle.dumps(error))
            assert str(twin) == str(error) and twin.simulations == error.simulations
            # the pool itself is beyond help
            with pytest.raises(ocp.ExecutorError, match=r"after 0 complete simulations.*BrokenProcessPool") as e:
                ocp.run(elsewhere.on_chain, ocp.Chain(20), 300, 60, executor=executor, progress=False)
            assert e.value.simulations == [] and e.value.result.rewards.shape == (0, 300)

    def test_a_factory_that_kills_every_worker(self):
        with pool_of("spawn", 1) as executor, pytest.raises(ocp.ExecutorError, match="BrokenProcessPool"):
            ocp.run(elsewhere.deadly, ocp.Chain(20), 20, executor=executor, progress=False)

    def test_threads_that_never_start(self):
        threads = ThreadPoolExecutor(1, initializer=elsewhere.dividing_by_zero, initargs=(0,))
        with threads, pytest.raises(ocp.ExecutorError, match="BrokenThreadPool"):
            ocp.run(elsewhere.on_chain, ocp.Chain(20), executor=threads, progress=False)

    def test_an_executor_that_was_shut_down(self):
        executor = ThreadPoolExecutor(1)
        executor.shutdown()
        for closed in (executor, Notes(executor, 1)):
            with pytest.raises(ocp.ExecutorError, match="cannot schedule new futures after shutdown"):
                ocp.run(elsewhere.on_chain, ocp.Chain(20), executor=closed, progress=False)

    @pytest.mark.parametrize("simulations, message", [(60, "cannot schedule"), (4, "CancelledError")])
    def test_threads_that_are_shut_down_in_the_middle(self, simulations, message):
        """With parts that were not submitted yet, and without."""

        def watch(done):
            if done:
                executor.shutdown(wait=False, cancel_futures=True)

        executor = ThreadPoolExecutor(1)
        with executor, pytest.raises(ocp.ExecutorError, match=message) as e:
            ocp.run(
                elsewhere.slowly, ocp.Chain(20), 300, simulations, rng=4, workers=2, executor=executor, progress=watch
            )
        alone = one_thread(elsewhere.on_chain, ocp.Chain(20), 300, simulations, rng=4)
        assert 0 < len(e.value.simulations) < simulations
        assert np.array_equal(e.value.result.rewards, alone.rewards[e.value.simulations])

    def test_what_was_done_when_another_part_broke_it_counts(self):
        class SecondOfThree(Executor):
            """Does a part at once; of the second it says that it broke."""

            n_submitted = 0

            def submit(self, function, /, *arguments, **options):
                self.n_submitted += 1
                future = Future()
                if self.n_submitted == 2:
                    future.set_exception(BrokenExecutor("no"))
                else:
                    future.set_result(function(*arguments, **options))
                return future

        with pytest.raises(ocp.ExecutorError) as caught:
            ocp.run(
                elsewhere.on_chain, ocp.Chain(20), 300, 3, workers=3, executor=SecondOfThree(), rng=4, progress=False
            )
        whole = one_thread(elsewhere.on_chain, ocp.Chain(20), 300, 3, rng=4)
        assert np.array_equal(caught.value.result.rewards, whole.rewards[[0, 2]])


class TestCtrlC:
    def interrupt_at_once(self, done):
        if done:
            raise KeyboardInterrupt

    @pytest.mark.parametrize("where", ["spawned", "dask", "threads"])
    def test_keeps_what_is_complete_and_cancels_the_rest(self, where, request):
        """A signal is nothing but a KeyboardInterrupt in the main thread, wherever that stands."""
        alone = one_thread(elsewhere.on_chain, ocp.Chain(20), 300, 100, rng=4)
        executor = request.getfixturevalue(where)
        if where != "threads":
            executor = Notes(executor.get_executor() if where == "dask" else executor, 2)
        with pytest.raises(ocp.Interrupted) as e:
            ocp.run(
                elsewhere.slowly, ocp.Chain(20), 300, 100, rng=4, executor=executor, progress=self.interrupt_at_once
            )
        assert 0 < len(e.value.simulations) < 100
        assert np.array_equal(e.value.result.rewards, alone.rewards[e.value.simulations])
        if where != "threads":
            assert len(executor.futures) < 20 and all(f.done() or f.running() for f in executor.futures)
        # the executor is as good as new
        again = ocp.run(elsewhere.on_chain, ocp.Chain(20), 300, 100, rng=4, executor=executor, progress=False)
        assert_same(again, alone)

    @pytest.mark.skipif(os.name != "posix", reason="signals")
    @pytest.mark.parametrize("whom, method", [("all", "spawn"), ("all", "fork"), ("parent", "spawn")])
    def test_a_real_one(self, tmp_path, whom, method):
        """From a terminal it reaches the workers too, which stop in the middle of a simulation that takes minutes.

        Those that are forked, during the run, stop as well; the third has nothing to do and dies of it.
        """
        script = """
            import signal, sys, time
            import elsewhere, ocpfast as ocp
            from test_executor import pool_of
            signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
            if __name__ == "__main__":
                method, episodes, simulations = sys.argv[1], *map(int, sys.argv[2:])
                with pool_of(method, 2 if method == "spawn" else 3) as executor:
                    if method == "spawn":
                        ocp.run(elsewhere.on_chain, ocp.Chain(20), 2, 9, executor=executor, progress=False)
                    print("ready", flush=True)
                    try:
                        ocp.run(elsewhere.on_chain, ocp.Chain(20), episodes, simulations, executor=executor)
                    except ocp.Interrupted as interrupted:
                        assert interrupted.result.rewards.shape == (len(interrupted.simulations), episodes)
                        print("interrupted", flush=True)
                print("closed", flush=True)
        """
        # told alone, the parent waits at the end of the with for what its workers have begun: a second or two
        size = ["10000000", "9" if method == "spawn" else "2"] if whom == "all" else ["50000", "100"]
        command = [sys.executable, write_script(tmp_path, script), method, *size]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=importing_tests(), start_new_session=True
        )
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            sent = time.monotonic()
            (os.killpg if whom == "all" else os.kill)(process.pid, signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - sent < 3.0
            assert process.communicate(timeout=30)[0] == "closed\n"
            assert process.returncode == 0
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()


class TestErrors:
    def test_of_a_simulation_are_raised_as_they_are(self, spawned):
        notes = Notes(spawned, 2)
        with pytest.raises(ZeroDivisionError, match="division") as e:
            ocp.run(elsewhere.dividing_by_zero, ocp.Chain(20), 20, 40, executor=notes, progress=False)
        assert len(notes.futures) < 20 and all(future.done() or future.running() for future in notes.futures)
        assert "elsewhere.py" in str(e.value.__cause__) and "dividing_by_zero" in str(e.value.__cause__)

        rich = ocp.TableSystem([[0]], [[1e308]], horizon=5)
        with pytest.raises(RuntimeError, match=r"simulation 7, episode 0, period 0: .* 1e\+308, expected a number of"):
            ocp.run(elsewhere.one_state, rich, 2, 1, executor=spawned, progress=False, first_simulation=7)

    def test_that_do_not_unpickle_break_nothing(self, spawned):
        with pytest.raises(RuntimeError, match=r"^AwkwardError: 1 and 2$"):
            ocp.run(elsewhere.awkward, ocp.Chain(20), 20, 40, executor=spawned, progress=False)
        assert spawned.submit(int, "3").result() == 3

    @pytest.mark.parametrize(
        "executor, message",
        [
            (2, r"^executor: expected a concurrent.futures.Executor such as a ProcessPoolExecutor, got 2$"),
            (ProcessPoolExecutor, r"^executor: expected .*, got <class .*>; make one: executor\(\)$"),
            (multiprocessing, r"^executor: expected a concurrent.futures.Executor"),
        ],
    )
    def test_of_type(self, executor, message):
        with pytest.raises(TypeError, match=message):
            ocp.run(elsewhere.on_chain, ocp.Chain(20), executor=executor)

    def test_a_dask_client_is_not_an_executor_but_has_one(self, dask):
        with pytest.raises(TypeError, match=r"^executor: expected .*, got <Client.*; its get_executor\(\) makes one$"):
            ocp.run(elsewhere.on_chain, ocp.Chain(20), executor=dask)

    def test_what_does_not_pickle_is_named_before_any_work(self):
        notes = Notes(None, 2)

        with pytest.raises(TypeError, match=r"^agent: expected what can be pickled.*<lambda>.*top level of a module"):
            ocp.run(lambda rng: elsewhere.on_chain(rng), ocp.Chain(20), executor=notes, progress=False)

        class Local(ocp.Chain):
            pass

        with pytest.raises(TypeError, match=r"^system: expected what can be pickled.*Local.*self\.arguments"):
            ocp.run(elsewhere.on_chain, Local(20), executor=notes, progress=False)
        assert notes.futures == []

    def test_what_does_not_unpickle_there(self, spawned, monkeypatch):
        monkeypatch.setitem(sys.modules, "only_here", elsewhere)
        monkeypatch.setattr(elsewhere.on_chain, "__module__", "only_here")
        with pytest.raises(RuntimeError, match=r"^agent: a worker of the executor cannot unpickle it \(ModuleNotFound"):
            ocp.run(elsewhere.on_chain, ocp.Chain(20), executor=spawned, progress=False)
        assert spawned.submit(int, "3").result() == 3


class TestCosts:
    def test_what_is_sent(self, spawned):
        """A few hundred bytes a task beside agent and system; eight bytes an episode come back."""
        for agent, system, episodes in CASES:
            notes = Notes(spawned, 2)
            ocp.run(agent, system, episodes, 70, rng=0, executor=notes, progress=False)
            # 16 for each worker, of two simulations each, and the rest; side by side, at most 20 simulations each
            assert len(notes.futures) == (4 if system.steps_many else 35)
            for sent in notes.sent:
                assert sent - len(pickle.dumps(agent)) - len(pickle.dumps(system)) < 700
            # of the table alone, whose episodes start anywhere, optimal values differ and come back too
            simulations = 20 if system.steps_many else 2
            numbers = simulations * episodes * (2 if system is TABLE else 1)
            for received in notes.received():
                assert received - 8 * numbers < 300

    def test_dask_brings_what_is_large_to_each_worker_once(self, dask, tmp_path, monkeypatch):
        """And again where a worker died with it."""
        table = ocp.TableSystem(np.tile(TABLE.next_state, (200, 1)), np.tile(TABLE.reward, (200, 1)), 7, horizon=12)
        assert len(pickle.dumps(table)) > 200_000
        executor, sent, submit = dask.get_executor(), [], dask.submit

        def noted(function, *args, **kwargs):
            sent.append(sum(len(pickle.dumps(one)) for one in args))
            return submit(function, *args, **kwargs)

        monkeypatch.setattr(dask, "submit", noted)
        agent = functools.partial(elsewhere.killing_once, str(tmp_path / "calls"), 20, elsewhere.on_large_table)
        # dask's advice against large calls, an error in these tests, is followed already
        with pytest.importorskip("dask").config.set({"distributed.admin.large-graph-warning-threshold": "100kB"}):
            result = ocp.run(agent, table, 5, 35, rng=1, executor=executor, progress=False)
        assert_same(result, one_thread(elsewhere.on_large_table, table, 5, 35, rng=1))
        assert (tmp_path / "calls.killed").exists()
        assert len(sent) == 36 and sent[0] > 200_000 and max(sent[1:]) < 2000

    def test_what_waits_is_bounded(self, spawned):
        notes = Notes(spawned, 2)
        ocp.run(elsewhere.on_chain, ocp.Chain(20), 20, 1000, executor=notes, progress=False)
        assert len(notes.futures) > 30 and notes.most_at_once <= 6

    def test_agents_are_what_they_learned(self):
        """A kilobyte of arguments and generator, however large the class; then some tens of bytes for each fact."""
        for agent, system, most in [
            (ocp.OCP(ocp.TabulaRasa(20, 2, horizon=20), replay=True), ocp.Chain(20), 60),
            (elsewhere.on_pendulum(None), PENDULUM, 20),
            (ocp.QLearning(20, 2, 20), ocp.Chain(20), 20),
            (ocp.LSVI(ocp.TabulaRasa(20, 2, horizon=20)), ocp.Chain(20), 60),
        ]:
            assert len(pickle.dumps(agent)) < 2000
            [learned] = one_thread(agent, system, 100, rng=0, keep_agents=True).agents
            statistics = learned.statistics()
            facts = statistics.get("constraints", 0) + statistics.get("transitions", 0) + 100
            assert len(pickle.dumps(learned)) < 2000 + most * facts
        assert len(pickle.dumps(ocp.OCP(ocp.TabulaRasa(10_000, 10, horizon=100)))) < 2000

    def test_systems_are_their_arguments(self):
        numbers = {"A": np.eye(2), "B": np.eye(2), "state_cost": np.eye(2), "action_cost": np.eye(2)}
        for system, most in [
            (ocp.Chain(10_000), 150),
            (ocp.DeepSea(500, mapping_seed=3), 150),
            (ocp.InvertedPendulum(2.5), 200),
            (ocp.LinearQuadratic(**numbers, horizon=100, initial_state=[1.0, 2.0]), 600),
            (ocp.Adversary(100, 50, 1.0), 200),
            (TABLE, 30 * 3 * 16 + 30 * 8 + 500),
        ]:
            assert len(pickle.dumps(system)) < most

    def test_results_are_their_rewards(self):
        chain = one_thread(elsewhere.on_chain, ocp.Chain(20), 500, 10, rng=0)
        table = one_thread(elsewhere.on_table, TABLE, 50, 3, rng=0)
        assert chain.optimal is not None and len(pickle.dumps(chain)) < chain.rewards.nbytes + 500
        for result in (chain, table, ocp.Result([[1.0, 2.0]]), ocp.Result(np.empty((0, 3)), np.empty((0, 3)))):
            twin = pickle.loads(pickle.dumps(result))
            assert_same(twin, result)
            assert twin.rewards.flags.writeable and (twin.optimal is None or twin.optimal.flags.writeable)


def test_what_there_is_to_warn_of_is_said_once_and_here():
    """The workers here are threads of this process, in which every other warning is an error."""
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, None))
    with ThreadPoolExecutor(2) as threads, pytest.warns(UserWarning, match="suggest a goal") as warned:
        ocp.run(agent, ocp.Chain(5), 2, 40, executor=Notes(threads, 2), progress=False)
    assert len(warned) == 1


def test_how_wide_executors_are():
    from ocpfast.executors import available_cores, workers_of

    class Silent(Executor):
        pass

    with ThreadPoolExecutor(7) as executor:
        assert workers_of(executor) == 7
    assert workers_of(Notes(None, 5)) == 5
    assert workers_of(Silent()) == available_cores()


def test_dask_says_how_wide_it_is(dask):
    from ocpfast.executors import workers_of

    deadline = time.monotonic() + 60  # one may have been killed above, and be coming back
    while workers_of(dask.get_executor()) != 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers_of(dask.get_executor()) == 2


def importing_tests():
    return {**os.environ, "PYTHONPATH": str(TESTS)}


def write_script(folder, text):
    (folder / "script.py").write_text(textwrap.dedent(text))
    return "script.py"


def run_script(folder, text, *interpreter):
    """In a process of its own, with the tests importable; fails with all it said."""
    command = [*(interpreter or [sys.executable]), write_script(folder, text)]
    done = subprocess.run(
        command, cwd=folder, env=importing_tests(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
