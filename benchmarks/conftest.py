"""Lines that benchmarks want printed: ratios measured within one run, where they mean most."""

import pytest

_LINES = pytest.StashKey[list[str]]()


def pytest_configure(config):
    config.stash[_LINES] = []


@pytest.fixture
def report(request):
    return request.config.stash[_LINES].append


def pytest_terminal_summary(terminalreporter, config):
    if config.stash[_LINES]:
        terminalreporter.section("ratios within this run")
        for line in config.stash[_LINES]:
            terminalreporter.write_line(line)
