// The slow modes of a change under a fixed policy: D = sum of u_c with P u_c = lambda_c u_c, as far as sweeps have left
// more of it than that.
//
// P is sparse, non-negative, and its rows add up to at most 1. Points that reach each other form components; each has
// one slowest way to decay (Perron's theorem), which its predecessors follow in their own proportion. Faster ways have
// died out by the time that this is asked; where they have not, or the points of a component take turns in more than
// two groups, the modes found do not add up to D, and whoever asked finds out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ocp {

// Rows start[i] .. start[i + 1] of a sparse matrix.
struct SparseMatrix {
    std::vector<std::int32_t> start{0}, column;
    std::vector<double> weight;

    std::size_t size() const { return start.size() - 1; }
    void clear() {
        start.assign(1, 0);
        column.clear();
        weight.clear();
    }
    void end_row() { start.push_back(static_cast<std::int32_t>(column.size())); }

    template <class Visit>
    void for_each(std::int32_t row, Visit&& visit) const {
        const auto r = static_cast<std::size_t>(row);
        for (auto e = static_cast<std::size_t>(start[r]); e < static_cast<std::size_t>(start[r + 1]); ++e) {
            visit(column[e], weight[e]);
        }
    }
};

class SlowModes {
public:
    struct Mode {
        double lambda;  // negative where two groups of points take turns
        std::vector<double> vector;
    };

    // Returns false where it gave up.
    bool find(const SparseMatrix& matrix, const std::vector<double>& change) {
        modes_.clear();
        largest_change_ = 0;
        for (const double one : change) largest_change_ = std::max(largest_change_, std::abs(one));
        find_components(matrix);
        place_.resize(matrix.size());
        std::size_t first = 0;
        for (const std::size_t last : component_ends_) {  // successors first
            if (!add_component(matrix, change, first, last)) return false;
            first = last;
        }
        return !modes_.empty();
    }

    const std::vector<Mode>& modes() const { return modes_; }

private:
    static constexpr std::size_t largest_system = 200;  // unknowns: 5 ms
    static constexpr std::size_t most_modes = 16;
    static constexpr int most_iterations = 200;  // the change has been multiplied by P until little but modes was left
    static constexpr double fastest = 0.3;       // what decays faster has died out after 32 sweeps
    static constexpr double negligible = 1e-13;  // of the largest change

    static std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

    // Tarjan's algorithm, without recursion.
    void find_components(const SparseMatrix& matrix) {
        const std::size_t n = matrix.size();
        order_.assign(n, 0);
        low_.assign(n, 0);
        component_of_.assign(n, -1);
        members_.clear();
        component_ends_.clear();
        stack_.clear();
        std::int32_t visited = 0;
        for (std::size_t root = 0; root < n; ++root) {
            if (order_[root] == 0) visit_from(matrix, static_cast<std::int32_t>(root), visited);
        }
    }
    void visit_from(const SparseMatrix& matrix, std::int32_t root, std::int32_t& visited) {
        const auto enter = [&](std::int32_t point) {
            order_[at(point)] = low_[at(point)] = ++visited;
            stack_.push_back(point);
            calls_.push_back({point, matrix.start[at(point)]});
        };
        enter(root);
        while (!calls_.empty()) {
            auto& [point, edge] = calls_.back();
            if (edge < matrix.start[at(point) + 1]) {
                const std::int32_t next = matrix.column[at(edge++)];
                if (order_[at(next)] == 0) {
                    enter(next);
                } else if (component_of_[at(next)] < 0) {
                    low_[at(point)] = std::min(low_[at(point)], order_[at(next)]);
                }
                continue;
            }
            const std::int32_t done = point;
            calls_.pop_back();
            if (!calls_.empty()) {
                std::int32_t& low = low_[at(calls_.back().first)];
                low = std::min(low, low_[at(done)]);
            }
            if (low_[at(done)] != order_[at(done)]) continue;
            for (std::int32_t member = -1; member != done;) {
                member = stack_.back();
                stack_.pop_back();
                component_of_[at(member)] = static_cast<std::int32_t>(component_ends_.size());
                members_.push_back(member);
            }
            component_ends_.push_back(members_.size());
        }
    }

