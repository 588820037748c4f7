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
#include <unordered_map>
#include <utility>
#include <vector>

#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/finite_tables.hpp"

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
    }

    // ---- for ConstraintStore -----------------------------------------------------------------------------------

    bool possible(const Constraint& c) {
        if (compatible(c)) return true;
        const Admitted<T> admitted = tables_->admitted(c.lower, c.upper);
        const T* column = tables_->column(c.index);
        return std::any_of(column, column + tables_->n_hypotheses(), [&](T v) { return admitted.contains(v); });
    }
    bool compatible(const Constraint& c) {
        return any(c, [](std::uint64_t bits, std::uint64_t inside) { return bits & inside; });
    }
    // Whether it eliminates something.
    bool reduces_dimension(const Constraint& c) {
        return any(c, [](std::uint64_t bits, std::uint64_t inside) { return bits & ~inside; });
    }
    // Whether all that is left would agree on the triple, and did not.
    bool determines(const Constraint& c) { return tables_->agree(c.lower, c.upper) && reduces_dimension(c); }

    void add(const Constraint& c) {
        position_.emplace(c.identity, constraints_.size());
        constraints_.push_back({c.identity, c.index, tables_->admitted(c.lower, c.upper), {}});
        Kept& kept = constraints_.back();
        const T* column = tables_->column(c.index);
        std::size_t n_live = 0;
        for (const std::uint32_t word : live_words_) {
            std::uint64_t& bits = words_[word];
            std::uint64_t outside = bits & ~inside(column, word, bits, kept.admitted);
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

    struct Extremes {
        T lower, upper;  // of one triple
    };
    // Fills in the extremes of the triples first..first+n-1 and returns the smallest of what each survivor has for
    // their largest.
    T extremes(std::int64_t first, std::size_t n, Extremes* of_triple) const {
        T least = std::numeric_limits<T>::infinity();
        for (std::size_t k = 0; k < n; ++k) of_triple[k] = {least, -least};
        std::uint8_t set[word_size];
        T largest[word_size];  // of each survivor in a word
        for (const std::uint32_t word : live_words_) {
            const std::size_t base = std::size_t{word} * word_size;
            const std::uint64_t bits = words_[word];
            if (bits == ~std::uint64_t{0}) {
                for (std::size_t k = 0; k < n; ++k) {
                    look_at_all(tables_->column(first + static_cast<std::int64_t>(k)) + base, k == 0, largest,
                                of_triple[k]);
                }
                for (const T value : largest) least = value < least ? value : least;
                continue;
            }
            std::size_t n_set = 0;
            for (std::uint64_t left = bits; left != 0; left &= left - 1) {
                set[n_set++] = static_cast<std::uint8_t>(lowest(left));
            }
            for (std::size_t k = 0; k < n; ++k) {
                const T* column = tables_->column(first + static_cast<std::int64_t>(k)) + base;
                Extremes here = of_triple[k];
                for (std::size_t i = 0; i < n_set; ++i) {
                    const T value = column[set[i]];
                    here.lower = value < here.lower ? value : here.lower;
                    here.upper = value > here.upper ? value : here.upper;
                    largest[i] = k == 0 || value > largest[i] ? value : largest[i];
                }
                of_triple[k] = here;
            }
            for (std::size_t i = 0; i < n_set; ++i) least = largest[i] < least ? largest[i] : least;
        }
        return least;
    }

private:
    static constexpr std::size_t word_size = 64;
    struct Kept {
        std::int64_t identity, index;
        Admitted<T> admitted;
        std::vector<std::uint32_t> eliminated;  // by this constraint, perhaps by others as well
    };

    static unsigned lowest(std::uint64_t bits) {
#if defined(__GNUC__)
        return static_cast<unsigned>(__builtin_ctzll(bits));
#else
        unsigned n = 0;  // bits is not 0
        for (; (bits & 1) == 0; bits >>= 1) ++n;
        return n;
#endif
    }
    static std::uint32_t number(std::uint32_t word, std::uint64_t bits) {
        return word * static_cast<std::uint32_t>(word_size) + lowest(bits);
    }

    // Which of the bits of a word belong to hypotheses that a constraint admits; of other bits it says nothing.
    std::uint64_t inside(const T* column, std::uint32_t word, std::uint64_t bits, const Admitted<T>& admitted) const {
        const std::size_t base = std::size_t{word} * word_size;
        std::uint64_t result = 0;
        if (bits == ~std::uint64_t{0}) {
            for (std::size_t k = 0; k < word_size; ++k) {
                result |= static_cast<std::uint64_t>(admitted.contains(column[base + k])) << k;
            }
            return result;
        }
        for (; bits != 0; bits &= bits - 1) {
            const unsigned k = lowest(bits);
            result |= static_cast<std::uint64_t>(admitted.contains(column[base + k])) << k;
        }
        return result;
    }

    // Whether some word has a bit in pick(survivors, admitted).
    template <class Pick>
    bool any(const Constraint& c, Pick&& pick) {
        settle();
        const Admitted<T> admitted = tables_->admitted(c.lower, c.upper);
        const T* column = tables_->column(c.index);
        return std::any_of(live_words_.begin(), live_words_.end(), [&](std::uint32_t word) {
            return pick(words_[word], inside(column, word, words_[word], admitted)) != 0;
        });
    }

    // A whole word at once: in lanes, which compilers turn into vector instructions without being told that the order
    // of comparisons does not matter.
    static void look_at_all(const T* column, bool first, T* largest, Extremes& extremes) {
        constexpr std::size_t lanes = 16;
        T lower[lanes], upper[lanes];
        std::fill(lower, lower + lanes, extremes.lower);
        std::fill(upper, upper + lanes, extremes.upper);
        for (std::size_t base = 0; base < word_size; base += lanes) {
            for (std::size_t k = 0; k < lanes; ++k) {
                const T value = column[base + k];
                lower[k] = value < lower[k] ? value : lower[k];
                upper[k] = value > upper[k] ? value : upper[k];
            }
        }
        if (first) {
            std::copy(column, column + word_size, largest);
        } else {
            for (std::size_t k = 0; k < word_size; ++k) largest[k] = column[k] > largest[k] ? column[k] : largest[k];
        }
        extremes = {*std::min_element(lower, lower + lanes), *std::max_element(upper, upper + lanes)};
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
    std::uint64_t version_ = 0;
};

}  // namespace ocp
