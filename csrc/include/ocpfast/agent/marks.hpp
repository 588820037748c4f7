// Marks on points that are all taken away at once, in constant time but for every 2^32nd time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ocp {

template <class Round = std::uint32_t>
class Marks {
public:
    Marks() = default;
    explicit Marks(std::int64_t n_points) : round_of_(static_cast<std::size_t>(n_points), 0) {}

    void add_point(std::int64_t point) {
        const auto least = static_cast<std::size_t>(point) + 1;
        if (round_of_.size() < least) round_of_.resize(least, 0);
    }

    // Whether it was not marked before.
    bool mark(std::int64_t point) {
        Round& round = round_of_[static_cast<std::size_t>(point)];
        if (round == round_) return false;
        round = round_;
        return true;
    }

    void clear() {
        if (++round_ != 0) return;
        std::fill(round_of_.begin(), round_of_.end(), Round{0});  // rounds have no more numbers and start again
        round_ = 1;
    }

private:
    std::vector<Round> round_of_;  // per point: when it was marked last; 0: never
    Round round_ = 1;
};

}  // namespace ocp
