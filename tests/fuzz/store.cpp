// The store beside a literal walk of Algorithm 1 over all constraints: after every operation both keep the same.
//
// Of three classes: a box, which now and then cannot answer and throws; a finite class; equalities of a linear one.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "input.hpp"
#include "ocpfast/archive.hpp"
#include "ocpfast/constraint.hpp"
#include "ocpfast/hypothesis/box.hpp"
#include "ocpfast/hypothesis/features.hpp"
#include "ocpfast/hypothesis/finite_tables.hpp"
#include "ocpfast/hypothesis/linear_block.hpp"
#include "ocpfast/hypothesis/partition.hpp"
#include "ocpfast/hypothesis/survivors.hpp"
#include "ocpfast/store.hpp"

namespace {

using fuzz::check;
using fuzz::Input;
using ocp::Constraint;
using ocp::Selection;
using Constraints = std::vector<Constraint>;

// ---- boxes
// -----------------------------------------------------------------------------------------------------------

struct Unanswered : std::runtime_error {
    Unanswered() : std::runtime_error("no answer") {}
};

// A box that can be archived, and that throws at the question at which the counter, which its copies share, is 0.
class FickleBox {
public:
    FickleBox(std::vector<double> lower, std::vector<double> upper, std::shared_ptr<int> questions)
        : lower_(std::move(lower)), upper_(std::move(upper)), questions_(std::move(questions)), box_(lower_, upper_) {}

    bool possible(const Constraint& c) const { return asked().possible(c); }
    bool compatible(const Constraint& c) const { return asked().compatible(c); }
    bool reduces_dimension(const Constraint& c) const { return asked().reduces_dimension(c); }
    bool determines(const Constraint& c) const { return asked().determines(c); }
    void add(const Constraint& c) {
        box_.add(c);
        check(held_.emplace(c.identity, c).second, "added twice");
    }
    void remove(const Constraint& c) {
        box_.remove(c);
        check(held_.erase(c.identity) == 1, "removed without having been added");
    }

    bool is_index(std::int64_t index) const { return index >= 0 && static_cast<std::size_t>(index) < lower_.size(); }
    std::size_t n_held() const { return held_.size(); }
    bool holds(const Constraint& c) const { return held_.count(c.identity) != 0; }
    template <class Archive>
    void archive(Archive& a) {
        a(held_);
        if constexpr (!Archive::loading) return;
        box_ = ocp::Box(lower_, upper_);
        for (const auto& [identity, c] : held_) box_.add(c);
    }

    const ocp::Box& box() const { return box_; }

private:
    const ocp::Box& asked() const {
        if ((*questions_)-- == 0) throw Unanswered();
        return box_;
    }

    std::vector<double> lower_, upper_;
    std::shared_ptr<int> questions_;
    ocp::Box box_;
    std::map<std::int64_t, Constraint> held_;
};

class BoxCase {
public:
    using Class = FickleBox;
    explicit BoxCase(Input& input) {
        for (std::int64_t i = 0, n = 1 + input.below(3); i < n; ++i) {
            const double a = input.flag() ? input.real() : -ocp::infinity;
            const double b = input.flag() ? input.real() : ocp::infinity;
            const bool usual = a <= b && a < ocp::infinity && b > -ocp::infinity;  // also without NaN
            lower_.push_back(usual ? a : -ocp::infinity);
            upper_.push_back(usual ? b : ocp::infinity);
        }
    }

    Class made() const { return {lower_, upper_, questions_}; }
    // The question that will fail; none: -1.
    void fail_at(int question) { *questions_ = question; }

    Constraint constraint(Input& input) const {
        return {input.below(static_cast<std::int64_t>(lower_.size())), input.real(), input.real(), 0, 0};
    }

    bool consistent(const Constraints& kept, const Constraint& c) const {
        const auto [low, high] = interval(kept, c.index);
        return std::max(low, c.lower) <= std::min(high, c.upper);
    }
    bool reduces(const Constraints& kept, const Constraint& c) const {
        const auto [low, high] = interval(kept, c.index);
        return c.lower == c.upper && low < high;
    }
    bool determines(const Constraints& kept, const Constraint& c) const {
        const bool known =
            std::any_of(kept.begin(), kept.end(), [&](const Constraint& o) { return o.index == c.index; });
        return c.upper < ocp::infinity && !known;
    }
    void compare(const Class& known, const Constraints& kept) const {
        for (std::size_t i = 0; i < lower_.size(); ++i) {
            const auto index = static_cast<std::int64_t>(i);
            const auto [low, high] = interval(kept, index);
            check(known.box().lower(index) == low && known.box().upper(index) == high, "an interval of the box");
        }
    }

private:
    std::pair<double, double> interval(const Constraints& kept, std::int64_t index) const {
        double low = lower_[static_cast<std::size_t>(index)], high = upper_[static_cast<std::size_t>(index)];
        for (const Constraint& c : kept) {
            if (c.index != index) continue;
            low = std::max(low, c.lower);
            high = std::min(high, c.upper);
        }
        return {low, high};
    }

