// Q-learning on a table: Q_t(x, a) moves towards r + gamma max_b Q_{t+1}(x', b) at every period.
//
// With learning rate 1 from +inf it is tabula rasa OCP, action for action (the paper's appendix). Arguments are
// trusted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/agent/value_agent.hpp"
#include "ocpfast/hypothesis/partition.hpp"

namespace ocp {

// The table, and how it learns.
class QTable {
public:
    QTable(std::shared_ptr<const Partition> partition, double initial, double learning_rate, double discount)
        : partition_(std::move(partition)),
          learning_rate_(learning_rate),
          discount_(discount),
          values_(static_cast<std::size_t>(partition_->n_cells()), initial) {}

    const Partition& partition() const { return *partition_; }
    double value(std::int64_t cell) const { return values_[static_cast<std::size_t>(cell)]; }

    // One transition; next is nowhere where nothing follows.
    void record(std::int64_t layer, std::int64_t point, std::int64_t action, std::int64_t next, double reward) {
        const std::int64_t next_layer = partition_->homogeneous() ? 0 : layer + 1;
        const double target = next == Partition::nowhere ? reward : reward + discount_ * largest(next_layer, next);
        double& value = values_[static_cast<std::size_t>(partition_->cell(layer, point, action))];
        // An infinite value says nothing yet, and inf - inf is no number: the target replaces it. Rate 1 replaces every
        // value, to the last bit. A finite value whose target is infinite becomes infinite, as any average with it.
        if (learning_rate_ == 1 || std::isinf(value)) {
            value = target;
        } else {
            value += learning_rate_ * (target - value);
        }
    }

    void end_episode() {}  // all is learned by then

    static constexpr const char* kind = "Q-learning";
    template <class Archive>
    void archive(Archive& a) {
        a.same(learning_rate_, "learning rate");
        a.same(discount_, "discount");
        a.fixed(values_);
    }

private:
    double largest(std::int64_t layer, std::int64_t point) const {
        double largest = value(partition_->cell(layer, point, 0));
        for (std::int64_t action = 1; action < partition_->n_actions(); ++action) {
            largest = std::max(largest, value(partition_->cell(layer, point, action)));
        }
        return largest;
    }

    std::shared_ptr<const Partition> partition_;
    double learning_rate_, discount_;
    std::vector<double> values_;  // per cell
};

using QLearning = ValueAgent<QTable>;

}  // namespace ocp
