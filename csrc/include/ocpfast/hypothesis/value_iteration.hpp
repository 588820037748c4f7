// Many sweeps of value iteration from 0 over what was observed, without making most of them.
//
// A cell's value is Q(c) = r(c) + sum_y p(c, y) V(y) and a point's is V(x) = max of its cells' (and 0, if it has one
// that was never visited). A sweep T replaces all values at once: after n sweeps V_n = T^n 0. Time-homogeneous classes
// want n = 36,000 after every episode, and the sweeps do not settle before: what the pendulum has shown so far can
// often be balanced for thousands of seconds. Three things are skipped.
//
// 1. A sweep looks at those cells alone whose successors changed in the sweep before: the same bits. On the pendulum
//    about 50 of 2,886 cells still change after 50 sweeps.
// 2. Sweeps that change nothing: the same bits.
// 3. Sweeps that can be foreseen. Soon one policy is best in all sweeps that follow, so that the changes
//    D_j = V_{k+j+1} - V_{k+j} obey D_{j+1} = P D_j: they are a few slow modes (slow_modes.hpp), D_j = sum_c lambda_c^j
//    u_c + P^j d, where lambda_c says how long a part of the policy survives (1: for ever) and P^j d dies out. Then
//    V_{k+n} = W_n = V_k + sum_c s_c(n) u_c + E_n with s_c(n) = 1 + lambda_c + ... + lambda_c^(n-1) and
//    E_n = d + P d + ... + P^(n-1) d, in one step.
//
// Why the third is right. If |T W_j - W_{j+1}| <= e for all j < n, then |V_{k+n} - W_n| <= n e, because T is
// non-expansive: cells average, points take maxima. T W_j is the largest of Q_a(V_k) + sum_c s_c(j) P_a u_c + P_a E_j,
// and W_{j+1} = V_k + sum_c (1 + lambda_c s_c(j)) u_c + E_{j+1}. So the difference that an action makes is f_a(j) =
// Q_a(V_k) - V_k - sum_c u_c + sum_c b_c s_c(j) + P_a E_j - E_{j+1} with b_c = P_a u_c - lambda_c u_c, and it is enough
// that no f_a(j) is above e and one of them is not below -e. That is looked at (`steps_within`) for every cell that
// leads to where something changes, with bounds on s_c and E that hold for all j at once (for the policy's own action,
// P E_j - E_{j+1} = -d); where another action overtakes on the way, n is cut short before, and ordinary sweeps go on
// from there. Nothing is assumed about lambda_c, u_c, d or the sign of rewards: whatever a guess of them was worth,
// only what passes is used. With e = tolerance * max |V| / sweeps the result is within tolerance * max |V| of that of
// plain sweeps, all steps together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ocpfast/hypothesis/slow_modes.hpp"

namespace ocp {

class ValueIteration {
public:
    static constexpr double tolerance = 1e-9;

    // ---- what was observed, written down anew before each run ---------------------------------------------------

    void clear() {
        reward_.clear();
        start_.assign(1, 0);
        next_.clear();
        weight_.clear();
        choice_start_.assign(1, 0);
        choices_.clear();
        floor_.clear();
    }
    // The next cell, after its outcomes.
    void add_outcome(std::int32_t point, double probability) {
        next_.push_back(point);
        weight_.push_back(probability);
    }
    void add_cell(double mean_reward) {
        reward_.push_back(mean_reward);
        start_.push_back(static_cast<std::int32_t>(next_.size()));
    }
    // The next point, after its cells.
    void add_choice(std::int32_t cell) { choices_.push_back(cell); }
    void add_point(bool has_unvisited) {
        floor_.push_back(has_unvisited ? 0.0 : -std::numeric_limits<double>::infinity());
        choice_start_.push_back(static_cast<std::int32_t>(choices_.size()));
    }

    // ---- the answer ----------------------------------------------------------------------------------------------

    // Leaves the values of cells after so many sweeps, the first of which starts from 0.
    void run(std::int64_t sweeps) {
        prepare();
        // the last sweep is that of the cells: the points' values before it make them
        std::int64_t done = 0, made = 0, next_attempt = first_attempt;
        while (done < sweeps - 1 && !dirty_.empty()) {
            sweep();
            ++done;
            if (++made < next_attempt || changed_.empty()) continue;
            const std::int64_t skipped = leap(sweeps - 1 - done, sweeps, made);
            done += skipped;
            n_skipped_ += skipped;
            next_attempt = made + std::max(first_attempt, made / 2);
        }
        n_sweeps_ += made;
        for (std::size_t cell = 0; cell < reward_.size(); ++cell) q_[cell] = backup(cell);
    }

