// The hypotheses of a finite class that satisfy every constraint kept: a bitset, under ConstraintStore.
//
// Each eliminated hypothesis stands on the list of one constraint that eliminates it. To add a constraint is to test
// the survivors; to remove one is to test those on its list against the constraints that stay, and nobody else.
// Removals wait until a question is asked, so that a walk that takes many constraints out pays for them once. A
// constraint that replaces a wider one on the same triple (replay does that all the time) takes over its list untested.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/finite_tables.hpp"
#include "ocpfast/hypothesis/word.hpp"

namespace ocp {

template <class T>
class Survivors {
public:
    explicit Survivors(std::shared_ptr<const FiniteTables<T>> tables) : tables_(std::move(tables)) {
        const std::size_t n = tables_->n_hypotheses();
        words_.assign((n + word_size - 1) / word_size, ~std::uint64_t{0});
        if (n % word_size != 0) words_.back() >>= word_size - n % word_size;
        n_survivors_ = n;
        list_words();
        const Partition& domain = tables_->domain();
        rows_.resize(static_cast<std::size_t>(domain.n_layers() * domain.n_points()), never);
        extremes_.resize(static_cast<std::size_t>(domain.n_cells()));
    }

    // ---- for ConstraintStore -----------------------------------------------------------------------------------

    bool possible(const Constraint& c) {
        if (compatible(c)) return true;
        const Admitted<T> admitted = tables_->admitted(c.lower, c.upper);
        const T* column = tables_->column(c.index);
        return std::any_of(column, column + tables_->n_hypotheses(), [&](T v) { return admitted.contains(v); });
    }
    bool compatible(const Constraint& c) {
        settle();
        // the store asks the same thing up to three times, and where few are inside each look is long
        if (asked_.version != version_ || !asked_.constraint.same_interval(c)) asked_ = {c, version_, find_inside(c)};
        return asked_.answer;
    }
    // Whether it eliminates something.
    bool reduces_dimension(const Constraint& c) {
        settle();
        look_at(row_of(c.index));
        return !harmless(c.index, tables_->admitted(c.lower, c.upper));
    }
    // Whether all that is left would agree on the triple, and did not.
    bool determines(const Constraint& c) { return tables_->agree(c.lower, c.upper) && reduces_dimension(c); }

    void add(const Constraint& c) {
        position_.emplace(c.identity, constraints_.size());
        constraints_.push_back({c.identity, c.index, tables_->admitted(c.lower, c.upper), {}});
        Kept& kept = constraints_.back();
        if (up_to_date(row_of(c.index)) && harmless(c.index, kept.admitted)) return;
        const T* column = tables_->column(c.index);
        std::size_t n_live = 0;
        for (const std::uint32_t word : live_words_) {
            std::uint64_t& bits = words_[word];
            std::uint64_t outside = bits & ~inside(column, word, kept.admitted);
            bits &= ~outside;
            for (; outside != 0; outside &= outside - 1) kept.eliminated.push_back(number(word, outside));
            live_words_[n_live] = word;
            n_live += bits != 0;
        }
        live_words_.resize(n_live);
        if (kept.eliminated.empty()) return;
        n_survivors_ -= kept.eliminated.size();
        ++version_;
    }

    void remove(const Constraint& c) {
        const auto found = position_.find(c.identity);
        const std::size_t position = found->second;
        Kept gone = std::move(constraints_[position]);
        position_.erase(found);
        if (position + 1 != constraints_.size()) {
            constraints_[position] = std::move(constraints_.back());
            position_[constraints_[position].identity] = position;
        }
        constraints_.pop_back();
        if (gone.eliminated.empty()) return;
        std::vector<std::uint32_t>* heir = &undecided_;
        for (Kept& other : constraints_) {
            if (other.index == gone.index && other.admitted.lower >= gone.admitted.lower &&
                other.admitted.upper <= gone.admitted.upper) {
                heir = &other.eliminated;
                break;
            }
        }
        if (heir->size() < gone.eliminated.size()) heir->swap(gone.eliminated);
        heir->insert(heir->end(), gone.eliminated.begin(), gone.eliminated.end());
    }

    // ---- who is left -------------------------------------------------------------------------------------------

    // Brings the set up to date; the answers below hold after it.
    void settle() {
        if (undecided_.empty()) return;
        for (Kept& kept : constraints_) {
            const T* column = tables_->column(kept.index);
            std::size_t n = 0;
            for (const std::uint32_t hypothesis : undecided_) {
                if (kept.admitted.contains(column[hypothesis])) {
                    undecided_[n++] = hypothesis;
                } else {
                    kept.eliminated.push_back(hypothesis);
                }
            }
            undecided_.resize(n);
            if (n == 0) return;
        }
        for (const std::uint32_t hypothesis : undecided_) {
            words_[hypothesis / word_size] |= std::uint64_t{1} << (hypothesis % word_size);
        }
        n_survivors_ += undecided_.size();
        undecided_.clear();
        list_words();
        ++version_;
        ++n_returns_;
    }

