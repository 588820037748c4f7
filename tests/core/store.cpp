// The constraint store beside a literal walk: Algorithm 1 from scratch after every change.
#include "ocpfast/store.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/hypothesis/box.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::Constraint;
using ocp::infinity;
using ocp::Selection;

constexpr std::int64_t n_coordinates = 3;
constexpr double prior_size = 4;

struct Interval {
    double lower = -prior_size, upper = prior_size;
};

// The order of the walk: of equal U the newer first.
bool comes_first(const Constraint& a, const Constraint& b) {
    return a.upper != b.upper ? a.upper < b.upper : a.sequence > b.sequence;
}

// Which constraints are kept, by sequence number, and what they leave.
struct Walk {
    std::map<std::int64_t, bool> kept;
    std::vector<Interval> left = std::vector<Interval>(n_coordinates);
    bool conflict = false;

    explicit Walk(std::vector<Constraint> constraints) {
        std::sort(constraints.begin(), constraints.end(), comes_first);
        for (const Constraint& c : constraints) {
            Interval& interval = left[static_cast<std::size_t>(c.index)];
            const Interval both{std::max(interval.lower, c.lower), std::min(interval.upper, c.upper)};
            kept[c.sequence] = both.lower <= both.upper;
            if (kept[c.sequence]) interval = both;
            conflict |= !kept[c.sequence];
        }
    }
};

// Whole numbers and halves around the prior, so that ties and points abound, now and then without an end.
Constraint drawn(Draw& draw) {
    const auto one = [&] { return static_cast<double>(draw.between(-10, 10)) / 2; };
    Constraint c{draw.below(n_coordinates), one(), 0};
    c.upper = draw.chance(0.3) ? c.lower : c.lower + std::abs(one());
    if (draw.chance(0.1)) c.lower = -infinity;
    if (draw.chance(0.1)) c.upper = infinity;
    if (draw.chance(0.02)) std::swap(c.lower, c.upper);  // empty
    return c;
}

ocp::Box box() {
    return {std::vector<double>(n_coordinates, -prior_size), std::vector<double>(n_coordinates, prior_size)};
}

bool possible(const Constraint& c) {
    return std::max(c.lower, -prior_size) <= std::min(c.upper, prior_size);
}

template <class Store>
std::vector<Constraint> held(const Store& store) {
    std::vector<Constraint> all;
    for (const auto& entry : store.entries()) all.push_back(entry.constraint);
    return all;
}

template <class Store>
void compare(const Store& store, const Walk& walk) {
    std::size_t n_rejected = 0;
    const Constraint* before = nullptr;
    for (const auto& entry : store.entries()) {
        if (before != nullptr) CHECK(comes_first(*before, entry.constraint));
        before = &entry.constraint;
        const auto found = walk.kept.find(entry.constraint.sequence);
        CHECK(found != walk.kept.end() && found->second == entry.kept);
        n_rejected += !entry.kept;
    }
    CHECK(store.n_rejected() == n_rejected);
    for (std::int64_t i = 0; i < n_coordinates; ++i) {
        CHECK(store.hypotheses().lower(i) == walk.left[static_cast<std::size_t>(i)].lower);
        CHECK(store.hypotheses().upper(i) == walk.left[static_cast<std::size_t>(i)].upper);
    }
}

}  // namespace

// Of identical constraints the store holds the newest alone; the walk goes over all that ever came.
TEST(store_insertions) {
    Draw draw(1);
    for (int i = 0; i < core::cases(400); ++i) {
        ocp::ConstraintStore<ocp::Box> store(box());
        std::vector<Constraint> all;
        bool coherent = true;
        for (std::int64_t n = draw.between(1, 40); n > 0; --n) {
            Constraint c = drawn(draw);
            c.sequence = store.insert(c.index, c.lower, c.upper);
            CHECK((c.sequence == store.dropped) == (c.says_nothing() || !possible(c)));
            coherent &= c.says_nothing() || possible(c);
            if (c.sequence != store.dropped) all.push_back(c);
            const Walk walk(all);
            compare(store, walk);
            coherent &= !walk.conflict;
            CHECK(store.coherent() == coherent);
        }
    }
}

