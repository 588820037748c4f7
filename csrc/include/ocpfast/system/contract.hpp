// Fills in an `ocp_system` from a C++ system, so that the systems themselves stay plain C++.
//
// A system type has
//     using Component = std::int64_t;   // an index state, or double: a vector state
//     void describe(ocp_system& contract) const noexcept;   // flags, sizes, horizon, rewards
//     int reset(std::int64_t episode, ocp_bitgen* bitgen, Component* state) const noexcept;
//     int step(std::int64_t period, Component* state, std::int64_t action, ocp_bitgen* bitgen, double*
//     reward,
//              int* ending) const noexcept;
//     int optimal_value(const Component* state, double* value) const;   // only where V*_0 is known
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

    template <class S, class = void>
    struct KnowsOptimum : std::false_type {};
    template <class S>
    struct KnowsOptimum<S, std::void_t<decltype(&S::optimal_value)>> : std::true_type {};

    static int reset(void* instance, std::int64_t episode, ocp_bitgen* bitgen, void* state) noexcept {
        return static_cast<const System*>(instance)->reset(episode, bitgen, static_cast<Component*>(state));
    }

    static int step(void* instance, std::int64_t period, void* state, const void* action, ocp_bitgen* bitgen,
                    double* reward, int* ending) noexcept {
        return static_cast<const System*>(instance)->step(
            period, static_cast<Component*>(state), *static_cast<const std::int64_t*>(action), bitgen, reward, ending);
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
        if constexpr (KnowsOptimum<System>::value) contract.optimal_value = optimal_value;
        return contract;
    }
};

// The contract of a system made with `new`; whoever holds it ends with contract.destroy(contract.parameters).
template <class System>
ocp_system contract_of(System* system) noexcept {
    return Contract<System>::of(system);
}

}  // namespace ocp
