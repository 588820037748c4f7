// What an agent is made from, as data: the arguments of Python's OCP and of the hypothesis classes that need no linear
// programs of their own, with the same names, defaults and checks. For programs that read descriptions from elsewhere
// (the C API, checkpoint files); others make Cells, Linear and Ocp themselves, which trust their arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <locale>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ocpfast/agent/ocp.hpp"
#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/cells.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/linear.hpp"
#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/limits.hpp"
#include "ocpfast/lp/highs_api.hpp"

namespace ocp {

struct Description {
    enum class Hypothesis { tabula_rasa, state_aggregation, linear_features };

    Hypothesis hypothesis = Hypothesis::tabula_rasa;
    std::int64_t n_states = 0;  // where states are indices
    std::int64_t n_actions = 0;
    std::int64_t horizon = 0;  // H, or 0: time-homogeneous
    bool track_lower = false;  // lower="exact"; not of linear features, which know it

    // Of state aggregation: the labels of (S,), (S, A) or (H, S, A), or a grid over vector states.
    std::vector<std::int64_t> labels;
    int label_axes = 1;
    std::vector<std::vector<double>> edges;  // of each dimension; empty: labels
    std::int64_t extra = 0;

    // Of linear features: the numbers of (S, A, K), or (H, S, A, K) with by_period, or a function of vector states.
    std::int64_t n_features = 0;  // K
    std::vector<double> phi;
    bool by_period = false;
    bool shared = false;  // one theta for all periods
    ocp_feature_function function = nullptr;
    std::shared_ptr<void> user_data;
    std::int64_t state_size = 0;  // numbers of a vector state of the function
    double scale = 1;             // about how large its features are

    Selection selection = Selection::all;
    std::int64_t window = 0;
    std::optional<std::pair<double, double>> bounds;
    std::optional<double> reward_bound;
    OcpOptions options;

    // Whether states are vectors, and of how many numbers.
    std::int64_t vector_size() const { return edges.empty() ? state_size : static_cast<std::int64_t>(edges.size()); }
};

// Checks a description, and makes agents of it. Errors are std::invalid_argument: what it was, what was expected and
// what there is.
class Described {
public:
    explicit Described(Description description) : given_(std::move(description)) {
        at_least(given_.n_actions, 1, "n_actions");
        at_least(given_.horizon, 0, "horizon");
        check_options();
        switch (given_.hypothesis) {
            case Description::Hypothesis::tabula_rasa:
                at_least(given_.n_states, 1, "n_states");
                count_cells({given_.n_states, given_.n_actions, layers()}, "n_states, n_actions, horizon");
                break;
            case Description::Hypothesis::state_aggregation:
                given_.edges.empty() ? check_labels() : check_grid();
                break;
            case Description::Hypothesis::linear_features:
                check_features();
                break;
        }
        bounds_ = prior_bounds();
    }

    const Description& description() const { return given_; }
    bool linear() const { return given_.hypothesis == Description::Hypothesis::linear_features; }

    // Of tables and state aggregation.
    Ocp<Cells> aggregation_agent() const {
        return {Cells(partition(), given_.selection, given_.window, bounds_, given_.track_lower), given_.options};
    }

    // Of linear features. Without HiGHS (api NULL) what needs it throws SolverFailure: selection="eluder" needs it only
    // with bounds that have a finite upper end, where a state has more than two undetermined actions.
    Ocp<Linear> linear_agent(const HighsApi* api) const {
        return {Linear(features(), given_.selection, given_.window, bounds_, api, {}), given_.options};
    }

private:
    static constexpr std::int64_t max_cells = std::int64_t{1} << 30;  // cells are numbered with 32 bits

