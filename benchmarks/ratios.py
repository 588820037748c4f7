"""What `python -m benchmarks` prints and draws, from the JSON that pytest-benchmark writes.

A benchmark that takes part says so in its `extra_info`: `who` ("ocpfast", which the others of its group are compared
with, or a peer), and that one round does `per` times what `unit` calls it. A benchmark of growth gives `growth`, what
is varied, and `size`.
"""

import numpy as np

OURS = "ocpfast"


def seconds(benchmark):
    """The best round, per unit: what other programs on the machine disturb least."""
    return benchmark["stats"]["min"] / benchmark["extra_info"].get("per", 1)


def ratios(benchmarks):
    """Rows (job, unit, seconds of ocpfast, peer, seconds of the peer, their ratio), in the order of the files."""
    ours = {b["group"]: seconds(b) for b in benchmarks if b["extra_info"].get("who") == OURS}
    rows = []
    for group, mine in ours.items():
        for b in benchmarks:
            who = b["extra_info"].get("who", OURS)
            if b["group"] == group and who != OURS:
                rows.append((group, b["extra_info"].get("unit", "all"), mine, who, seconds(b), seconds(b) / mine))
        if all(row[0] != group for row in rows):
            [unit] = {b["extra_info"].get("unit", "all") for b in benchmarks if b["group"] == group}
            rows.append((group, unit, mine, None, None, None))
    return rows


def duration(s):
    """Three digits and a unit."""
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms"), (1, "s")):
        if s * factor < 999.5 or unit == "s":
            break
    value = s * factor
    digits = 0 if value >= 99.5 else 1 if value >= 9.95 else 2
    return f"{value:.{digits}f} {unit}"


def times(ratio):
    return f"{ratio:,.0f} ×" if ratio >= 9.95 else f"{ratio:.1f} ×"


def markdown(rows):
    """The table of ratios."""
    lines = ["| job | each | ocpfast | peer | its time | ratio |", "|---|---|--:|---|--:|--:|"]
    previous = None
    for job, unit, mine, peer, other, ratio in rows:
        start = f"| {job} | {unit} | {duration(mine)} " if job != previous else "| | | "
        rest = f"| {peer} | {duration(other)} | {times(ratio)} |" if peer else "| | | |"
        lines.append(start + rest)
        previous = job
    return "\n".join(lines)


def growth(benchmarks):
    """What is varied -> (sizes, seconds), sorted by size."""
    found = {}
    for b in benchmarks:
        if "growth" in b["extra_info"]:
            found.setdefault(b["extra_info"]["growth"], []).append((b["extra_info"]["size"], seconds(b)))
    return {
        name: tuple(np.array(column) for column in zip(*sorted(points), strict=True)) for name, points in found.items()
    }


def slope(sizes, taken):
    """The exponent of the power law that fits best: least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])


def growth_lines(curves):
    """One line for each curve, with the fitted exponent."""
    for name, (sizes, taken) in curves.items():
        if len(sizes) > 1:
            measured = ", ".join(f"{duration(t)} at {s:,}" for s, t in zip(sizes, taken, strict=True))
            yield f"time ~ ({name})^{slope(sizes, taken):.2f}: {measured}"


def plot(rows, curves, path):
    """Ratios as bars, growth as lines; readable in grey."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in rows if row[3] and not row[3].startswith(OURS)]
    height = max(5.0, 0.9 + 0.36 * len(rows))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, height), gridspec_kw={"width_ratios": (3, 2)}, layout="constrained"
    )
    jobs = list(dict.fromkeys(row[0] for row in rows))
    shades = ["0.25", "0.6"]  # jobs take turns
    for i, (job, _, _, _, _, ratio) in enumerate(rows):
        left.barh(i, ratio - 1, left=1, color=shades[jobs.index(job) % 2])
        left.annotate(times(ratio), (ratio, i), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    left.set_yticks(range(len(rows)), [f"{row[0]}:  {row[3]}" for row in rows], fontsize=8)
    left.invert_yaxis()
    left.set_xscale("log")
    left.set_xlim(0.5, 8 * max(row[5] for row in rows))
    left.axvline(1, color="black", linewidth=1)
    left.set_xlabel("times as long as ocpfast")
    styles = ["o-", "s--", "^-.", "v:", "D-", "P--", "x-."]
    for style, (name, (sizes, taken)) in zip(styles, curves.items(), strict=False):
        if len(sizes) > 1:
            label = f"{name}: exponent {slope(sizes, taken):.2f}"
            right.plot(sizes / sizes[0], taken / taken[0], style, color="0.2", label=label, markersize=5)
    right.set_xscale("log", base=2)
    right.set_yscale("log", base=2)
    right.set_xlabel("size, relative to the smallest")
    right.set_ylabel("time, relative to the smallest")
    figure.legend(fontsize=8, loc="outside lower right", ncols=2)
    right.grid(color="0.9")
    figure.savefig(path, dpi=110)
    plt.close(figure)
