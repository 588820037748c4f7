// A model inside HiGHS: who owns it, what HiGHS calls things, what can fail.
#pragma once

#include <stdexcept>
#include <utility>

#include "ocpfast/lp/highs_api.hpp"

namespace ocp {

class SolverFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// None until make(). A copy has none either: what is in it belongs to the questions of one program.
class HighsModel {
public:
    enum Status : HighsInt { optimal = 7, infeasible = 8, unbounded_or_infeasible = 9, unbounded = 10 };
    static constexpr HighsInt maximisation = -1, by_rows = 2, integer = 1;

    explicit HighsModel(const HighsApi* api) : api_(api) {}
    HighsModel(const HighsModel& other) : api_(other.api_) {}
    HighsModel(HighsModel&& other) noexcept : api_(other.api_), highs_(std::exchange(other.highs_, nullptr)) {}
    HighsModel& operator=(HighsModel other) noexcept {
        std::swap(api_, other.api_);
        std::swap(highs_, other.highs_);
        return *this;
    }
    ~HighsModel() { forget(); }

    // Quiet, with one thread.
    void make() {
        if (api_ == nullptr) throw SolverFailure("HiGHS is not loaded");
        forget();
        highs_ = api_->create();
        if (highs_ == nullptr) throw SolverFailure("HiGHS could not make a model");
        api_->set_bool(highs_, "output_flag", 0);
        api_->set_string(highs_, "parallel", "off");
        api_->set_int(highs_, "threads", 1);
    }
    void forget() {
        if (highs_ != nullptr) api_->destroy(highs_);
        highs_ = nullptr;
    }

    bool made() const { return highs_ != nullptr; }
    operator void*() const { return highs_; }  // as the functions of HighsApi want it
    const HighsApi* api() const { return api_; }

    // HiGHS's scheduler belongs to the thread, and with it to the user's own models there. The one that a run with one
    // thread starts is stopped again (1 us), else the user's next run with more threads would fail. Where the user
    // started one with more, only "as many as it has" is accepted, and it is left running.
    HighsInt run() {
        HighsInt status = api_->run(highs_);
        if (status >= 0) {
            api_->reset_scheduler(1);
            return status;
        }
        api_->set_int(highs_, "threads", 0);
        status = api_->run(highs_);
        api_->set_int(highs_, "threads", 1);
        return status;
    }

private:
    const HighsApi* api_;
    void* highs_ = nullptr;
};

}  // namespace ocp