    std::vector<double> lower_, upper_;
    std::shared_ptr<int> questions_ = std::make_shared<int>(-1);
};

// ---- finite classes
// --------------------------------------------------------------------------------------------------

template <class T>
class FiniteCase {
public:
    using Class = ocp::Survivors<T>;
    explicit FiniteCase(Input& input) {
        const std::int64_t n_states = 1 + input.below(2), n_actions = 1 + input.below(2);
        n_ = 1 + input.below(140);  // more than two words of a bitset
        n_indices_ = n_states * n_actions;
        tolerance_ = input.flag() ? 1e-9 : 0;
        auto domain = std::make_shared<ocp::Partition>(n_states, n_actions, 1);
        // a few numbers from the input, and a rule that repeats them
        std::vector<T> palette;
        for (std::int64_t i = 0, n = 1 + input.below(8); i < n; ++i) {
            const T value = static_cast<T>(std::max(std::min(input.real(), 1e30), -1e30));
            palette.push_back(std::isfinite(value) ? value : T{0});
        }
        const std::int64_t step = 1 + input.below(7);
        values_ = std::make_shared<std::vector<T>>();
        for (std::int64_t k = 0; k < n_ * n_indices_; ++k) {
            values_->push_back(
                palette[static_cast<std::size_t>((k * step + k / n_) % static_cast<std::int64_t>(palette.size()))]);
        }
        tables_ = std::make_shared<ocp::FiniteTables<T>>(domain, std::shared_ptr<const T>(values_, values_->data()), n_,
                                                         tolerance_);
    }

    Class made() const { return Class(tables_); }
    void fail_at(int) {}

    Constraint constraint(Input& input) const { return {input.below(n_indices_), input.real(), input.real(), 0, 0}; }

    bool consistent(const Constraints& kept, const Constraint& c) const {
        const std::vector<std::uint32_t> left = survivors(kept);
        return std::any_of(left.begin(), left.end(), [&](std::uint32_t h) { return admits(c, h); });
    }
    bool reduces(const Constraints& kept, const Constraint& c) const {
        const std::vector<std::uint32_t> left = survivors(kept);
        return std::any_of(left.begin(), left.end(), [&](std::uint32_t h) { return !admits(c, h); });
    }
    bool determines(const Constraints& kept, const Constraint& c) const {
        const double allowed = tolerance_ * std::max({1.0, std::abs(c.lower), std::abs(c.upper)});
        return c.upper - c.lower <= allowed && reduces(kept, c);
    }
    void compare(Class& known, const Constraints& kept) const {
        known.settle();
        check(known.numbers() == survivors(kept), "the survivors");
        check(known.size() == survivors(kept).size(), "the number of survivors");
    }

private:
    std::vector<std::uint32_t> survivors(const Constraints& kept) const {
        std::vector<std::uint32_t> left;
        for (std::uint32_t h = 0; h < static_cast<std::uint32_t>(n_); ++h) {
            if (std::all_of(kept.begin(), kept.end(), [&](const Constraint& c) { return admits(c, h); }))
                left.push_back(h);
        }
        return left;
    }
    bool admits(const Constraint& c, std::uint32_t h) const {
        const double value = static_cast<double>((*values_)[static_cast<std::size_t>(c.index * n_) + h]);
        return value >= c.lower - tolerance_ * std::max(1.0, std::abs(c.lower)) &&
               value <= c.upper + tolerance_ * std::max(1.0, std::abs(c.upper));
    }

