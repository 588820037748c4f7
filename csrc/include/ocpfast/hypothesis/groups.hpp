// Hypotheses of a finite class that agree on all triples looked at so far, as groups.
//
// A triple is independent of those looked at iff it splits a group: two hypotheses agree on all of them and differ on
// it. A split sorts a group's values and cuts where the next one no longer agrees with the smallest of its part, so
// that the members of a group agree, all with all. Groups of one cannot be split and are only counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/finite_tables.hpp"

namespace ocp {

template <class T>
class Groups {
public:
    using Tables = FiniteTables<T>;

    Groups() = default;
    // One group of the hypotheses given.
    explicit Groups(std::vector<std::uint32_t> members) : members_(std::move(members)) {
        keep(0, members_.size());
        members_.resize(ends_.empty() ? 0 : ends_.back());
    }
    // One group of all hypotheses.
    explicit Groups(const Tables& tables) : Groups(first_numbers(tables.n_hypotheses())) {}

    bool splits(const Tables& tables, std::int64_t index) const {
        const T* column = tables.column(index);
        std::size_t begin = 0;
        for (const std::size_t end : ends_) {
            if (differ(tables, column, begin, end)) return true;
            begin = end;
        }
        return false;
    }

    // Splits the groups by a triple; whether any was.
    bool split(const Tables& tables, std::int64_t index) {
        const T* column = tables.column(index);
        const std::vector<std::size_t> ends = std::move(ends_);
        ends_.clear();
        n_kept_ = 0;
        bool any = false;
        std::size_t begin = 0;
        for (const std::size_t end : ends) {
            if (differ(tables, column, begin, end)) {
                any = true;
                if (!sort_few(column, begin, end)) sort(column, begin, end);
                std::size_t start = begin;
                for (std::size_t k = begin + 1; k < end; ++k) {
                    if (tables.agree(column[members_[start]], column[members_[k]])) continue;
                    keep(start, k);
                    start = k;
                }
                keep(start, end);
            } else {
                keep(begin, end);
            }
            begin = end;
        }
        members_.resize(n_kept_);
        return any;
    }

    bool all_told_apart() const { return ends_.empty(); }
    std::size_t size() const { return representatives_.size() + ends_.size(); }
    // One hypothesis of each group.
    std::vector<std::uint32_t> representatives() const {
        std::vector<std::uint32_t> all = representatives_;
        std::size_t begin = 0;
        for (const std::size_t end : ends_) {
            all.push_back(*std::min_element(members_.begin() + offset(begin), members_.begin() + offset(end)));
            begin = end;
        }
        std::sort(all.begin(), all.end());
        return all;
    }

    template <class Archive>
    void archive(Archive& a, std::size_t n_hypotheses) {
        a.indices(members_, 0, n_hypotheses);
        a.indices(ends_, 0, members_.size() + 1);
        a.indices(representatives_, 0, n_hypotheses);
        if constexpr (!Archive::loading) return;
        a.require(std::is_sorted(ends_.begin(), ends_.end(), std::less_equal<>()), "a size");
        a.require(members_.size() == (ends_.empty() ? 0 : ends_.back()) && (ends_.empty() || ends_[0] > 0), "a size");
    }

private:
    static std::ptrdiff_t offset(std::size_t position) { return static_cast<std::ptrdiff_t>(position); }
    static std::vector<std::uint32_t> first_numbers(std::size_t n) {
        std::vector<std::uint32_t> numbers(n);
        std::iota(numbers.begin(), numbers.end(), 0u);
        return numbers;
    }

    // Members begin..end are a group; those kept so far stand before them.
    void keep(std::size_t begin, std::size_t end) {
        if (end - begin == 1) {
            representatives_.push_back(members_[begin]);
        } else if (end - begin > 1) {
            std::copy(members_.begin() + offset(begin), members_.begin() + offset(end),
                      members_.begin() + offset(n_kept_));
            n_kept_ += end - begin;
            ends_.push_back(n_kept_);
        }
    }

    bool differ(const Tables& tables, const T* column, std::size_t begin, std::size_t end) const {
        T smallest = column[members_[begin]], largest = smallest;
        for (std::size_t k = begin + 1; k < end; ++k) {
            const T value = column[members_[k]];
            if (value < smallest) {
                smallest = value;
            } else if (value > largest) {
                largest = value;
            } else {
                continue;
            }
            if (!tables.agree(smallest, largest)) return true;
        }
        return false;
    }

    // Sorts members by value where there are few distinct ones, as in classes whose triples tell little: each is put
    // where its value belongs. False where there are more. 100,000 hypotheses with 3 values: 1 ms instead of 8.
    bool sort_few(const T* column, std::size_t begin, std::size_t end) {
        constexpr std::size_t few = 16;
        T values[few];  // in the order in which they come
        std::size_t counts[few] = {}, n = 0;
        which_.resize(end - begin);
        for (std::size_t k = begin; k < end; ++k) {
            const T value = column[members_[k]];
            std::size_t i = 0;
            while (i < n && values[i] != value) ++i;
            if (i == n) {
                if (n == few) return false;
                values[n++] = value;
            }
            ++counts[i];
            which_[k - begin] = static_cast<std::uint8_t>(i);
        }
        std::size_t next[few];
        for (std::size_t i = 0; i < n; ++i) {
            next[i] = 0;
            for (std::size_t j = 0; j < n; ++j) next[i] += values[j] < values[i] ? counts[j] : 0;
        }
        placed_.resize(end - begin);
        for (std::size_t k = begin; k < end; ++k) placed_[next[which_[k - begin]]++] = members_[k];
        std::copy(placed_.begin(), placed_.end(), members_.begin() + offset(begin));
        return true;
    }

    void sort(const T* column, std::size_t begin, std::size_t end) {
        sorted_.clear();
        for (std::size_t k = begin; k < end; ++k) sorted_.emplace_back(column[members_[k]], members_[k]);
        std::sort(sorted_.begin(), sorted_.end());
        for (std::size_t k = begin; k < end; ++k) members_[k] = sorted_[k - begin].second;
    }

    std::vector<std::uint32_t> members_;          // of groups of two or more, group after group
    std::vector<std::size_t> ends_;               // in members_, of each such group
    std::vector<std::uint32_t> representatives_;  // groups of one
    std::size_t n_kept_ = 0;
    std::vector<std::pair<T, std::uint32_t>> sorted_;  // scratch: of one group
    std::vector<std::uint8_t> which_;                  // scratch: which of few values each member has
    std::vector<std::uint32_t> placed_;                // scratch: members by value
};

}  // namespace ocp