    double cell_value(std::int32_t cell) const { return q_[at(cell)]; }

    std::int64_t n_sweeps() const { return n_sweeps_; }    // made in all runs
    std::int64_t n_skipped() const { return n_skipped_; }  // and stepped over

    template <class Archive>
    void archive(Archive& a) {
        a.counts(n_sweeps_, n_skipped_);  // all else is made anew by each run
    }

private:
    static constexpr std::int64_t first_attempt = 32;    // sweeps: policies have settled by then, mostly
    static constexpr std::int64_t multiplications = 16;  // of P, that take the time of a sweep or two

    static std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }
    std::size_t n_points() const { return floor_.size(); }

    double backup(std::size_t cell) const {
        double value = reward_[cell];
        for (auto e = at(start_[cell]); e < at(start_[cell + 1]); ++e) value += weight_[e] * value_[at(next_[e])];
        return value;
    }

    void prepare() {
        const std::size_t n_cells = reward_.size();
        q_.assign(n_cells, 0.0);
        value_.assign(n_points(), 0.0);
        before_.assign(n_points(), 0.0);
        place_.assign(n_points(), -1);
        touched_flag_.assign(n_points(), 0);
        dirty_flag_.assign(n_cells, 0);
        invert(choice_start_, choices_, n_cells, user_start_, users_);
        invert(start_, next_, n_points(), source_start_, sources_);
        dirty_.clear();
        for (std::size_t cell = 0; cell < n_cells; ++cell) {
            if (has_users(cell)) mark_dirty(static_cast<std::int32_t>(cell));
        }
    }

    // The reverse of lists: rows that mention a number, by number.
    static void invert(const std::vector<std::int32_t>& start, const std::vector<std::int32_t>& numbers, std::size_t n,
                       std::vector<std::int32_t>& reverse_start, std::vector<std::int32_t>& rows) {
        reverse_start.assign(n + 1, 0);
        for (const std::int32_t number : numbers) ++reverse_start[at(number) + 1];
        for (std::size_t i = 0; i < n; ++i) reverse_start[i + 1] += reverse_start[i];
        rows.resize(numbers.size());
        for (std::size_t row = start.size() - 1; row-- > 0;) {  // backwards, so that starts end up where they were
            for (auto k = at(start[row]); k < at(start[row + 1]); ++k) {
                rows[at(--reverse_start[at(numbers[k]) + 1])] = static_cast<std::int32_t>(row);
            }
        }
        // each entry n + 1 has moved down to the start of n: shift them back
        for (std::size_t i = 0; i < n; ++i) reverse_start[i] = reverse_start[i + 1];
        reverse_start[n] = static_cast<std::int32_t>(numbers.size());
    }

    bool has_users(std::size_t cell) const { return user_start_[cell] < user_start_[cell + 1]; }

    void mark_dirty(std::int32_t cell) {
        if (dirty_flag_[at(cell)]) return;
        dirty_flag_[at(cell)] = 1;
        dirty_.push_back(cell);
    }

    double largest_choice(std::size_t point) const {
        double largest = floor_[point];
        for (auto k = at(choice_start_[point]); k < at(choice_start_[point + 1]); ++k) {
            largest = std::max(largest, q_[at(choices_[k])]);
        }
        return largest;
    }

    // One sweep: all cells from the values before it, then all points.
    void sweep() {
        for (const std::int32_t point : changed_) before_[at(point)] = value_[at(point)];
        touched_.clear();
        for (const std::int32_t cell : dirty_) {
            dirty_flag_[at(cell)] = 0;
            const double value = backup(at(cell));
            if (value == q_[at(cell)]) continue;
            q_[at(cell)] = value;
            for (auto k = at(user_start_[at(cell)]); k < at(user_start_[at(cell) + 1]); ++k) {
                if (touched_flag_[at(users_[k])]) continue;
                touched_flag_[at(users_[k])] = 1;
                touched_.push_back(users_[k]);
            }
        }
        dirty_.clear();
        changed_.clear();
        for (const std::int32_t point : touched_) {
            touched_flag_[at(point)] = 0;
            const double value = largest_choice(at(point));
            if (value == value_[at(point)]) continue;
            value_[at(point)] = value;
            changed_.push_back(point);
        }
        mark_sources_of_changed();
    }

