// Fills in an `ocp_system` from a C++ system, so that the systems themselves stay plain C++.
//
// A system type has
//     using Component = std::int64_t;   // an index state, or double: a vector state
//     using Action = std::int64_t;      // an index action, or double: a vector action
//     void describe(ocp_system& contract) const noexcept;   // flags, sizes, horizon, rewards
//     int reset(std::int64_t episode, ocp_bitgen* bitgen, Component* state) const noexcept;
//     int step(std::int64_t period, Component* state, <std::int64_t or const double*> action, ocp_bitgen* bitgen,
//              double* reward, int* ending) const noexcept;
//     int step_many(std::int64_t lanes, Component* states, const Action* actions, ocp_bitgen* const* bitgens,
//                   double* rewards, int* endings) const noexcept;      // only where it is faster than a loop
//     int optimal_value(const Component* state, double* value) const;   // only where V*_0 is known
// One with memory, which its functions may then change, is copyable and has
//     std::int64_t save(void* bytes) const noexcept;                    // as in ocp_system
//     int load(const void* bytes, std::int64_t size) noexcept;
#pragma once

#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>

#include "ocpfast/system.h"

namespace ocp {

template <class System>
class Contract {
    using Component = typename System::Component;
    using Action = typename System::Action;

    template <class S, class = void>
    struct KnowsOptimum : std::false_type {};
    template <class S>
    struct KnowsOptimum<S, std::void_t<decltype(&S::optimal_value)>> : std::true_type {};

    template <class S, class = void>
    struct HasMemory : std::false_type {};
    template <class S>
    struct HasMemory<S, std::void_t<decltype(&S::save), decltype(&S::load)>> : std::true_type {};

    template <class S, class = void>
    struct StepsMany : std::false_type {};
    template <class S>
    struct StepsMany<S, std::void_t<decltype(&S::step_many)>> : std::true_type {};

    // Without memory all simulations share one system, so its functions have to be const.
    using Acting = std::conditional_t<HasMemory<System>::value, System, const System>;

    static int reset(void* instance, std::int64_t episode, ocp_bitgen* bitgen, void* state) noexcept {
        return static_cast<Acting*>(instance)->reset(episode, bitgen, static_cast<Component*>(state));
    }

    static int step(void* instance, std::int64_t period, void* state, const void* action, ocp_bitgen* bitgen,
                    double* reward, int* ending) noexcept {
        const auto* chosen = static_cast<const Action*>(action);
        auto* system = static_cast<Acting*>(instance);
        if constexpr (std::is_same_v<Action, double>) {
            return system->step(period, static_cast<Component*>(state), chosen, bitgen, reward, ending);
        } else {
            return system->step(period, static_cast<Component*>(state), *chosen, bitgen, reward, ending);
        }
    }

    static int step_many(void* const* instances, std::int64_t lanes, const std::int64_t*, void* states,
                         const void* actions, ocp_bitgen* const* bitgens, double* rewards, int* endings) noexcept {
        static_assert(!HasMemory<System>::value, "one system steps all lanes");
        return static_cast<const System*>(instances[0])
            ->step_many(lanes, static_cast<Component*>(states), static_cast<const Action*>(actions), bitgens, rewards,
                        endings);
    }

    static int optimal_value(void* instance, const void* state, double* value) noexcept {
        try {
            return static_cast<const System*>(instance)->optimal_value(static_cast<const Component*>(state), value);
        } catch (const std::bad_alloc&) {
            return OCP_NO_MEMORY;
        } catch (...) {
            return OCP_FAILED;
        }
    }

    static void destroy(void* instance) noexcept { delete static_cast<System*>(instance); }

    static void* clone(const void* parameters) noexcept {
        try {
            return new System(*static_cast<const System*>(parameters));
        } catch (...) {
            return nullptr;
        }
    }

    static std::int64_t save(const void* instance, void* bytes) noexcept {
        return static_cast<const System*>(instance)->save(bytes);
    }

    static int load(void* instance, const void* bytes, std::int64_t size) noexcept {
        return static_cast<System*>(instance)->load(bytes, size);
    }

public:
    static ocp_system of(System* system) noexcept {
        ocp_system contract{};
        contract.abi_version = OCP_SYSTEM_ABI;
        contract.struct_size = sizeof(ocp_system);
        contract.state_kind = std::is_same_v<Component, double> ? OCP_STATE_VECTOR : OCP_STATE_INDEX;
        contract.reward_min = -std::numeric_limits<double>::infinity();
        contract.reward_max = std::numeric_limits<double>::infinity();
        system->describe(contract);
        contract.parameters = system;
        contract.destroy = destroy;
        contract.reset = reset;
        contract.step = step;
        if constexpr (StepsMany<System>::value) contract.step_many = step_many;
        if constexpr (KnowsOptimum<System>::value) contract.optimal_value = optimal_value;
        if constexpr (HasMemory<System>::value) {
            contract.clone = clone;
            contract.save = save;
            contract.load = load;
        }
        return contract;
    }
};

// The contract of a system made with `new`; whoever holds it ends with contract.destroy(contract.parameters).
template <class System>
ocp_system contract_of(System* system) noexcept {
    return Contract<System>::of(system);
}

}  // namespace ocp
