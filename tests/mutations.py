"""Break the kernels in many places, one at a time: does the suite notice?

    python tests/mutations.py FOLDER            # builds there once (minutes), then tries every mutation
    python tests/mutations.py FOLDER 3 17       # only these; an earlier build in FOLDER is used again

All mutations are compiled into one build, and OCPFAST_MUTATION chooses the one that is alive. Each is tried with the
test files that should notice it, which must pass with none alive. Not a test itself, as it takes half an hour.
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADERS = "csrc/include/ocpfast/"

SWITCH = """#pragma once
#include <cstdlib>
namespace ocp {
inline bool mutated(int number) {
    static const char* const given = std::getenv("OCPFAST_MUTATION");
    static const int alive = given == nullptr ? 0 : std::atoi(given);
    return alive == number;
}
}  // namespace ocp
"""

# What stands in a header (after "¦", where something before it tells which), what it becomes, and which tests should
# see that. An expression becomes an expression; what ends with ";" is a statement, and becomes another or nothing.
MUTATIONS = [
    # the priority of constraints, and Algorithm 1
    ("constraint.hpp", "a.upper < b.upper", "a.upper > b.upper", "store"),
    ("constraint.hpp", "a.sequence > b.sequence", "a.sequence < b.sequence", "store"),
    ("store.hpp", "if (was_kept && n_rejected_ > 0) walk_again(position);", "", "store linear_store"),
    ("store.hpp", "reconsider_from(later[fits] + 2);", "", "store"),
    (
        "store.hpp",
        "observed_.front().first < episode_ - window_",
        "observed_.front().first <= episode_ - window_",
        "linear",
    ),
    (
        "store.hpp",
        "n_contradictions_ += selection_ == Selection::eluder && constraint.lower == constraint.upper;",
        "",
        "linear linear_chain certificate",
    ),
    ("store.hpp", "if (contains(constraint.sequence)) {\n                ¦enter(constraint, owner);", "", "highs"),
    ("store.hpp", "if (contains(older)) take_out(older);", "", "highs"),
    # aggregation
    ("hypothesis/cells.hpp", "other > upper", "other >= upper", "ocp_reference"),
    ("hypothesis/cells.hpp", "if (join(staged.cell, staged.estimate)) changed(staged.cell);", "", "ocp_reference"),
    ("hypothesis/cells.hpp", "equal & estimate.determined & !determined", "false", "ocp_reference"),
    ("hypothesis/cells.hpp", "if (!close(estimate.upper, low)) return false;", "", "ocp_reference"),
    ("hypothesis/cells.hpp", "if (!estimate.determined) return false;", "", "ocp_reference"),
    (
        "hypothesis/cells.hpp",
        "lowers_[at(cell)].largest_up_to(upper(cell))",
        "lowers_[at(cell)].largest_up_to(infinity)",
        "ocp_reference",
    ),
    (
        "hypothesis/cells.hpp",
        "observed_.front().episode < episode_ - window_",
        "observed_.front().episode <= episode_ - window_",
        "ocp_reference",
    ),
    (
        "hypothesis/grid.hpp",
        "value < bounds_[static_cast<std::size_t>(bin) + 1]",
        "value <= bounds_[static_cast<std::size_t>(bin) + 1]",
        "hypothesis fuzz",
    ),
    # Algorithm 2
    ("agent/ocp.hpp", "return {lower, reward + ¦options_.discount * best_.upper", "best_.upper", "ocp_reference"),
    (
        "agent/ocp.hpp",
        "const bool terminal = ¦ending == OCP_TERMINATED || last",
        "ending != OCP_CONTINUES || last",
        "ocp_reference agents",
    ),
    ("agent/ocp.hpp", "visits < fewest", "visits <= fewest", "ocp_reference"),
    ("agent/ocp.hpp", "skip-- == 0", "skip-- <= 0", "agents"),
    ("agent/ocp.hpp", "no_holder;\n        if (¦!options_.immediate", "false", "ocp_reference"),
    ("agent/ocp.hpp", "changed_here);\n            ¦revisit();", "", "linear linear_chain theorems"),
    # replay and directed exploration
    ("agent/transitions.hpp", "if (smaller) edge.reward = reward;", "", "ocp_reference"),
    (
        "agent/replay.hpp",
        "if (known.join(index, estimate, holder(e, layer))) touch(known, index);",
        "known.join(index, estimate, holder(e, layer));",
        "ocp_reference",
    ),
    ("agent/replay.hpp", "stationary_ && !fresh_[0].empty()", "false", "ocp_reference"),
    ("agent/replay.hpp", "edge.reward + discount_ * value.upper", "edge.reward + value.upper", "ocp_reference"),
    ("agent/directed.hpp", "known.ties(index, upper) && known.is_new(index)", "known.is_new(index)", "finite"),
    ("agent/directed.hpp", "if (best.determined) continue;", "", "ocp_reference"),
    # linear classes
    ("hypothesis/basis.hpp", "pass < 2", "pass < 1", "core_program"),
    ("hypothesis/linear_block.hpp", "independent = false;", "", "linear linear_store"),
    (
        "hypothesis/linear_block.hpp",
        "c.lower == c.upper && !pinned(c.index)",
        "c.lower == c.upper",
        "linear_store",
    ),
    (
        "lp/independent_rows.hpp",
        "std::min(one, other) > lower.value",
        "std::min(one, other) > -infinity",
        "linear_store linear",
    ),
    ("lp/independent_rows.hpp", "first_[k] * second_[k] < 0", "false", "linear_store linear"),
    ("hypothesis/pins.hpp", "if (standing == Standing::uncertain) take_place(phi, value);", "", "core_program"),
    (
        "hypothesis/pins.hpp",
        "reduced.scale <= tolerances_.span * added_ || reduced.scale > 1e-6 * own_length",
        "true",
        "edges_linear",
    ),
    ("hypothesis/members.hpp", "!(inside <= before / 2)", "before < infinity", "edges_linear"),
    ("hypothesis/proof.hpp", "multiplier > 0 ? row.upper : row.lower", "row.upper", "linear_store"),
    ("hypothesis/linear_block.hpp", "value = std::min(most, higher(value, proven(scale)));", "", "edges_linear"),
    # finite, quadratic, sparse and sigmoid classes
    ("hypothesis/survivors.hpp", "kept.admitted.contains(column[hypothesis])", "true", "finite"),
    (
        "hypothesis/survivors.hpp",
        "other.admitted.lower >= gone.admitted.lower",
        "other.admitted.lower <= gone.admitted.lower",
        "finite",
    ),
    (
        "hypothesis/quadratic_block.hpp",
        "value += slope_[i] * action[i];",
        "value -= slope_[i] * action[i];",
        "quadratic",
    ),
    ("hypothesis/quadratic_block.hpp", "number % 2 == 1 ? scale : -scale", "scale", "quadratic"),
    ("hypothesis/sparse_block.hpp", "changed |= change != Change::none;", "", "sparse"),
    ("hypothesis/sparse_block.hpp", "difference > slack(value) + size * error_[k]", "false", "sparse"),
    ("hypothesis/sigmoid.hpp", "std::min(std::max(reward, clip_), 1 - clip_)", "std::max(reward, clip_)", "sigmoid"),
    # baselines
    ("agent/q_learning.hpp", "learning_rate_ == 1 || std::isinf(value)", "learning_rate_ == 1", "q_learning"),
    ("hypothesis/averages.hpp", "rewards.value()", "(1.001 * rewards.value())", "lsvi"),
    # systems, running, solving
    ("system/adversary.hpp", "even ? less : more", "even ? more : less", "adversary"),
    (
        "system/pendulum.hpp",
        "2.0 * bitgen->next_double(bitgen->state) - 1.0",
        "2.0 * bitgen->next_double(bitgen->state) - 1.1",
        "pendulum lanes",
    ),
    ("run.hpp", "ending = OCP_TRUNCATED;", "ending = OCP_TERMINATED;", "running agents ocp_reference"),
    ("glide.inl", "redundant & payable & in_time", "payable & in_time", "lanes"),
    ("compensated_sum.inl", "lost += (sum - (total - added)) + (term - added);", "", "running pendulum lanes"),
    ("solve.hpp", "to == nowhere ? 0.0 : v_later[to]", "v_later[to == nowhere ? 0 : to]", "solving"),
    # files
    (
        "store.hpp",
        'a.require(hypotheses_.n_held() == entries_.size() - n_rejected_, "the number of constraints");',
        "",
        "saving_damaged",
    ),
    ("agent/ocp.hpp", "a.require_index(best_.action, 0, n_actions_);", "", "saving_damaged"),
    # nearly dependent features, again
    ("hypothesis/pins.hpp", "1e-12 * added_ * length(coordinates_.data(), size())", "0.0", "core_program"),
    ("hypothesis/proof.hpp", "if (std::isinf(end)) return;", "", "core_program"),
    ("hypothesis/linear_block.hpp", "!reduced_.in_span", "true", "edges_linear"),
    ("hypothesis/linear_block.hpp", ": ¦standing == Standing::uncertain", "false", "edges_linear"),
    ("agent/marks.hpp", "std::fill(round_of_.begin(), round_of_.end(), Round{0});", "", "core_program"),
    ("hypothesis/sparse_program.hpp", "highs.run() < 0", "(highs.run(), false)", "highs"),
    ("store.hpp", "possible(constraint)) {\n            ¦disprove(constraint);", "", "edges_linear"),
    ("hypothesis/states.hpp", "std::abs(row[k]) <= largest_feature", "std::isfinite(given)", "features"),
    ("lp/highs_model.hpp", "api_->reset_scheduler(1);", "", "highs"),
]


def mutate(text: str, number: int, original: str, mutated: str) -> str:
    """Return a header with a switch between both."""
    before, _, original = original.rpartition("¦")
    if before + original not in text:
        raise SystemExit(f"mutation {number}: {original!r} is not there any more")
    alive = f"::ocp::mutated({number})"
    if original.endswith(";"):
        both = f"if ({alive}) {{ {mutated} }} else {{ {original} }}"
    else:
        both = f"({alive} ? ({mutated}) : ({original}))"
    return text.replace(before + original, before + both, 1)


def build(folder: Path) -> None:
    """Copy what is committed, with all mutations in it, and install that."""
    source = folder / "source"
    subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    (source / HEADERS / "mutated.hpp").write_text(SWITCH)
    for number, (name, original, mutated, _) in enumerate(MUTATIONS, 1):
        header = source / HEADERS / name
        text = header.read_text()
        if "mutated.hpp" not in text:
            first = "#pragma once\n" if "#pragma once\n" in text else ""
            text = text.replace(first, first + '#include "ocpfast/mutated.hpp"\n', 1)
        header.write_text(mutate(text, number, original, mutated))
    venv.create(folder / "venv", with_pip=True)
    subprocess.run([folder / "venv/bin/pip", "install", "--quiet", f"{source}[test]"], check=True)


def noticed_by(folder: Path, number: int, tests: str) -> str:
    """Return the first test that fails while a mutation is alive; nothing where none does."""
    for name in tests.split():
        command = [
            folder / "venv/bin/pytest",
            "-q",
            "-x",
            "--no-header",
            "-p",
            "no:cacheprovider",
            f"tests/test_{name}.py",
        ]
        try:
            done = subprocess.run(
                command, cwd=folder / "source", env={**os.environ, "OCPFAST_MUTATION": str(number)}, text=True,
                capture_output=True, timeout=900,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"test_{name}.py, which does not end"
        if done.returncode != 0:
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return failed[0].split(" - ")[0].removeprefix("FAILED ") if failed else f"test_{name}.py, which crashes"
    return ""


def main() -> int:
    """Try the mutations; the number of those that nothing noticed."""
    parser = argparse.ArgumentParser(description="Break the kernels one place at a time: does the suite notice?")
    parser.add_argument("folder", type=Path)
    parser.add_argument("numbers", type=int, nargs="*", help="of mutations, 1 being the first; all if none is given")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    if not (folder / "venv").exists():
        build(folder)
    numbers = arguments.numbers or range(1, len(MUTATIONS) + 1)
    every = " ".join(sorted({name for number in numbers for name in MUTATIONS[number - 1][3].split()}))
    if noticed := noticed_by(folder, 0, every):
        raise SystemExit(f"without any mutation: {noticed}")
    survivors = 0
    for number in numbers:
        name, original, mutated, tests = MUTATIONS[number - 1]
        noticed = noticed_by(folder, number, tests)
        survivors += not noticed
        change = f"{original.rpartition('¦')[2]} -> {mutated or 'nothing'}"
        print(f"{number:3} {name}: {change}: {noticed or 'NOT NOTICED'}", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(main())