    void mark_sources_of_changed() {
        for (const std::int32_t point : changed_) {
            for (auto k = at(source_start_[at(point)]); k < at(source_start_[at(point) + 1]); ++k) {
                if (has_users(at(sources_[k]))) mark_dirty(sources_[k]);
            }
        }
    }

    // ---- many sweeps in one step -----------------------------------------------------------------------------------

    // Tries to step over up to `most` sweeps after the last one; returns how many. V_k of the comment above is before_,
    // to which the values of cells q_ belong. What an attempt may cost depends on the sweeps made so far: attempts at
    // growing distances cost no more than the sweeps do, all together.
    std::int64_t leap(std::int64_t most, std::int64_t sweeps, std::int64_t made) {
        std::int64_t n = find_modes(multiplications * made) && find_rest(multiplications * made) ? most + 1 : 0;
        for (std::int64_t wanted = 0; n != wanted;) {  // cut short, values stay smaller, and so must errors
            wanted = n;
            n = steps_within(n, tolerance * largest_value_after(n) / static_cast<double>(sweeps) - rest_left_);
        }
        if (n > 1) {
            if (n < rest_length_) add_rest(n);
            for (std::size_t i = 0; i < changed_.size(); ++i) {
                before_[at(changed_[i])] = value_[at(changed_[i])] = value_after(n, i);
            }
        }
        for (const std::int32_t point : changed_) place_[at(point)] = -1;
        return std::max<std::int64_t>(0, n - 1);
    }

    double value_after(std::int64_t n, std::size_t place) const {
        double value = before_[at(changed_[place])] + rest_sum_[place];
        for (const SlowModes::Mode& mode : modes_) value += geometric_sum(mode.lambda, n) * mode.vector[place];
        return value;
    }
    double largest_value_after(std::int64_t n) const {
        double largest = 0;
        for (const double value : value_) largest = std::max(largest, std::abs(value));
        for (std::size_t i = 0; i < changed_.size(); ++i) largest = std::max(largest, std::abs(value_after(n, i)));
        return largest;
    }

    // 1 + lambda + ... + lambda^(n-1)
    static double geometric_sum(double lambda, std::int64_t n) {
        if (lambda == 1) return static_cast<double>(n);
        if (lambda < 0) return (1 - std::pow(lambda, static_cast<double>(n))) / (1 - lambda);
        return std::expm1(static_cast<double>(n) * std::log1p(lambda - 1)) / (lambda - 1);
    }

