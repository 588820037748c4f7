"""What benchmarks want printed: ratios measured within one run, where they mean most, and how time grows with size."""

import pytest
from ratios import growth, growth_lines

_LINES = pytest.StashKey[list[str]]()
_GROWTH = pytest.StashKey[list[dict]]()


def pytest_configure(config):
    config.stash[_LINES] = []
    config.stash[_GROWTH] = []
    config.addinivalue_line("markers", "ratios: part of the table that `python -m benchmarks` prints")


@pytest.fixture
def report(request):
    return request.config.stash[_LINES].append


@pytest.fixture
def grows(request, benchmark):
    """Times a function at some size of what is varied, for the fit of all sizes; returns what the function returned."""

    def measure(what, size, function, *arguments, rounds=15, per=1, **keywords):
        benchmark.group = f"growth: {what}"
        benchmark.extra_info.update(growth=what, size=size, per=per)
        result = benchmark.pedantic(function, arguments, keywords, rounds=1 if benchmark.disabled else rounds)
        if not benchmark.disabled:
            stats = {"min": benchmark.stats.stats.min}
            request.config.stash[_GROWTH].append({"stats": stats, "extra_info": dict(benchmark.extra_info)})
        return result

    return measure


def pytest_terminal_summary(terminalreporter, config):
    lines = config.stash[_LINES] + list(growth_lines(growth(config.stash[_GROWTH])))
    if lines:
        terminalreporter.section("ratios within this run")
        for line in lines:
            terminalreporter.write_line(line)
