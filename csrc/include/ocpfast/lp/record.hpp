// What happened to a linear program since its model was passed to HiGHS, so that it can happen again.
//
// What HiGHS answers, to the last bit, depends on all that its model has been through: the basis does not tell how it
// was factorised. A program that was copied, or saved and loaded, does what is on record before its first question, and
// goes on as the first one would have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "ocpfast/lp/highs_api.hpp"
#include "ocpfast/lp/independent_rows.hpp"

namespace ocp {

struct LpRecord {
    static constexpr double row = 0, bounds_of_row = 1, maximum = 2, minimum_of_maximum = 3;  // kinds of events

    // the model as it was passed
    std::size_t n_columns = 0;
    double unit = 1;
    std::vector<double> bounds;   // L and U of each row that there was
    std::vector<HighsInt> basis;  // the start; empty: HiGHS chose
    // and since then
    std::vector<double> events;    // each a kind and its numbers
    std::int64_t n_questions = 0;  // among them

    std::size_t n_rows() const { return bounds.size() / 2; }

    void put(std::initializer_list<double> numbers) { events.insert(events.end(), numbers); }
    void put(const std::vector<double>& numbers) {
        events.push_back(static_cast<double>(numbers.size()));
        events.insert(events.end(), numbers.begin(), numbers.end());
    }
    void ask(const std::vector<double>& objective) {
        ++n_questions;
        events.push_back(maximum);
        put(objective);
    }
    void ask(const std::vector<AffineFunction>& functions, double least) {
        ++n_questions;
        put({minimum_of_maximum, least, static_cast<double>(functions.size())});
        for (const AffineFunction& function : functions) {
            events.push_back(function.constant);
            put(function.coefficients);
        }
    }

    template <class Archive>
    void archive(Archive& a) {
        a(n_columns, unit, bounds, basis, events);
        a.counts(n_questions);
    }

    // Goes through the events. A file can say anything: what is not there is -1, and counts are checked.
    class Reader {
    public:
        explicit Reader(const LpRecord& record) : events_(record.events) {}

        bool at_end() const { return next_ == events_.size(); }
        double take() { return at_end() ? -1 : events_[next_++]; }
        // So many numbers as it says, which must not be more than `most`; false where that is not so.
        bool take(std::vector<double>& numbers, std::size_t most) {
            const double n = take();
            if (!(n >= 0 && n <= static_cast<double>(events_.size() - next_))) return false;
            const auto first = events_.begin() + static_cast<std::ptrdiff_t>(next_);
            numbers.assign(first, first + static_cast<std::ptrdiff_t>(n));
            next_ += numbers.size();
            return numbers.size() <= most;
        }

    private:
        const std::vector<double>& events_;
        std::size_t next_ = 0;
    };
};

}  // namespace ocp
