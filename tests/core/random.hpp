// Random cases: numbers, tables, features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "ocpfast/pcg64.hpp"
#include "ocpfast/system/table.hpp"

namespace core {

class Draw {
public:
    explicit Draw(std::uint64_t seed) : generator_(seed) {}

    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(generator_.next_double() * static_cast<double>(n));
    }
    std::int64_t between(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }
    double uniform(double low, double high) { return low + (high - low) * generator_.next_double(); }
    bool chance(double probability) { return generator_.next_double() < probability; }
    template <class T>
    const T& one_of(const std::vector<T>& values) {
        return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
    }
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return one_of(std::vector<T>(values));
    }

private:
    ocp::Pcg64 generator_;
};

struct TableOptions {
    std::int64_t n_states = 5, n_actions = 3, horizon = 4;
    bool homogeneous = false;
    double ends = 0.1;          // the share of transitions that end the episode
    bool random_start = false;  // else the states in turn
    std::int64_t largest = 3;   // of the rewards, which are whole numbers: sums of them are exact, and ties abound
};

// The arrays of a table, which a Table wants somebody to keep.
struct Arrays {
    std::vector<std::int64_t> next_state, initial;
    std::vector<double> reward, cumulative;
};
class RandomTable : private Arrays, public ocp::Table {
public:
    RandomTable(const TableOptions& options, Draw& draw) : RandomTable(made(options, draw), options) {}

private:
    static Arrays made(const TableOptions& options, Draw& draw) {
        Arrays arrays;
        const std::int64_t n_periods = options.homogeneous ? 1 : options.horizon;
        for (std::int64_t i = 0; i < n_periods * options.n_states * options.n_actions; ++i) {
            arrays.next_state.push_back(draw.chance(options.ends) ? -1 : draw.below(options.n_states));
            arrays.reward.push_back(static_cast<double>(draw.between(-options.largest, options.largest)));
        }
        const auto n = static_cast<double>(options.n_states);
        for (std::int64_t x = 0; x < options.n_states; ++x) {
            arrays.initial.push_back(x);
            arrays.cumulative.push_back(static_cast<double>(x + 1) / n);
        }
        return arrays;
    }
    RandomTable(Arrays arrays, const TableOptions& options)
        : Arrays(std::move(arrays)),
          Table({options.n_states, options.n_actions, options.horizon, options.homogeneous, Arrays::next_state.data(),
                 Arrays::reward.data(), options.random_start ? nullptr : Arrays::initial.data(), options.n_states,
                 options.random_start ? Arrays::cumulative.data() : nullptr}) {}
};

}  // namespace core