    template <class Got>
    [[noreturn]] static void fail(const std::string& name, const std::string& expected, const Got& got) {
        std::ostringstream text;
        text.imbue(std::locale::classic());
        text << name << ": expected " << expected << ", got " << got;
        throw std::invalid_argument(text.str());
    }
    static void at_least(std::int64_t value, std::int64_t least, const char* name) {
        if (value < least) fail(name, "an integer >= " + std::to_string(least), value);
    }
    // The product, which is small enough to number its parts.
    static std::int64_t count_cells(std::initializer_list<std::int64_t> sizes, const char* name) {
        std::int64_t product = 1;
        for (const std::int64_t size : sizes) {
            if (size > 0 && product > max_cells / size) {
                fail(name, "at most " + std::to_string(max_cells) + " parameters", "more");
            }
            product *= size;
        }
        return product;
    }
    std::int64_t layers() const { return std::max<std::int64_t>(given_.horizon, 1); }

    // ---- checks ----------------------------------------------------------------------------------------------------

    void check_options() const {
        const OcpOptions& options = given_.options;
        if (!(options.discount > 0 && options.discount <= 1)) fail("discount", "a number in (0, 1]", options.discount);
        if (given_.selection == Selection::window) {
            at_least(given_.window, 1, "window");
            if (options.replay != ReplayMode::off) fail("replay", "none with selection window", "it");
        } else if (given_.window != 0) {
            fail("window", "0 if selection is not window", given_.window);
        }
        at_least(options.replay_sweeps, 1, "replay_sweeps");
        at_least(options.replay_capacity, 1, "replay_capacity");
        if (options.replay_capacity > max_cells) {
            fail("replay_capacity", "at most " + std::to_string(max_cells), options.replay_capacity);
        }
    }

    void check_labels() const {
        if (given_.label_axes < 1 || given_.label_axes > 3) fail("label_axes", "1, 2 or 3", given_.label_axes);
        at_least(given_.n_states, 1, "n_states");
        const bool by_action = given_.label_axes > 1, by_period = given_.label_axes == 3;
        if (by_period) at_least(given_.horizon, 1, "horizon");
        const std::int64_t in_layer =
            count_cells({given_.n_states, by_action ? given_.n_actions : 1}, "n_states, n_actions");
        const std::int64_t n = count_cells({in_layer, by_period ? given_.horizon : 1}, "labels");
        if (given_.labels.size() != static_cast<std::size_t>(n)) {
            fail("labels", std::to_string(n) + " of them", given_.labels.size());
        }
        for (std::int64_t first = 0; first < n; first += in_layer) {
            std::vector<bool> used(static_cast<std::size_t>(in_layer));
            std::int64_t largest = 0;
            for (std::int64_t i = first; i < first + in_layer; ++i) {
                const std::int64_t label = given_.labels[static_cast<std::size_t>(i)];
                if (label < 0 || label >= in_layer) {
                    fail("labels", "labels in 0.." + std::to_string(in_layer - 1), label);
                }
                used[static_cast<std::size_t>(label)] = true;
                largest = std::max(largest, label);
            }
            for (std::int64_t label = 0; label < largest; ++label) {
                if (!used[static_cast<std::size_t>(label)]) {
                    fail("labels", "every label of 0.." + std::to_string(largest) + " to be used",
                         "no " + std::to_string(label));
                }
            }
            if (!by_action) count_cells({largest + 1, given_.n_actions, layers()}, "labels");
        }
        if (by_action && !by_period) count_cells({n, layers()}, "labels");
    }

    void check_grid() const {
        at_least(given_.extra, 0, "extra");
        std::int64_t cells = 1;
        for (std::size_t d = 0; d < given_.edges.size(); ++d) {
            const std::vector<double>& edges = given_.edges[d];
            for (std::size_t i = 0; i < edges.size(); ++i) {
                if (!std::isfinite(edges[i]) || (i > 0 && edges[i] <= edges[i - 1])) {
                    fail("edges[" + std::to_string(d) + "]", "finite, strictly increasing numbers", edges[i]);
                }
            }
            cells = count_cells({cells, static_cast<std::int64_t>(edges.size()) + 1}, "edges");
        }
        if (given_.extra > max_cells) fail("extra", "at most " + std::to_string(max_cells), given_.extra);
        count_cells({cells + given_.extra, given_.n_actions, layers()}, "edges");
    }

