// An agent as Python holds it: one caller at a time is inside.
//
// The GIL does not see to that. Features that are Python functions, HiGHS by way of Python and a state's own __index__
// give other threads their turn in the middle of a call, and can call the agent again themselves; `simulate` releases
// the GIL. Nobody waits, as a caller that waits for itself would do so for ever: who comes in between gets an error.
// Entries and exits hold the GIL, so plain integers do.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "bindings.hpp"
#include "ocpfast/lp/program.hpp"

// Who is inside: one who changes the agent, or any number who read it.
class Entries {
public:
    void begin_change() {
        if (changing_ || readers_ > 0) refuse();
        changing_ = true;
    }
    void end_change() { changing_ = false; }
    void begin_reading() {
        if (changing_) refuse();
        ++readers_;
    }
    void end_reading() { --readers_; }

private:
    [[noreturn]] static void refuse() {
        throw std::runtime_error(
            "the agent is in use, by another thread or by a call of its own that called this one (from a feature "
            "function, say); an agent serves one call at a time: copy() it for the other");
    }

    bool changing_ = false;
    std::int64_t readers_ = 0;
};

template <class Agent>
class Core {
public:
    Core(Agent agent) : agent_(std::move(agent)) {}  // what py::init makes becomes one
    Core(Core&&) = default;

    // The agent while this lives: to change it, or to read it where Access is const.
    template <class Access>
    class Inside {
    public:
        explicit Inside(Core& core) : core_(&core) {
            if constexpr (std::is_const_v<Access>) {
                core_->entries_.begin_reading();
            } else {
                core_->entries_.begin_change();
            }
        }
        Inside(Inside&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
        Inside& operator=(Inside&&) = delete;
        ~Inside() {
            if (core_ == nullptr) return;
            if constexpr (std::is_const_v<Access>) {
                core_->entries_.end_reading();
            } else {
                core_->entries_.end_change();
            }
        }
        Access& operator*() const { return core_->agent_; }

    private:
        Core* core_;
    };
    using Change = Inside<Agent>;
    using Reading = Inside<const Agent>;

private:
    Agent agent_;
    Entries entries_;
};

// `function(agent, ...)` as Python calls it. It changes the agent where it takes an Agent&, and reads it where it takes
// a const Agent&.
template <class Function, class Return, class Access, class... Arguments>
auto entry_as(Function function, Return (*)(Access&, Arguments...)) {
    using Agent = std::remove_const_t<Access>;
    return [function = std::move(function)](Core<Agent>& core, Arguments... arguments) -> Return {
        const typename Core<Agent>::template Inside<Access> inside(core);
        try {
            return function(*inside, std::forward<Arguments>(arguments)...);
        } catch (const ocp::SolverFailure&) {
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();  // it was Ctrl-C, in HiGHS by way of Python
            throw;
        }
    };
}
template <class Function>
auto entry(Function function) {
    return entry_as(std::move(function), static_cast<py::detail::function_signature_t<Function>*>(nullptr));
}
