"""The C++ side without Python: headers, the CMake package, the example, the generator, files that Python shares."""

import math
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import highspy
import numpy as np
import pytest
from commands import ROOT, call
from embedding import COMPILERS, EXAMPLES, INSTALLED, STRICT, build, cmake, compiler, default_compiler, install

import ocpfast as ocp

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="needs the source tree")

INCLUDE = Path(ocp.get_include())
HEADERS = sorted(
    path.relative_to(INCLUDE).as_posix() for kind in ("h", "hpp") for path in INCLUDE.glob(f"ocpfast/**/*.{kind}")
)
FLAGS = ["-std=c++17", *STRICT.split(), f"-I{INCLUDE}"]


def compile_text(text, *options, name=None, check=True):
    """Compiles a program that stands in a string."""
    command = [COMPILERS[name or default_compiler()], *FLAGS, "-x", "c++", "-", *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0 or not check, done.stderr
    return done


# ---- headers


def test_every_header_compiles_alone():
    assert len(HEADERS) > 70

    def says(header):
        return compile_text(f'#include "{header}"\n', "-fsyntax-only", check=False).stderr

    default_compiler()  # or skip, here and not in a thread
    with ThreadPoolExecutor(2) as pool:
        assert {header: text for header, text in zip(HEADERS, pool.map(says, HEADERS), strict=True) if text} == {}


@pytest.mark.parametrize("name", COMPILERS)
def test_all_headers_together_without_warnings(name):
    # those of HiGHS differ in how they find it; nothing else may
    text = "".join(f'#include "{header}"\n' for header in HEADERS)
    compile_text(text, "-fsyntax-only", name=compiler(name))


@pytest.mark.parametrize("header", [path for path in HEADERS if path.endswith(".h")])
@pytest.mark.parametrize("name", COMPILERS)
def test_c_headers_are_c(name, header):
    flags = ["-std=c99", *STRICT.split(), f"-I{INCLUDE}", "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(
        [compiler(name), *flags], input=f'#include "{header}"\n#include "{header}"\n', capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_classes_that_solve_nothing_know_nothing_of_highs():
    """Their headers include neither its table nor dlopen; linear classes need no dlopen either."""

    def included(header):
        lines = compile_text(f'#include "{header}"\n', "-M").stdout
        return {Path(word).name for word in lines.split()}

    for header in ("cells", "finite", "averages", "quadratic"):
        assert not included(f"ocpfast/hypothesis/{header}.hpp") & {"highs_api.hpp", "dlfcn.h"}
    assert not included("ocpfast/agent/ocp.hpp") & {"highs_api.hpp", "dlfcn.h"}
    for header in ("hypothesis/linear", "hypothesis/sparse", "description_json"):
        assert "dlfcn.h" not in included(f"ocpfast/{header}.hpp")


@pytest.mark.parametrize("name", COMPILERS)
def test_fast_math_is_refused(name):
    done = compile_text(
        '#include "ocpfast/agent/ocp.hpp"\n', "-fsyntax-only", "-ffast-math", name=compiler(name), check=False
    )
    assert "infinities are values here" in done.stderr


# ---- the CMake package and the example


def between_the_marks(text):
    [found] = re.findall(r"between the marks: (\S+) periods in the first 20 episodes, (\S+) in the last 20", text)
    return tuple(map(float, found))


class Tanks:
    """The system of the examples, in Python."""

    def __init__(self, episode):
        self.levels = [9 + 0.2 * (episode * 7 % 11)] * 2

    def step(self, action):
        first, second = self.levels
        inflow = 0.6 if action == 1 else 0.0
        for _ in range(10):
            between, out = 0.1 * math.sqrt(first), 0.1 * math.sqrt(second)
            first = max(first + 0.5 * (inflow - between), 0.0)
            second = max(second + 0.5 * (between - out), 0.0)
        self.levels = [first, second]
        return 8 < second < 12


def play(agent, episodes):
    """Plays in the tanks; the lengths of the episodes, and the hash of the actions that tanks_in_c prints."""
    lengths, code = [], 0xCBF29CE484222325
    for episode in episodes:
        tanks, ended, length = Tanks(episode), False, 0
        for period in range(500):
            action = agent.act(tanks.levels)
            code = (code ^ action) * 0x100000001B3 % 2**64
            inside = tanks.step(action)
            length += inside
            ended = agent.observe(tanks.levels, float(inside), terminated=not inside, truncated=period == 499)
            if ended:
                break
        lengths.append(length)
    return lengths, code


@pytest.fixture(scope="module")
def in_python():
    """The agent of the examples, after 400 episodes; what it did."""
    edges = [[first + (last - first) * i / 16 for i in range(17)] for first, last in ((4, 20), (8, 12))]
    cells = ocp.StateAggregation(ocp.Grid(edges), n_actions=2)
    agent = ocp.OCP(cells, replay=True, ties="random", rng=1)
    with pytest.warns(UserWarning, match="a time-homogeneous class without bounds"):  # the last reward is 0
        lengths, code = play(agent, range(400))
    return agent, lengths, code


def assert_same_agent(loaded, agent):
    assert loaded.hypothesis == agent.hypothesis
    assert loaded._core.state() == agent._core.state()
    assert loaded._rng.bit_generator.state == agent._rng.bit_generator.state


def run_tanks(program, folder, in_python):
    agent, lengths, _ = in_python
    text = call(program, "tanks.ocp", cwd=folder)
    assert between_the_marks(text) == (round(np.mean(lengths[:20]), 1), 500.0)
    assert f"simulation 0: {sum(lengths)} periods in all" in text
    assert f"constraints: {agent.n_constraints}\n" in text
    # what the program saved is Python's agent, to the last bit
    assert_same_agent(ocp.load_agent(folder / "tanks.ocp"), agent)
    assert os.listdir(folder).count("tanks.ocp") == 1 and not list(folder.glob("*.part*"))


@pytest.mark.parametrize("name", COMPILERS)
def test_the_example_against_the_installed_wheel(name, tmp_path, in_python):
    folder = build(EXAMPLES / "tanks", tmp_path, INSTALLED, name=compiler(name), languages=("CXX",))
    run_tanks(folder / "tanks", tmp_path, in_python)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The headers alone: nothing is compiled."""
    return install(tmp_path_factory.mktemp("prefix"), "-DOCPFAST_C=OFF")


SMALL = """
#include <cstdio>
#include <memory>
#include <ocpfast/agent/ocp.hpp>
#include <ocpfast/hypothesis/cells.hpp>

// a bandit of two arms; finite, with no linear programs about
int main() {
    auto partition = std::make_shared<ocp::Partition>(1, 2, 1);
    ocp::Ocp<ocp::Cells> agent(ocp::Cells(partition, ocp::Selection::all, 0, {}, false), {});
    for (int i = 0; i < 5; ++i) {
        const std::int64_t action = agent.act(0, nullptr);
        std::printf("%d", static_cast<int>(action));
        agent.observe(0, action == 0 ? 0.5 : 1.0, OCP_CONTINUES);
    }
}
"""


@pytest.mark.parametrize("where", ["a prefix that was moved", "one build with the source"])
def test_a_small_program(where, prefix, tmp_path):
    """Through the CMakeLists.txt of the example, with another main.cpp."""
    source = shutil.copytree(EXAMPLES / "tanks", tmp_path / "source")
    (source / "main.cpp").write_text(SMALL)
    moved = "prefix" in where
    option = f"-DCMAKE_PREFIX_PATH={prefix}" if moved else f"-DOCPFAST_SOURCE={ROOT / 'csrc'}"
    folder = build(source, tmp_path / "build", option, languages=("CXX",))
    assert call(folder / "tanks", cwd=tmp_path) == "01111"
    cache = (folder / "CMakeCache.txt").read_text()
    assert (f"ocpfast_DIR:PATH={prefix}/share/ocpfast/cmake" in cache) == moved
    assert str(ROOT) not in "".join(path.read_text() for path in prefix.glob("share/ocpfast/cmake/*"))


def find(tmp_path, request, *options, languages="CXX"):
    """What CMake says where a project asks for a package; nothing is compiled."""
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.16...3.31)\nproject(asks LANGUAGES {languages})\nfind_package({request})\n"
        'message(STATUS "version ${ocpfast_VERSION}")\n'
        "get_target_property(options ocpfast::ocpfast INTERFACE_COMPILE_OPTIONS)\n"
        'message(STATUS "options ${options}")\n'
    )
    try:
        return cmake("-S", ".", "-B", "build", *options, cwd=tmp_path)
    except AssertionError as error:
        return re.sub(r"\s+", " ", str(error))


@pytest.mark.parametrize("where", ["wheel", "prefix", "source"])
def test_versions(where, tmp_path, request):
    option = {"wheel": INSTALLED, "source": f"-Docpfast_DIR={ROOT / 'csrc' / 'cmake'}"}.get(where)
    if where == "prefix":
        option = f"-DCMAKE_PREFIX_PATH={request.getfixturevalue('prefix')}"
    major, minor, *_ = ocp.__version__.split(".")
    text = find(tmp_path, f"ocpfast {major}.{minor} REQUIRED", option)
    assert f"version {ocp.__version__}\n" in text
    assert "-ffp-contract=off" in text  # whoever links with it has the same bits
    assert f"version {ocp.__version__}\n" in find(tmp_path, f"ocpfast {ocp.__version__} EXACT REQUIRED", option)
    for wrong in (f"{major}.{int(minor) + 1}", f"{int(major) + 1}.0", f"{major}.{minor}.999"):
        text = find(tmp_path, f"ocpfast {wrong} REQUIRED", option)
        assert f'compatible with requested version "{wrong}"' in text, text


def test_components_that_are_not_there(tmp_path):
    text = find(tmp_path, "ocpfast REQUIRED COMPONENTS highs", INSTALLED, "-DCMAKE_DISABLE_FIND_PACKAGE_highs=ON")
    assert "HiGHS was not found as a CMake package: set highs_DIR" in text
    (tmp_path / "build" / "CMakeCache.txt").unlink()
    text = find(tmp_path, "ocpfast REQUIRED COMPONENTS c", INSTALLED, languages="C")
    assert "Its source needs C++: project(... LANGUAGES C CXX)" in text
    assert "component python is not there" in find(tmp_path, "ocpfast REQUIRED COMPONENTS python", INSTALLED)


# ---- HiGHS

LINEAR = """
#include <cstdio>
#include <memory>
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/hypothesis/linear.hpp"
#include "HEADER"

// two features that no state tells apart: what one action says bounds the other
int main(int, char** arguments) {
    (void)arguments;
    const ocp::HighsApi api = FIND;
    auto domain = std::make_shared<ocp::Partition>(3, 1, 1);
    auto rows = std::make_shared<ocp::DenseRows>(std::vector<double>{1, 0, 0, 1, 1, 1}, 2);
    const std::vector<ocp::PriorRow> box{{{1, 1}, 4, false}, {{1, -1}, 2, false}, {{-1, 0}, 0, false}};
    auto features = std::make_shared<ocp::Features>(domain, rows, 2, false, box);
    const ocp::Linear known(features, ocp::Selection::all, 0, {}, &api, {});
    std::printf("%.9f %.9f %.9f\\n", known.upper(0), known.lower(1), known.upper(2));
    return known.lp_statistics().solved > 0 ? 0 : 1;
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.16...3.31)
project(linear LANGUAGES CXX)
find_package(ocpfast REQUIRED COMPONENTS {components})
add_executable(linear linear.cpp)
target_link_libraries(linear PRIVATE {target})
"""

HIGHS = """
add_library(highs::highs SHARED IMPORTED)
set_target_properties(highs::highs PROPERTIES IMPORTED_LOCATION {library})
"""


def highs_library():
    [library] = sorted(Path(highspy.__file__).parent.glob("libhighs.so.?"))[:1] or [None]
    if library is None:
        pytest.skip("this highspy has no library to link with")
    return library


@pytest.mark.parametrize("how", ["linked", "loaded"])
def test_highs_by_the_linker_and_at_run_time(how, tmp_path):
    """The library inside highspy, through a package file such as HiGHS installs."""
    library = highs_library()
    header, find_it = (
        ("linked", "ocp::linked_highs()") if how == "linked" else ("library", "ocp::load_highs(arguments[1])")
    )
    program = LINEAR.replace("HEADER", f"ocpfast/lp/highs_{header}.hpp").replace("FIND", find_it)
    (tmp_path / "linear.cpp").write_text(program)
    target = "ocpfast::highs" if how == "linked" else "ocpfast::highs_at_run_time"
    components = "highs" if how == "linked" else ""
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(target=target, components=components))
    (tmp_path / "highsConfig.cmake").write_text(HIGHS.format(library=library))
    folder = build(tmp_path, tmp_path / "build", INSTALLED, f"-Dhighs_DIR={tmp_path}", languages=("CXX",))
    answers = list(map(float, call(folder / "linear", str(library), cwd=tmp_path).split()))
    # theta_0 + theta_1 <= 4, theta_0 - theta_1 <= 2, theta_0 >= 0
    np.testing.assert_allclose(answers, [3.0, -2.0, 4.0], atol=1e-6)


# ---- the generator

GENERATOR = """
#include <cstdio>
#include <cstdlib>
#include "ocpfast/pcg64.hpp"
int main(int n, char** arguments) {
    std::vector<std::uint32_t> key;
    for (int i = 2; i < n; ++i) key.push_back(static_cast<std::uint32_t>(std::strtoul(arguments[i], nullptr, 10)));
    ocp::Pcg64 generator(std::strtoull(arguments[1], nullptr, 10), key);
    const ocp_bitgen bitgen = generator.bitgen();
    for (int i = 0; i < 1000; ++i) {
        std::printf("%llu\\n", static_cast<unsigned long long>(bitgen.next_uint64(bitgen.state)));
        std::printf("%lu\\n", static_cast<unsigned long>(bitgen.next_uint32(bitgen.state)));
        std::printf("%a\\n", bitgen.next_double(bitgen.state));
    }
}
"""


@pytest.mark.parametrize("options", [[], ["-U__SIZEOF_INT128__"]], ids=["with __int128", "without"])
def test_the_generator_is_numpys(options, tmp_path):
    program = tmp_path / "generator"
    compile_text(GENERATOR, "-o", str(program), *options)
    for seed, key in [(0, ()), (1, ()), (2**32, ()), (2**64 - 1, ()), (7, (0, 3, 1)), (2**40, (5,)), (0, (0, 0, 0, 9))]:
        generator = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key))
        bits = generator.ctypes  # does not keep it alive
        lines = iter(call(program, str(seed), *map(str, key), cwd=tmp_path).split())
        for _ in range(1000):
            assert int(next(lines)) == bits.next_uint64(bits.state)
            assert int(next(lines)) == bits.next_uint32(bits.state)
            assert float.fromhex(next(lines)) == bits.next_double(bits.state)


def test_streams_of_run(tmp_path):
    """of_system and of_agent are what run() gives to a simulation."""
    program = tmp_path / "streams"
    text = GENERATOR.replace("ocp::Pcg64 generator(", "ocp::Pcg64 generator = key[0] == 0 ? ocp::Pcg64::of_system(")
    text = text.replace("nullptr, 10), key);", "nullptr, 10), 3) : ocp::Pcg64::of_agent(5, 3);")
    compile_text(text, "-o", str(program))
    for i, stream in enumerate(ocp.simulation_streams(5, simulations=4)[3]):
        first = call(program, "5", str(i), cwd=tmp_path).split()[0]
        assert int(first) == stream.bit_generator.random_raw()


# ---- files

FILES = """
#include <cstdio>
#include <exception>
#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/checkpoint.hpp"
#include "ocpfast/hypothesis/finite.hpp"
#include "ocpfast/hypothesis/cells.hpp"

// A class that C++ makes itself. `files go FROM TO` reads it from FROM, plays one period, and writes to TO; `files make
// TO` writes a new one.
int main(int n, char** arguments) {
    try {
        const std::string what = arguments[1];
        auto partition = std::make_shared<ocp::Partition>(5, 2, 5);
        ocp::Ocp<ocp::Cells> agent(ocp::Cells(partition, ocp::Selection::all, 0, {}, false), {});
        ocp::Pcg64 generator(3);
        if (what == "make") {
            agent.act(1, nullptr);
            agent.observe(2, 0.5, OCP_CONTINUES);
            ocp::save_agent(arguments[2], agent, generator);
            ocp::load_agent(arguments[2], agent, generator);
            return agent.period() == 1 ? 0 : 1;
        }
        ocp::Checkpoint checkpoint = ocp::Checkpoint::read(arguments[2]);
        checkpoint.restore(agent);
        generator = checkpoint.generator();
        const std::int64_t action = agent.act(4, nullptr);
        agent.observe(4, 1.0, OCP_CONTINUES);
        std::printf("%d\\n", static_cast<int>(action));
        generator.next_uint32();
        checkpoint.keep(agent);
        checkpoint.set_generator(generator);
        checkpoint.write(arguments[n - 1]);
        return 0;
    } catch (const std::exception& error) {
        std::printf("%s\\n", error.what());
        return 3;
    }
}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    program = tmp_path_factory.mktemp("files") / "files"
    compile_text(FILES, "-o", str(program))

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
        return done.stdout.strip()

    return run


def trained():
    agent = ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5), rng=3)
    chain = ocp.Chain(5)
    for _ in range(7):
        state, ended = chain.reset(), False
        while not ended:
            state, reward, _ = chain.step(state, agent.act(state))
            ended = agent.observe(state, reward)
    agent.act(0)
    agent.observe(0, 0.0)
    return agent


