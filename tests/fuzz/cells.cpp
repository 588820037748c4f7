// The closed form of state aggregation beside a literal walk of Algorithm 1 in each cell.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "input.hpp"
#include "ocpfast/archive.hpp"
#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/cells.hpp"
#include "ocpfast/hypothesis/partition.hpp"

namespace {

using fuzz::check;
using fuzz::Input;
using ocp::Estimate;
using ocp::Selection;

struct Options {
    Selection selection;
    std::int64_t window;
    ocp::PriorBounds bounds;
    bool track_lower, by_holder;
    bool exact() const { return selection == Selection::first || selection == Selection::eluder; }
};

// All constraints on one cell that Algorithm 1 would walk, and what it makes of them.
class LiteralCell {
public:
    explicit LiteralCell(const Options& options) : options_(options) {}

    void join(const Estimate& estimate, std::int64_t holder, std::int64_t episode) {
        if (estimate.upper < low() || estimate.lower > high()) return;  // empty against the prior alone
        if (options_.exact()) {
            // of constraints with L = U the first one stays
            if (estimate.determined && constraints_.empty()) constraints_.push_back({estimate, holder, episode});
            return;
        }
        if (holder >= 0) {
            for (Joined& one : constraints_) {
                if (one.holder == holder) {
                    one.estimate = estimate;
                    return;
                }
            }
        }
        constraints_.push_back({estimate, holder, episode});
    }
    void forget_before(std::int64_t episode) {
        std::vector<Joined> left;
        for (const Joined& one : constraints_) {
            if (one.episode >= episode) left.push_back(one);
        }
        constraints_ = std::move(left);
    }

    void compare(const ocp::Cells& cells, std::int64_t cell) const {
        std::vector<Estimate> order;
        for (const Joined& one : constraints_) order.push_back(one.estimate);
        std::stable_sort(order.begin(), order.end(),
                         [](const Estimate& a, const Estimate& b) { return a.upper < b.upper; });
        double lower = low(), upper = high();
        for (const Estimate& one : order) {
            if (std::max(lower, one.lower) > std::min(upper, one.upper)) continue;
            lower = std::max(lower, one.lower);
            upper = std::min(upper, one.upper);
        }
        // its upper value is what one of them says, that rests on what was observed alone
        const bool determined = std::any_of(order.begin(), order.end(),
                                            [&](const Estimate& one) { return one.upper == upper && one.determined; });
        check(cells.upper(cell) == upper, "an upper value");
        check(cells.determined(cell) == determined, "determined");
        if (cells.knows_lower()) check(cells.lower(cell) == lower, "a lower value");
    }

private:
    struct Joined {
        Estimate estimate;
        std::int64_t holder, episode;
    };
    double low() const { return options_.bounds.lower[0]; }
    double high() const { return options_.bounds.upper[0]; }

    const Options& options_;
    std::vector<Joined> constraints_;
};

// Numbers that are equal or clearly not: what misses the prior by rounding is moved onto it.
double number_from(Input& input) {
    const std::uint8_t choice = input.byte();
    if (choice < 200) return static_cast<double>(choice % 12 - 6) / 2;
    constexpr double large[] = {ocp::infinity, -ocp::infinity, 1e308, -1e308, -0.0, 1e100, -1e100};
    return large[choice % 7];
}

Estimate estimate_from(Input& input, const Options& options, double most) {
    Estimate estimate{number_from(input), std::min(number_from(input), most), false};
    const bool bounded = options.bounds.upper[0] < ocp::infinity;
    estimate.determined = estimate.upper < ocp::infinity && (!bounded || input.flag());
    if (estimate.upper == -ocp::infinity) estimate.upper = most == -ocp::infinity ? -1e308 : std::min(0.0, most);
    // by induction, see Cells::exact_by_itself
    if (options.exact() && estimate.determined) estimate.lower = estimate.upper;
    if (estimate.lower > estimate.upper) estimate.lower = estimate.upper;
    return estimate;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Options options{static_cast<Selection>(input.below(4)), 1 + input.below(3), {}, input.flag(), false};
    if (input.flag()) options.bounds.lower[0] = -2.5;
    if (input.flag()) options.bounds.upper[0] = 1.5;
    // stored transitions replace what they said; not with a window
    options.by_holder = input.flag() && options.selection == Selection::all;
    const std::int64_t window = options.selection == Selection::window ? options.window : 0;
    const std::int64_t n_states = 2, n_actions = 2, horizon = input.below(3);
    const auto partition = std::make_shared<ocp::Partition>(n_states, n_actions, horizon);
    const auto made = [&] {
        return ocp::Cells(partition, options.selection, window, options.bounds, options.track_lower);
    };
    ocp::Cells cells = made();

    struct Staged {
        std::int64_t cell, holder;
        Estimate estimate;
    };
    std::vector<LiteralCell> literal(static_cast<std::size_t>(partition->n_cells()), LiteralCell(options));
    std::vector<Staged> staged;
    std::map<std::int64_t, Estimate> last;  // of a holder: its upper ends never rise, and what is determined stays so
    std::int64_t episode = 0;
    for (int n = 0; n < 80 && !input.empty(); ++n) {
        const std::int64_t operation = input.below(8);
        if (operation < 5) {
            const std::int64_t cell = input.below(partition->n_cells());
            const std::int64_t holder = options.by_holder ? 3 * cell + input.below(3) : ocp::Cells::no_holder;
            Estimate estimate = estimate_from(input, options, last[holder].upper);
            estimate.determined |= last[holder].determined && last[holder].upper == estimate.upper;
            if (holder != ocp::Cells::no_holder) last[holder] = estimate;
            // of a holder the last one counts: what is staged joins before what comes later
            if (operation < 3 && (!options.by_holder || staged.empty())) {
                cells.join(cell, estimate, holder);
                literal[static_cast<std::size_t>(cell)].join(estimate, holder, episode);
            } else {
                cells.stage(cell, estimate, holder);
                staged.push_back({cell, holder, estimate});
            }
        } else if (operation == 5) {
            cells.commit([](std::int64_t) {});
            for (const Staged& one : staged)
                literal[static_cast<std::size_t>(one.cell)].join(one.estimate, one.holder, episode);
            staged.clear();
        } else if (operation == 6) {
            cells.discard_staged();
            staged.clear();
            cells.end_episode([](std::int64_t) {});
            ++episode;
            if (options.selection == Selection::window) {
                for (LiteralCell& cell : literal) cell.forget_before(episode - window);
            }
        } else {
            const std::string bytes = ocp::sealed(cells, "cells");
            ocp::Cells loaded = made();
            ocp::unseal(loaded, "cells", bytes);
            check(ocp::sealed(loaded, "cells") == bytes, "saved, loaded and saved again");
            cells = std::move(loaded);
        }
        for (std::size_t cell = 0; cell < literal.size(); ++cell) {
            literal[cell].compare(cells, static_cast<std::int64_t>(cell));
        }
    }
    return 0;
}
