// Many simulations in lockstep, through the system's step_many: while one waits for its next state, others learn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "ocpfast/glide.hpp"
#include "ocpfast/hypothesis/grid.hpp"
#include "ocpfast/lanes.hpp"
#include "ocpfast/run.hpp"
#include "ocpfast/system.h"

namespace ocp {

// Whether simulations of this system can go side by side, and do so faster.
inline bool steps_many(const ocp_system& system) {
    return system.step_many != nullptr && system.action_size == 0;
}

// All episodes of all simulations. Each gives what it gives alone.
template <class Agent>
class Lockstep {
public:
    Lockstep(std::vector<Simulation<Agent>>& simulations, const ocp_system& system, Control& control)
        : system_(system),
          control_(control),
          state_size_(system.state_kind == OCP_STATE_VECTOR ? static_cast<std::size_t>(system.state_size) : 1),
          n_lanes_(simulations.size()),
          periods_(n_lanes_),
          actions_(n_lanes_),
          rewards_(n_lanes_),
          endings_(n_lanes_),
          points_(n_lanes_),
          states_(state_size_ * n_lanes_),
          here_(n_lanes_),
          uppers_(n_lanes_),
          sums_(n_lanes_),
          lost_(n_lanes_),
          next_actions_(n_lanes_),
          next_uppers_(n_lanes_),
          others_(n_lanes_),
          state_(state_size_) {
        simulation_.reserve(n_lanes_);
        owned_.reserve(n_lanes_);
        instances_.reserve(n_lanes_);
        bitgens_.reserve(n_lanes_);
        for (Simulation<Agent>& simulation : simulations) {
            simulation_.push_back(&simulation);
            owned_.push_back(std::make_unique<Instance>(system));
            if (owned_.back()->failed()) simulation.fail({Outcome::Kind::no_memory});
            instances_.push_back(owned_.back()->get());
            bitgens_.push_back(simulation.system_bitgen());
        }
        share_grid();
    }

    void run() {
        for (std::size_t k = 0; k < n_lanes_;) {
            if (begin(k)) {
                ++k;
            } else {
                remove(k);
            }
        }
        while (n_lanes_ > 0) {
            // an error is told at once: whoever gets it has no use for the others
            if (failed_ || control_.stop.load(std::memory_order_relaxed)) return stop();
            step();
        }
    }

private:
    // One period of all lanes.
    void step() {
        // its errors stand in the endings too
        (void)system_.step_many(instances_.data(), static_cast<std::int64_t>(n_lanes_), periods_.data(), states_.data(),
                                actions_.data(), bitgens_.data(), rewards_.data(), endings_.data());
        if constexpr (Proceeds<Agent>::value) {
            if (grid_ != nullptr) {
                grid_->guess_labels(static_cast<std::int64_t>(n_lanes_), states_.data(), points_.data(), instructions_);
                return glides_ ? glide() : proceed();
            }
        }
        for (std::size_t k = 0; k < n_lanes_;) k += observe(k);
    }

    // What most lanes do once learning is over, in one go; the others take their time.
    void proceed() {
        // what a call does not change, and the compiler cannot know that
        Simulation<Agent>* const* const simulations = simulation_.data();
        const std::int64_t* const points = points_.data();
        const double* const rewards = rewards_.data();
        const int* const endings = endings_.data();
        std::int64_t* const actions = actions_.data();
        std::int64_t* const periods = periods_.data();
        for (std::size_t k = 0; k < n_lanes_;) {
            if (simulations[k]->proceed(system_, points[k], rewards[k], endings[k], actions[k])) {
                ++periods[k++];
            } else {
                k += observe(k);
            }
        }
    }

    // The same where an agent need not be told of what it knows.
    void glide() {
        if constexpr (Glides<Agent>::value) {
            const auto n = static_cast<std::int64_t>(n_lanes_);
            const double* const* const tables = tables_.data();
            const std::int64_t* const points = points_.data();
            const int* const endings = endings_.data();
            double* const uppers = next_uppers_.data();
            std::int64_t* const actions = next_actions_.data();
            for (std::int64_t k = 0; k < n; ++k) {
                if (points[k] >= 0 && endings[k] == OCP_CONTINUES) {
                    const auto best = Agent::Known::look_up(tables[k], system_.n_actions, points[k]);
                    uppers[k] = best.upper;
                    actions[k] = best.action;
                } else {
                    uppers[k] = std::numeric_limits<double>::quiet_NaN();
                }
            }
            const GlidingLanes lanes{
                discount_,    system_.horizon - 1, here_.data(),    actions_.data(), uppers_.data(), periods_.data(),
                sums_.data(), lost_.data(),        rewards_.data(), points,          actions,        uppers};
            const std::int64_t n_others = ocp::glide(lanes, n, others_.data(), instructions_);
            // from the last on: a lane that ends lets the last one take its place
            for (std::int64_t i = n_others - 1; i >= 0; --i) {
                observe(static_cast<std::size_t>(others_[static_cast<std::size_t>(i)]));
            }
        }
    }

    // Tells the agent of a lane what it was not told.
    void catch_up(std::size_t k) {
        if constexpr (Glides<Agent>::value) {
            if (glides_) simulation_[k]->catch_up(periods_[k], here_[k], {sums_[k], lost_[k]});
        }
    }