    std::uint64_t version() const { return version_; }  // changes with the set
    std::size_t size() const { return n_survivors_; }
    std::vector<std::uint32_t> numbers() const {
        std::vector<std::uint32_t> all;
        for (const std::uint32_t word : live_words_) {
            for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) all.push_back(number(word, bits));
        }
        return all;
    }

    // Whether all survivors have one value at a triple.
    bool agree(std::int64_t index) const {
        require_survivors();
        const T* column = tables_->column(index);
        T smallest = column[number(live_words_[0], words_[live_words_[0]])], largest = smallest;
        for (const std::uint32_t word : live_words_) {
            for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
                const T value = column[number(word, bits)];
                smallest = std::min(smallest, value);
                largest = std::max(largest, value);
            }
            if (!tables_->agree(smallest, largest)) return false;
        }
        return true;
    }

    struct Extremes {  // of one triple
        T lower, upper;
        std::uint32_t lower_by, upper_by;  // hypotheses that have these values
    };
    struct Row {  // of the triples of one (layer, point)
        T least;  // of what each survivor has for its largest
        std::uint32_t least_by;
        std::uint64_t version, n_returns;  // when it was so
    };

    // Brings the row, and the extremes of its triples, up to date.
    const Row& look_at(std::int64_t row) const {
        if (!up_to_date(row)) find(row);
        return rows_[at(row)];
    }
    const Extremes& extremes(std::int64_t index) const { return extremes_[at(index)]; }

    // ---- saving and loading ------------------------------------------------------------------------------------

    bool is_index(std::int64_t index) const { return index >= 0 && index < tables_->domain().n_cells(); }
    std::size_t n_held() const { return constraints_.size(); }
    bool holds(const Constraint& c) const { return position_.count(c.identity) != 0; }

    // Extremes are found again when they are asked for: the same values.
    template <class Archive>
    void archive(Archive& a) {
        const std::size_t n = tables_->n_hypotheses();
        a.same(n, "number of hypotheses");
        a.fixed(words_);
        a(constraints_, version_, n_returns_);
        a.indices(undecided_, 0, n);
        if constexpr (!Archive::loading) return;
        list_words();
        a.require(n % word_size == 0 || words_.back() >> (n % word_size) == 0, "a hypothesis");
        n_survivors_ = numbers().size();
        position_.clear();
        for (std::size_t i = 0; i < constraints_.size(); ++i) {
            a.require(is_index(constraints_[i].index), "a constraint");
            a.require(position_.emplace(constraints_[i].identity, i).second, "a constraint");
            for (const std::uint32_t hypothesis : constraints_[i].eliminated) a.require_index(hypothesis, 0, n);
        }
        asked_.version = ~std::uint64_t{0};
        std::fill(rows_.begin(), rows_.end(), never);
    }