def test_there_and_back(files, tmp_path):
    """Python saves in the middle of an episode, C++ goes on and saves, Python goes on: as one agent that never left."""
    agent = trained()
    agent.save(tmp_path / "there.ocp")
    action = files("go", tmp_path / "there.ocp", tmp_path / "back.ocp")
    assert int(action) == agent.act(4)
    agent.observe(4, 1.0)
    bits = agent._rng.bit_generator.ctypes
    bits.next_uint32(bits.state)
    back = ocp.load_agent(tmp_path / "back.ocp")
    assert_same_agent(back, agent)
    assert back.act(4) == agent.act(4)


def test_a_file_without_a_description_needs_the_class(files, tmp_path):
    assert files("make", tmp_path / "own.ocp") == ""
    with pytest.raises(
        ValueError, match="hypothesis: expected the class that the agent was saved with, OCP on cells in"
    ):
        ocp.load_agent(tmp_path / "own.ocp")
    loaded = ocp.load_agent(tmp_path / "own.ocp", hypothesis=ocp.TabulaRasa(5, 2, horizon=5))
    assert loaded.period == 1 and loaded._rng.bit_generator.state == np.random.PCG64(3).state


def test_files_that_are_wrong(files, tmp_path):
    path = tmp_path / "agent.ocp"
    agent = trained()
    agent.save(path)
    content = path.read_bytes()
    said = {}
    for name, wrong in {
        "nothing": b"",
        "text": b"not a checkpoint, but long enough to be one",
        "short": content[:20],
        "cut": content[:-1],
        "flipped": content[:60] + bytes([content[60] ^ 1]) + content[61:],
        "newer": content[:8] + b"\x63" + content[9:],
    }.items():
        (tmp_path / name).write_bytes(wrong)
        said[name] = files("go", tmp_path / name, path)
    assert path.read_bytes() == content
    assert said["nothing"] == said["text"] == "expected a checkpoint that Agent.save wrote, got something else"
    assert said["short"] == "damaged: it ends too early"
    assert said["cut"] == f"damaged: expected {len(content)} bytes, got {len(content) - 1}"
    assert said["flipped"] == "damaged: its checksum is wrong"
    assert said["newer"] == "expected a checkpoint of version 1, got version 99"
    assert "No such file" in files("go", tmp_path / "missing", path)
    assert "missing" in files("go", path, tmp_path / "missing" / "agent.ocp")
    other = ocp.OCP(ocp.TabulaRasa(6, 2, horizon=5))
    other.save(path)
    assert files("go", path, path) == "made for a class of another size"
    ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5), rng=np.random.Philox(3)).save(path)
    assert files("go", path, path) == "expected the generator PCG64, got Philox"
    ocp.OCP(ocp.TabulaRasa(5, 2, horizon=5), ties="random").save(path)
    assert files("go", path, path) == "made for another ties"
