"""`python -m benchmarks`: the table of ratios and the plot that the README shows, in about two minutes.

It runs the benchmarks that are marked `ratios`; peers that are not installed (`pip install '.[bench]'`) are left out.
`--json FILE` makes table and plot from a file that `pytest benchmarks --benchmark-json FILE` wrote, instead. `--readme`
puts the table into the README.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="results of pytest-benchmark; by default they are measured now")
    parser.add_argument("--plot", type=Path, default=HERE / "speed.png", help="where the plot goes")
    parser.add_argument("--readme", action="store_true", help="put the table into the README as well")
    options = parser.parse_args()
    # the installed package is what is measured, never the source folder beside this one
    sys.path[:] = [str(HERE), *(p for p in sys.path if Path(p).resolve() != HERE.parent)]
    import pytest
    from ratios import growth, growth_lines, markdown, plot, ratios

    with tempfile.TemporaryDirectory() as folder:
        results = options.json or Path(folder, "results.json")
        if options.json is None:
            # Processor time, which other programs disturb less than the clock; benchmarks of threads use the clock.
            arguments = ["-m", "ratios", "-q", "--benchmark-only", "--benchmark-timer=time.process_time"]
            arguments += ["--benchmark-quiet", f"--benchmark-json={results}"]
            code = pytest.main([str(HERE), "--rootdir", str(HERE.parent), *arguments])
            if code != 0:
                return int(code)
        benchmarks = json.loads(results.read_text())["benchmarks"]
    rows, curves = ratios(benchmarks), growth(benchmarks)
    if options.json:  # else the run has printed them
        print(*growth_lines(curves), "", sep="\n")
    print(markdown(rows))
    plot(rows, curves, options.plot)
    if options.readme:
        put_into_readme(markdown(rows))
    return 0


def put_into_readme(table):
    """Replace what stands between the marks."""
    readme, marks = HERE.parent / "README.md", ("<!-- ratios -->\n", "<!-- end of ratios -->\n")
    text = readme.read_text(encoding="utf-8")
    before, _, rest = text.partition(marks[0])
    _, found, after = rest.partition(marks[1])
    if not found:
        raise SystemExit(f"README.md: expected the lines {' and '.join(map(str.strip, marks))}")
    readme.write_text(f"{before}{marks[0]}{table}\n{marks[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