    // The modes of the last change under the greedy policy, on the points that changed.
    bool find_modes(std::int64_t longest) {
        change_.clear();
        for (std::size_t i = 0; i < changed_.size(); ++i) {
            const std::size_t point = at(changed_[i]);
            place_[point] = static_cast<std::int32_t>(i);
            change_.push_back(value_[point] - before_[point]);
        }
        policy_.clear();
        policy_cell_.clear();
        for (const std::int32_t point : changed_) {
            const std::int32_t cell = greedy_cell(at(point));
            policy_cell_.push_back(cell);
            if (cell >= 0) {
                for (auto e = at(start_[at(cell)]); e < at(start_[at(cell) + 1]); ++e) {
                    const std::int32_t place = place_[at(next_[e])];
                    if (place < 0) continue;
                    policy_.column.push_back(place);
                    policy_.weight.push_back(weight_[e]);
                }
            }
            policy_.end_row();
        }
        // D_m is modes alone, once m is large enough; u_c = lambda_c^-m of what they are by then
        const double negligible = 3e-13;
        later_ = change_;
        std::int64_t m = 0;
        for (const std::int64_t wanted : {64, 512, 4096, 32'768}) {
            if (wanted > longest) break;
            for (; m < wanted; ++m) multiply(later_);
            if (!finder_.find(policy_, later_)) continue;
            modes_ = finder_.modes();
            for (const SlowModes::Mode& mode : modes_) {
                for (std::size_t i = 0; i < later_.size(); ++i) later_[i] -= mode.vector[i];
            }
            const bool all = largest_of(later_) <= negligible * largest_of(change_);
            for (SlowModes::Mode& mode : modes_) {
                const double back = std::pow(mode.lambda, static_cast<double>(-m));
                for (std::size_t i = 0; i < later_.size(); ++i) {
                    later_[i] += mode.vector[i];
                    mode.vector[i] *= back;
                }
            }
            if (all) return true;
        }
        return false;
    }

    // Replaces x by P x.
    void multiply(std::vector<double>& x) {
        product_.resize(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            double sum = 0;
            policy_.for_each(static_cast<std::int32_t>(i),
                             [&](std::int32_t column, double weight) { sum += weight * x[at(column)]; });
            product_[i] = sum;
        }
        x.swap(product_);
    }

    static double largest_of(const std::vector<double>& x) {
        double largest = 0;
        for (const double one : x) largest = std::max(largest, std::abs(one));
        return largest;
    }

    // d, and between what E_j stays for all j.
    bool find_rest(std::int64_t longest) {
        rest_ = change_;
        for (const SlowModes::Mode& mode : modes_) {
            for (std::size_t i = 0; i < rest_.size(); ++i) rest_[i] -= mode.vector[i];
        }
        add_rest(longest);
        return rest_length_ < longest;
    }

    // E_n into rest_sum_; it ends where what comes is negligible, and rest_left_ says how much that is for each j.
    void add_rest(std::int64_t n) {
        const double negligible = 1e-12 * largest_of(change_);
        later_ = rest_;
        rest_sum_.assign(rest_.size(), 0.0);
        rest_least_ = rest_most_ = rest_sum_;
        rest_left_ = largest_of(later_);
        for (rest_length_ = 0; rest_length_ < n && rest_left_ > negligible; ++rest_length_) {
            for (std::size_t i = 0; i < rest_.size(); ++i) {
                rest_sum_[i] += later_[i];
                rest_least_[i] = std::min(rest_least_[i], rest_sum_[i]);
                rest_most_[i] = std::max(rest_most_[i], rest_sum_[i]);
            }
            multiply(later_);
            rest_left_ = largest_of(later_);
        }
    }

    std::int32_t greedy_cell(std::size_t point) const {
        std::int32_t best = -1;
        double largest = floor_[point];
        for (auto k = at(choice_start_[point]); k < at(choice_start_[point + 1]); ++k) {
            if (best >= 0 ? q_[at(choices_[k])] > largest : q_[at(choices_[k])] >= largest) {
                best = choices_[k];
                largest = q_[at(best)];
            }
        }
        return best;
    }

    // The largest n <= most, more or less, for which W_0 .. W_n are within e of what a sweep makes of each; 0 if there
    // is none worth the step.
    std::int64_t steps_within(std::int64_t most, double e) {
        touched_.clear();
        const auto touch = [this](std::int32_t point) {
            if (touched_flag_[at(point)]) return;
            touched_flag_[at(point)] = 1;
            touched_.push_back(point);
        };
        for (const std::int32_t point : changed_) touch(point);
        for (const std::int32_t cell : dirty_) {  // those that lead to what changed
            for (auto k = at(user_start_[at(cell)]); k < at(user_start_[at(cell) + 1]); ++k) touch(users_[k]);
        }
        for (const std::int32_t point : touched_) touched_flag_[at(point)] = 0;

        std::int64_t last = most - 1;  // j of the last W_j that a sweep is applied to
        set_last(last);
        for (const std::int32_t point : touched_) {
            const std::int32_t place = place_[at(point)];
            const double base = prepare_point(at(point));
            const double least = place < 0 ? 0.0 : rest_least_[at(place)];
            const double most_here = place < 0 ? 0.0 : rest_most_[at(place)];
            bool held_up = false;
            // the action's f(j) lies between these, plus sum_c b_c s_c(j)
            const auto consider = [&](double from, double to) {
                double largest = to, smallest = from;
                for (std::size_t c = 0; c < slope_.size(); ++c) {
                    (slope_[c] > 0 ? largest : smallest) += slope_[c] * reach_[c];
                }
                held_up |= smallest >= -e;
                if (!(largest <= e)) set_last(last = last_below(to, last, e));
            };
            if (floor_[at(point)] == 0) {
                slope_of_floor();
                consider(-base - most_here, -base - least);
            }
            for (auto k = at(choice_start_[at(point)]); k < at(choice_start_[at(point) + 1]); ++k) {
                const std::int32_t cell = choices_[k];
                const double at_0 = q_[at(cell)] - base;
                slope_of_cell(at(cell));
                if (place >= 0 && cell == policy_cell_[at(place)]) {
                    consider(at_0 - rest_[at(place)], at_0 - rest_[at(place)]);
                } else {
                    consider(at_0 + backup_of(at(cell), rest_least_) - most_here,
                             at_0 + backup_of(at(cell), rest_most_) - least);
                }
            }
            if (!held_up || last < shortest_leap) return 0;
        }
        return last + 1;
    }
    static constexpr std::int64_t shortest_leap = 16;

    // How far s_c(j) goes for j <= last; where lambda is negative it stays in 0..1.
    void set_last(std::int64_t last) {
        reach_.clear();
        for (const SlowModes::Mode& mode : modes_) {
            reach_.push_back(mode.lambda < 0 ? 1.0 : geometric_sum(mode.lambda, last));
        }
    }

    // V_k + sum_c u_c of a point, whose lambda_c u_c are left in decay_.
    double prepare_point(std::size_t point) {
        double base = before_[point];
        decay_.clear();
        for (const SlowModes::Mode& mode : modes_) {
            const double u = place_[point] < 0 ? 0.0 : mode.vector[at(place_[point])];
            base += u;
            decay_.push_back(mode.lambda * u);
        }
        return base;
    }

    void slope_of_floor() {
        slope_.clear();
        for (const double one : decay_) slope_.push_back(-one);
    }
    void slope_of_cell(std::size_t cell) {
        slope_.clear();
        for (std::size_t c = 0; c < decay_.size(); ++c) {
            slope_.push_back(backup_of(cell, modes_[c].vector) - decay_[c]);
        }
    }

    // P_a x of a cell, x by place.
    double backup_of(std::size_t cell, const std::vector<double>& x) const {
        double sum = 0;
        for (auto e = at(start_[cell]); e < at(start_[cell + 1]); ++e) {
            const std::int32_t place = place_[at(next_[e])];
            if (place >= 0) sum += weight_[e] * x[at(place)];
        }
        return sum;
    }

    // Up to which j <= last f(j) = at_0 + sum_c b_c s_c(j) is surely not above e. Intervals i .. i + m at a time: there
    // s_c(i + k) - s_c(i) is at most k lambda_c^i, and at least that times lambda_c^m.
    std::int64_t last_below(double at_0, std::int64_t last, double e) const {
        std::int64_t i = 0;
        for (std::int64_t m = last; i < last && m >= 1;) {
            m = std::min(m, last - i);
            double value = at_0, growth = 0;
            for (std::size_t c = 0; c < modes_.size(); ++c) {
                const double lambda = modes_[c].lambda;
                if (lambda < 0) {
                    value += std::max(0.0, slope_[c]);
                    continue;
                }
                value += slope_[c] * geometric_sum(lambda, i);
                growth += slope_[c] * std::pow(lambda, static_cast<double>(slope_[c] > 0 ? i : i + m));
            }
            if (!(value <= e)) return i - 1;
            if (value + std::max(0.0, growth) * static_cast<double>(m) <= e) {
                i += m;
                m *= 2;
            } else {
                m /= 2;
            }
        }
        return i;
    }

    // cells: mean reward; outcomes start_[c] .. start_[c + 1]
    std::vector<double> reward_;
    std::vector<std::int32_t> start_{0}, next_;
    std::vector<double> weight_;
    // points: cells choice_start_[x] .. choice_start_[x + 1]; 0 where one was never visited, else -inf
    std::vector<std::int32_t> choice_start_{0}, choices_;
    std::vector<double> floor_;
    // reversed: the points that have a cell, the cells that lead to a point
    std::vector<std::int32_t> user_start_, users_, source_start_, sources_;

    std::vector<double> q_;               // per cell
    std::vector<double> value_, before_;  // per point: V, and V one sweep ago
    std::vector<std::int32_t> dirty_;     // cells that the next sweep looks at
    std::vector<std::int32_t> touched_;   // points with a cell that changed
    std::vector<std::int32_t> changed_;   // points that changed in the last sweep
    std::vector<std::uint8_t> dirty_flag_, touched_flag_;

    // leaps; by place: the place of a point in changed_
    SlowModes finder_;
    std::vector<SlowModes::Mode> modes_;                     // u_c by place
    SparseMatrix policy_;                                    // P over places
    std::vector<std::int32_t> policy_cell_;                  // by place
    std::vector<double> change_;                             // D_0 by place
    std::vector<double> rest_;                               // d
    std::vector<double> rest_sum_, rest_least_, rest_most_;  // E_n, and what E_j stays between
    double rest_left_ = 0;                                   // |P^j d| from rest_length_ on
    std::int64_t rest_length_ = 0;
    std::vector<std::int32_t> place_;            // by point, or -1
    std::vector<double> reach_, decay_, slope_;  // by mode
    std::vector<double> later_, product_;        // scratch

    std::int64_t n_sweeps_ = 0, n_skipped_ = 0;
};

}  // namespace ocp