    // Takes in what happened in a lane. The number of lanes done with: none where the last one has taken its place.
    OCP_NEVER_INLINE std::size_t observe(std::size_t k) {
        catch_up(k);
        for (std::size_t i = 0; i < state_size_; ++i) state_[i] = states_[i * n_lanes_ + k];
        const int error = endings_[k] < 0 ? -endings_[k] : OCP_OK;
        if (simulation_[k]->observe(system_, error, state_.data(), rewards_[k], endings_[k], control_)) {
            act(k);
            return 1;
        }
        if (begin(k)) return 1;
        remove(k);
        return 0;
    }

    void act(std::size_t k) {
        actions_[k] = simulation_[k]->act();
        periods_[k] = simulation_[k]->period();
        if (glides_) {
            here_[k] = simulation_[k]->point();
            uppers_[k] = tables_[k][here_[k] * system_.n_actions + actions_[k]];
            sums_[k] = simulation_[k]->total().sum;
            lost_[k] = simulation_[k]->total().lost;
        }
    }

    // Begins the next episode of a lane. False where there is none.
    bool begin(std::size_t k) {
        if (simulation_[k]->failed()) return false;
        if (!simulation_[k]->begin_episode(system_, instances_[k], state_.data())) return false;
        for (std::size_t i = 0; i < state_size_; ++i) states_[i * n_lanes_ + k] = state_[i];
        act(k);
        return true;
    }

    // States are located many at a time if one grid does it for all agents.
    void share_grid() {
        if constexpr (Proceeds<Agent>::value) {
            grid_ = simulation_[0]->agent().grid();
            for (const Simulation<Agent>* simulation : simulation_) {
                if (simulation->agent().grid() != grid_) grid_ = nullptr;
            }
        }
        if constexpr (Glides<Agent>::value) {
            discount_ = simulation_[0]->agent().discount();
            glides_ = grid_ != nullptr;
            tables_.reserve(n_lanes_);
            for (const Simulation<Agent>* simulation : simulation_) {
                glides_ &= simulation->agent().glides() && simulation->agent().discount() == discount_;
                tables_.push_back(simulation->agent().known().uppers());
            }
        }
    }

    // Lets the last lane take the place of lane k.
    void remove(std::size_t k) {
        const std::size_t last = n_lanes_ - 1;
        failed_ |= simulation_[k]->failed();
        simulation_[k] = simulation_[last];
        std::swap(owned_[k], owned_[last]);
        owned_[last].reset();
        instances_[k] = instances_[last];
        bitgens_[k] = bitgens_[last];
        periods_[k] = periods_[last];
        actions_[k] = actions_[last];
        rewards_[k] = rewards_[last];
        endings_[k] = endings_[last];
        points_[k] = points_[last];
        if (glides_) {
            tables_[k] = tables_[last];
            here_[k] = here_[last];
            uppers_[k] = uppers_[last];
            sums_[k] = sums_[last];
            lost_[k] = lost_[last];
        }
        for (std::size_t i = 0; i < state_size_; ++i) {
            states_[i * n_lanes_ + k] = states_[i * n_lanes_ + last];
            const auto row = states_.begin() + static_cast<std::ptrdiff_t>(i * n_lanes_);
            std::copy(row, row + static_cast<std::ptrdiff_t>(last), row - static_cast<std::ptrdiff_t>(i));
        }
        n_lanes_ = last;
    }

    void stop() {
        for (std::size_t k = 0; k < n_lanes_; ++k) {
            catch_up(k);
            simulation_[k]->stop();
        }
    }

    const ocp_system& system_;
    Control& control_;
    std::size_t state_size_;
    const Grid* grid_ = nullptr;
    bool glides_ = false;
    double discount_ = 1;
    bool failed_ = false;
    Instructions instructions_ = best_instructions();

    // per lane
    std::size_t n_lanes_;
    std::vector<Simulation<Agent>*> simulation_;
    std::vector<std::unique_ptr<Instance>> owned_;
    std::vector<void*> instances_;
    std::vector<ocp_bitgen*> bitgens_;
    std::vector<std::int64_t> periods_, actions_;
    std::vector<double> rewards_;
    std::vector<int> endings_;
    std::vector<std::int64_t> points_;  // where grid_ says so
    std::vector<double> states_;  // component i of lane k: [i * n_lanes_ + k]; eight bytes whatever the kind of state

    // per lane, where glides_; see glide.hpp
    std::vector<const double*> tables_;  // upper values of the agent
    std::vector<std::int64_t> here_;     // the point where the agent acted
    std::vector<double> uppers_;         // of this action
    std::vector<double> sums_, lost_;
    std::vector<std::int64_t> next_actions_;
    std::vector<double> next_uppers_;
    std::vector<std::int64_t> others_;  // lanes that have something to tell

    std::vector<double> state_;  // of the lane at hand
};

// All episodes of all simulations: side by side where the system can do that and there are several, else in turn.
template <class Agent>
void simulate(std::vector<Simulation<Agent>>& simulations, const ocp_system& system, Control& control) {
    // vector actions would have to be laid out for step_many as well
    if constexpr (std::is_same_v<decltype(simulations[0].act()), std::int64_t>) {
        if (steps_many(system) && simulations.size() > 1) return Lockstep<Agent>(simulations, system, control).run();
    }
    for (Simulation<Agent>& simulation : simulations) simulate(simulation, system, control);
}

}  // namespace ocp
