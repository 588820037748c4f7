// The agents that OCP is compared with: LSVI, Q-learning, the random policy.
#include <pybind11/native_enum.h>

#include <memory>
#include <utility>

#include "agents.hpp"
#include "ocpfast/agent/exploration.hpp"
#include "ocpfast/agent/lsvi.hpp"
#include "ocpfast/agent/q_learning.hpp"
#include "ocpfast/agent/random.hpp"
#include "ocpfast/hypothesis/averages.hpp"
#include "ocpfast/hypothesis/least_squares.hpp"

namespace {

using AggregationLsvi = ocp::Lsvi<ocp::Averages>;
using LinearLsvi = ocp::Lsvi<ocp::LeastSquares>;

template <class Agent>
py::dict counts(const Agent& agent) {
    py::dict result;
    result["episodes"] = agent.n_episodes();
    result["periods"] = agent.n_periods();
    return result;
}

// What agents share that estimate the value of each action; add_counts as in bind_agent.
template <class Agent, class AddCounts>
py::class_<Core<Agent>> bind_estimator(py::module_& m, const char* name, AddCounts add_counts) {
    bind_simulate<Agent>(m);
    return bind_saving(py::class_<Core<Agent>>(m, name))
        .def("act", entry(&act<Agent>), py::arg("state"), py::arg("bitgen"))
        .def("greedy", entry(&greedy<Agent>), py::arg("state"), py::arg("period"))
        .def("observe", entry(&observe<Agent>), py::arg("next_state"), py::arg("reward"), py::arg("terminated"),
             py::arg("truncated"))
        .def("begin_episode", entry([](Agent& agent) { agent.begin_episode(); }))
        .def("value", entry([](Agent& agent, py::handle state, py::handle action, py::handle period) {
                 return agent.known().value(checked_cell(agent, state, action, period));
             }),
             py::arg("state"), py::arg("action"), py::arg("period"))
        .def_property_readonly("period", entry([](const Agent& agent) { return agent.period(); }))
        .def("statistics", entry([add_counts](const Agent& agent) {
                 py::dict result = counts(agent);
                 add_counts(result, agent.known());
                 return result;
             }));
}

std::int64_t act_randomly(ocp::RandomPolicy& agent, py::handle, const py::capsule& bitgen) {
    check_not_waiting(agent);
    return agent.act(0, bitgen_of(bitgen));
}

bool observe_randomly(ocp::RandomPolicy& agent, py::handle, double reward, bool terminated, bool truncated) {
    const int ending = ending_of(terminated, truncated);
    check_observation(agent, reward, ending);
    return agent.observe(0, reward, ending);
}

}  // namespace

void bind_baselines(py::module_& m) {
    py::native_enum<ocp::Exploration::Kind>(m, "ExplorationKind", "enum.Enum")
        .value("none", ocp::Exploration::Kind::none)
        .value("epsilon_greedy", ocp::Exploration::Kind::epsilon_greedy)
        .value("boltzmann", ocp::Exploration::Kind::boltzmann)
        .finalize();
    py::class_<ocp::Exploration>(m, "Exploration")
        .def(py::init<ocp::Exploration::Kind, double, bool>(), py::arg("kind"), py::arg("parameter"),
             py::arg("random_ties"));

    bind_estimator<AggregationLsvi>(m, "AggregationLsvi",
                                    [](py::dict& result, const ocp::Averages& known) {
                                        result["transitions"] = known.n_transitions();
                                        result["sweeps"] = known.n_sweeps();
                                        result["skipped_sweeps"] = known.n_skipped();
                                        result["diverged"] = 0;
                                    })
        .def(py::init([](std::shared_ptr<ocp::Partition> partition, const ocp::Exploration& exploration,
                         std::int64_t sweeps) {
                 return AggregationLsvi(ocp::Averages(std::move(partition), sweeps), exploration);
             }),
             py::kw_only(), py::arg("partition"), py::arg("exploration"), py::arg("sweeps"));

    bind_estimator<LinearLsvi>(m, "LinearLsvi",
                               [](py::dict& result, const ocp::LeastSquares& known) {
                                   result["transitions"] = known.n_transitions();
                                   result["sweeps"] = known.n_sweeps();
                                   result["skipped_sweeps"] = 0;
                                   result["diverged"] = known.n_diverged();
                               })
        .def(py::init(
                 [](std::shared_ptr<ocp::Features> features, const ocp::Exploration& exploration, std::int64_t sweeps) {
                     return LinearLsvi(ocp::LeastSquares(std::move(features), sweeps), exploration);
                 }),
             py::kw_only(), py::arg("features"), py::arg("exploration"), py::arg("sweeps"));

    bind_estimator<ocp::QLearning>(m, "QLearning", [](py::dict&, const ocp::QTable&) {})
        .def(py::init([](std::shared_ptr<ocp::Partition> partition, const ocp::Exploration& exploration, double initial,
                         double learning_rate, double discount) {
                 return ocp::QLearning(ocp::QTable(std::move(partition), initial, learning_rate, discount),
                                       exploration);
             }),
             py::kw_only(), py::arg("partition"), py::arg("exploration"), py::arg("initial"), py::arg("learning_rate"),
             py::arg("discount"));

    bind_simulate<ocp::RandomPolicy>(m);
    bind_saving(py::class_<Core<ocp::RandomPolicy>>(m, "RandomPolicy"))
        .def(py::init([](std::int64_t n_actions) { return ocp::RandomPolicy(n_actions); }), py::arg("n_actions"))
        .def("act", entry(&act_randomly), py::arg("state"), py::arg("bitgen"))
        .def("any_action",  // to act on what is known, which is nothing; a change, as it draws
             entry([](ocp::RandomPolicy& agent, const py::capsule& bitgen) {
                 return ocp::uniform_action(agent.n_actions(), bitgen_of(bitgen));
             }),
             py::arg("bitgen"))
        .def("observe", entry(&observe_randomly), py::arg("next_state"), py::arg("reward"), py::arg("terminated"),
             py::arg("truncated"))
        .def("begin_episode", entry([](ocp::RandomPolicy& agent) { agent.begin_episode(); }))
        .def_property_readonly("period", entry([](const ocp::RandomPolicy& agent) { return agent.period(); }))
        .def("statistics", entry(&counts<ocp::RandomPolicy>));
}