private:
    struct Kept {
        std::int64_t identity, index;
        Admitted<T> admitted;
        std::vector<std::uint32_t> eliminated;  // by this constraint, perhaps by others as well

        template <class Archive>
        void archive(Archive& a) {
            a(identity, index, admitted, eliminated);
        }
    };

    static constexpr Row never{0, 0, ~std::uint64_t{0}, ~std::uint64_t{0}};

    // The constraints of a class are compatible, unless somebody made them up.
    void require_survivors() const {
        if (live_words_.empty()) throw std::logic_error("no hypothesis is left");
    }

    static std::uint32_t number(std::uint32_t word, std::uint64_t bits) {
        return word * static_cast<std::uint32_t>(word_size) + lowest_bit(bits);
    }

    static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
    std::int64_t row_of(std::int64_t index) const { return index / tables_->domain().n_actions(); }
    bool survives(std::uint32_t hypothesis) const {
        return (words_[hypothesis / word_size] >> (hypothesis % word_size) & 1) != 0;
    }
    // Whether all values of a triple, whose row is up to date, are admitted.
    bool harmless(std::int64_t index, const Admitted<T>& admitted) const {
        const Extremes& known = extremes_[at(index)];
        return admitted.contains(known.lower) && admitted.contains(known.upper);
    }

    bool up_to_date(std::int64_t number) const {
        Row& row = rows_[at(number)];
        if (row.version == version_) return true;
        if (row.n_returns != n_returns_ || !survives(row.least_by)) return false;
        const std::int64_t n_actions = tables_->domain().n_actions();
        for (std::int64_t i = number * n_actions; i < (number + 1) * n_actions; ++i) {
            if (!survives(extremes_[at(i)].lower_by) || !survives(extremes_[at(i)].upper_by)) return false;
        }
        row.version = version_;
        return true;
    }

    bool find_inside(const Constraint& c) const {
        const Admitted<T> admitted = tables_->admitted(c.lower, c.upper);
        if (up_to_date(row_of(c.index))) {
            const Extremes& known = extremes_[at(c.index)];
            if (admitted.contains(known.lower) || admitted.contains(known.upper)) return true;
        }
        const T* column = tables_->column(c.index);
        return std::any_of(live_words_.begin(), live_words_.end(),
                           [&](std::uint32_t word) { return inside(column, word, admitted) != 0; });
    }

    // The last word may end beyond its column.
    bool one_by_one(std::uint32_t word) const {
        return few_bits(words_[word]) || (std::size_t{word} + 1) * word_size > tables_->n_hypotheses();
    }
    // The survivors of a word that a constraint admits.
    std::uint64_t inside(const T* column, std::uint32_t word, const Admitted<T>& admitted) const {
        const std::uint64_t bits = words_[word];
        return bits & admitted_bits(column + std::size_t{word} * word_size, bits, one_by_one(word), admitted);
    }

    void find(std::int64_t number) const {
        require_survivors();
        const std::int64_t n_actions = tables_->domain().n_actions(), first = number * n_actions;
        constexpr T most = std::numeric_limits<T>::infinity();
        Row& row = rows_[at(number)];
        row = {most, 0, version_, n_returns_};
        Extremes* const of_action = &extremes_[at(first)];
        for (std::int64_t a = 0; a < n_actions; ++a) of_action[a] = {most, -most, 0, 0};
        Word<T> values;
        for (const std::uint32_t word : live_words_) {  // at first with the words that have the values
            const std::size_t base = std::size_t{word} * word_size;
            values.begin(words_[word], one_by_one(word));
            for (std::int64_t a = 0; a < n_actions; ++a) {
                const auto [lower, upper] = values.look_at(tables_->column(first + a) + base);
                Extremes& here = of_action[a];
                if (lower < here.lower) {
                    here.lower = lower;
                    here.lower_by = word;
                }
                if (upper > here.upper) {
                    here.upper = upper;
                    here.upper_by = word;
                }
            }
            const T least = values.least();
            if (least < row.least) {
                row.least = least;
                row.least_by = word;
            }
        }
        for (std::int64_t a = 0; a < n_actions; ++a) {
            const T* column = tables_->column(first + a);
            Extremes& here = of_action[a];
            here.lower_by = first_in(here.lower_by, [&](std::uint32_t i) { return column[i] == here.lower; });
            here.upper_by = first_in(here.upper_by, [&](std::uint32_t i) { return column[i] == here.upper; });
        }
        row.least_by = first_in(row.least_by, [&](std::uint32_t i) {
            bool above = false;
            for (std::int64_t a = 0; a < n_actions; ++a) above |= tables_->column(first + a)[i] > row.least;
            return !above;
        });
    }

    // The first survivor of a word that has a property; there is one.
    template <class Property>
    std::uint32_t first_in(std::uint32_t word, Property&& has) const {
        std::uint64_t bits = words_[word];
        while (!has(number(word, bits))) bits &= bits - 1;
        return number(word, bits);
    }

    void list_words() {
        live_words_.clear();
        for (std::size_t word = 0; word < words_.size(); ++word) {
            if (words_[word] != 0) live_words_.push_back(static_cast<std::uint32_t>(word));
        }
    }

    std::shared_ptr<const FiniteTables<T>> tables_;
    std::vector<std::uint64_t> words_;       // the bitset
    std::vector<std::uint32_t> live_words_;  // those that are not 0
    std::size_t n_survivors_;
    std::vector<Kept> constraints_;
    std::unordered_map<std::int64_t, std::size_t> position_;  // identity -> in constraints_
    std::vector<std::uint32_t> undecided_;                    // eliminated by constraints that are gone
    std::uint64_t version_ = 0;                               // of the set
    std::uint64_t n_returns_ = 0;                             // times that hypotheses came back
    struct {
        Constraint constraint;
        std::uint64_t version;
        bool answer;
    } asked_{{}, ~std::uint64_t{0}, false};  // of compatible, last
    // questions are remembered: they change what is behind them, never what is left
    mutable std::vector<Row> rows_;           // per (layer, point)
    mutable std::vector<Extremes> extremes_;  // per index
};

}  // namespace ocp