    std::int64_t n_, n_indices_;
    double tolerance_;
    std::shared_ptr<std::vector<T>> values_;
    std::shared_ptr<const ocp::FiniteTables<T>> tables_;
};

// ---- linear classes
// --------------------------------------------------------------------------------------------------

struct Fraction {
    std::int64_t over, under;
    Fraction(std::int64_t a = 0, std::int64_t b = 1) : over(a), under(b) {
        const std::int64_t divisor = std::gcd(over, under) * (under < 0 ? -1 : 1);
        over /= divisor;
        under /= divisor;
    }
    friend Fraction operator*(const Fraction& a, const Fraction& b) { return {a.over * b.over, a.under * b.under}; }
    friend Fraction operator/(const Fraction& a, const Fraction& b) { return {a.over * b.under, a.under * b.over}; }
    friend Fraction operator-(const Fraction& a, const Fraction& b) {
        return {a.over * b.under - b.over * a.under, a.under * b.under};
    }
    bool zero() const { return over == 0; }
};

// Equalities phi.theta = value with small integers, and elimination in fractions: gaps are 0 or clearly not.
class LinearCase {
public:
    using Class = ocp::LinearBlock;
    explicit LinearCase(Input& input) {
        const std::int64_t n_states = 3, n_actions = 1 + input.below(2);
        n_features_ = 1 + static_cast<std::size_t>(input.below(3));
        n_indices_ = n_states * n_actions;
        std::vector<double> table;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n_indices_) * n_features_; ++i) {
            table.push_back(static_cast<double>(phi_.emplace_back(input.below(4) - 1)));
        }
        features_ =
            std::make_shared<ocp::Features>(std::make_shared<ocp::Partition>(n_states, n_actions, 1),
                                            std::make_shared<ocp::DenseRows>(std::move(table), n_features_),
                                            static_cast<std::int64_t>(n_features_), true, std::vector<ocp::PriorRow>());
    }

    Class made() const { return {features_, 0, nullptr, ocp::Tolerances{}}; }
    void fail_at(int) {}

    Constraint constraint(Input& input) const {
        const auto value = static_cast<double>(input.below(7) - 3);
        return {input.below(n_indices_), value, value, 0, 0};
    }

    bool consistent(const Constraints& kept, const Constraint& c) const {
        const Row left = reduced(kept, c.index, c.lower);
        return !zero(left) || left.back().zero();
    }
    bool reduces(const Constraints& kept, const Constraint& c) const { return !zero(reduced(kept, c.index, 0)); }
    bool determines(const Constraints& kept, const Constraint& c) const { return reduces(kept, c); }
    void compare(Class& known, const Constraints& kept) const {
        for (std::int64_t index = 0; index < n_indices_; ++index) {
            const Row left = reduced(kept, index, 0);
            check(known.pinned(index) == zero(left), "what is determined");
            const double value = -static_cast<double>(left.back().over) / static_cast<double>(left.back().under);
            const double low = known.lower(index), high = known.upper(index);
            check(zero(left) ? std::abs(high - value) < 1e-9 && low == high
                             : low == -ocp::infinity && high == ocp::infinity,
                  "a value");
        }
    }

private:
    using Row = std::vector<Fraction>;  // phi and, last, the value

    bool zero(const Row& row) const {
        return std::all_of(row.begin(), row.end() - 1, [](const Fraction& part) { return part.zero(); });
    }
    Row row_of(std::int64_t index, double value) const {
        Row row;
        for (std::size_t i = 0; i < n_features_; ++i)
            row.emplace_back(phi_[static_cast<std::size_t>(index) * n_features_ + i]);
        row.emplace_back(static_cast<std::int64_t>(value));
        return row;
    }
    // The row minus what the kept ones tell of it.
    Row reduced(const Constraints& kept, std::int64_t index, double value) const {
        std::vector<std::pair<std::size_t, Row>> solved;  // by its first column that is not 0
        const auto eliminate = [&](Row row) {
            for (const auto& [column, other] : solved) {
                const Fraction factor = row[column] / other[column];
                for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] - factor * other[i];
            }
            return row;
        };
        for (const Constraint& c : kept) {
            Row row = eliminate(row_of(c.index, c.lower));
            std::size_t column = 0;
            while (column < n_features_ && row[column].zero()) ++column;
            if (column < n_features_) solved.emplace_back(column, std::move(row));
        }
        return eliminate(row_of(index, value));
    }

    std::size_t n_features_;
    std::int64_t n_indices_;
    std::vector<std::int64_t> phi_;
    std::shared_ptr<const ocp::Features> features_;
};

// ---- Algorithm 1, written out
// ----------------------------------------------------------------------------------------

template <class Case>
class Literal {
public:
    Literal(const Case& one, Selection selection, std::int64_t window, bool owned)
        : case_(one), selection_(selection), window_(window), owned_(owned) {}

