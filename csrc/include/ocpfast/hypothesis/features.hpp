// The features phi(t, x, a) of a linear class, as a table, and which triples share their parameters theta.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/hypothesis/partition.hpp"

namespace ocp {

// A half-space a.theta <= b, or a hyperplane, known beforehand of every block's theta.
struct PriorRow {
    std::vector<double> coefficients;  // a
    double bound;                      // b
    bool equality;
};

class Features {
public:
    // table: (periods, states, actions, K) flattened, with periods 1 where the features are the same in each. The
    // domain is a partition with one cell a slot; shared: one theta for all periods.
    Features(std::shared_ptr<const Partition> domain, std::vector<double> table, std::int64_t n_features,
             std::int64_t periods, bool shared, std::vector<PriorRow> prior)
        : domain_(std::move(domain)),
          table_(std::move(table)),
          n_features_(n_features),
          periods_(periods),
          n_blocks_(shared ? 1 : domain_->n_layers()),
          prior_(std::move(prior)) {}

    const Partition& domain() const { return *domain_; }
    std::size_t n_features() const { return static_cast<std::size_t>(n_features_); }  // K
    std::int64_t n_blocks() const { return n_blocks_; }
    const std::vector<PriorRow>& prior() const { return prior_; }

    const double* of(std::int64_t index) const {
        if (periods_ == 1) index %= domain_->n_points() * domain_->n_actions();
        return &table_[static_cast<std::size_t>(index * n_features_)];
    }

    // The indices of a block are neighbours.
    std::int64_t indices_per_block() const { return domain_->n_cells() / n_blocks_; }
    std::int64_t block(std::int64_t index) const { return index / indices_per_block(); }

private:
    std::shared_ptr<const Partition> domain_;
    std::vector<double> table_;
    std::int64_t n_features_, periods_, n_blocks_;
    std::vector<PriorRow> prior_;
};

}  // namespace ocp