    void check_features() const {
        at_least(given_.n_features, 1, "n_features");
        if (given_.selection == Selection::first) fail("selection", "all, eluder or window for features", "first");
        if (given_.by_period) at_least(given_.horizon, 1, "horizon");
        if (given_.shared && !given_.by_period && given_.horizon != 0) {
            fail("horizon", "0 where features do not depend on the period and all periods share their parameters",
                 given_.horizon);
        }
        if (given_.function != nullptr) {
            at_least(given_.state_size, 1, "state_size");
            if (given_.state_size > 1 << 20) fail("state_size", "at most 1048576", given_.state_size);
            if (!(given_.scale > 0 && std::isfinite(given_.scale))) {
                fail("scale", "a positive, finite number", given_.scale);
            }
            if (given_.options.replay == ReplayMode::stationary && given_.horizon != 0) {
                fail("replay", "none, or the usual one, where states are vectors", "stationary");
            }
            count_cells({given_.n_actions, layers()}, "n_actions, horizon");
            return;
        }
        at_least(given_.n_states, 1, "n_states");
        count_cells({given_.n_states, given_.n_actions, layers()}, "n_states, n_actions, horizon");
        const auto rows = static_cast<std::size_t>(given_.n_states * given_.n_actions) *
                          static_cast<std::size_t>(given_.by_period ? given_.horizon : 1);
        const auto columns = static_cast<std::size_t>(given_.n_features);
        if (given_.phi.size() / columns != rows || given_.phi.size() % columns != 0) {
            fail("phi", std::to_string(rows) + " x " + std::to_string(columns) + " numbers", given_.phi.size());
        }
        for (const double number : given_.phi) {
            if (!std::isfinite(number)) fail("phi", "finite numbers", number);
        }
    }

    PriorBounds prior_bounds() const {
        const double discount = given_.options.discount;
        if (given_.bounds && given_.reward_bound) fail("bounds, reward_bound", "at most one of them", "both");
        if (given_.bounds) {
            const auto [lower, upper] = *given_.bounds;
            if (!(lower <= upper) || lower == infinity || upper == -infinity) {
                std::ostringstream pair;
                pair << '(' << lower << ", " << upper << ')';
                fail("bounds", "lower <= upper", pair.str());
            }
            for (const double bound : {lower, upper}) {
                if (std::isfinite(bound) && std::abs(bound) > largest_value) {
                    fail("bounds", "infinities and numbers of at most 1e100 in size", bound);
                }
            }
            if (discount < 1 && upper == infinity) fail("bounds", "a finite upper bound with discount < 1", upper);
            return {{lower}, {upper}};
        }
        if (given_.reward_bound) {
            const double size = *given_.reward_bound;
            if (!(size >= 0 && size < infinity)) fail("reward_bound", "a finite number >= 0", size);
            if (size > largest_reward) fail("reward_bound", instead_of_reward(size), size);
            if (discount < 1) return {{-size / (1 - discount)}, {size / (1 - discount)}};
            if (given_.horizon == 0) fail("reward_bound", "discount < 1 with it, or a horizon", size);
            // summed as values are summed, so that rounding cannot put a possible value outside
            PriorBounds result{std::vector<double>(static_cast<std::size_t>(given_.horizon)),
                               std::vector<double>(static_cast<std::size_t>(given_.horizon))};
            double left = 0;
            for (std::size_t layer = result.upper.size(); layer-- > 0;) {
                left += size;
                result.upper[layer] = left;
                result.lower[layer] = -left;
            }
            return result;
        }
        if (discount < 1) fail("discount", "bounds or reward_bound with it if it is below 1", discount);
        return {};
    }

    // ---- classes ---------------------------------------------------------------------------------------------------