    // Whether the constraint is held from now on. Older identical ones stay here, though the store forgets them.
    bool takes(const Constraint& c, const Constraints& kept) {
        if (c.says_nothing()) return false;
        const bool possible = case_.consistent({}, c), fits = possible && case_.consistent(kept, c);
        if (!possible || (selection_ != Selection::first && !fits)) coherent = false;
        if (selection_ == Selection::eluder && !fits) n_contradictions += c.lower == c.upper;
        if (!possible) return false;
        if (selection_ == Selection::eluder) return fits && case_.reduces(kept, c);
        if (selection_ == Selection::first) return fits && case_.determines(kept, c);
        return true;
    }
    void hold(Constraint c, std::int64_t sequence) {
        c.sequence = sequence;
        c.episode = episode_;
        held_.push_back(c);
    }
    bool erase(std::int64_t sequence) {
        const auto found =
            std::find_if(held_.begin(), held_.end(), [&](const Constraint& c) { return c.sequence == sequence; });
        if (found == held_.end() || superseded(*found)) return false;
        const Constraint gone = *found;
        drop([&](const Constraint& c) { return c.sequence == sequence || (!owned_ && c.same_interval(gone)); });
        return true;
    }
    void begin_next_episode() { ++episode_; }
    void forget_old() {
        if (selection_ == Selection::window) drop([&](const Constraint& c) { return c.episode < episode_ - window_; });
    }
    // Takes over which ones are held, where an operation ended in the midst.
    void take_over(const std::set<std::int64_t>& sequences) {
        drop([&](const Constraint& c) {
            return sequences.count(c.sequence) == 0 &&
                   (owned_ || std::none_of(held_.begin(), held_.end(), [&](const Constraint& other) {
                        return c.sequence < other.sequence && c.same_interval(other) &&
                               sequences.count(other.sequence) != 0;
                    }));
        });
    }

    Constraints kept() const {
        Constraints order = held_, kept;
        std::sort(order.begin(), order.end(), [](const Constraint& a, const Constraint& b) {
            return a.upper != b.upper ? a.upper < b.upper : a.sequence > b.sequence;
        });
        for (const Constraint& c : order) {
            if (case_.consistent(kept, c)) kept.push_back(c);
        }
        return kept;
    }
    std::set<std::int64_t> sequences() const {
        std::set<std::int64_t> all;
        for (const Constraint& c : held_) {
            if (!superseded(c)) all.insert(c.sequence);
        }
        return all;
    }

    bool coherent = true;
    std::int64_t n_contradictions = 0;

private:
    bool superseded(const Constraint& c) const {
        return !owned_ && std::any_of(held_.begin(), held_.end(), [&](const Constraint& other) {
            return c.sequence < other.sequence && c.same_interval(other);
        });
    }
    template <class Gone>
    void drop(const Gone& gone) {
        Constraints left;
        for (const Constraint& c : held_) {
            if (!gone(c)) left.push_back(c);
        }
        held_ = std::move(left);
    }

    const Case& case_;
    Selection selection_;
    std::int64_t window_;
    bool owned_;
    Constraints held_;
    std::int64_t episode_ = 0;
};

// ---- both
// ------------------------------------------------------------------------------------------------------------

template <class Case>
class Pair {
public:
    using Store = ocp::ConstraintStore<typename Case::Class>;
    Pair(Case& one, Selection selection, std::int64_t window, bool owned)
        : case_(one),
          selection_(selection),
          window_(window),
          owned_(owned),
          store_(one.made(), selection, window),
          literal_(one, selection, window, owned) {}

    void insert(const Constraint& c) {
        if (std::isnan(c.lower) || std::isnan(c.upper)) return;  // callers see to it
        const Constraints kept = literal_.kept();
        const bool was_settled = settled_;
        ocp::ConstraintOwner owner;  // of its own
        const auto work = [&] { return store_.insert(c.index, c.lower, c.upper, owned_ ? &owner : nullptr); };
        const std::optional<std::int64_t> sequence = attempt(work);
        if (!sequence) {
            // it may have come in before something else could not be answered
            for (const auto& entry : store_.entries()) {
                if (entry.constraint.sequence > newest_) literal_.hold(c, newest_ = entry.constraint.sequence);
            }
            literal_.take_over(sequences());
            return;
        }
        const bool takes = literal_.takes(c, kept);
        // what is selected while a walk is unfinished depends on what it has kept so far
        const bool by_what_is_kept = selection_ == Selection::eluder || selection_ == Selection::first;
        check((*sequence != Store::dropped) == takes || (!was_settled && by_what_is_kept), "what is dropped");
        if (*sequence == Store::dropped) return;
        check(*sequence > newest_, "sequence numbers rise");
        literal_.hold(c, newest_ = *sequence);
        settled_ = true;
    }