// Constraints that somebody owns and takes back.
TEST(store_deletions) {
    Draw draw(2);
    for (int i = 0; i < core::cases(400); ++i) {
        ocp::ConstraintStore<ocp::Box> store(box());
        std::vector<Constraint> all;
        for (std::int64_t n = draw.between(1, 50); n > 0; --n) {
            if (!all.empty() && draw.chance(0.4)) {
                const auto gone = all.begin() + draw.below(static_cast<std::int64_t>(all.size()));
                CHECK(store.erase(gone->sequence));
                CHECK(!store.erase(gone->sequence));
                all.erase(gone);
            } else {
                Constraint c = drawn(draw);
                ocp::ConstraintOwner owner;
                c.sequence = store.insert(c.index, c.lower, c.upper, &owner);
                if (c.sequence != store.dropped) all.push_back(c);
            }
            CHECK(store.entries().size() == all.size());
            compare(store, Walk(all));
        }
    }
}

// What was seen in the last W episodes; a constraint that is seen again stays as long as the newest.
TEST(store_windows) {
    Draw draw(3);
    for (int i = 0; i < core::cases(300); ++i) {
        const std::int64_t window = draw.between(1, 4);
        ocp::ConstraintStore<ocp::Box> store(box(), Selection::window, window);
        std::vector<Constraint> all;
        for (std::int64_t episode = 0; episode < 10; ++episode) {
            for (std::int64_t n = draw.between(0, 8); n > 0; --n) {
                Constraint c = !all.empty() && draw.chance(0.3) ? draw.one_of(all) : drawn(draw);
                c.episode = episode;
                c.sequence = store.insert(c.index, c.lower, c.upper);
                if (c.sequence != store.dropped) all.push_back(c);
                compare(store, Walk(all));
            }
            store.end_episode();
            const auto old = [&](const Constraint& c) { return c.episode < episode + 1 - window; };
            all.erase(std::remove_if(all.begin(), all.end(), old), all.end());
            compare(store, Walk(all));
        }
    }
}

// Only what is compatible with all before it and makes a coordinate known (eluder), or known from above (first).
TEST(store_selections) {
    Draw draw(4);
    for (int i = 0; i < core::cases(300); ++i) {
        for (const Selection selection : {Selection::eluder, Selection::first}) {
            ocp::ConstraintStore<ocp::Box> store(box(), selection);
            std::vector<Constraint> all;
            std::int64_t n_contradictions = 0;
            for (int n = 0; n < 25; ++n) {
                Constraint c = drawn(draw);
                const Interval now = Walk(all).left[static_cast<std::size_t>(c.index)];
                const bool fits = std::max(now.lower, c.lower) <= std::min(now.upper, c.upper);
                bool bounded = false;
                for (const Constraint& other : all) bounded |= other.index == c.index;
                bool wanted = fits && !c.says_nothing();
                if (selection == Selection::eluder) {
                    wanted &= c.lower == c.upper && now.lower < now.upper;
                    n_contradictions += !fits && c.lower == c.upper;
                } else {
                    wanted &= c.upper < infinity && !bounded;
                }
                c.sequence = store.insert(c.index, c.lower, c.upper);
                CHECK((c.sequence != store.dropped) == wanted);
                if (wanted) all.push_back(c);
                compare(store, Walk(all));
                CHECK(store.n_contradictions() == n_contradictions);
            }
        }
    }
}

namespace {

// A box whose solver fails now and then.
class Failing : public ocp::Box {
public:
    Failing() : ocp::Box(box()) {}
    bool compatible(const Constraint& c) {
        if (draw_ != nullptr && draw_->chance(0.1)) throw std::runtime_error("no answer");
        return ocp::Box::compatible(c);
    }
    void fail_with(Draw* draw) { draw_ = draw; }

private:
    Draw* draw_ = nullptr;
};

}  // namespace

// A question without an answer leaves a store that is whole again after the next change.
TEST(store_failures) {
    Draw draw(5);
    std::int64_t n_failed = 0;
    for (int i = 0; i < core::cases(400); ++i) {
        ocp::ConstraintStore<Failing> store{Failing()};
        for (int n = 0; n < 30; ++n) {
            const auto change = [&] {
                const auto& entries = store.entries();
                if (!entries.empty() && draw.chance(0.3)) {
                    store.erase(draw.one_of(entries).constraint.sequence);
                } else {
                    const Constraint c = drawn(draw);
                    ocp::ConstraintOwner owner;
                    store.insert(c.index, c.lower, c.upper, draw.chance(0.5) ? &owner : nullptr);
                }
            };
            store.hypotheses().fail_with(&draw);
            try {
                change();
            } catch (const std::runtime_error&) {
                ++n_failed;
            }
            store.hypotheses().fail_with(nullptr);
            // neither drops it nor finds it there: a walk
            ocp::ConstraintOwner owner;
            store.insert(0, -prior_size, prior_size - 0.5 + 1e-3 * n, &owner);
            compare(store, Walk(held(store)));
        }
    }
    CHECK(n_failed > core::cases(400));
}
