// The features phi(t, x, a) of a linear class, where they come from, and which triples share their parameters theta.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ocpfast/features.h"
#include "ocpfast/hypothesis/partition.hpp"

namespace ocp {

// A half-space a.theta <= b, or a hyperplane, known beforehand of every block's theta.
struct PriorRow {
    std::vector<double> coefficients;  // a
    double bound;                      // b
    bool equality;
};

// The feature of an index (layer, point, action) over finite states, whatever it is stored in.
class FeatureRows {
public:
    virtual ~FeatureRows() = default;
    virtual void read(std::int64_t index, double* feature) const = 0;
};

// One row after the other.
class DenseRows final : public FeatureRows {
public:
    // Index i is row i, modulo the number of rows: where periods have the same features, there is one copy.
    DenseRows(std::vector<double> table, std::size_t n_features)
        : table_(std::move(table)),
          n_features_(n_features),
          n_rows_(static_cast<std::int64_t>(table_.size() / n_features)) {}

    void read(std::int64_t index, double* feature) const override {
        const double* row = &table_[static_cast<std::size_t>(index % n_rows_) * n_features_];
        std::copy(row, row + n_features_, feature);
    }

private:
    std::vector<double> table_;
    std::size_t n_features_;
    std::int64_t n_rows_;
};

// The non-zeros of each row: SciPy's CSR.
class SparseRows final : public FeatureRows {
public:
    SparseRows(std::vector<std::int64_t> start, std::vector<std::int32_t> column, std::vector<double> value,
               std::size_t n_features)
        : start_(std::move(start)), column_(std::move(column)), value_(std::move(value)), n_features_(n_features) {}

    void read(std::int64_t index, double* feature) const override {
        std::fill(feature, feature + n_features_, 0.0);
        const auto row = static_cast<std::size_t>(index) % (start_.size() - 1);
        for (auto k = static_cast<std::size_t>(start_[row]); k < static_cast<std::size_t>(start_[row + 1]); ++k) {
            feature[column_[k]] = value_[k];
        }
    }

private:
    std::vector<std::int64_t> start_;
    std::vector<std::int32_t> column_;
    std::vector<double> value_;
    std::size_t n_features_;
};

// Features of vector states, evaluated where they are met: hypothesis/states.hpp keeps them.
struct FeatureSource {
    ocp_feature_function function;
    std::shared_ptr<void> user_data;  // kept alive with the class
    double unit;                      // features are divided by it
};

class Features {
public:
    // Finite states: the domain is a partition with one cell a slot. shared: one theta for all periods.
    Features(std::shared_ptr<const Partition> domain, std::shared_ptr<const FeatureRows> rows, std::int64_t n_features,
             bool shared, std::vector<PriorRow> prior)
        : domain_(std::move(domain)),
          rows_(std::move(rows)),
          n_features_(static_cast<std::size_t>(n_features)),
          n_blocks_(shared ? 1 : domain_->n_layers()),
          prior_(std::move(prior)) {}

    // Vector states: the domain is open.
    Features(std::shared_ptr<const Partition> domain, FeatureSource source, std::int64_t n_features, bool shared,
             std::vector<PriorRow> prior)
        : Features(std::move(domain), nullptr, n_features, shared, std::move(prior)) {
        source_ = std::move(source);
    }

    const Partition& domain() const { return *domain_; }
    std::size_t n_features() const { return n_features_; }  // K
    std::int64_t n_blocks() const { return n_blocks_; }
    const std::vector<PriorRow>& prior() const { return prior_; }
    const std::shared_ptr<const FeatureRows>& rows() const { return rows_; }  // null where the domain is open
    const FeatureSource& source() const { return source_; }

    // The points of an open domain are numbered so that their blocks take turns: each block numbers its own.
    std::int64_t block(std::int64_t index) const {
        if (n_blocks_ == 1) return 0;
        if (domain_->open()) return index / domain_->n_actions() % n_blocks_;
        return index / (domain_->n_cells() / n_blocks_);  // the indices of a block are neighbours
    }

private:
    std::shared_ptr<const Partition> domain_;
    std::shared_ptr<const FeatureRows> rows_;
    FeatureSource source_{nullptr, nullptr, 1};
    std::size_t n_features_;
    std::int64_t n_blocks_;
    std::vector<PriorRow> prior_;
};

}  // namespace ocp