    void erase(std::int64_t sequence) {
        const std::optional<bool> erased = attempt([&] { return store_.erase(sequence); });
        if (!erased) return literal_.take_over(sequences());
        check(*erased == literal_.erase(sequence), "what is erased");
        settled_ = settled_ || *erased;
    }

    void end_episode() {
        literal_.begin_next_episode();
        const auto work = [&] {
            store_.end_episode();
            return true;
        };
        const std::size_t before = store_.entries().size();
        if (!attempt(work)) return literal_.take_over(sequences());
        literal_.forget_old();
        settled_ = settled_ || store_.entries().size() != before;
    }

    void save_and_load() {
        const std::string bytes = ocp::sealed(store_, "a store");
        Store loaded(case_.made(), selection_, window_);
        ocp::unseal(loaded, "a store", bytes);
        check(ocp::sealed(loaded, "a store") == bytes, "saved, loaded and saved again");
        store_ = std::move(loaded);
    }

    std::int64_t newest() const { return newest_; }

    void compare() {
        check(sequences() == literal_.sequences(), "the constraints that are held");
        Constraints kept;
        std::size_t n_rejected = 0;
        for (std::size_t i = 0; i < store_.entries().size(); ++i) {
            const auto& entry = store_.entries()[i];
            check(i == 0 || has_priority(store_.entries()[i - 1].constraint, entry.constraint), "the order");
            if (entry.kept) check(case_.consistent(kept, entry.constraint), "kept constraints exclude each other");
            if (entry.kept) kept.push_back(entry.constraint);
            n_rejected += !entry.kept;
        }
        check(store_.n_rejected() == n_rejected, "the number of rejected constraints");
        case_.compare(store_.hypotheses(), kept);
        if (!settled_) return;  // until the next change: see ConstraintStore::finish_walk
        const Constraints expected = literal_.kept();
        case_.compare(store_.hypotheses(), expected);
        const std::set<std::int64_t> held = sequences();
        std::set<std::int64_t> here, there;
        for (const Constraint& c : kept) here.insert(c.sequence);
        for (const Constraint& c : expected) {
            if (held.count(c.sequence) != 0) there.insert(c.sequence);
        }
        check(here == there, "the constraints that are kept");
        if (failed_) return;
        check(store_.coherent() == literal_.coherent, "coherent");
        check(store_.n_contradictions() == literal_.n_contradictions, "the number of contradictions");
    }

private:
    // What the work returns; nothing where a question was not answered.
    template <class Work>
    auto attempt(const Work& work) -> std::optional<decltype(work())> {
        try {
            const auto result = work();
            case_.fail_at(-1);
            return result;
        } catch (const Unanswered&) {
            case_.fail_at(-1);
            failed_ = true;
            settled_ = false;
            return std::nullopt;
        }
    }
    std::set<std::int64_t> sequences() const {
        std::set<std::int64_t> all;
        for (const auto& entry : store_.entries()) all.insert(entry.constraint.sequence);
        return all;
    }

    Case& case_;
    Selection selection_;
    std::int64_t window_;
    bool owned_;
    Store store_;
    Literal<Case> literal_;
    std::int64_t newest_ = -1;
    bool failed_ = false, settled_ = true;
};

template <class Case>
void drive(Input& input) {
    Case one(input);
    const auto selection = static_cast<Selection>(input.below(4));
    const std::int64_t window = 1 + input.below(3);
    const bool owned = input.flag();
    Pair<Case> pair(one, selection, window, owned);
    for (int n = 0; n < 60 && !input.empty(); ++n) {
        const std::int64_t operation = input.below(16);
        if (operation == 15) {
            one.fail_at(static_cast<int>(input.below(12)));  // of the next operation
            continue;
        }
        if (operation < 10) {
            pair.insert(one.constraint(input));
        } else if (operation < 12) {
            pair.erase(input.below(pair.newest() + 2));
        } else if (operation < 14) {
            pair.end_episode();
        } else {
            pair.save_and_load();
        }
        pair.compare();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    switch (input.below(4)) {
        case 0:
            drive<BoxCase>(input);
            break;
        case 1:
            drive<FiniteCase<double>>(input);
            break;
        case 2:
            drive<FiniteCase<float>>(input);
            break;
        default:
            drive<LinearCase>(input);
    }
    return 0;
}
