// Transitions whose successor has no known value yet, by period: kept until it has one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ocp {

class Unresolved {
public:
    struct Transition {
        const double* state;   // x
        const double* action;  // u
        const double* next;    // x'
        double reward;
        bool terminal;
    };

    Unresolved() = default;
    Unresolved(std::size_t n_state, std::size_t n_action, std::int64_t horizon)
        : n_(n_state), m_(n_action), of_period_(static_cast<std::size_t>(horizon)) {}

    std::int64_t size() const { return size_; }

    void add(std::int64_t period, const Transition& transition) {
        Shelf& shelf = of_period_[static_cast<std::size_t>(period)];
        auto& numbers = shelf.numbers;
        numbers.push_back(static_cast<double>(n_added_++));
        numbers.push_back(transition.reward);
        numbers.push_back(transition.terminal ? 1 : 0);
        numbers.insert(numbers.end(), transition.state, transition.state + n_);
        numbers.insert(numbers.end(), transition.action, transition.action + m_);
        if (transition.terminal) {
            numbers.resize(numbers.size() + n_);
        } else {
            numbers.insert(numbers.end(), transition.next, transition.next + n_);
        }
        ++size_;
    }

    // Calls resolve(transition) for the transitions of a period, oldest first: for all of them, if what their
    // successors are worth is known better than the last time (its rank grew), else for the new ones. Forgets those for
    // which it returns true.
    template <class Resolve>
    void sweep(std::int64_t period, std::size_t rank, Resolve&& resolve) {
        Shelf& shelf = of_period_[static_cast<std::size_t>(period)];
        if (shelf.rank != rank) shelf.n_seen = 0;
        shelf.rank = rank;
        const std::size_t n = shelf.numbers.size() / stride();
        std::size_t kept = shelf.n_seen;
        for (std::size_t i = shelf.n_seen; i < n; ++i) {
            const double* numbers = &shelf.numbers[i * stride()];
            const double* state = numbers + header;
            if (resolve(Transition{state, state + n_, state + n_ + m_, numbers[1], numbers[2] != 0})) {
                --size_;
                continue;
            }
            if (kept != i) std::copy(numbers, numbers + stride(), &shelf.numbers[kept * stride()]);
            ++kept;
        }
        shelf.numbers.resize(kept * stride());
        shelf.n_seen = kept;
    }

    // Forgets the oldest where there are more than so many; a quarter of them at once, as it takes a pass over all.
    void trim(std::int64_t capacity) {
        if (size_ <= capacity) return;
        std::vector<double> age;
        for (const Shelf& shelf : of_period_) {
            for (std::size_t i = 0; i < shelf.numbers.size(); i += stride()) age.push_back(shelf.numbers[i]);
        }
        const auto newest = static_cast<std::ptrdiff_t>(age.size()) - (capacity - capacity / 4);
        std::nth_element(age.begin(), age.begin() + newest, age.end());
        const double oldest = age[static_cast<std::size_t>(newest)];
        for (Shelf& shelf : of_period_) {
            std::size_t n = 0;  // they are in the order of their age
            while (n * stride() < shelf.numbers.size() && shelf.numbers[n * stride()] < oldest) ++n;
            shelf.numbers.erase(shelf.numbers.begin(),
                                shelf.numbers.begin() + static_cast<std::ptrdiff_t>(n * stride()));
            shelf.n_seen -= std::min(n, shelf.n_seen);
            size_ -= static_cast<std::int64_t>(n);
        }
    }

    template <class Archive>
    void archive(Archive& a) {
        a.items(of_period_);
        a(size_);
        a.counts(n_added_);
        if constexpr (!Archive::loading) return;
        std::int64_t n = 0;
        for (const Shelf& shelf : of_period_) {
            const std::size_t here = shelf.numbers.size() / stride();
            a.require(shelf.numbers.size() == here * stride() && shelf.n_seen <= here, "a size");
            for (std::size_t i = 0; i < here; ++i) a.require(std::isfinite(shelf.numbers[i * stride()]), "a number");
            n += static_cast<std::int64_t>(here);
        }
        a.require(n == size_, "a size");
    }

private:
    static constexpr std::size_t header = 3;  // number, reward, terminal

    struct Shelf {
        std::vector<double> numbers;  // transition by transition: header, x, u, x'
        std::size_t n_seen = 0;       // by a sweep, when this was
        std::size_t rank = 0;         // what is known of their successors' period

        template <class Archive>
        void archive(Archive& a) {
            a(numbers, n_seen, rank);
        }
    };

    std::size_t stride() const { return header + 2 * n_ + m_; }

    std::size_t n_ = 0, m_ = 0;
    std::vector<Shelf> of_period_;
    std::int64_t size_ = 0, n_added_ = 0;
};

}  // namespace ocp
