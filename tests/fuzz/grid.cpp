// Grid labels beside a literal search: scalar and side by side, for any doubles and any edges.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "input.hpp"
#include "ocpfast/hypothesis/grid.hpp"
#include "ocpfast/lanes.hpp"

namespace {

using fuzz::check;
using fuzz::Input;

constexpr double most = std::numeric_limits<double>::max();

// Finite and strictly increasing, as Grid's callers see to: uniform as numpy.linspace makes them, uniform but for some
// rounding, or any.
std::vector<double> edges_from(Input& input) {
    std::vector<double> edges;
    const std::int64_t kind = input.below(4), n = input.below(12);
    if (kind == 3) {
        for (std::int64_t i = 0; i < n; ++i) edges.push_back(input.real());
    } else {
        const double first = input.real(), last = input.real();
        for (std::int64_t i = 0; i < n; ++i) {
            const double share = static_cast<double>(i) / static_cast<double>(std::max<std::int64_t>(n - 1, 1));
            edges.push_back(first + (last - first) * share);
        }
        // off by up to twice of what still counts as uniform
        const double width = n > 1 ? edges[1] - edges[0] : 0;
        for (double& edge : edges) {
            if (kind == 1) edge += width * 1e-6 * static_cast<double>(input.below(5) - 2);
            if (kind == 2 && input.below(4) == 0) edge = std::nextafter(edge, input.flag() ? most : -most);
        }
    }
    edges.erase(std::remove_if(edges.begin(), edges.end(), [](double edge) { return !std::isfinite(edge); }),
                edges.end());
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
}

// Any number, or one on an edge or beside it.
double value_from(Input& input, const std::vector<double>& edges) {
    const std::int64_t kind = input.below(8);
    if (kind == 7) return std::numeric_limits<double>::quiet_NaN();
    if (kind >= 5 || edges.empty()) return input.real();
    const double edge = edges[static_cast<std::size_t>(input.below(static_cast<std::int64_t>(edges.size())))];
    switch (kind) {
        case 0:
            return edge;
        case 1:
            return std::nextafter(edge, most);
        case 2:
            return std::nextafter(edge, -most);
        default:  // about as far as a guess may be wrong
            return edge +
                   (edges.size() > 1 ? edges[1] - edges[0] : 1) * 1e-6 * static_cast<double>(input.below(41) - 20);
    }
}

std::int64_t literal_label(const std::vector<std::vector<double>>& edges, std::int64_t extra, const double* state) {
    std::int64_t cell = 0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (std::isnan(state[i])) return extra > 0 ? 0 : ocp::Grid::no_label;
        std::int64_t bin = 0;
        for (const double edge : edges[i]) bin += edge <= state[i];
        cell = cell * (static_cast<std::int64_t>(edges[i].size()) + 1) + bin;
    }
    return extra + cell;
}

std::vector<ocp::Instructions> instruction_sets() {
    std::vector<ocp::Instructions> sets{ocp::Instructions::scalar};
    while (sets.back() != ocp::best_instructions()) {
        sets.push_back(static_cast<ocp::Instructions>(static_cast<int>(sets.back()) + 1));
    }
    return sets;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    const std::int64_t extra = input.below(3);
    std::vector<std::vector<double>> edges;
    for (std::int64_t i = 0, n = 1 + input.below(3); i < n; ++i) edges.push_back(edges_from(input));
    const ocp::Grid grid(std::vector<ocp::Bins>(edges.begin(), edges.end()), extra);
    std::int64_t n_labels = 1;
    for (const std::vector<double>& one : edges) n_labels *= static_cast<std::int64_t>(one.size()) + 1;
    check(grid.n_labels() == extra + n_labels, "the number of labels");

    // number i of state k in states[i * n + k], as lanes have them
    const std::int64_t n = 1 + input.below(21);
    std::vector<double> states(static_cast<std::size_t>(n) * edges.size());
    std::vector<std::int64_t> expected;
    for (std::int64_t k = 0; k < n; ++k) {
        std::vector<double> state;
        for (std::size_t i = 0; i < edges.size(); ++i) {
            state.push_back(value_from(input, edges[i]));
            states[i * static_cast<std::size_t>(n) + static_cast<std::size_t>(k)] = state.back();
        }
        expected.push_back(literal_label(edges, extra, state.data()));
        check(grid.label(state.data()) == expected.back(), "a label");
    }
    static const std::vector<ocp::Instructions> sets = instruction_sets();
    std::vector<std::int64_t> first;
    for (const ocp::Instructions instructions : sets) {
        std::vector<std::int64_t> labels(expected.size());
        grid.guess_labels(n, states.data(), labels.data(), instructions);
        for (std::size_t k = 0; k < labels.size(); ++k) {
            check(labels[k] == ocp::Grid::unsure || labels[k] == expected[k], "a guessed label");
        }
        if (first.empty()) first = labels;
        check(labels == first, "instruction sets disagree about what they are sure of");
    }
    return 0;
}
