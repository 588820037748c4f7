"""A plugin of pytest, `-p thinned --most-cases N`: of a test with many cases so many, evenly spread.

For runs in which compiled code is slow, and the other cases would go the same ways through it. Tables of errors stay
whole: each of their cases is a line of its own, and quick.
"""

ERRORS = {"message", "words"}  # what the parameters of such tables are called


def pytest_addoption(parser):
    parser.addoption("--most-cases", type=int, default=4, help="how many cases of one test to run")


def pytest_collection_modifyitems(config, items):
    most = config.getoption("--most-cases")
    of_test = {}
    for item in items:
        of_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = set()
    for cases in of_test.values():
        is_table = "[" in cases[0].nodeid and ERRORS & set(cases[0].callspec.params)
        n = len(cases) if is_table else min(most, len(cases))
        kept.update(cases[i * len(cases) // n] for i in range(n))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