    // Extends the modes of what the component leads to, and adds its own.
    bool add_component(const SparseMatrix& matrix, const std::vector<double>& change, std::size_t first,
                       std::size_t last) {
        const std::size_t size = last - first;
        bool cyclic = size > 1;
        const std::int32_t component = component_of_[at(members_[first])];
        for (std::size_t i = 0; i < size; ++i) place_[at(members_[first + i])] = static_cast<std::int32_t>(i);
        inside_.clear();
        for (std::size_t i = first; i < last; ++i) {
            matrix.for_each(members_[i], [&](std::int32_t column, double weight) {
                if (component_of_[at(column)] != component) return;
                inside_.column.push_back(place_[at(column)]);
                inside_.weight.push_back(weight);
                cyclic = true;
            });
            inside_.end_row();
        }
        left_.resize(size);
        for (std::size_t i = 0; i < size; ++i) left_[i] = change[at(members_[first + i])];
        for (Mode& mode : modes_) {
            if (!extend(matrix, mode, first, size, cyclic, component)) return false;
            for (std::size_t i = 0; i < size; ++i) left_[i] -= mode.vector[at(members_[first + i])];
        }
        return !cyclic || add_own(change.size(), first, size);
    }

    // Solves (lambda - P) u = what flows in, on the component.
    bool extend(const SparseMatrix& matrix, Mode& mode, std::size_t first, std::size_t size, bool cyclic,
                std::int32_t component) {
        right_.assign(size, 0.0);
        bool any = false;
        for (std::size_t i = 0; i < size; ++i) {
            matrix.for_each(members_[first + i], [&](std::int32_t column, double weight) {
                if (component_of_[at(column)] != component) right_[i] += weight * mode.vector[at(column)];
            });
            any |= right_[i] != 0;
        }
        if (!any) return true;
        if (!cyclic) {
            mode.vector[at(members_[first])] = right_[0] / mode.lambda;
            return true;
        }
        if (size > largest_system) return false;
        system_.assign(size * size, 0.0);
        for (std::size_t i = 0; i < size; ++i) {
            system_[i * size + i] = mode.lambda;
            inside_.for_each(static_cast<std::int32_t>(i),
                             [&](std::int32_t column, double weight) { system_[i * size + at(column)] -= weight; });
        }
        if (!solve(size)) return false;
        for (std::size_t i = 0; i < size; ++i) mode.vector[at(members_[first + i])] = right_[i];
        return true;
    }