    std::shared_ptr<Partition> partition() const {
        if (given_.hypothesis == Description::Hypothesis::tabula_rasa) {
            return std::make_shared<Partition>(given_.n_states, given_.n_actions, given_.horizon);
        }
        if (!given_.edges.empty()) {
            std::vector<Bins> bins(given_.edges.begin(), given_.edges.end());
            Grid grid(std::move(bins), given_.extra);
            auto result = std::make_shared<Partition>(grid.n_labels(), given_.n_actions, given_.horizon);
            result->set_grid(std::move(grid));
            return result;
        }
        if (given_.label_axes > 1) return joint_partition();
        std::vector<std::int32_t> points(given_.labels.begin(), given_.labels.end());
        const std::int64_t n_points = *std::max_element(points.begin(), points.end()) + std::int64_t{1};
        auto result = std::make_shared<Partition>(n_points, given_.n_actions, given_.horizon);
        result->set_points(std::move(points));
        return result;
    }

    // Cells shared between actions. States that share all their labels are one point; points are in the order of their
    // labels, as in Python, so that what was learned there has its place here.
    std::shared_ptr<Partition> joint_partition() const {
        const auto n_states = static_cast<std::size_t>(given_.n_states);
        const auto n_actions = static_cast<std::size_t>(given_.n_actions);
        const std::size_t n_periods = given_.labels.size() / (n_states * n_actions);
        std::map<std::vector<std::int64_t>, std::vector<std::size_t>> states;  // by their labels
        for (std::size_t x = 0; x < n_states; ++x) {
            std::vector<std::int64_t> key;
            for (std::size_t t = 0; t < n_periods; ++t) {
                const auto first = given_.labels.begin() + static_cast<std::ptrdiff_t>((t * n_states + x) * n_actions);
                key.insert(key.end(), first, first + static_cast<std::ptrdiff_t>(n_actions));
            }
            states[std::move(key)].push_back(x);
        }
        auto result =
            std::make_shared<Partition>(static_cast<std::int64_t>(states.size()), given_.n_actions, given_.horizon);
        std::vector<std::int32_t> points(n_states);
        std::int32_t point = 0;
        for (const auto& [key, members] : states) {
            for (const std::size_t x : members) points[x] = point;
            ++point;
        }
        std::vector<std::int32_t> cells;
        std::int64_t n_cells = 0;
        for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers()); ++layer) {
            std::int64_t largest = 0;
            for (const auto& [key, members] : states) {
                for (std::size_t a = 0; a < n_actions; ++a) {
                    const std::int64_t label = key[layer % n_periods * n_actions + a];
                    largest = std::max(largest, label);
                    cells.push_back(static_cast<std::int32_t>(n_cells + label));
                }
            }
            n_cells += largest + 1;
        }
        result->set_points(std::move(points));
        result->set_cells(std::move(cells), n_cells);
        return result;
    }

    std::shared_ptr<const Features> features() const {
        const bool shared = given_.shared || given_.horizon == 0;
        if (given_.function != nullptr) {
            auto domain = std::make_shared<Partition>(0, given_.n_actions, given_.horizon);
            domain->set_open(given_.state_size);
            FeatureSource source{given_.function, given_.user_data, power_of_two(given_.scale)};
            return std::make_shared<Features>(std::move(domain), std::move(source), given_.n_features, shared,
                                              std::vector<PriorRow>());
        }
        double longest = 0;
        for (const double number : given_.phi) longest = std::max(longest, std::abs(number));
        const double unit = power_of_two(longest);  // tolerances are absolute
        std::vector<double> table;
        for (const double number : given_.phi) table.push_back(number / unit);
        auto domain = std::make_shared<Partition>(given_.n_states, given_.n_actions, given_.horizon);
        auto rows = std::make_shared<DenseRows>(std::move(table), static_cast<std::size_t>(given_.n_features));
        return std::make_shared<Features>(std::move(domain), std::move(rows), given_.n_features, shared,
                                          std::vector<PriorRow>());
    }
    static double power_of_two(double size) {
        const double exponent = std::nearbyint(std::log2(std::max(size, std::numeric_limits<double>::min())));
        return std::exp2(std::min(exponent, 1023.0));  // the largest numbers are nearer to the next, which is infinite
    }

    Description given_;
    PriorBounds bounds_;
};

}  // namespace ocp
