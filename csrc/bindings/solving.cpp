// Dynamic programming over a system's own steps.
#include <sstream>
#include <stdexcept>

#include "ocpfast/solve.hpp"
#include "running.hpp"

namespace {

std::string describe(const ocp::Solved& solved) {
    using Kind = ocp::Solved::Kind;
    if (solved.kind == Kind::no_memory) return "no memory for the system";
    std::ostringstream text;
    text << "period " << solved.period << ", state " << solved.state << ", action " << solved.action << ": ";
    switch (solved.kind) {
        case Kind::system_error:
            text << "the system returned error " << solved.error;
            break;
        case Kind::bad_reward:
            text << "the system paid a reward of " << solved.reward << ", expected a finite number";
            break;
        case Kind::bad_state:
            text << "the system went to state " << solved.next << ", which it does not have";
            break;
        case Kind::truncated:
            text << "the system truncated the episode, which leaves the value after it open";
            break;
        default:
            text << "the rewards from here on add up to more than a double can hold";
    }
    return text.str();
}

void solve(const py::capsule& capsule, const py::capsule& bitgen, py::array_t<double>& q, py::array_t<double>& v) {
    const ocp_system& system = system_of(capsule);
    if ((system.flags & OCP_ADAPTIVE) != 0) {
        throw py::value_error("system: expected one with fixed rewards, got one that adapts them to the agent");
    }
    double* const q_of = q.mutable_data();
    double* const v_of = v.mutable_data();
    ocp_bitgen* const drawn_from = bitgen_of(bitgen);
    ocp::Solved solved;
    {
        const Calls calls(system);
        const auto keep_going = [] {
            const py::gil_scoped_acquire gil;
            return PyErr_CheckSignals() == 0;  // Ctrl-C
        };
        solved = ocp::solve(calls.system(), q_of, v_of, keep_going, drawn_from);
    }
    if (solved.kind == ocp::Solved::Kind::stopped) throw py::error_already_set();
    if (solved.kind != ocp::Solved::Kind::done) throw std::runtime_error(describe(solved));
}

}  // namespace

void bind_solving(py::module_& m) {
    m.def("solve", &solve, py::arg("system"), py::arg("bitgen"), py::arg("q").noconvert(), py::arg("v").noconvert());
}