    // Gaussian elimination with partial pivoting of system_ x = right_, into right_.
    bool solve(std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) {
            std::size_t pivot = k;
            for (std::size_t i = k + 1; i < n; ++i) {
                if (std::abs(system_[i * n + k]) > std::abs(system_[pivot * n + k])) pivot = i;
            }
            if (system_[pivot * n + k] == 0) return false;
            if (pivot != k) {
                std::swap_ranges(&system_[k * n], &system_[k * n] + n, &system_[pivot * n]);
                std::swap(right_[k], right_[pivot]);
            }
            for (std::size_t i = k + 1; i < n; ++i) {
                const double factor = system_[i * n + k] / system_[k * n + k];
                if (factor == 0) continue;
                for (std::size_t j = k + 1; j < n; ++j) system_[i * n + j] -= factor * system_[k * n + j];
                right_[i] -= factor * right_[k];
            }
        }
        for (std::size_t k = n; k-- > 0;) {
            for (std::size_t j = k + 1; j < n; ++j) right_[k] -= system_[k * n + j] * right_[j];
            right_[k] /= system_[k * n + k];
        }
        return true;
    }

    // What is left of the change on the component is its own mode, and one of turns if it has two groups.
    bool add_own(std::size_t n, std::size_t first, std::size_t size) {
        double largest = 0;
        for (const double one : left_) largest = std::max(largest, std::abs(one));
        if (largest <= negligible * largest_change_) return true;
        double lambda;
        if (!perron(size, lambda)) return false;
        if (lambda < fastest) return true;
        find_groups(size);
        // the largest element of each group tells how much of each mode there is
        std::size_t of_group[2] = {size, size};
        for (std::size_t i = 0; i < size; ++i) {
            std::size_t& best = of_group[two_groups_ ? at(group_[i]) : 0];
            if (best == size || vector_[i] > vector_[best]) best = i;
        }
        double share[2] = {left_[of_group[0]] / vector_[of_group[0]], 0};
        if (two_groups_) {
            const double other = left_[of_group[1]] / vector_[of_group[1]];
            share[1] = (share[0] - other) / 2;
            share[0] = (share[0] + other) / 2;
        }
        for (int turns = 0; turns < 2; ++turns) {
            if (std::abs(share[turns]) * largest_element_ <= negligible * largest_change_) continue;
            if (modes_.size() == most_modes) return false;
            Mode mode{turns == 0 ? lambda : -lambda, std::vector<double>(n, 0.0)};
            for (std::size_t i = 0; i < size; ++i) {
                const double sign = turns == 1 && group_[i] == 1 ? -1 : 1;
                mode.vector[at(members_[first + i])] = sign * share[turns] * vector_[i];
            }
            modes_.push_back(std::move(mode));
        }
        return true;
    }

    // The positive eigenvector of the component, by power iteration with P + I: it converges where points take turns.
    bool perron(std::size_t size, double& lambda) {
        const bool positive = *std::min_element(left_.begin(), left_.end()) > 0;
        const bool negative = *std::max_element(left_.begin(), left_.end()) < 0;
        vector_.assign(size, 1.0);
        if (positive || negative) {
            for (std::size_t i = 0; i < size; ++i) vector_[i] = std::abs(left_[i]);
        }
        product_.resize(size);
        for (int iteration = 0; iteration < most_iterations; ++iteration) {
            double sum = 0, products = 0;
            for (std::size_t i = 0; i < size; ++i) {
                double product = 0;
                inside_.for_each(static_cast<std::int32_t>(i),
                                 [&](std::int32_t column, double weight) { product += weight * vector_[at(column)]; });
                product_[i] = product;
                products += product;
                sum += vector_[i];
            }
            lambda = products / sum;
            double error = 0;
            largest_element_ = 0;
            for (std::size_t i = 0; i < size; ++i) {
                error = std::max(error, std::abs(product_[i] - lambda * vector_[i]));
                vector_[i] = (vector_[i] + product_[i]) / (1 + lambda);
                largest_element_ = std::max(largest_element_, vector_[i]);
            }
            if (error <= 1e-15 * largest_element_) return true;
        }
        return false;
    }

    // Whether every step from one group leads to the other.
    void find_groups(std::size_t size) {
        group_.assign(size, -1);
        two_groups_ = true;
        group_[0] = 0;
        queue_.assign(1, 0);
        for (std::size_t k = 0; k < queue_.size(); ++k) {
            const std::int32_t point = queue_[k];
            inside_.for_each(point, [&](std::int32_t column, double) {
                if (group_[at(column)] < 0) {
                    group_[at(column)] = static_cast<std::int8_t>(1 - group_[at(point)]);
                    queue_.push_back(column);
                }
                two_groups_ &= group_[at(column)] != group_[at(point)];
            });
        }
    }

    std::vector<Mode> modes_;
    double largest_change_ = 0;

    std::vector<std::int32_t> order_, low_, component_of_, stack_, members_;
    std::vector<std::size_t> component_ends_;  // of members_, successors first
    std::vector<std::pair<std::int32_t, std::int32_t>> calls_;

    std::vector<std::int32_t> place_;  // within the component
    SparseMatrix inside_;
    std::vector<double> left_, right_, system_, vector_, product_;
    double largest_element_ = 0;
    std::vector<std::int8_t> group_;
    std::vector<std::int32_t> queue_;
    bool two_groups_ = false;
};

}  // namespace ocp
